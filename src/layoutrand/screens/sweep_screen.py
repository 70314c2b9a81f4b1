"""The screen of `sweep`: the verdict, a line for each offset, and what was proved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layoutrand.screens.charts import Line, PercentAxis, screen_width
from layoutrand.screens.display import Screen

if TYPE_CHECKING:
    from layoutrand.explain.several_bases import SeveralBases
    from layoutrand.explain.sweep import Sweep
    from layoutrand.stats import Interval


def show_sweep(found: Sweep, page: Screen, columns: int | None) -> None:
    """The verdict, dose and response, and what was proved."""
    from layoutrand.explain import sweep_words as words

    if found.switched is not None:
        page.sentence(words.what_it_does(found))
    if found.switched is None or found.response.can_tell:  # two kinds of offsets need fewer rounds than each of many
        page.sentence(words.verdict(found))
    for line in (
        words.why(found),
        *words.what_counters_say(found),
        words.no_counters(found),
        words.not_seen(found),
        words.not_looked_at(found),
    ):
        if line:
            page.sentence(line)
    page.line()
    page.sentence(words.what_was_done(found))
    page.screen(list(dose_lines(found, screen_width(columns))))
    page.line()
    page.sentence(words.what_lay_still(found))
    for warning in found.warnings:
        page.warn(str(warning))
    page.sentence(words.one_layout(found))


def show_bases(found: SeveralBases, page: Screen, columns: int | None) -> None:
    """What holds over layouts, what each says, and the means over them."""
    from layoutrand.explain import several_bases as words

    page.sentence(words.verdict_over_bases(found))
    if said := words.agreement(found):
        page.sentence(said)
    page.line()
    for line in words.each_base(found):
        page.sentence(line)
    page.line()
    page.screen(list(dose_lines(found.as_one, screen_width(columns))))
    for sweep in found.sweeps:
        for warning in sweep.warnings:
            page.warn(f"layout {sweep.order.base}: {warning}")


def dose_lines(found: Sweep, width: int) -> Iterator[Line]:
    """A line for each offset: its mean, and how much it differs from the others, with the interval."""
    from layoutrand.explain import sweep_words as words
    from layoutrand.text.quantities import digits_of, number, signed

    ends = [[100 * math.expm1(end) for end in _ends(run.difference)] for run in found.response.single]
    means = found.means.mean(axis=0).tolist()
    half = max((high - low) / 2 for low, _, high in ends)  # what is told is no finer than the intervals
    fine = (
        min(2, digits_of(half))
        if half
        else words.exact_digits(*(run.difference.centre for run in found.response.single))
    )
    digits = (fine, digits_of(half / 100 * max(means)))
    left = [
        (str(offset), f"{mean:,.{digits[1]}f}" if half else number(mean), f"{signed(centre, digits[0])} %")
        for offset, mean, (_, centre, _) in zip(found.offsets, means, ends, strict=True)
    ]
    titles = ("offset", f"mean, {found.sample.unit}", "from others")
    widths = [max(len(title), *(len(row[n]) for row in left)) for n, title in enumerate(titles)]
    axis = PercentAxis.of([end for row in ends for end in row], 0, width - sum(widths) - 8)
    yield [("  ".join(title.rjust(size) for title, size in zip(titles, widths, strict=True)), "dim")]
    slow = set(found.response.largest.doses) if found.response.matters else set()
    for offset, row, (low, centre, high) in zip(found.offsets, left, ends, strict=True):
        cells = "  ".join(cell.rjust(size) for cell, size in zip(row, widths, strict=True))
        yield [(cells, ""), ("  ", ""), *axis.interval(low, centre, high, "yellow" if offset in slow else "")]
    yield [(" " * (sum(widths) + 6), ""), *axis.scale()]


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.low, interval.centre, interval.high
