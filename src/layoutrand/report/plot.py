"""Plots of one quantity against another: points, lines, steps and bars from 0; as SVG, or as parts of a larger one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from layoutrand.report import canvas
from layoutrand.report.canvas import WIDTH, Scale
from layoutrand.report.mark_data import MarkData, attributes

_TOP, _UP, _RIGHT = 10, 190, 10
_TITLE = 20

_UNMARKED: Final = {"trace": "curve", "dashed": "dashes"}
"""Kinds of series that are lines without marks, and how these are drawn."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """Things drawn alike; ``number`` chooses colour and mark, ``name`` stands in the legend unless it is empty.

    A "trace" is a line without marks, for thousands of points.
    """

    name: str
    number: int
    kind: Literal["points", "line", "steps", "bars", "dashed", "trace"]
    points: Sequence[Point]
    told: MarkData | None = None
    """What is told of the points; of "steps" without the first, which begins the line."""


class VerticalBand(NamedTuple):
    """A shade behind the points from ``low`` to ``high``, the darker the higher its ``level`` (from 1)."""

    low: float
    high: float
    level: int


class VerticalLine(NamedTuple):
    """A dashed line at ``place`` in the colour of series ``number`` with its mark on top, and a label beside it."""

    place: float
    number: int
    label: str = ""


@dataclass(frozen=True)
class Plot:
    """One plot; ``horizontals`` are dashed lines.

    ``counts_x`` says that x counts something: only whole numbers are written below.  ``bands`` are shaded.
    """

    title: str
    description: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    horizontals: Sequence[float] = ()
    verticals: Sequence[VerticalLine] = ()
    from_zero: bool = False
    counts_x: bool = False
    bands: Sequence[VerticalBand] = ()


def draw(plot: Plot) -> str:
    """The SVG of the plot, its legend below."""
    drawn, height = parts(plot)
    return canvas.frame(plot.title, plot.description, height, drawn)


def titled(plot: Plot) -> tuple[list[str], float]:
    """The parts of the plot with its title above them, for a sheet of several; and their height."""
    drawn, height = parts(plot)
    title = canvas.text(2, 12, plot.title, style="strong")
    return [title, f'<g transform="translate(0,{_TITLE})">', *drawn, "</g>"], height + _TITLE


def parts(plot: Plot) -> tuple[list[str], float]:
    """What the SVG of the plot is made of, and how high it is."""
    points = [point for series in plot.series for point in series.points]
    heights = [y for _, y in points] + list(plot.horizontals)
    low, high = canvas.span(heights)
    if plot.from_zero or any(series.kind == "bars" for series in plot.series):
        low, high = canvas.span([*heights, 0.0])
        low = 0.0 if plot.from_zero and min(heights, default=0.0) >= 0 else low
    labels = canvas.labelled_ticks(low, high)
    left = 12 + 6.8 * max((len(label) for _, label in labels), default=1)
    bottom = _TOP + 16 + _UP
    places = [*(x for x, _ in points), *(line.place for line in plot.verticals)]
    x = Scale(*canvas.span(places), left, WIDTH - left - _RIGHT)
    y = Scale(low, high, bottom, -_UP)
    drawn = [canvas.text(2, _TOP + 3, plot.y_label, style="quiet")]
    for band in plot.bands:
        width = x(band.high) - x(band.low)
        drawn += [canvas.box(x(band.low), bottom - _UP, width, _UP, "regime")] * band.level
    for place, label in labels:
        drawn += [canvas.line(left, y(place), WIDTH - _RIGHT, y(place), "grid")]
        drawn += [canvas.text(left - 5, y(place) + 4, label, anchor="end")]
    for place, label in canvas.labelled_ticks(x.low, x.high):
        if plot.counts_x and place != round(place):
            continue
        drawn += [canvas.line(x(place), bottom, x(place), bottom + 4)]
        drawn += [canvas.tick(x(place), bottom + 17, f"{place:.0f}" if plot.counts_x else label)]
    drawn.append(canvas.line(left, bottom, WIDTH - _RIGHT, bottom))
    drawn += [canvas.line(left, y(at), WIDTH - _RIGHT, y(at), "reference") for at in plot.horizontals]
    for row, line in enumerate(plot.verticals):
        drawn += _vertical(line, x(line.place), bottom, _TOP + 18 + 12 * row)
    for series in plot.series:
        drawn += _series(series, x, y)
    drawn.append(canvas.text(WIDTH / 2, bottom + 34, plot.x_label, anchor="middle", style="quiet"))
    named = [(series.name, series.number, _UNMARKED.get(series.kind, "")) for series in plot.series if series.name]
    below: float = bottom + 42
    if named:
        rows, below = canvas.legend(named, bottom + 54)
        drawn += rows
    return drawn, below


def _vertical(line: VerticalLine, x: float, bottom: float, y: float) -> list[str]:
    drawn = [
        canvas.line(x, _TOP + 14, x, bottom, f"flag {canvas.colour(line.number)}"),
        canvas.marks([(x, _TOP + 14)], line.number),
    ]
    if not line.label:
        return drawn
    beside, anchor = (7, "start") if x < WIDTH / 2 else (-7, "end")  # where there is more room
    return [*drawn, canvas.text(x + beside, y, line.label, anchor=anchor)]


def _series(series: Series, x: Scale, y: Scale) -> list[str]:
    style = canvas.colour(series.number)
    if series.kind == "bars":
        bars = [canvas.line(x(a), y(0.0), x(a), y(b), f"bar {style}") for a, b in series.points]
        return [*bars, canvas.marks([(x(a), y(b)) for a, b in series.points], series.number)]
    places = [(x(a), y(b)) for a, b in series.points]
    told = "" if series.told is None else attributes(series.told)
    if series.kind == "points":
        return [canvas.marks(places, series.number, told)]
    if series.kind in _UNMARKED:
        return [canvas.polyline(places, f"{_UNMARKED[series.kind]} {style}")]
    if series.kind == "line":
        return [canvas.polyline(places, f"curve {style}"), canvas.marks(places, series.number)]
    steps = [place for (xa, ya), (xb, _) in itertools.pairwise(places) for place in ((xa, ya), (xb, ya))]
    # Marks on at most eight steps tell the lines apart without their colours.
    every = max(1, len(places) // 8)
    return [
        canvas.polyline([*steps, *places[-1:]], f"curve {style}", told),
        canvas.marks(places[::every], series.number),
    ]
