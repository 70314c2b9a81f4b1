"""Plots of one quantity against another: points, lines, steps and bars from 0."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from layoutrand.report import canvas
from layoutrand.report.canvas import WIDTH, Scale

_TOP, _UP, _RIGHT = 10, 190, 10

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """Things drawn alike; ``number`` chooses colour and mark, ``name`` stands in the legend unless it is empty."""

    name: str
    number: int
    kind: Literal["points", "line", "steps", "bars", "dashed"]
    points: Sequence[Point]


@dataclass(frozen=True)
class Plot:
    """One plot; ``horizontals`` are dashed lines, ``verticals`` (place, series) lines in a series' colour.

    ``counts_x`` says that x counts something: only whole numbers are written below.
    """

    title: str
    description: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    horizontals: Sequence[float] = ()
    verticals: Sequence[tuple[float, int]] = ()
    from_zero: bool = False
    counts_x: bool = False


def draw(plot: Plot) -> str:
    """The SVG of the plot, its legend below."""
    points = [point for series in plot.series for point in series.points]
    heights = [y for _, y in points] + list(plot.horizontals)
    low, high = canvas.span(heights)
    if plot.from_zero or any(series.kind == "bars" for series in plot.series):
        low, high = canvas.span([*heights, 0.0])
        low = 0.0 if plot.from_zero and min(heights, default=0.0) >= 0 else low
    labels = canvas.labelled_ticks(low, high)
    left = 12 + 6.8 * max((len(label) for _, label in labels), default=1)
    bottom = _TOP + 16 + _UP
    x = Scale(*canvas.span([*(x for x, _ in points), *(x for x, _ in plot.verticals)]), left, WIDTH - left - _RIGHT)
    y = Scale(low, high, bottom, -_UP)
    parts = [canvas.text(2, _TOP + 3, plot.y_label, style="quiet")]
    for place, label in labels:
        parts += [canvas.line(left, y(place), WIDTH - _RIGHT, y(place), "grid")]
        parts += [canvas.text(left - 5, y(place) + 4, label, anchor="end")]
    for place, label in canvas.labelled_ticks(x.low, x.high):
        if plot.counts_x and place != round(place):
            continue
        parts += [canvas.line(x(place), bottom, x(place), bottom + 4)]
        parts += [canvas.tick(x(place), bottom + 17, f"{place:.0f}" if plot.counts_x else label)]
    parts.append(canvas.line(left, bottom, WIDTH - _RIGHT, bottom))
    parts += [canvas.line(left, y(at), WIDTH - _RIGHT, y(at), "reference") for at in plot.horizontals]
    for place, number in plot.verticals:
        parts.append(canvas.line(x(place), _TOP + 14, x(place), bottom, f"flag {canvas.colour(number)}"))
        parts.append(canvas.marks([(x(place), _TOP + 14)], number))
    for series in plot.series:
        parts += _series(series, x, y)
    parts.append(canvas.text(WIDTH / 2, bottom + 34, plot.x_label, anchor="middle", style="quiet"))
    named = [(series.name, series.number) for series in plot.series if series.name]
    below: float = bottom + 42
    if named:
        drawn, below = canvas.legend(named, bottom + 54)
        parts += drawn
    return canvas.frame(plot.title, plot.description, below, parts)


def _series(series: Series, x: Scale, y: Scale) -> list[str]:
    style = canvas.colour(series.number)
    if series.kind == "bars":
        bars = [canvas.line(x(a), y(0.0), x(a), y(b), f"bar {style}") for a, b in series.points]
        return [*bars, canvas.marks([(x(a), y(b)) for a, b in series.points], series.number)]
    places = [(x(a), y(b)) for a, b in series.points]
    if series.kind == "points":
        return [canvas.marks(places, series.number)]
    if series.kind == "dashed":
        return [canvas.polyline(places, f"dashes {style}")]
    if series.kind == "line":
        return [canvas.polyline(places, f"curve {style}"), canvas.marks(places, series.number)]
    steps = [place for (xa, ya), (xb, _) in itertools.pairwise(places) for place in ((xa, ya), (xb, ya))]
    # Marks on at most eight steps tell the lines apart without their colours.
    every = max(1, len(places) // 8)
    return [canvas.polyline([*steps, *places[-1:]], f"curve {style}"), canvas.marks(places[::every], series.number)]
