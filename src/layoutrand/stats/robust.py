"""What holds whatever the distribution of layouts: a median with its interval, what a sample can miss, and skewness."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from layoutrand.stats.checks import check_confidence, check_count
from layoutrand.stats.interval import Interval
from layoutrand.stats.quantiles import normal_tail, special
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.univariate import Values, sample_of

FEWEST_FOR_SKEWNESS: Final = 8
"""Below this many values the approximation by D'Agostino does not hold."""


def missed_share(n_drawn: int, *, confidence: float = 0.95) -> float:
    """The largest group, as a share of all there are, that a sample may well have nothing of.

    Parameters
    ----------
    n_drawn
        Units that were drawn at random, such as layouts.
    confidence
        Probability with which a larger group would have shown at least one.

    Returns
    -------
    float
        ``1 - (1 - confidence) ** (1 / n_drawn)``; 0.095 for 30 units.

    Raises
    ------
    AnalysisError
        No unit, or a confidence outside (0, 1).
    """
    check_count(n_drawn, name="n_drawn")
    check_confidence(confidence)
    return float(-math.expm1(math.log1p(-confidence) / n_drawn))


def median_interval(values: Values, *, confidence: float = 0.95) -> Interval:
    """The median, with an interval that covers it in any distribution.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``, in any unit.
    confidence
        Least confidence of the interval.

    Returns
    -------
    Interval
        Its bounds are values of the sample; infinite where there are too few of them, 5 or less for 95 %.

    Raises
    ------
    AnalysisError
        No values, or values that are not finite.

    Notes
    -----
    The k-th smallest and the k-th largest value, for the largest k with ``P(Binomial(n, 1/2) < k)`` at most half of
    the error (Thompson, Annals of Mathematical Statistics 7, 1936; the interval that goes with the sign test).
    """
    check_confidence(confidence)
    sample = np.sort(sample_of(values, "median interval"))
    n = sample.size
    ranks = np.arange(1, n // 2 + 1)
    k = int((special().bdtr(ranks - 1.0, n, 0.5) <= (1 - confidence) / 2).sum())
    low, high = (float(sample[k - 1]), float(sample[n - k])) if k else (-math.inf, math.inf)
    return Interval(
        centre=_between(float(sample[(n - 1) // 2]), float(sample[n // 2])),
        low=low,
        high=high,
        confidence=confidence,
        method="order",
        warnings=(),
    )


def _between(low: float, high: float) -> float:
    """The middle of two numbers, whose sum may be beyond the range of floating point, and whose halves below it."""
    middle = (low + high) / 2
    return middle if math.isfinite(middle) else low / 2 + high / 2


def skewness_test(values: Values) -> TestResult:
    """Test whether a sample is lopsided, as a normal one is not.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``, in any unit; fewer than 8 values, or equal ones, give p = 1.

    Returns
    -------
    TestResult
        The statistic is the skewness ``m_3 / m_2^1.5``, above 0 for a long tail of large values; two-sided.

    Raises
    ------
    AnalysisError
        No values, or values that are not finite.

    Notes
    -----
    D'Agostino, Transformation to Normality of the Null Distribution of g1, Biometrika 57, 1970.
    """
    sample = sample_of(values, "skewness test")
    n, size = sample.size, float(np.abs(sample - np.median(sample)).max())
    away = (sample - np.median(sample)) / size if size else np.zeros(n)
    away = away - away.mean()
    spread = float((away**2).mean())
    skewness = float((away**3).mean()) / spread**1.5 if spread > 0 else 0.0
    p_value = 1.0
    if n >= FEWEST_FOR_SKEWNESS and spread > 0:
        y = skewness * math.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
        beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
        w = math.sqrt(2 * (beta - 1)) - 1
        scale = math.sqrt(2 / (w - 1))
        p_value = 2 * normal_tail(abs(math.asinh(y / scale)) / math.sqrt(math.log(w) / 2))
    return TestResult(
        statistic=skewness,
        p_value=min(p_value, 1.0),
        alternative="two-sided",
        method="skewness",
        n_resamples=0,
        warnings=(),
    )
