"""Where one binary lies among the layouts, in words: how many of them it was measured to be faster than."""

from __future__ import annotations

from typing import Final

from layoutrand.analysis.analyse import Analysis
from layoutrand.text.quantities import SECONDS

FEWEST_TO_FORETELL: Final = 15
"""So many layouts an own build must lie beyond; of 4 it is beyond all by chance in two cases of five."""


def place_among(analysis: Analysis, mean: float) -> str:
    """``faster than all 30 layouts``, ``slower than all 30 layouts``, ``faster than 22 of 30 layouts``.

    Of what is no speed, such as a count of instructions, ``less than ...``.  A layout that measured the same counts
    for neither; where all do it is ``as all 30 layouts``.
    """
    means, beaten, lost = _counts(analysis, mean)
    more_is_better = analysis.better == "more"
    of_speed = more_is_better or analysis.unit in SECONDS
    faster, slower = ("faster", "slower") if of_speed else ("less", "more")
    every = f"all {len(means):,} layouts" if len(means) > 1 else "the one layout"
    if not beaten and not lost:
        return f"as {every}"
    if beaten == len(means):
        return f"{faster} than {every}"
    if lost == len(means):
        return f"{slower} than {every}"
    return f"{faster} than {beaten:,} of {len(means):,} layouts"


def briefly_among(analysis: Analysis, mean: float) -> str:
    """The same for a column: ``beats all 30``, ``beaten by all 30``, ``beats 22 of 30``; a dash beside one layout."""
    means, beaten, lost = _counts(analysis, mean)
    if len(means) == 1:  # of one other build there is no place
        return "-"
    if not beaten and not lost:
        return f"as all {len(means):,}"
    if lost == len(means):
        return f"beaten by all {len(means):,}"
    return f"beats all {len(means):,}" if beaten == len(means) else f"beats {beaten:,} of {len(means):,}"


def expected_move(analysis: Analysis) -> float | None:
    """How far the mean over layouts lies from an own build that lies beyond all of them, as a share of it.

    That is expected of a build whose code is laid out anew, not of the next one.  None where that is within the
    layouts, the layouts are too few, or the interval of the two means does not tell the side: simulated
    (`tests/analysis/test_own_build_rates.py`), the side is wrong in at most 2 of 100 that are told, and, where
    executions differ no more than layouts do, the size between half and twice the true one in 75 at least.
    """
    stock, means = analysis.stock, [mean for _, mean in analysis.binary_means]
    if stock is None or stock.shift is None or analysis.one_layout or len(means) < FEWEST_TO_FORETELL:
        return None
    faster, slower = stock.mean < min(means), stock.mean > max(means)
    is_sure = (faster and stock.shift.low > 1) or (slower and stock.shift.high < 1)
    return stock.shift.centre - 1 if is_sure else None


def _counts(analysis: Analysis, mean: float) -> tuple[list[float], int, int]:
    """The means of the layouts; how many of them are worse, and how many better."""
    means = [value for _, value in analysis.binary_means]
    above, below = sum(value > mean for value in means), sum(value < mean for value in means)
    return (means, below, above) if analysis.better == "more" else (means, above, below)
