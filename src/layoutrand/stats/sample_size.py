"""How many binaries will do what is wanted, when a pilot alone tells how much binaries differ.

A pilot's standard deviation is an estimate: half of all pilots give too small a one, and an experiment planned by it
falls short.  So each number here is a range.  Its lower end is right if the pilot's standard deviation is the true one;
its upper end is computed from the upper confidence limit of the standard deviation, so it is enough for as large a
share of pilots (the *assurance*) to reach what is wanted in as large a share of experiments (the *power*).

References
----------
Julious: Sample Sizes for Clinical Trials, CRC Press, 2009, chapters 3 and 5.
Chow, Shao, Wang and Lokhnygina: Sample Size Calculations in Clinical Research, third edition, CRC Press, 2017.
Schuirmann: A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
average bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 15 (6), 1987.
Browne: On the use of a pilot sample for sample size determination, Statistics in Medicine 14 (17), 1995.
Burdick and Graybill: Confidence Intervals on Variance Components, Dekker, 1992.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_confidence, check_count, check_fraction, check_positive, is_real, shown
from layoutrand.stats.levels import FloatArray, flat_numbers
from layoutrand.stats.quantiles import chi2_quantile, f_quantile, first_count, normal_levels, special, t_quantile

MOST_BINARIES = 100_000
"""What needs more binaries than this counts as out of reach."""

POWER = 0.8
"""Share of experiments that reach what is wanted, unless asked otherwise (Cohen 1988, section 2.4)."""

ASSURANCE = 0.8
"""Share of pilots that the upper number is enough for (Browne 1995)."""

_NODES = 96
_FEWEST_DEGREES = 0.01


@dataclass(frozen=True, kw_only=True)
class CountRange:
    """Numbers of binaries (of each system, in a comparison) that reach what is wanted.

    Attributes
    ----------
    low
        Enough if the pilot's standard deviation is the true one; None where more than 100,000 would be needed.
    high
        Enough if its upper limit is; None as above.
    power
        Share of experiments with so many binaries that reach it.
    """

    low: int | None
    high: int | None
    power: float


def decision_power(
    n_binaries: int, sd: float, *, threshold: float, difference: float = 0.0, confidence: float = 0.95
) -> float:
    """Chance that the interval of a ratio decides, for a stated true ratio.

    Parameters
    ----------
    n_binaries
        Binaries of each system, at least 2.
    sd
        True standard deviation of the logarithm of the ratio of one binary of each system: with relative standard
        deviations a and b and no pairing ``sqrt(a^2 + b^2)``; paired, that of the log ratios of pairs.
    threshold
        Smallest relative difference that matters, a fraction.
    difference
        The true relative difference between the systems: 0, and the chance is that of the verdict "equivalent"; or
        above `threshold`, and it is that of a verdict "faster" or "slower" which is true, whichever is harder to reach.
    confidence
        Of the two-sided interval.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    AnalysisError
        A difference above 0 that is not above the threshold: no number of binaries decides that.  Arguments out of
        range.

    Notes
    -----
    For normal log ratios, whose interval has ``n - 1`` degrees of freedom; one that pools the variances of two
    unpaired systems has more, and is at least as powerful.  A difference beyond the threshold is found with the
    probability of a noncentral t (Chow et al., section 3.2).  Equivalence takes both one-sided tests (Schuirmann 1987):
    the estimate has to lie between the margins, each moved inwards by t times the estimated standard error, which is
    averaged over the chi distribution of the latter (Owen's Q; Julious, chapter 5).  An interval of 95 % within the
    margins is two one-sided tests at 2.5 %.
    """
    check_count(n_binaries, name="n_binaries", at_least=2)
    _check_sd(sd)
    check_confidence(confidence)
    margins = _margins(threshold, difference)
    return _power(n_binaries, float(sd), margins, float(confidence))


def binaries_to_decide(
    sd: float,
    upper: float,
    *,
    threshold: float,
    difference: float = 0.0,
    confidence: float = 0.95,
    power: float = POWER,
) -> CountRange:
    """How many binaries of each system decide a comparison, for a stated true ratio.

    Parameters
    ----------
    sd
        Standard deviation as in `decision_power`, estimated from a pilot.
    upper
        Its upper confidence limit, the root of `variance_limit`.
    threshold, difference, confidence
        As in `decision_power`.
    power
        Share of experiments that are to be decided.

    Returns
    -------
    CountRange
        At least 5, the fewest that support an interval.

    Raises
    ------
    AnalysisError
        As `decision_power`; an upper limit below the standard deviation; a power outside (0, 1).

    Notes
    -----
    The upper number is that for the upper confidence limit of the standard deviation: of as large a share of pilots as
    that limit holds for, it is enough (Browne 1995; Julious, chapter 3.5).
    """
    _check_spread(sd, upper)
    check_confidence(confidence)
    _check_power(power)
    margins = _margins(threshold, difference)

    def needed(spread: float) -> int | None:
        return _first(lambda n: _power(n, spread, margins, confidence) >= power)

    return CountRange(low=needed(sd), high=needed(upper), power=power)


def binaries_for_half_width(
    sd: float,
    upper: float,
    *,
    half_width: float,
    confidence: float = 0.95,
    power: float = POWER,
) -> CountRange:
    """How many binaries give an interval that is no wider than wanted.

    Parameters
    ----------
    sd
        Standard deviation of binaries over their mean, estimated from a pilot.
    upper
        Its upper confidence limit, the root of `variance_limit`.
    half_width
        Wanted half-width over the mean, a fraction such as 0.01.
    confidence
        Of the interval.
    power
        Share of experiments whose interval is to be no wider.

    Returns
    -------
    CountRange
        At least 5, the fewest that support an interval.

    Raises
    ------
    AnalysisError
        A half-width not above 0, an upper limit below the standard deviation, a power outside (0, 1).

    Notes
    -----
    ``t s / sqrt(n)`` is at most `half_width` in the share `power` of experiments, ``s^2`` being chi-square over its
    degrees (Kupper and Hafner, How appropriate are popular sample size formulas?, The American Statistician 43, 1989).
    A formula in which the expected ``s`` stands is met by about half of all experiments.
    """
    _check_spread(sd, upper)
    check_positive(half_width, name="half_width")
    check_confidence(confidence)
    _check_power(power)

    def is_narrow(n: int, spread: float) -> bool:
        unlucky = spread * math.sqrt(chi2_quantile(power, n - 1) / (n - 1))
        return t_quantile(confidence, n - 1) * unlucky / math.sqrt(n) <= half_width

    return CountRange(low=_first(lambda n: is_narrow(n, sd)), high=_first(lambda n: is_narrow(n, upper)), power=power)


def variance_limit(
    squares: Sequence[float],
    degrees: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    confidence: float = ASSURANCE,
) -> float:
    """Upper confidence limit of a variance, or of a weighted sum of variances.

    Parameters
    ----------
    squares
        Independent estimates of variances (mean squares), none negative.
    degrees
        Their degrees of freedom.
    weights
        Of each in the sum, 1 by default; negative where one is taken off the others.
    confidence
        Of the one-sided limit.

    Returns
    -------
    float
        In the unit of the squares.  Of a single one ``degrees * square`` over the ``1 - confidence`` quantile of
        chi-square.

    Raises
    ------
    AnalysisError
        Different numbers of squares, degrees and weights; negative squares; degrees that are not above 0.

    Notes
    -----
    The modified large-sample limit: with ``H = degrees / chi-square quantile - 1`` of each positive term and ``G = 1 -
    degrees / chi-square quantile`` (of the other tail) of each negative one, the estimate plus the root of the sum of
    ``(H term)^2`` and ``(G term)^2``, and for each positive and negative term a product that makes it exact where one
    of them dominates (Ting et al. 1990, in Burdick and Graybill 1992, section 3.3; Graybill and Wang 1980).
    """
    check_confidence(confidence)
    for values, name in ((squares, "squares"), (degrees, "degrees"), (weights, "weights")):
        if name != "weights" or values is not None:
            flat_numbers(values, name=name)
    shares = [1.0] * len(squares) if weights is None else [float(weight) for weight in weights]
    if not len(squares) == len(degrees) == len(shares):
        raise AnalysisError(
            f"{len(squares)} squares, {len(degrees)} degrees of freedom and {len(shares)} weights; give one of each"
        )
    for square, own in zip(squares, degrees, strict=True):
        _check_sd(square)
        check_positive(own, name="degrees")
        if own < _FEWEST_DEGREES:
            raise AnalysisError(f"degrees of freedom must be at least {_FEWEST_DEGREES:g}, got {own:g}")
    terms = [(share * square, own) for share, square, own in zip(shares, squares, degrees, strict=True)]
    up = [(term, own, own / chi2_quantile(1 - confidence, own) - 1) for term, own in terms if term > 0]
    down = [(-term, own, 1 - own / chi2_quantile(confidence, own)) for term, own in terms if term < 0]
    spread = sum((factor * term) ** 2 for term, _, factor in up + down)
    for above, upper, h in up:
        for below, lower, g in down:
            ratio = f_quantile(1 - confidence, upper, lower)
            spread += above * below * ((1 - ratio) ** 2 - (h * ratio) ** 2 - g**2) / ratio
    return sum(term for term, _ in terms) + math.sqrt(max(0.0, spread))


def _margins(threshold: float, difference: float) -> tuple[float, float]:
    """On the logarithmic scale, how far the estimate may lie below and above its true value, and still be decided.

    For a difference the upper one is infinite, and the lower one is the smaller of "slower" and "faster".
    """
    check_fraction(threshold, name="threshold")
    check_fraction(difference, name="difference")
    if difference == 0:
        return -math.log1p(-threshold), math.log1p(threshold)
    if difference <= threshold:
        raise AnalysisError(
            f"a true difference of {difference:g} is within the threshold of {threshold:g}, and no number of binaries "
            "decides it; state one above the threshold, or 0 for systems that are the same"
        )
    slower = math.log1p(difference) - math.log1p(threshold)
    faster = math.log1p(-threshold) - math.log1p(-difference)
    return min(slower, faster), math.inf


def _power(n: int, sd: float, margins: tuple[float, float], confidence: float) -> float:
    """Share of experiments whose estimate keeps ``t`` estimated standard errors off both margins."""
    below, above = margins
    error = sd / math.sqrt(n)
    if error == 0 or min(margins) == 0:
        return 1.0 if min(margins) > 0 else 0.0
    quantiles, weights = _chi_square(n - 1)
    half = t_quantile(confidence, n - 1) * quantiles  # in standard errors
    inside = normal_levels(above / error - half) - normal_levels(half - below / error)
    return float(weights @ np.maximum(inside, 0.0))


@functools.cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


@functools.lru_cache(maxsize=1024)
def _chi_square(degrees: int) -> tuple[FloatArray, FloatArray]:
    """Estimated over true standard deviation at the nodes of an integral over its distribution, and their weights."""
    nodes, weights = _legendre()
    scaled = special().chdtri(degrees, (1 - nodes) / 2) / degrees
    return np.sqrt(scaled), weights / 2


def _first(is_enough: Callable[[int], bool]) -> int | None:
    return first_count(is_enough, start=advice.FEWEST_BINARIES, limit=MOST_BINARIES)


def _check_sd(value: float) -> None:
    if not is_real(value) or value < 0:
        raise AnalysisError(
            f"a standard deviation or variance must be a finite number of at least 0, got {shown(value)}"
        )


def _check_spread(sd: float, upper: float) -> None:
    _check_sd(sd)
    _check_sd(upper)
    if upper < sd:
        raise AnalysisError(f"the upper limit {upper!r} is below the standard deviation {sd!r}")


def _check_power(value: float) -> None:
    if not (is_real(value) and 0 < value < 1):
        raise AnalysisError(f"power must lie strictly between 0 and 1, got {value!r}; 0.8 is usual")
