"""Plots of `report.plot` as lines of text, for a terminal: braille dots, or ASCII where these cannot be shown.

Plots of one row have the same axes, so what differs between them is in the data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from layoutrand.report.plot import Plot, Point, Series

HEIGHT: Final = 8
FEWEST_COLUMNS: Final = 28
"""Below this width for each, plots stand under each other."""
_GAP: Final = 2
_LEAST: Final = 8


@dataclass(frozen=True)
class Style:
    """How dots become characters: ``across`` x ``up`` dots in each, and what the axes and reference lines are."""

    across: int
    up: int
    axis: str
    corner: str
    base: str
    horizontal: str
    vertical: str
    levels: str
    """Eight heights, for a plot of one line."""

    def character(self, dots: frozenset[tuple[int, int]]) -> str:
        """The character with these dots, (column, row from above)."""
        if self.up == _ASCII_ROWS:
            return {(0,): "'", (1,): ".", (0, 1): ":"}[tuple(sorted(row for _, row in dots))]
        return chr(0x2800 + sum(_BRAILLE[dot] for dot in dots))


_ASCII_ROWS: Final = 2
_BRAILLE: Final = {
    (0, 0): 0x01,
    (0, 1): 0x02,
    (0, 2): 0x04,
    (0, 3): 0x40,
    (1, 0): 0x08,
    (1, 1): 0x10,
    (1, 2): 0x20,
    (1, 3): 0x80,
}
BRAILLE: Final = Style(2, 4, "│", "└", "─", "┄", "┆", "▁▂▃▄▅▆▇█")
ASCII: Final = Style(1, _ASCII_ROWS, "|", "+", "-", "-", "|", "_.-~=+*#")


def style_for(encoding: str | None) -> Style:
    """`BRAILLE` where an output of this encoding can show it, or else `ASCII`."""
    try:
        f"{chr(0x28FF)}{BRAILLE.axis}{BRAILLE.horizontal}{BRAILLE.levels}".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BRAILLE


def beside(plots: Sequence[Plot], *, width: int, style: Style, height: int = HEIGHT) -> list[str]:
    """The plots in one row of at most ``width`` columns, or under each other where that is too narrow for them.

    Values that are not finite are left out; plots without any finite value say so.
    """
    each = (width - _GAP * (len(plots) - 1)) // len(plots)
    if each < FEWEST_COLUMNS and len(plots) > 1:
        return [line for plot in plots for line in beside([plot], width=width, style=style, height=height)]
    axes = _axes(plots)
    if axes is None:
        return [f"{plot.title}: no finite value to show" for plot in plots]
    blocks = [_block(plot, axes, width=each, height=height, style=style) for plot in plots]
    return [(" " * _GAP).join(line.ljust(each) for line in lines).rstrip() for lines in zip(*blocks, strict=True)]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float

    def place(self, value: float, n: int) -> int:
        """Which of ``n`` dots, the first for the lowest value."""
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: a span may be beyond all floats
        return min(n - 1, max(0, int(share * (n - 1) + 0.5)))


def _axes(plots: Sequence[Plot]) -> tuple[_Axis, _Axis] | None:
    points = [point for plot in plots for series in plot.series for point in _finite(series)]
    if not points:
        return None
    places = [x for x, _ in points] + [line.place for plot in plots for line in plot.verticals]
    heights = [y for _, y in points] + [at for plot in plots for at in plot.horizontals]
    if any(series.kind == "bars" for plot in plots for series in plot.series):
        heights.append(0.0)
    return _axis(places), _axis(heights)


def _axis(values: Sequence[float]) -> _Axis:
    """From the lowest to the highest; a single value stands in the middle."""
    low, high = min(values), max(values)
    margin = 0.0 if high / 2 > low / 2 else 0.05 * abs(high) or 1.0
    return _Axis(low - margin, high + margin)


def _finite(series: Series) -> list[Point]:
    return [(x, y) for x, y in series.points if math.isfinite(x) and math.isfinite(y)]


@dataclass
class _Canvas:
    """Dots over reference lines; the latter show only where there are none."""

    columns: int
    rows: int
    style: Style
    dots: dict[tuple[int, int], set[tuple[int, int]]] = field(default_factory=dict)
    lines: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """In dots, across and up."""
        return self.columns * self.style.across, self.rows * self.style.up

    def dot(self, x: int, y: int) -> None:
        """Set one, counted from the lower left."""
        y = self.size[1] - 1 - y
        cell = x // self.style.across, y // self.style.up
        self.dots.setdefault(cell, set()).add((x % self.style.across, y % self.style.up))

    def row(self, number: int) -> str:
        """A line of text, counted from above."""
        return "".join(self._cell((column, number)) for column in range(self.columns))

    def _cell(self, cell: tuple[int, int]) -> str:
        dots = self.dots.get(cell)
        return self.style.character(frozenset(dots)) if dots else self.lines.get(cell, " ")


def _block(plot: Plot, axes: tuple[_Axis, _Axis], *, width: int, height: int, style: Style) -> list[str]:
    """A title, ``height`` rows, and two lines for the axis below; no line is shorter or longer for other data."""
    x, y = axes
    labels = {0: f"{y.high:.4g}", height - 1: f"{y.low:.4g}"}
    gutter = max(map(len, labels.values()))
    canvas = _Canvas(max(_LEAST, width - gutter - 2), height, style)
    for at in plot.horizontals:
        line = height - 1 - y.place(at, height * style.up) // style.up
        canvas.lines |= {(column, line): style.horizontal for column in range(canvas.columns)}
    for vertical in plot.verticals:
        column = x.place(vertical.place, canvas.size[0]) // style.across
        canvas.lines |= {(column, row): style.vertical for row in range(height)}
    for series in plot.series:
        for dot in _dots(series, x, y, canvas.size):
            canvas.dot(*dot)
    rows = [f"{labels.get(number, ''):>{gutter}} {style.axis}{canvas.row(number)}" for number in range(height)]
    low, high = f"{x.low:.4g}", f"{x.high:.4g}"
    between = plot.x_label[: max(0, canvas.columns - len(low) - len(high) - 2)]
    room = canvas.columns - len(low) - len(high)
    below = low + between.center(room) + high if room > 0 else low
    return [
        plot.title[:width],
        *rows,
        f"{'':>{gutter}} {style.corner}{style.base * canvas.columns}",
        f"{'':>{gutter}}  {below}",
    ]


def _dots(series: Series, x: _Axis, y: _Axis, size: tuple[int, int]) -> Iterator[tuple[int, int]]:
    places = [(x.place(a, size[0]), y.place(b, size[1])) for a, b in _finite(series)]
    if series.kind == "bars":
        zero = y.place(0.0, size[1])
        for column, top in places:
            yield from ((column, row) for row in range(min(zero, top), max(zero, top) + 1))
        return
    yield from places
    if series.kind in {"line", "trace"}:
        for (a, b), (c, d) in itertools.pairwise(places):
            steps = max(abs(c - a), abs(d - b))
            yield from ((a + (c - a) * k // steps, b + (d - b) * k // steps) for k in range(1, steps))
