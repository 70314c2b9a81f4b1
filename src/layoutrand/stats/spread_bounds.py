"""Bounds of the variance of binaries beside noise: for normal ones, and by the kurtosis that they have.

Notes
-----
Normal layouts: Williams, Biometrika 49, 1962; and of binaries whose executions repeat themselves, the chi-square
distribution.  Others: Bonett, Approximate Confidence Interval for Standard Deviation of Nonnormal Distributions,
Computational Statistics and Data Analysis 50, 2006.
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


def quiet_bounds(found: Contrasts, alpha: float) -> tuple[float, float]:
    """Of the standard deviation of binaries whose executions do not vary, each with half of the error."""
    low = min(_chi2_bound(found, 1 - alpha / 2), math.sqrt(_by_kurtosis(found, normal_quantile(1 - alpha / 2), -1)))
    return low, max(_chi2_bound(found, alpha / 2), math.sqrt(_long_tailed(found, alpha)))


def noisy_upper(found: Contrasts, alpha: float) -> float:
    """Of the layouts' standard deviation, from variances: the larger of Williams's bound and Bonett's."""
    upper, lower = found.degrees
    if lower < 1:
        return math.inf
    excess = found.of_binaries - found.of_noise * f_quantile(alpha / 2, upper, lower)
    normal = upper * excess / chi2_quantile(alpha / 2, upper)
    return math.sqrt(max(normal, _long_tailed(found, alpha) - found.of_noise, 0.0))


def _long_tailed(found: Contrasts, alpha: float) -> float:
    """Upper bound of the binaries' variance by the kurtosis that they have; infinite for very few."""
    rare = max(0.0, 1.0 - _WHOLE_ERROR / found.binaries.size)
    of_layouts = max(0.0, 1.0 - found.of_noise / found.of_binaries) if found.of_binaries > 0 else 0.0
    return _by_kurtosis(found, normal_quantile(1 - alpha * (1.0 - rare * of_layouts)), 1)


def _by_kurtosis(found: Contrasts, quantile: float, sign: int) -> float:
    """Bonett's bound of the binaries' variance, the upper one (1) or the lower one (-1); 0 for very few."""
    values, n = found.binaries, found.binaries.size
    if n <= max(quantile, 3) or found.of_binaries == 0:
        return 0.0
    squares = float(((values - values.mean()) ** 2).sum())
    kurtosis = n * float(((values - _trimmed_mean(values)) ** 4).sum()) / squares**2
    correction = n / (n - quantile)
    error = correction * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    return found.of_binaries * correction * math.exp(sign * min(quantile * error, _MOST_EXPONENT))


def _trimmed_mean(values: FloatArray) -> float:
    """Without ``1 / (2 sqrt(n - 4))`` of the values at each end, as Bonett has it."""
    n = values.size
    cut = int(n / (2 * math.sqrt(n - 4))) if n > 4 else 0
    cut = min(cut, (n - 1) // 2)
    return float(np.sort(values)[cut : n - cut].mean())


def _chi2_bound(found: Contrasts, tail: float) -> float:
    degrees = found.degrees[0]
    return math.sqrt(degrees * found.of_binaries / chi2_quantile(tail, degrees))
