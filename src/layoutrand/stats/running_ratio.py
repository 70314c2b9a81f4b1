"""The ratio of two systems while rounds go on: an interval, its p-values, and how many rounds would decide.

All of it holds at every moment together, so rounds may stop as soon as it says enough.  Each rests on the martingale of
`running_interval`, of the logarithms of the rounds' ratios.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.anytime import evidence_against, relative_half_width, running_interval
from layoutrand.stats.checks import check_confidence, check_fraction, check_positive
from layoutrand.stats.decision import Forecast
from layoutrand.stats.interval import Interval, is_constant, sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import normal_quantile
from layoutrand.stats.ratio import check_pairs, log_means
from layoutrand.stats.sample_size import ASSURANCE, MOST_BINARIES, POWER, variance_limit
from layoutrand.stats.stats_warning import StatsWarning

FEWEST_ROUNDS: Final = 8
"""No verdict rests on fewer rounds.

Of normal values 5 would do.  Where layouts fall into two groups, 5 of 5 in one group are so common that verdicts at the
threshold were wrong in 9 of 100 simulated experiments, with 8 rounds in less than 5 (`watching_study`).
"""

FEWEST_EXACT: Final = 3
"""Rounds of counts that are the same to the digit in every layout of each system: there is nothing to be estimated."""

_LARGEST_LOG: Final = 700.0
"""exp(709.8) is the largest number."""

METHOD: Final = "paired-anytime"


def running_ratio(
    baseline: Measurements, candidate: Measurements, *, confidence: float = 0.95, is_count: bool = False
) -> Interval:
    """The ratio of two systems by rounds, with an interval that may be looked at after every round.

    Parameters
    ----------
    baseline, candidate
        Measurements above 0 of the two systems, axes highest level first, as many binaries of each, round by round.
    confidence
        The probability that the intervals after 8, 9, 10, ... rounds hold the ratio, all of them.
    is_count
        Whether they are counts of a simulated processor, which repeat to the digit.

    Returns
    -------
    Interval
        Geometric, of method ``"paired-anytime"``; without bounds below `FEWEST_ROUNDS`.  Counts that no layout changes,
        in either system, have an interval of no length from `FEWEST_EXACT` rounds on.

    Raises
    ------
    AnalysisError
        Malformed data, different numbers of binaries, means not above 0, a ratio beyond the range of floating point.
    """
    check_confidence(confidence)
    old, new = _logs(baseline, candidate)
    logs = new - old
    found = running_interval(logs, confidence=confidence)
    if is_count and _is_exact(old, new):
        ratio = _ratio(float(logs[0]))
        return replace(found, centre=ratio, low=ratio, high=ratio, method=METHOD)
    centre = _ratio(found.centre)
    if logs.size < FEWEST_ROUNDS or not math.isfinite(found.half_width):
        return replace(found, centre=centre, low=0.0, high=math.inf, method=METHOD)
    return replace(found, centre=centre, low=_power(found.low), high=_power(found.high), method=METHOD)


def running_test(
    baseline: Measurements, candidate: Measurements, *, ratio: float = 1.0, is_count: bool = False
) -> float:
    """The p-value of a ratio, which holds at whatever round one stops.

    Parameters
    ----------
    baseline, candidate, is_count
        As in `running_ratio`.
    ratio
        The ratio of the hypothesis.

    Returns
    -------
    float
        The inverse of the martingale (an e-value); its chance to be ``p`` or less, ever, is at most ``p``.

    Raises
    ------
    AnalysisError
        As `running_ratio`; a ratio not above 0.
    """
    check_positive(ratio, name="ratio")
    old, new = _logs(baseline, candidate)
    if is_count and _is_exact(old, new):
        return 1.0 if math.isclose(float(new[0] - old[0]), math.log(ratio), abs_tol=1e-12) else 0.0
    return evidence_against(new - old, math.log(ratio))


def running_decision(
    baseline: Measurements, candidate: Measurements, *, threshold: float = 0.0, is_count: bool = False
) -> float:
    """How sure a verdict by `running_ratio` is, at whatever round one stops; as `decision_test`.

    Parameters
    ----------
    baseline, candidate, is_count
        As in `running_ratio`.
    threshold
        Smallest relative difference that matters.

    Returns
    -------
    float
        The largest `running_test` of the edges that the verdict excludes; to be adjusted like the p-value of a test.

    Raises
    ------
    AnalysisError
        As `running_ratio`; a threshold outside [0, 1).
    """
    check_fraction(threshold, name="threshold")
    old, new = _logs(baseline, candidate)
    logs = new - old
    centre = _ratio(float(logs.mean()))
    if is_count and _is_exact(old, new):
        return 1.0 if threshold == 0 and centre == 1 else 0.0
    if 1 - threshold <= centre <= 1 + threshold:
        edges = {1 - threshold, 1 + threshold}
    else:
        edges = {1 - threshold if centre < 1 else 1 + threshold}
    return max(evidence_against(logs, math.log(edge)) for edge in edges)


def running_forecast(
    baseline: Measurements,
    candidate: Measurements,
    *,
    threshold: float = 0.0,
    confidence: float = 0.95,
    power: float = POWER,
    assurance: float = ASSURANCE,
) -> Forecast:
    """Forecast how many rounds `running_ratio` needs to decide.

    Parameters
    ----------
    baseline, candidate
        As in `running_ratio`.
    threshold, confidence
        As in `decide` and `running_ratio`.
    power, assurance
        Shares of experiments, and of samples like this one, for which the upper number is to be enough.

    Returns
    -------
    Forecast
        As of `forecast`, which is for a single look.  The numbers are upper bounds of normal data: an interval that is
        looked at after every round may decide earlier.

    Raises
    ------
    AnalysisError
        As `running_ratio`; a threshold outside [0, 1).
    """
    check_fraction(threshold, name="threshold")
    check_confidence(confidence)
    old, new = _logs(baseline, candidate)
    logs = new - old
    n, centre = logs.size, float(logs.mean())
    difference = min(2 * threshold, (1 + threshold) / 2) if threshold else 1 - math.exp(-abs(centre))
    if n < 2 or difference == 0:
        why = advice.NoForecast(n) if n < 2 else advice.NoDifference()
        return _forecast((None, None), n, difference, threshold, power, assurance, (why,))
    sd = math.sqrt(sample_variance(logs))
    upper = math.sqrt(variance_limit([sd**2], [float(n - 1)], confidence=assurance))
    if threshold:
        margin = min(math.log1p(threshold), math.log1p(difference) - math.log1p(threshold))
        quantile = normal_quantile(power)  # two edges must be excluded where systems are the same
    else:
        margin, quantile = abs(centre), normal_quantile(2 * power - 1) if power > 0.5 else 0.0
    counts = (
        _rounds(sd, margin, quantile, confidence),
        _rounds(upper, margin, quantile, confidence),
    )
    return _forecast(counts, n, difference, threshold, power, assurance, ())


def _rounds(sd: float, margin: float, quantile: float, confidence: float) -> int | None:
    """The fewest rounds after which the half-width and the mean's own error leave the margin free."""

    def is_enough(n: int) -> bool:
        return sd * (relative_half_width(n, confidence=confidence) + quantile / math.sqrt(n)) <= margin

    if is_enough(FEWEST_ROUNDS):
        return FEWEST_ROUNDS
    low, high = FEWEST_ROUNDS, 2 * FEWEST_ROUNDS
    while not is_enough(high):
        low, high = high, 2 * high
        if low > MOST_BINARIES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high if high <= MOST_BINARIES else None


def _forecast(
    counts: tuple[int | None, int | None],
    n: int,
    difference: float,
    threshold: float,
    power: float,
    assurance: float,
    warnings: tuple[StatsWarning, ...],
) -> Forecast:
    fewest, enough = counts
    return Forecast(
        n_binaries=enough,
        n_more=None if enough is None else max(0, enough - n),
        fewest=fewest,
        difference=difference,
        is_measured=not threshold,
        power=power,
        assurance=assurance,
        warnings=warnings,
    )


def _logs(baseline: Measurements, candidate: Measurements) -> tuple[FloatArray, FloatArray]:
    """Of the rounds of both."""
    old, new = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    check_pairs(old, new)
    return log_means(old, "baseline"), log_means(new, "candidate")


def _is_exact(old: FloatArray, new: FloatArray) -> bool:
    """Whether counts have been the same to the digit in enough layouts of each system."""
    return old.size >= FEWEST_EXACT and is_constant(old) and is_constant(new)


def _ratio(logarithm: float) -> float:
    if abs(logarithm) > _LARGEST_LOG:
        raise AnalysisError("the ratio is beyond the range of floating point; give both systems in the same unit")
    return math.exp(logarithm)


def _power(value: float) -> float:
    return float(np.exp(np.clip(value, -745.0, 709.0)))
