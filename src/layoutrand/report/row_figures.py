"""Charts with one row for each thing: forest plots, strip plots, bars; each row has its label above its marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from layoutrand.report import canvas
from layoutrand.report.canvas import WIDTH, Scale
from layoutrand.report.mark_data import MarkData, attributes

_LEFT, _RIGHT, _ROW, _ROW_WITH_POINTS = 8, 8, 40, 60
_LETTER = 10.0


@dataclass(frozen=True)
class FigureRow:
    """One row: its name, what is written at its right end, its series (colour and mark), and what is drawn.

    ``points`` are single values, ``bar`` a bar from the left edge, ``interval`` (low, centre, high) with bounds that
    may be infinite, ``flags`` (value, letter) vertical marks such as stock.  Bars begin at 0.  Points that are among
    ``ringed`` are.  ``told`` is what is told of the points; ``colour`` a class instead of the colour of the series,
    ``hollow`` a value that is a hollow diamond.
    """

    name: str
    value: str
    series: int
    points: Sequence[float] = ()
    bar: float | None = None
    interval: tuple[float, float, float] | None = None
    flags: Sequence[tuple[float, str]] = ()
    strong: bool = False
    ringed: Sequence[float] = ()
    told: MarkData | None = None
    colour: str = ""
    hollow: float | None = None

    @property
    def style(self) -> str:
        """The class of its colour."""
        return self.colour or canvas.colour(self.series)


@dataclass(frozen=True)
class RowChart:
    """A chart of rows over one axis; ``band`` is shaded, ``reference`` a dashed line."""

    title: str
    description: str
    axis: str
    rows: Sequence[FigureRow]
    band: tuple[float, float] | None = None
    reference: float | None = None


def draw(chart: RowChart) -> str:
    """The SVG of the chart."""
    height = _ROW_WITH_POINTS if any(row.points for row in chart.rows) else _ROW
    bottom = 6 + height * len(chart.rows)
    scale = Scale(*_span(chart), _LEFT, WIDTH - _LEFT - _RIGHT)
    parts: list[str] = []
    if chart.band is not None:
        low, high = scale(chart.band[0]), scale(chart.band[1])
        parts.append(canvas.box(low, 4, high - low, bottom - 4, "band"))
    for number, row in enumerate(chart.rows):
        if chart.reference is not None:  # in pieces, so that it does not cross the labels
            top, below = 6.0 + height * number + 16, 6.0 + height * (number + 1)
            parts.append(canvas.line(scale(chart.reference), top, scale(chart.reference), below, "reference"))
        parts += _row(row, 6 + height * number, scale)
    parts.append(canvas.line(_LEFT, bottom, WIDTH - _RIGHT, bottom))
    for place, label in canvas.labelled_ticks(scale.low, scale.high, 5):
        parts += [
            canvas.line(scale(place), bottom, scale(place), bottom + 4),
            canvas.tick(scale(place), bottom + 17, label),
        ]
    parts.append(canvas.text(WIDTH / 2, bottom + 34, chart.axis, anchor="middle", style="quiet"))
    return canvas.frame(chart.title, chart.description, bottom + 40, parts)


def _span(chart: RowChart) -> tuple[float, float]:
    values = list(chart.band or ())
    values += [] if chart.reference is None else [chart.reference]
    for row in chart.rows:
        values += row.points
        values += row.interval or ()
        values += [value for value, _ in row.flags]
        values += [] if row.hollow is None else [row.hollow]
        values += [] if row.bar is None else [0.0, row.bar]
    if any(row.bar is not None for row in chart.rows):
        high = canvas.span([*values, 0.0])[1]
        return 0.0, high if high > 0 else 1.0
    return canvas.span(values)


def _row(row: FigureRow, top: float, scale: Scale) -> list[str]:
    style = "strong" if row.strong else ""
    room = int((WIDTH - 2 * _LEFT) / (7.4 if row.strong else 6.4)) - len(row.value) - 1
    parts = [canvas.text(_LEFT, top + 12, row.name, style=style, most=max(room, 6))]
    parts.append(canvas.text(WIDTH - _RIGHT, top + 12, row.value, anchor="end", style=style or "quiet"))
    middle = top + 26.0
    if row.bar is not None:
        parts.append(canvas.box(_LEFT, middle - 5, scale(row.bar) - _LEFT, 10, f"fill {canvas.colour(row.series)}"))
    if row.points:
        placed = _spread(row.points, scale, middle)
        parts.append(canvas.marks(placed, row.series, "" if row.told is None else attributes(row.told)))
        ringed = set(row.ringed)
        parts.append(canvas.rings([p for p, value in zip(placed, row.points, strict=True) if value in ringed]))
    parts += [canvas.line(scale(value), middle - 8, scale(value), middle + 14, "flag") for value, _ in row.flags]
    for x, letter in _apart([(scale(value), letter) for value, letter in row.flags]):
        parts.append(canvas.text(x, middle + 24, letter, anchor="middle", style="small"))
    if row.interval is not None:
        parts += _interval(row, middle, scale)
    if row.hollow is not None:
        parts.append(canvas.diamond(scale(row.hollow), middle))
    return parts


def _apart(letters: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Letters near their places, none over another: stock and identity are often alike."""
    placed: list[tuple[float, str]] = []
    for x, letter in sorted(letters):
        before = placed[-1][0] if placed else -math.inf
        placed.append((max(x, before + _LETTER), letter))
    moved = [x - wanted for (x, _), (wanted, _) in zip(placed, sorted(letters), strict=True)]
    back = max(moved, default=0.0) / 2
    over = max([x - back for x, _ in placed], default=0.0) - (WIDTH - _LETTER)
    under = _LETTER - min([x - back for x, _ in placed], default=_LETTER)
    shift = back + max(over, 0.0) - max(under, 0.0)
    return [(x - shift, letter) for x, letter in placed]


def _interval(row: FigureRow, middle: float, scale: Scale) -> list[str]:
    assert row.interval is not None
    low, centre, high = row.interval
    over = "axis" if row.bar is not None or row.points else f"whisker {row.style}"
    height = middle if not row.points else middle + 11
    parts = [canvas.line(scale(low), height, scale(high), height, over)]
    for bound, side in ((low, 1), (high, -1)):
        x = scale(bound)
        if math.isinf(bound):  # an arrow head: it goes on beyond the edge
            parts.append(canvas.polyline([(x + 5 * side, height - 4), (x, height), (x + 5 * side, height + 4)], over))
        else:
            parts.append(canvas.line(x, height - 4, x, height + 4, over))
    if row.bar is None:
        parts.append(
            canvas.line(scale(centre), height - 4, scale(centre), height + 4, "axis thick")
            if row.points
            else canvas.marks([(scale(centre), height)], row.series, style=row.style)
        )
    return parts


def _spread(values: Sequence[float], scale: Scale, middle: float) -> list[tuple[float, float]]:
    """Values side by side in a fixed pattern of heights, so that equal ones do not hide each other."""
    heights = (0.0, -5.0, 4.0, -2.5, 2.0, -6.5, 5.5)
    ranks = {place: k for k, place in enumerate(sorted(range(len(values)), key=lambda place: values[place]))}
    return [(scale(value), middle + heights[ranks[place] % len(heights)]) for place, value in enumerate(values)]
