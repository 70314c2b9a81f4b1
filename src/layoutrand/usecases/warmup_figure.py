"""The figure of `layoutrand warmup`: for each system the run sequence, the lag plot and the autocorrelations.

As in ISMM 2013, section 6.1, the iterations stand beside the same ones in a random order, which shows what chance
alone looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from layoutrand.stats import autocorrelation, lag_points, reordered
from layoutrand.text.svg import COLOURS, PALE, Panel, Point, Shape, page
from layoutrand.usecases.warmup import FEWEST_ITERATIONS, Warmup

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
        Shape("line", [(float(k), value) for k, value in enumerate(values)], COLOURS[number])
        for number, values in reversed(list(enumerate(each.series[:SHOWN])))
    ]
    sequence = Panel(f"{each.system}: run sequence", "iteration", label, lines, verticals=marks)
    dropped = each.in_force if each.suggested is None else each.suggested
    rest = each.series[0][dropped:]
    if len(rest) < FEWEST_ITERATIONS:
        return [sequence]
    chance = reordered(rest).tolist()
    lag = Panel(
        f"{each.system}: lag 1, from iteration {dropped} on", f"earlier {label}", f"later {label}",
        [Shape("points", _pairs(chance), PALE), Shape("points", _pairs(rest), COLOURS[0])],
    )  # fmt: skip
    found = autocorrelation(rest)
    own, other = (
        [(k + shift, value) for k, value in enumerate(values) if k]
        for values, shift in ((found.values, 0.0), (found.reordered, 0.3))
    )
    bars = Panel(
        f"{each.system}: autocorrelation, from iteration {dropped} on", "lag", "correlation",
        [Shape("bars", other, PALE), Shape("bars", own, COLOURS[0])], horizontals=(-found.band, found.band),
    )  # fmt: skip
    return [sequence, lag, bars]


def _pairs(values: Sequence[float]) -> list[Point]:
    return [(float(a), float(b)) for a, b in lag_points(values, 1)]
