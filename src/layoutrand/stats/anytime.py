"""An interval that may be looked at after every value: it holds the truth at all of these times together.

A 95 % interval that is computed again after each value, until it says what one hopes for, errs far more often than one
time in twenty.  What is shown while an experiment goes on is therefore this wider one.
"""

from __future__ import annotations

import math
from typing import Final

from layoutrand.stats.checks import check_confidence
from layoutrand.stats.interval import Interval
from layoutrand.stats.univariate import Values, sample_of

_WEIGHT: Final = 1.0
"""The weight, in values, of "no effect" in the mixture: the interval is narrowest at few to some hundred values."""


def running_interval(values: Values, *, confidence: float = 0.95) -> Interval:
    """An interval of the mean of normal values that stays true however often, and until whenever, one looks.

    Parameters
    ----------
    values
        Shape ``(n,)``, in any unit, such as log ratios of the rounds so far; independent, of one unknown variance.
    confidence
        The probability that the intervals after 2, 3, 4, ... values hold the mean, all of them.

    Returns
    -------
    Interval
        In the unit of the values; without bounds as long as there are too few of them (fewer than 5 at 95 %).

    Raises
    ------
    AnalysisError
        No values, values that are not finite, or a confidence outside (0, 1).

    Notes
    -----
    The values divided by their unknown standard deviation are compared by a mixture of t likelihoods, with a normal
    prior of the effect; that ratio is a martingale where the mean is right, so it exceeds ``1 / (1 - confidence)`` at
    any time with probability ``1 - confidence`` at most (Ville).  Source: Lai, On confidence sequences, Annals of
    Statistics 4 (1976); Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
    variance, 2024.  With 10 values it is 1.7 times as wide as the t interval, with 30 it is 1.6 times as wide.
    """
    check_confidence(confidence)
    found = sample_of(values, "a running interval")
    n = found.size
    centre = float(found.mean())
    squares = float(((found - centre) ** 2).sum())
    half = math.sqrt(squares / (n - 1)) * relative_half_width(n, confidence=confidence) if n > 1 else math.inf
    half = math.inf if math.isnan(half) else half  # no spread, and too few to have bounds
    return Interval(
        centre=centre,
        low=centre - half,
        high=centre + half,
        confidence=confidence,
        method="anytime",
        warnings=(),
    )


def relative_half_width(n: int, *, confidence: float = 0.95) -> float:
    """Half-width of `running_interval` after ``n`` values, in standard deviations of the sample.

    Parameters
    ----------
    n
        How many values.
    confidence
        As in `running_interval`.

    Returns
    -------
    float
        Infinite where so few values have no bounds.

    Raises
    ------
    AnalysisError
        A confidence outside (0, 1).
    """
    check_confidence(confidence)
    limit = (math.sqrt((n + _WEIGHT) / _WEIGHT) / (1 - confidence)) ** (2 / n)
    share = 1 - 1 / limit
    rest = n - (n + _WEIGHT) * share
    return math.sqrt((n + _WEIGHT) * share * (n - 1) / (n * rest)) if n > 1 and rest > 0 else math.inf


def evidence_against(values: Values, mean: float) -> float:
    """The p-value of a mean that holds whenever one stops: the inverse of the martingale, at most 1.

    Parameters
    ----------
    values
        As for `running_interval`.
    mean
        The mean of the hypothesis, in the unit of the values.

    Returns
    -------
    float
        At most ``1 - confidence`` just where the mean lies outside `running_interval` of that confidence.

    Raises
    ------
    AnalysisError
        No values, or values that are not finite.
    """
    found = sample_of(values, "evidence") - mean
    n = found.size
    squares, total = float((found**2).sum()), float(found.sum())
    if squares == 0:
        return 1.0
    rest = max(0.0, 1 - total**2 / ((n + _WEIGHT) * squares))
    log_martingale = 0.5 * math.log(_WEIGHT / (n + _WEIGHT)) - (n / 2 * math.log(rest) if rest > 0 else -math.inf)
    return math.exp(-max(0.0, log_martingale))
