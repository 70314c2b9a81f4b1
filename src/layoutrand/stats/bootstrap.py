"""From bootstrap replicates to the bounds of an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import cured, shown
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import normal_levels, normal_points
from layoutrand.stats.stats_warning import StatsWarning


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Bounds of an interval, and what to tell about them."""

    low: float
    high: float
    warnings: tuple[StatsWarning, ...]


_MOST: Final = 10**9
"""More replicates than these would take days."""


def check_resamples(n_resamples: int, confidence: float) -> None:
    """Enough replicates that one lies beyond each bound."""
    fewest = math.ceil(2 / (1 - confidence) - 1e-9)
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int) or not fewest <= n_resamples <= _MOST:
        raise AnalysisError(
            f"n_resamples must be an integer of at least {fewest} at confidence {confidence}, "
            f"got {shown(n_resamples)}{cured(n_resamples)}; 10000 is usual"
        )


def percentile_bounds(replicates: FloatArray, confidence: float) -> Bounds:
    """The replicates that leave ``n * (1 - confidence) / 2`` others beyond them on each side (TR 7.2.1).

    Of 1000 replicates at 0.95, numbers 25 and 974 of the sorted ones, counted from 0.
    """
    size = replicates.size
    beyond = min(math.floor(size * (1 - confidence) / 2 + 1e-9), (size - 1) // 2)
    ordered = np.partition(replicates, (beyond, size - 1 - beyond))
    return Bounds(low=float(ordered[beyond]), high=float(ordered[size - 1 - beyond]), warnings=())


def bca_bounds(
    replicates: FloatArray, jackknifes: tuple[FloatArray, ...], *, estimate: float, confidence: float
) -> Bounds:
    """Bias-corrected and accelerated percentiles (Efron 1987; Davison and Hinkley 1997, section 5.3.2).

    Parameters
    ----------
    replicates
        Bootstrap replicates of the statistic.
    jackknifes
        For each independent sample, the statistic with one unit of that sample left out.
    estimate
        The statistic of the data.
    confidence
        Nominal confidence.

    Notes
    -----
    ``z0`` is the normal quantile of the share of replicates below the estimate, ties counted half.  The
    acceleration is ``sum_s sum U^3 / n_s^3 / (6 (sum_s sum U^2 / n_s^2)^1.5)`` with ``U = (n_s - 1)(mean - value)``
    for sample s.
    """
    below = float((replicates < estimate).mean() + (replicates == estimate).mean() / 2)
    if replicates.min() == replicates.max():
        return Bounds(low=estimate, high=estimate, warnings=())
    if not 0 < below < 1:
        plain = percentile_bounds(replicates, confidence)
        return Bounds(low=plain.low, high=plain.high, warnings=(advice.OneSidedReplicates(),))
    z0 = float(normal_points(np.array([below]))[0])
    influence = [(values.size - 1) * (values.mean() - values) / values.size for values in jackknifes]
    spread = sum(float((u**2).sum()) for u in influence)
    skew = sum(float((u**3).sum()) for u in influence)
    acceleration = skew / (6 * spread**1.5) if spread > 0 else 0.0
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    shifted = z0 + normal_points(tails)
    levels = normal_levels(z0 + shifted / (1 - acceleration * shifted))
    low, high = np.quantile(replicates, levels)
    return Bounds(low=float(low), high=float(high), warnings=())


def studentised_bounds(
    differences: FloatArray, errors: FloatArray, *, estimate: float, error: float, confidence: float
) -> Bounds:
    """Bootstrap-t: quantiles of ``(replicate - estimate) / its standard error``, times the standard error.

    A replicate that happens to have no spread counts as infinitely far; when more of them than the tail holds lie
    on one side, that bound is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(differences == 0, 0.0, differences / errors)
    tail = percentile_bounds(scores, confidence)
    if error == 0:
        return Bounds(low=estimate, high=estimate, warnings=())
    low, high = estimate - tail.high * error, estimate - tail.low * error
    is_bounded = math.isfinite(low) and math.isfinite(high)
    warnings = () if is_bounded else (advice.Unstudentised(float((errors == 0).mean())),)
    return Bounds(low=low, high=high, warnings=warnings)
