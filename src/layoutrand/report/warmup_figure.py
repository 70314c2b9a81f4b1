"""The figures of `layoutrand warmup`: for each system the run sequence, the lag plot and the autocorrelations.

As in ISMM 2013, section 6.1, the iterations stand beside the same ones in a random order, which shows what chance
alone looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.analysis.warmup_command import FEWEST_ITERATIONS, Warmup
from layoutrand.report import canvas, plot, style
from layoutrand.report.plot import Plot, Point, Series, VerticalLine
from layoutrand.stats import autocorrelation, lag_points, reordered

SHOWN: Final = 4
_GREY: Final = 4
_MM: Final = 0.25  # for each unit of a figure: about a pixel of a screen
_NOTES: Final = (
    "Run sequence: every iteration of up to four executions; dashed: the suggested warm-up, and the one in force.",
    "Lag 1 and autocorrelation: the first execution without warm-up (blue), and the same iterations in a random order "
    "(grey).",
    "Independent iterations look like the grey ones: no pattern in the lag plot, correlations within the dashed band.",
)


def draw(found: Sequence[Warmup]) -> str:
    """The figure (SVG) of one benchmark; ``found`` are its systems."""
    rows = [[plot.titled(each) for each in _row(system)] for system in found]
    figure = canvas.sheet(f"{found[0].benchmark}: {found[0].metric}", rows, _NOTES)
    return style.standalone(figure, _MM * canvas.WIDTH * max(map(len, rows)))


def _row(each: Warmup) -> list[Plot]:
    label = f"{each.metric} [{each.unit}]" if each.unit else each.metric
    marks = [VerticalLine(float(each.in_force), _GREY, f"in force: {each.in_force}")]
    if each.suggested is not None:
        marks.insert(0, VerticalLine(float(each.suggested), _GREY, f"suggested: {each.suggested}"))
    lines = [
        Series("", number, "trace", [(float(k), value) for k, value in enumerate(values)])
        for number, values in reversed(list(enumerate(each.series[:SHOWN])))
    ]
    sequence = Plot(f"{each.system}: run sequence", "", "iteration", label, lines, verticals=marks, counts_x=True)
    dropped = _dropped(each)
    rest = each.series[0][dropped:]
    if len(rest) < FEWEST_ITERATIONS:
        return [sequence]
    chance = reordered(rest).tolist()
    lag = Plot(
        f"{each.system}: lag 1, from iteration {dropped} on",
        "",
        f"earlier {label}",
        f"later {label}",
        [Series("", _GREY, "points", _pairs(chance)), Series("", 0, "points", _pairs(rest))],
    )
    found = autocorrelation(rest)
    own, other = (
        [(k + shift, value) for k, value in enumerate(values) if k]
        for values, shift in ((found.values, 0.0), (found.reordered, 0.3))
    )
    bars = Plot(
        f"{each.system}: autocorrelation, from iteration {dropped} on",
        "",
        "lag",
        "correlation",
        [Series("", _GREY, "bars", other), Series("", 0, "bars", own)],
        horizontals=(-found.band, found.band),
        counts_x=True,
    )
    return [sequence, lag, bars]


def pairs(each: Warmup) -> list[tuple[Plot, Plot]]:
    """Plots without colours, for a terminal: each of the first execution beside that of its iterations reordered.

    The run sequence is that of all iterations; lag and autocorrelation leave warm-up out, and are there only where
    enough is left.
    """
    label = f"{each.metric} [{each.unit}]" if each.unit else each.metric
    marks = sorted({each.in_force} if each.suggested is None else {each.in_force, each.suggested})
    verticals = [VerticalLine(float(mark), _GREY) for mark in marks if mark]
    every = each.series[0]
    plots = [
        (_sequence(f"run sequence: {label}", every, verticals), _sequence("reordered", reordered(every).tolist(), ())),
    ]
    dropped = _dropped(each)
    rest = every[dropped:]
    if len(rest) < FEWEST_ITERATIONS:
        return plots
    found = autocorrelation(rest)
    chance = reordered(rest).tolist()
    plots.append((_lag(f"lag 1 from {dropped} on", rest), _lag("reordered", chance)))
    title = f"autocorrelation from {dropped} on"
    return [*plots, (_bars(title, found.values, found.band), _bars("reordered", found.reordered, found.band))]


def _sequence(title: str, values: Sequence[float], marks: Sequence[VerticalLine]) -> Plot:
    points = [(float(k), value) for k, value in enumerate(values)]
    return Plot(title, "", "iteration", "", [Series("", 0, "points", points)], verticals=marks)


def _lag(title: str, values: Sequence[float]) -> Plot:
    return Plot(title, "", "earlier iteration", "", [Series("", 0, "points", _pairs(values))])


def _bars(title: str, values: Sequence[float], band: float) -> Plot:
    points = [(float(k), value) for k, value in enumerate(values) if k]
    return Plot(title, "", "lag", "", [Series("", 0, "bars", points)], horizontals=(-band, 0.0, band))


def _dropped(each: Warmup) -> int:
    return each.in_force if each.suggested is None else each.suggested


def _pairs(values: Sequence[float]) -> list[Point]:
    return [(float(a), float(b)) for a, b in lag_points(values, 1)]
