"""Bounds of the variance of binaries beside noise: for normal ones, and by the kurtosis that they have.

Notes
-----
Normal layouts: Williams, Biometrika 49, 1962; and of binaries whose executions repeat themselves, the chi-square
distribution.  Others: Bonett, Approximate Confidence Interval for Standard Deviation of Nonnormal Distributions,
Computational Statistics and Data Analysis 50, 2006.  How flat a sample is: Geary, The Ratio of the Mean Deviation to
the Standard Deviation as a Test of Normality, Biometrika 27, 1935.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import chi2_quantile, f_quantile, normal_quantile
from layoutrand.stats.round_contrasts import Contrasts

_MOST_EXPONENT: Final = 100.0
_WHOLE_ERROR: Final = 6
"""Binaries up to which Bonett's bound may have the whole error; of more it has this over their number where they differ
by their layouts, and between the two where noise has a share.  By simulation: the kurtosis that a sample shows lags
behind that of long tails the more the larger it is."""

_NORMAL_KURTOSIS: Final = 3.0
_GEARY: Final = math.sqrt(2 / math.pi)
"""Mean absolute deviation of a normal distribution over its standard deviation."""

_SKEWED: Final = (1.0, 1.5)
"""Standard errors of a normal sample's skewness between which a sample ceases to pass for one."""


def quiet_bounds(found: Contrasts, alpha: float) -> tuple[float, float]:
    """Of the standard deviation of binaries whose executions do not vary, each with half of the error."""
    binaries, squared = found.binaries, found.of_binaries
    lower = _by_kurtosis(binaries, squared, normal_quantile(1 - alpha / 2), -1)
    low = min(_chi2_bound(found, 1 - alpha / 2), math.sqrt(lower))
    return low, max(_chi2_bound(found, alpha / 2), math.sqrt(_long_tailed(binaries, squared, found.of_noise, alpha)))


def noisy_upper(found: Contrasts, alpha: float) -> float:
    """Of the layouts' standard deviation, from variances: the larger of Williams's bound and Bonett's."""
    upper, lower = found.degrees
    if lower < 1:
        return math.inf
    excess = found.of_binaries - found.of_noise * f_quantile(alpha / 2, upper, lower)
    normal = upper * excess / chi2_quantile(alpha / 2, upper)
    longest = _long_tailed(found.binaries, found.of_binaries, found.of_noise, alpha)
    return math.sqrt(max(normal, longest - found.of_noise, 0.0))


def flatness(found: Contrasts) -> float:
    """What turns the standard deviation that a normal of these mean deviations has into theirs, 1 at most.

    Binaries in two groups of equal size have one of .8 of it, with no tails at all.  It is 1 where tails are long, as
    the sample shows too few of them.
    """
    own = float(np.abs(found.binaries).mean())
    return min(1.0, _GEARY * math.sqrt(found.of_binaries) / own) if own > 0 else 1.0


def lower_by_kurtosis(means: FloatArray, squared: float, most_noise: float, alpha: float) -> float:
    """Of the variance that layouts add to binaries' ``means``; ``squared`` is the variance of these.

    ``most_noise`` is what executions may have in it at most.  It has the whole error, beside a bound with half of it.
    """
    return max(_by_kurtosis(means, squared, normal_quantile(1 - alpha), -1) - most_noise, 0.0)


def upper_by_kurtosis(means: FloatArray, squared: float, noise: float, alpha: float) -> float:
    """Of the same; ``noise`` is what executions have in it.

    It has the whole error, and as far as the means are unlike a normal sample as little of it as `_long_tailed` has:
    where they are like one, the bound is hardly more than that of normal layouts.
    """
    return max(_long_tailed(means, squared, noise, alpha, evidence=_unlike_normal(means)) - noise, 0.0)


def _unlike_normal(values: FloatArray) -> float:
    """From 0 to 1: by the skewness or the kurtosis of the sample, whichever says more."""
    away = values - values.mean()
    squares = float((away**2).mean())
    if squares == 0:
        return 0.0
    skewness = abs(float((away**3).mean())) / squares**1.5 * math.sqrt(values.size / 6)
    first, last = _SKEWED
    by_kurtosis = _kurtosis(values) - _NORMAL_KURTOSIS
    return float(min(max((skewness - first) / (last - first), by_kurtosis, 0.0), 1.0))


def _long_tailed(values: FloatArray, squared: float, noise: float, alpha: float, *, evidence: float = 1.0) -> float:
    """Upper bound of the binaries' variance by the kurtosis that they have; 0 for very few."""
    rare = max(0.0, 1.0 - _WHOLE_ERROR / values.size)
    of_layouts = max(0.0, 1.0 - noise / squared) if squared > 0 else 0.0
    return _by_kurtosis(values, squared, normal_quantile(1 - alpha * (1.0 - rare * of_layouts * evidence)), 1)


def _by_kurtosis(values: FloatArray, squared: float, quantile: float, sign: int) -> float:
    """Bonett's bound of the binaries' variance, the upper one (1) or the lower one (-1); 0 for very few."""
    n = values.size
    if n <= max(quantile, 3) or squared == 0:
        return 0.0
    correction = n / (n - quantile)
    error = correction * math.sqrt(max(_kurtosis(values) - (n - 3) / n, 0.0) / (n - 1))
    return squared * correction * math.exp(sign * min(quantile * error, _MOST_EXPONENT))


def _kurtosis(values: FloatArray) -> float:
    """About a trimmed mean, as Bonett has it."""
    squares = float(((values - values.mean()) ** 2).sum())
    return values.size * float(((values - _trimmed_mean(values)) ** 4).sum()) / squares**2


def _trimmed_mean(values: FloatArray) -> float:
    """Without ``1 / (2 sqrt(n - 4))`` of the values at each end, as Bonett has it."""
    n = values.size
    cut = int(n / (2 * math.sqrt(n - 4))) if n > 4 else 0
    cut = min(cut, (n - 1) // 2)
    return float(np.sort(values)[cut : n - cut].mean())


def _chi2_bound(found: Contrasts, tail: float) -> float:
    degrees = found.degrees[0]
    return math.sqrt(degrees * found.of_binaries / chi2_quantile(tail, degrees))
