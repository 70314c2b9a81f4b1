"""Verdicts in brief, for screens and pages: a symbol, the change in percent with its ends, why in a few words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from layoutrand.analysis.compare import BenchmarkRatio
from layoutrand.analysis.conclusion import Conclusion, few_layouts, has_too_few, hidden_by_layout
from layoutrand.analysis.next_steps import WITHIN_REACH
from layoutrand.analysis.sentences import percent_digits
from layoutrand.stats import Interval
from layoutrand.text.quantities import (
    MINUS,
    NO_BOUNDS,
    NO_LOWER_BOUND,
    has_no_lower_bound,
    signed,
    spans_tenfold,
    telling_side,
)

SYMBOLS: Final[Mapping[str, str]] = {
    "faster": "✓",
    "slower": "✗",
    "same": "≈",
    "cannot tell": "?",
    "same program": "=",
    "layout matters": "●",
    "practically none": "≈",
    "machine, not layout": "⚠",
    "one layout": "=",
}
"""Of verdicts on two systems, and on the layouts of one."""

_EXACT_DIGITS: Final = 2


def change_words(ratio: Interval | None) -> tuple[str, str]:
    """``+0.76 %`` and ``(+0.60 … +0.92)``; a dash where there is no ratio."""
    if ratio is None:
        return "-", "no ratio"
    digits = percent_digits(ratio)
    centre, low, high = (100 * (end - 1) for end in (ratio.centre, ratio.low, ratio.high))
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{signed(centre, 1)} %", f"({NO_BOUNDS})"
    if has_no_lower_bound(ratio.centre, ratio.low):
        digits = max(1, digits)
        return f"{signed(centre, digits)} %", f"(up to {signed(high, digits)}, {NO_LOWER_BOUND})"
    if spans_tenfold(ratio.low, ratio.high):
        return f"{signed(centre, 0)} %", f"({MINUS}90 or less … +900 or more)"
    if low == high:  # simulated: every digit counts, and none of them tells more
        return f"{signed(centre, _in_brief(centre, digits))} %", "(exactly)"
    return f"{signed(centre, digits)} %", f"({signed(low, digits)} … {signed(high, digits)})"


def size_in_brief(ratio: Interval) -> str:
    """``1.21 %``: a size for a sentence, however exactly it is known."""
    centre = 100 * (ratio.centre - 1)
    return f"{signed(centre, _in_brief(centre, percent_digits(ratio)))} %"


def _in_brief(centre: float, digits: int) -> int:
    """Two digits after the point at most, but for what these would tell as no difference."""
    return max(min(digits, _EXACT_DIGITS), min(digits, telling_side([centre], 0)))


def in_a_word(concluded: Conclusion, pair: BenchmarkRatio | None) -> str:
    """Why there is no verdict, or that it is doubtful; ``pair`` is None for a suite."""
    causes = [each.cause for each in concluded.reasons]
    if concluded.verdict == "cannot tell":
        if "machine" in causes or "drift" in causes:
            return "machine too noisy"
        undecides = [each.cause for each in concluded.reasons if each.effect == "undecides"]
        if first := next((cause for cause in undecides if cause != "interval too wide"), ""):
            return "" if first == "not to be tested" else first  # "no ratio" stands beside it, and below it why
        if pair is None:
            return "interval too wide"  # whatever its benchmarks need: nothing says how many of all it takes
        if (few := few_layouts(pair.warnings)) is not None:
            return f"has only {few.n_layouts:,} layout{'s' * (few.n_layouts != 1)}"
        if pair.ratio is not None and not math.isfinite(pair.ratio.half_width):
            return "too few layouts"  # looks after every round make no bounds of them yet, however quiet they are
        forecast = pair.forecast
        if forecast is not None and forecast.n_more == 0:  # what is told needs no more, so what lies between does
            return "more layouts may tell" if forecast.is_measured else "about the threshold"
        needed = None if forecast is None else forecast.n_binaries
        if needed and needed <= WITHIN_REACH:
            return f"{needed:,} layouts may tell"
        if has_too_few(pair):
            return "too few layouts"
        return "layout hides it" if hidden_by_layout(pair) else "too noisy"
    if concluded.beside == "cannot tell" and concluded.verdict in {"faster", "slower", "same"}:
        return "alone, not beside all"
    return "doubtful" if concluded.trust == "doubtful" else ""
