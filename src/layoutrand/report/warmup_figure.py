"""The figures of `layoutrand warmup`: for each system the run sequence, the lag plot and the autocorrelations.

As in ISMM 2013, section 6.1, the iterations stand beside the same ones in a random order, which shows what chance
alone looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.analysis.warmup_command import FEWEST_ITERATIONS, Warmup
from layoutrand.report.svg import COLOURS, PALE, Panel, PanelShape, Point, page
from layoutrand.stats import autocorrelation, lag_points, reordered

SHOWN: Final = len(COLOURS)
_NOTES: Final = (
    "Run sequence: every iteration of up to four executions; dashed: the suggested warm-up, and the one in force.",
    "Lag 1 and autocorrelation: the first execution without warm-up (blue), and the same iterations in a random order "
    "(grey).",
    "Independent iterations look like the grey ones: no pattern in the lag plot, correlations within the dashed band.",
)


def draw(found: Sequence[Warmup]) -> str:
    """The figure (SVG) of one benchmark; ``found`` are its systems."""
    return page(f"{found[0].benchmark}: {found[0].metric}", [_row(each) for each in found], _NOTES)


def _row(each: Warmup) -> list[Panel]:
    label = f"{each.metric} [{each.unit}]" if each.unit else each.metric
    marks = [(float(each.in_force), "#777777", f"in force: {each.in_force}")]
    if each.suggested is not None:
        marks = [(float(each.suggested), "#b00020", f"suggested: {each.suggested}")]
        if each.suggested != each.in_force:
            marks.append((float(each.in_force), "#777777", ""))
    lines = [
        PanelShape("line", [(float(k), value) for k, value in enumerate(values)], COLOURS[number])
        for number, values in reversed(list(enumerate(each.series[:SHOWN])))
    ]
    sequence = Panel(f"{each.system}: run sequence", "iteration", label, lines, verticals=marks)
    dropped = _dropped(each)
    rest = each.series[0][dropped:]
    if len(rest) < FEWEST_ITERATIONS:
        return [sequence]
    chance = reordered(rest).tolist()
    lag = Panel(
        f"{each.system}: lag 1, from iteration {dropped} on", f"earlier {label}", f"later {label}",
        [PanelShape("points", _pairs(chance), PALE), PanelShape("points", _pairs(rest), COLOURS[0])],
    )  # fmt: skip
    found = autocorrelation(rest)
    own, other = (
        [(k + shift, value) for k, value in enumerate(values) if k]
        for values, shift in ((found.values, 0.0), (found.reordered, 0.3))
    )
    bars = Panel(
        f"{each.system}: autocorrelation, from iteration {dropped} on", "lag", "correlation",
        [PanelShape("bars", other, PALE), PanelShape("bars", own, COLOURS[0])], horizontals=(-found.band, found.band),
    )  # fmt: skip
    return [sequence, lag, bars]


def pairs(each: Warmup) -> list[tuple[Panel, Panel]]:
    """Plots without colours, for a terminal: each of the first execution beside that of its iterations reordered.

    The run sequence is that of all iterations; lag and autocorrelation leave warm-up out, and are there only where
    enough is left.
    """
    label = f"{each.metric} [{each.unit}]" if each.unit else each.metric
    marks = sorted({each.in_force} if each.suggested is None else {each.in_force, each.suggested})
    verticals = [(float(mark), PALE, "") for mark in marks if mark]
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


def _sequence(title: str, values: Sequence[float], marks: Sequence[tuple[float, str, str]]) -> Panel:
    points = [(float(k), value) for k, value in enumerate(values)]
    return Panel(title, "iteration", "", [PanelShape("points", points, COLOURS[0])], verticals=marks)


def _lag(title: str, values: Sequence[float]) -> Panel:
    return Panel(title, "earlier iteration", "", [PanelShape("points", _pairs(values), COLOURS[0])])


def _bars(title: str, values: Sequence[float], band: float) -> Panel:
    points = [(float(k), value) for k, value in enumerate(values) if k]
    return Panel(title, "lag", "", [PanelShape("bars", points, COLOURS[0])], horizontals=(-band, 0.0, band))


def _dropped(each: Warmup) -> int:
    return each.in_force if each.suggested is None else each.suggested


def _pairs(values: Sequence[float]) -> list[Point]:
    return [(float(a), float(b)) for a, b in lag_points(values, 1)]
