"""What pairing by seed wins.

Two systems built with the same seed share the relative order of the functions they have in common.  If that makes
their binaries fast or slow together, the per-seed ratio cancels it.  Whether it does is measured, not assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_confidence
from layoutrand.stats.interval import Interval, is_constant, sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import normal_quantile
from layoutrand.stats.ratio import check_pairs, log_means, ratio_interval
from layoutrand.stats.stats_warning import BASELINE, CANDIDATE, StatsWarning


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Whether pairing by seed helps a comparison.

    Attributes
    ----------
    n_binaries
        Number of seeds.
    correlation
        Between the two systems' per-seed means (of logarithms), with Fisher's interval.
    variance_reduction
        Share of the variance of the log-ratio that pairing takes away; negative when pairing adds some.
    paired, unpaired
        Intervals of the ratio with the methods paired-log-t and log-t.
    warnings
        When the numbers cannot be trusted, and the count that would cure it.
    """

    n_binaries: int
    correlation: Interval
    variance_reduction: float
    paired: Interval
    unpaired: Interval
    warnings: tuple[StatsWarning, ...]


def pairing(baseline: Measurements, candidate: Measurements, *, confidence: float = 0.95) -> Pairing:
    """Measure what pairing by seed wins.

    Parameters
    ----------
    baseline, candidate
        Measurements above 0 of the two systems, axes highest level first, equally many binaries, in the same order
        of seeds; at least 2.
    confidence
        Nominal confidence of all intervals.

    Raises
    ------
    AnalysisError
        Different numbers of binaries, a single one, or means not above 0.

    Notes
    -----
    With a and b the per-seed logarithms of the systems' means, ``variance_reduction = 1 - var(b - a) / (var(a) +
    var(b))``, which is twice the covariance over the sum of variances.  Fisher's interval of the correlation is
    ``tanh(atanh(r) +- u / sqrt(n - 3))`` and needs 4 seeds.
    """
    check_confidence(confidence)
    old, new = nested(baseline, name="baseline"), nested(candidate, name="candidate")
    check_pairs(old, new)
    if old.n_top < 2:
        raise AnalysisError("pairing: 1 binary has no correlation; measure at least 4 seeds on both systems")
    a, b = log_means(old, "baseline"), log_means(new, "candidate")
    apart = sample_variance(a) + sample_variance(b)
    reduction = 1 - sample_variance(b - a) / apart if apart > 0 else 0.0
    warnings = advice.few_binaries(a.size)
    constant = tuple(subject for subject, values in ((BASELINE, a), (CANDIDATE, b)) if is_constant(values))
    if constant:
        warnings += (advice.NoVariation(of=constant),)
    return Pairing(
        n_binaries=a.size,
        correlation=_correlation(a - a.mean(), b - b.mean(), confidence),
        variance_reduction=reduction,
        paired=ratio_interval(old, new, confidence=confidence, method="paired-log-t"),
        unpaired=ratio_interval(old, new, confidence=confidence, method="log-t"),
        warnings=warnings,
    )


def _correlation(a: FloatArray, b: FloatArray, confidence: float) -> Interval:
    norm = math.sqrt(float(a @ a)) * math.sqrt(float(b @ b))
    r = float(np.clip((a @ b) / norm, -1.0, 1.0)) if norm > 0 else 0.0
    low, high = -1.0, 1.0
    warnings: tuple[StatsWarning, ...] = ()
    if a.size <= 3 or norm == 0:
        warnings = (advice.NoCorrelation(a.size),)
    elif abs(r) < 1:
        half = normal_quantile(confidence) / math.sqrt(a.size - 3)
        low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    else:
        low = high = r
    return Interval(centre=r, low=low, high=high, confidence=confidence, method="fisher", warnings=warnings)
