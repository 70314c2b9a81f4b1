"""Intervals, and the interval for one system."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.bootstrap import Bounds, bca_bounds, check_resamples, percentile_bounds, studentised_bounds
from layoutrand.stats.checks import check_choice, check_confidence, check_seed
from layoutrand.stats.levels import FloatArray, Measurements, Nested, nested
from layoutrand.stats.quantiles import normal_quantile, t_quantile
from layoutrand.stats.resample import ResamplingPlan, replicate_means, resampling_plan, slot_means, sorted_draws
from layoutrand.stats.statistic import Statistic, parse_statistic
from layoutrand.stats.stats_warning import StatsWarning, WarningSubject

MEAN_METHODS = ("t", "normal", "bootstrap", "bca", "bootstrap-t")


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    centre
        The estimate itself, in the unit of the measurements, or a ratio without unit.
    low, high
        Bounds; infinite where the data cannot bound the estimate (a warning then says why).
    confidence
        Nominal confidence in (0, 1).
    method
        Name of the method, as given to the function that made the interval.
    warnings
        What to tell the user, each with the count that would cure it.
    """

    centre: float
    low: float
    high: float
    confidence: float
    method: str
    warnings: tuple[StatsWarning, ...]

    @property
    def half_width(self) -> float:
        """Half the interval's length."""
        return (self.high - self.low) / 2

    @property
    def relative_half_width(self) -> float:
        """Half-width over the magnitude of the centre; infinite when the centre is 0 and the width is not."""
        if self.centre == 0:
            return math.inf if self.half_width > 0 else 0.0
        return self.half_width / abs(self.centre)

    def __contains__(self, value: float) -> bool:
        """Whether `value` lies within the bounds, bounds included."""
        return self.low <= value <= self.high


def mean_interval(
    data: Measurements,
    *,
    confidence: float = 0.95,
    method: str = "t",
    resampling: str = "RRR",
    n_resamples: int = 10_000,
    seed: int = 0,
    statistic: str = "mean",
) -> Interval:
    """Estimate the mean (or another statistic) of one system, with a confidence interval.

    Parameters
    ----------
    data
        Measurements, axes highest level first, shape ``(r_n, ..., r_1)``, or ragged nested sequences.
    confidence
        Nominal confidence in (0, 1).
    method
        ``"t"`` (default; what simulation shows honest from 5 binaries on), ``"normal"`` (for comparison; too
        narrow), ``"bootstrap"`` (percentiles; too narrow below 20 binaries), ``"bca"``, ``"bootstrap-t"``.
    resampling
        Bootstrap only: pattern of R (resample) and N (keep), highest level first, or ``"FLAT"``.  The last letter
        stands for all further levels, and letters beyond the number of levels are ignored.
    n_resamples
        Bootstrap only: number of replicates.
    seed
        Bootstrap only: the resampling depends on it alone.
    statistic
        ``"mean"``, ``"geometric"`` or ``"harmonic"`` mean, ``"median"``, or a percentile such as ``"p90"``; percentiles
        need ``"bootstrap"`` or ``"bca"``.

    Returns
    -------
    Interval
        In the unit of the measurements; without bounds when there is only one binary.

    Raises
    ------
    AnalysisError
        Malformed data, unknown names, or a method that cannot serve the statistic.

    Notes
    -----
    t and normal: ``mean +- q sqrt(S_n^2 / r_n)`` with S_n^2 the sample variance of the binaries' means and q the
    quantile of Student's t with r_n - 1 degrees of freedom or of the normal distribution (ISMM 2013, equation 4;
    TR 4-12, section 7.2.2, equation 11).  bootstrap: percentiles over replicates that repeat the experiment with
    replacement at each level (TR 7.2.1, figure 1).  The mean of unbalanced data is the unweighted mean of the
    binaries' means.  Geometric and harmonic means are means of logarithms and reciprocals, and so are their t
    intervals; percentiles pool all measurements.
    """
    check_confidence(confidence)
    check_choice(method, MEAN_METHODS, name="method")
    check_seed(seed)
    wanted = parse_statistic(statistic)
    scaled, exponent = nested(data).scaled()
    sample = wanted.forward(scaled)
    if sample.n_top == 1:
        bounds = Bounds(low=-math.inf, high=math.inf, warnings=(advice.Single(),))
    elif method in ("t", "normal"):
        bounds = _asymptotic_bounds(sample, wanted, confidence=confidence, method=method)
    else:
        check_resamples(n_resamples, confidence)
        plan = resampling_plan(resampling, n_resamples, seed=seed, label="system")
        bounds = _bootstrap_bounds(sample, wanted, plan=plan, confidence=confidence, method=method)
    warnings = bounds.warnings
    if wanted.name == "harmonic" and math.isfinite(bounds.low) and bounds.low <= 0:
        warnings += (advice.UnboundedHarmonic(sample.n_top),)
    low, high = sorted((_back(bounds.low, wanted), _back(bounds.high, wanted)))
    return Interval(
        centre=math.ldexp(wanted.backward(wanted.of(sample)), exponent),
        low=math.ldexp(low, exponent),
        high=math.ldexp(high, exponent),
        confidence=confidence,
        method=method,
        warnings=warnings + sample_warnings(sample, is_percentile=method in ("bootstrap", "bca")),
    )


def _back(bound: float, statistic: Statistic) -> float:
    """Transform a bound back; of positive quantities an unbounded one becomes 0 or infinity."""
    if math.isinf(bound) and statistic.name == "harmonic":
        return 0.0 if bound > 0 else math.inf
    return statistic.backward(bound)


def sample_warnings(
    sample: Nested, *, is_percentile: bool, of: tuple[WarningSubject, ...] = ()
) -> tuple[StatsWarning, ...]:
    """What the number of binaries and their spread give cause to say; one binary is the caller's business."""
    warnings: tuple[StatsWarning, ...] = ()
    if sample.n_top > 1:
        few = advice.few_for_percentile if is_percentile else advice.few_binaries
        warnings += few(sample.n_top, *of)
        if is_constant(sample.top_means):
            warnings += (advice.NoVariation(of=of),)
    return warnings


def sample_variance(values: FloatArray) -> float:
    """Sample variance with divisor n - 1; exactly 0 for equal values, whatever the rounding of their mean."""
    return 0.0 if is_constant(values) else float(values.var(ddof=1))


def is_constant(values: FloatArray) -> bool:
    """Whether all values are equal; true of their variance only up to rounding, overflow and underflow."""
    return bool(values.max() == values.min())


def _asymptotic_bounds(sample: Nested, statistic: Statistic, *, confidence: float, method: str) -> Bounds:
    _need_mean(statistic, method)
    means = sample.top_means
    quantile = t_quantile(confidence, sample.n_free - 1) if method == "t" else normal_quantile(confidence)
    half = quantile * math.sqrt(sample_variance(means) / means.size)
    return Bounds(low=sample.mean - half, high=sample.mean + half, warnings=())


def _bootstrap_bounds(
    sample: Nested, statistic: Statistic, *, plan: ResamplingPlan, confidence: float, method: str
) -> Bounds:
    if method == "bootstrap-t":
        _need_mean(statistic, method)
        means, errors = means_and_errors(sample, plan)
        error = math.sqrt(sample_variance(sample.top_means) / sample.n_top)
        return studentised_bounds(means - sample.mean, errors, estimate=sample.mean, error=error, confidence=confidence)
    if statistic.is_mean:
        replicates = replicate_means(sample, plan)
    else:
        replicates = np.concatenate([statistic.of_sorted(rows, sizes) for rows, sizes in sorted_draws(sample, plan)])
    if method == "bootstrap":
        return percentile_bounds(replicates, confidence)
    jackknife = statistic.without_each_binary(sample)
    return bca_bounds(replicates, (jackknife,), estimate=statistic.of(sample), confidence=confidence)


def means_and_errors(sample: Nested, plan: ResamplingPlan) -> tuple[FloatArray, FloatArray]:
    """Grand mean of each replicate, and the standard error that its binaries give it."""
    if plan.resampling == "FLAT":
        raise AnalysisError("bootstrap-t needs the binaries of each replicate, which FLAT forgets; use RRR")
    means, variances = [], []
    for slots in slot_means(sample, plan):
        means.append(slots.mean(axis=1))
        spread = slots.max(axis=1) - slots.min(axis=1)
        variances.append(np.where(spread == 0, 0.0, slots.var(axis=1, ddof=1)))
    return np.concatenate(means), np.sqrt(np.concatenate(variances) / sample.n_top)


def _need_mean(statistic: Statistic, method: str) -> None:
    if not statistic.is_mean:
        raise AnalysisError(
            f"method {method!r} is for means, not for the {statistic.name}; use method 'bootstrap' or 'bca'"
        )
