"""How many binaries would decide a comparison: the forecast, and its words."""

from __future__ import annotations

from typing import Any, Final

from layoutrand.analysis.primary_ratio import primary_data
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.errors import AnalysisError
from layoutrand.stats import Forecast, Interval, PairSpread, forecast, missed_share, pair_spread, running_forecast
from layoutrand.stats.running_ratio import METHOD as RUNNING
from layoutrand.stats.sample_size import ASSURANCE, MOST_BINARIES, POWER
from layoutrand.text.quantities import percent, telling
from layoutrand.warning import plural, sentences_of

GOING_ON: Final = 0.12
"""How often two systems that do not differ at all are told to differ, without a threshold, by who starts with 5 layouts
and adds as many as are named, up to 1,000, until a comparison decides at a confidence of 95 %
(`tests/analysis/test_going_on.py`)."""
_SIMULATED: Final = 0.95
"""The confidence that it was simulated at."""


def ratio_spread(pair: SamplePair, primary: Primary) -> PairSpread | None:
    """How much the ratio varies from one binary of each system to the next; None where means are not above 0.

    It is the variance that the verdict goes by: that of pairs where the ratio is one of pairs.  Both the forecast of
    `compare` and the counts of `plan` rest on it.
    """
    try:
        return pair_spread(*primary_data(pair, primary), is_paired=primary == "paired")
    except AnalysisError:  # no logarithm, or a mean of 0: the ratio itself says what it can
        return None


def to_decide(ratio: Interval, pair: SamplePair, primary: Primary, threshold: float) -> Forecast | None:
    """The forecast for the primary ratio, with as many executions of each binary as the pair has; None as above."""
    try:
        if ratio.method == RUNNING:
            old, new = primary_data(pair, primary)
            return running_forecast(old, new, threshold=threshold, confidence=ratio.confidence)
        spread = ratio_spread(pair, primary)
        if spread is None:
            return None
        return forecast(ratio, spread, n_binaries=min(spread.n_binaries), threshold=threshold)
    except AnalysisError:
        return None


def range_words(low: int | None, high: int | None, *, more: str = "more than ") -> str:
    """``12 to 40``, ``40``, ``more than 100,000``."""
    if low is None:
        return f"{more}{MOST_BINARIES:,}"
    if high is None:
        return f"{low:,} to {more}{MOST_BINARIES:,}"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def forecast_words(
    found: Forecast, n_binaries: int, counted: str = "binaries", *, confidence: float = _SIMULATED
) -> str:
    """What would decide an open verdict that rests on ``n_binaries`` of each; empty where nothing can be said."""
    if found.warnings:
        return ""
    share = f"in at least {percent(found.power, 0)} of cases"
    what = f"a true difference of {percent(found.difference, telling([100 * found.difference]))}"
    if found.is_measured:
        true = f"if they are about normally distributed and there is {what}, as measured"
    else:
        true = f"if they are about normally distributed and the two are the same, or there is {what} or more"
    if found.n_more == 0:
        return f"{n_binaries:,} {counted} each decide it {share} {true}; what lies between takes more"
    # `plan` may count with other executions of each, and with fewer binaries for that.
    each = f"{counted} each, executed as often as these," if counted == "binaries" else f"{counted} each"
    decided = f"{range_words(found.fewest, found.n_binaries)} {each} would decide it {share} {true}"
    if not found.is_measured or confidence != _SIMULATED:
        return decided
    often = f"about {100 * GOING_ON:.0f} of 100"
    return f"{decided}; who adds them until it is decided finds a difference where there is none in {often} cases"


def promise(n_binaries: int) -> str:
    """What the ranges of a plan promise whose smallest pilot has ``n_binaries``, and what they cannot."""
    missed = missed_share(n_binaries)
    return (
        "The first number is enough if binaries differ as much as in the pilot, the second for "
        f"{percent(ASSURANCE, 0)} of pilots of this size. Enough is: at least {percent(POWER, 0)} of experiments have "
        "an interval so narrow, or decide. Both are for layouts that are about normally distributed: what a pilot has "
        "not seen is in no plan, and "
        f"{plural(n_binaries)} can miss a group of up to {100 * missed:.2g} % of all layouts."
    )


def briefly_promised(n_binaries: int, counted: str = "layouts") -> str:
    """The same for a screen; they are ``counted`` as layouts or executions."""
    return (
        f"Enough: at least {percent(POWER, 0)} of experiments decide, where what is measured is about normally "
        f"distributed. The first number is that if {counted} differ as much as these do, the second for "
        f"{percent(ASSURANCE, 0)} of pilots of this size; {n_binaries:,} {counted} "
        f"can miss a group of up to {100 * missed_share(n_binaries):.2g} % of all."
    )


def forecast_json(found: Forecast | None) -> dict[str, Any] | None:
    """For a document: ``n_binaries`` is the upper number, which keeps the promise, and ``fewest`` the lower."""
    if found is None:
        return None
    return {
        **{name: getattr(found, name) for name in ("n_binaries", "n_more", "fewest", "difference", "is_measured")},
        "power": found.power,
        "assurance": found.assurance,
        "warnings": sentences_of(found.warnings),
    }
