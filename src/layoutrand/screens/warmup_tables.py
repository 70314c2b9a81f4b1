"""What `warmup` shows on any `Display`: how many iterations to drop, and plots of them as text."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutrand.screens.display import Display

if TYPE_CHECKING:
    from layoutrand.analysis.warmup_command import Warmup

_LEVELS = "▁▂▃▄▅▆▇█"
_COLUMNS = 40


def show_warmup(found: Sequence[Warmup], page: Display) -> None:
    """One row for each benchmark and system, then what it means."""
    from layoutrand.report.braille import style_for

    page.table(
        "Iterations to drop",
        (
            "benchmark",
            "system",
            "metric",
            "executions",
            "iterations",
            "in force",
            "suggested",
            "initialised",
            "independent",
            "DaCapo",
            "Georges",
        ),
        [
            (
                each.benchmark,
                each.system,
                each.metric,
                f"{len(each.series)} of {each.n_recorded}",
                str(min(map(len, each.series))),
                str(each.in_force),
                _count(each.suggested, is_open="initialised" in each.too_few),
                _count(each.initialised, is_open="initialised" in each.too_few),
                _count(each.independent, is_open="independent" in each.too_few),
                _count(each.dacapo, is_open="dacapo" in each.too_few),
                _count(each.georges, is_open="georges" in each.too_few),
            )
            for each in found
        ],
    )
    page.line()
    levels = style_for(sys.stdout.encoding).levels
    for each in found:
        name = f"{each.benchmark}, {each.system}, {each.metric}"
        page.line(f"{name}: {sparkline(each.series[0], levels)} ({_state(each)}; in force: {_in_force(each)})")
        for warning in each.warnings:
            page.warn(f"{name}: {warning}")


def show_plots(found: Sequence[Warmup], page: Display, *, width: int) -> None:
    """Run sequence, lag plot and autocorrelations of each, beside those of the iterations reordered."""
    from layoutrand.report.braille import beside, style_for
    from layoutrand.report.warmup_figure import pairs

    style = style_for(sys.stdout.encoding)
    for each in found:
        page.line()
        page.line(f"{each.benchmark}, {each.system}, {each.metric}: the first execution")
        for pair in pairs(each):
            page.line()
            for line in beside(pair, width=width, style=style):
                page.line(line)


def _in_force(each: Warmup) -> str:
    return f"{each.in_force}, {each.setting}"


def _count(value: int | None, *, is_open: bool) -> str:
    """``is_open`` where there are too few iterations to tell."""
    if value is not None:
        return str(value)
    return "cannot tell" if is_open else "never"


def _state(each: Warmup) -> str:
    if each.independent is not None:
        return f"iterations look independent from number {each.independent} on"
    if each.initialised is not None:
        told = "too few follow to tell whether they" if "independent" in each.too_few else "but iterations"
        return f"initialised from number {each.initialised} on, {told} depend on each other"
    if "initialised" in each.too_few:
        return "too few iterations to tell"
    return "no steady state seen"


def sparkline(values: Sequence[float], levels: str = _LEVELS) -> str:
    """The run sequence in at most 40 characters, each the mean of a stretch, from the lowest to the highest of them."""
    n = min(_COLUMNS, len(values))
    edges = [len(values) * k // n for k in range(n + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, span = min(means), max(means) - min(means)
    return "".join(levels[int((mean - low) / span * (len(levels) - 1) + 0.5) if span else 0] for mean in means)
