"""Effect size: the ratio of two systems' means with its interval.

The ratio is candidate / baseline, so for durations below 1 is faster.  Three ideas give the interval: Fieller's
theorem on the two means, Student's t on logarithms, and the bootstrap; two of them can also pair the systems'
binaries by seed, which cancels what the two layouts of one seed have in common.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.bootstrap import Bounds, bca_bounds, check_resamples, percentile_bounds, studentised_bounds
from layoutrand.stats.checks import check_choice, check_confidence, check_real, check_seed
from layoutrand.stats.interval import Interval, means_and_errors, sample_variance, sample_warnings
from layoutrand.stats.levels import FloatArray, Measurements, Nested, nested
from layoutrand.stats.quantiles import first_count, t_quantile
from layoutrand.stats.resample import ResamplingPlan, level_pattern, replicate_means, resampling_plan
from layoutrand.stats.stats_warning import BASELINE, CANDIDATE
from layoutrand.warning import plural

FIELLER_METHODS = ("fieller", "fieller-welch", "fieller-normal")
PAIRED_METHODS = ("paired-log-t", "paired-bootstrap")
RATIO_METHODS = (*FIELLER_METHODS, "log-t", "bootstrap", "bca", "bootstrap-t", *PAIRED_METHODS)


_LARGEST_HALF_WIDTH = 1e100
"""Beyond it squares need not be computed: no interval has bounds."""


def ratio_interval(
    baseline: Measurements,
    candidate: Measurements,
    *,
    confidence: float = 0.95,
    method: str = "fieller",
    resampling: str = "RRR",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Estimate the ratio candidate / baseline with a confidence interval.

    Parameters
    ----------
    baseline, candidate
        Measurements of the two systems in the same unit, axes highest level first, shape ``(r_n, ..., r_1)``, or
        ragged nested sequences.  The repetition counts may differ; paired methods need equally many binaries, in
        the same order of seeds.
    confidence
        Nominal confidence in (0, 1).
    method
        ``"fieller"`` (default), ``"fieller-welch"``, ``"fieller-normal"``, ``"log-t"``, ``"bootstrap"``, ``"bca"``,
        ``"bootstrap-t"``, ``"paired-log-t"``, ``"paired-bootstrap"``; see Notes.
    resampling, n_resamples, seed
        Bootstrap only, as in `mean_interval`.

    Returns
    -------
    Interval
        Without unit; infinite bounds, with a warning, where the data cannot bound the ratio.

    Raises
    ------
    AnalysisError
        Malformed data, unknown names, a baseline mean of 0, means not above 0 where logarithms are taken, or
        paired systems with different numbers of binaries.

    Notes
    -----
    fieller: the two solutions of Fieller's theorem for independent means Y (baseline) and Y' (candidate),
    ``(Y Y' -+ sqrt(Y'^2 h^2 + h'^2 (Y^2 - h^2))) / (Y^2 - h^2)`` with ``h^2 = t^2 S_n^2 / r_n``; the root is that of
    ISMM 2013 equation 5 (TR 4-12, equation 12) multiplied out, which loses no digits.  The interval is bounded
    only while ``Y^2 > h^2``; otherwise both bounds are infinite.  With equally many binaries t has r_n - 1 degrees
    of freedom, as in the papers: a little wide (TR 8.4).  With unequal counts, and always with fieller-welch, the
    degrees are Welch and Satterthwaite's for ``Y' - ratio * Y``.  fieller-normal takes the normal quantile
    (TR 8.4), for comparison.

    log-t: Welch's t interval for the difference of the means of the logarithms of the binaries' means; its centre
    is the ratio of geometric means.  paired-log-t: Student's t on the per-seed differences of those logarithms.

    bootstrap: percentiles of the ratio of replicate means, each system resampled by itself with its own
    hierarchy (TR 7.3.1, figure 2).  paired-bootstrap draws the same binaries for both systems.  bca: the same
    replicates, bias-corrected and accelerated.  bootstrap-t: the logarithm of the ratio, studentised with the
    delta method.
    """
    check_confidence(confidence)
    check_choice(method, RATIO_METHODS, name="method")
    check_seed(seed)
    old, old_exponent = nested(baseline, name="baseline").scaled()
    new, new_exponent = nested(candidate, name="candidate").scaled()
    if method in PAIRED_METHODS:
        check_pairs(old, new)
    if old.mean == 0:
        raise AnalysisError("baseline: its mean is 0, so a ratio to it is undefined; compare differences instead")
    centre = new.mean / old.mean
    if method.endswith("log-t"):
        centre = math.exp(float(log_means(new, "candidate").mean() - log_means(old, "baseline").mean()))
    single = tuple(
        advice.Single(of=(subject,)) for sample, subject in ((old, BASELINE), (new, CANDIDATE)) if sample.n_top == 1
    )
    if single:
        bounds = Bounds(low=-math.inf, high=math.inf, warnings=single)
    elif method in FIELLER_METHODS:
        bounds = fieller_bounds(
            old.top_means, new.top_means, confidence=confidence, method=method, lost=(old.lost, new.lost)
        )
    elif method in ("log-t", "paired-log-t"):
        bounds = _log_bounds(old, new, confidence=confidence, is_paired=method == "paired-log-t")
    else:
        check_resamples(n_resamples, confidence)
        plan = resampling_plan(resampling, n_resamples, seed=seed, label="baseline")
        bounds = _bootstrap_bounds(old, new, plan=plan, confidence=confidence, method=method)
    is_percentile = method in ("bootstrap", "bca", "paired-bootstrap")
    shift = new_exponent - old_exponent
    try:
        centre, low, high = (math.ldexp(value, shift) for value in (centre, bounds.low, bounds.high))
    except OverflowError as error:
        raise AnalysisError(
            "the ratio is beyond the range of floating point; give both systems in the same unit"
        ) from error
    return Interval(
        centre=centre,
        low=low,
        high=high,
        confidence=confidence,
        method=method,
        warnings=bounds.warnings
        + sample_warnings(old, is_percentile=is_percentile, of=(BASELINE,))
        + sample_warnings(new, is_percentile=is_percentile, of=(CANDIDATE,)),
    )


def ratio_half_width(ratio: float, baseline: float, *, candidate: float, is_exact: bool = True) -> float:
    """Half-width of the Fieller interval from the relative half-widths of the two systems by themselves.

    Parameters
    ----------
    ratio
        Mean of the candidate over the mean of the baseline.
    baseline, candidate
        Relative half-widths e and e' of the systems' own intervals, as fractions.
    is_exact
        False leaves out the terms of fourth order.

    Returns
    -------
    float
        Half-width of the interval of the ratio; infinite when the baseline's interval reaches zero.

    Raises
    ------
    AnalysisError
        Something that is not a finite number.

    Notes
    -----
    ``ratio / (1 - e^2) * sqrt(e^2 + e'^2 - e^2 e'^2)``, approximately ``ratio * sqrt(e^2 + e'^2)`` (ISMM 2013,
    section 10.2, equation 6).
    """
    for value, name in ((ratio, "ratio"), (baseline, "baseline"), (candidate, "candidate")):
        check_real(value, name=name)
    if max(abs(baseline), abs(candidate)) > _LARGEST_HALF_WIDTH:
        return math.inf
    e2, f2 = float(baseline) ** 2, float(candidate) ** 2
    if not is_exact:
        return abs(ratio) * math.sqrt(e2 + f2)
    if e2 >= 1:
        return math.inf
    return abs(ratio) / (1 - e2) * math.sqrt(e2 + f2 - e2 * f2)


def check_pairs(old: Nested, new: Nested) -> None:
    """Paired systems have equally many binaries."""
    if old.n_top != new.n_top:
        raise AnalysisError(
            f"paired by seed: the baseline has {plural(old.n_top)} and the candidate {new.n_top}; "
            "keep only the seeds that both have, in the same order"
        )


def fieller_bounds(
    old: FloatArray, new: FloatArray, *, confidence: float, method: str, lost: tuple[int, int] = (0, 0)
) -> Bounds:
    """Fieller's interval for mean(new) / mean(old), from the binaries' means; see `ratio_interval`."""
    y, y_new = float(old.mean()), float(new.mean())
    v, v_new = sample_variance(old) / old.size, sample_variance(new) / new.size
    quantile = t_quantile(confidence, fieller_degrees(old, new, method=method, lost=lost))
    ratio = y_new / y
    e2, f2 = quantile**2 * v / (y * y), quantile**2 * v_new / (y * y)  # h^2 / Y^2 and h'^2 / Y^2
    if e2 >= 1:
        needed = first_count(lambda r: t_quantile(confidence, r - 1) ** 2 * v * old.size / r < y * y, start=2)
        return Bounds(low=-math.inf, high=math.inf, warnings=(advice.UnboundedRatio(old.size, needed),))
    root = math.sqrt(ratio * ratio * e2 + f2 * (1 - e2))
    return Bounds(low=(ratio - root) / (1 - e2), high=(ratio + root) / (1 - e2), warnings=())


def fieller_degrees(old: FloatArray, new: FloatArray, *, method: str, lost: tuple[int, int] = (0, 0)) -> float:
    """Degrees of freedom of Fieller's t, from the binaries' means; infinite for the normal quantile.

    ``lost`` are those that the two samples' means lack (`Nested.lost`).
    """
    if method == "fieller-normal":
        return math.inf
    if method == "fieller" and old.size == new.size and lost[0] == lost[1]:
        return float(old.size - 1 - lost[0])
    # Degrees know no unit: each over its own power of 2, and all over the squared mean of the old, nothing overflows.
    a, b = (np.ldexp(each, -math.frexp(float(np.abs(each).max()))[1]) for each in (old, new))
    variances = (
        float(b.mean()) ** 2 * sample_variance(a) / a.size,
        float(a.mean()) ** 2 * sample_variance(b) / b.size,
    )
    return satterthwaite(variances, (old.size - lost[0], new.size - lost[1]))


def satterthwaite(variances: tuple[float, ...], counts: tuple[int, ...]) -> float:
    """Degrees of freedom of a sum of independent variance estimates, ``(sum v)^2 / sum(v^2 / (r - 1))``."""
    largest = max(variances)
    if largest == 0:
        return float(min(counts) - 1)
    shares = [v / largest for v in variances]
    return sum(shares) ** 2 / sum(share**2 / (count - 1) for share, count in zip(shares, counts, strict=True))


def log_means(sample: Nested, name: str) -> FloatArray:
    """Logarithms of the binaries' means."""
    means = sample.top_means
    if not (means > 0).all():
        bad = int(np.flatnonzero(means <= 0)[0])
        raise AnalysisError(
            f"{name}: the mean of binary {bad} is not above 0, but logarithms are taken; use method 'fieller'"
        )
    return np.asarray(np.log(means), dtype=np.float64)


def _log_bounds(old: Nested, new: Nested, *, confidence: float, is_paired: bool) -> Bounds:
    log_old, log_new = log_means(old, "baseline"), log_means(new, "candidate")
    centre = float(log_new.mean() - log_old.mean())
    if is_paired:
        variance = sample_variance(log_new - log_old) / old.n_top
        degrees = float(min(old.n_free, new.n_free) - 1)
    else:
        parts = (sample_variance(log_old) / old.n_top, sample_variance(log_new) / new.n_top)
        variance = sum(parts)
        degrees = satterthwaite(parts, (old.n_free, new.n_free))
    half = t_quantile(confidence, degrees) * math.sqrt(variance)
    return Bounds(low=exponential(centre - half), high=exponential(centre + half), warnings=())


def exponential(value: float) -> float:
    """``exp`` that reaches infinity instead of overflowing."""
    return math.exp(value) if value < 709 else math.inf


def _bootstrap_bounds(old: Nested, new: Nested, *, plan: ResamplingPlan, confidence: float, method: str) -> Bounds:
    is_paired = method == "paired-bootstrap"
    if is_paired and not level_pattern(plan.resampling, old.n_levels).startswith("R"):
        raise AnalysisError(
            f"paired-bootstrap draws binaries, but resampling {plan.resampling!r} does not; use RRR or RNN"
        )
    top_label = plan.label if is_paired else "candidate"
    new_plan = replace(plan, label="candidate", top_label=top_label)
    if method == "bootstrap-t":
        return _studentised(old, new, plans=(plan, new_plan), confidence=confidence)
    bottom, top = replicate_means(old, plan), replicate_means(new, new_plan)
    crossed = int((bottom * old.mean <= 0).sum())
    if crossed:
        warning = advice.DenominatorCrossesZero(crossed, bottom.size)
        return Bounds(low=-math.inf, high=math.inf, warnings=(warning,))
    if method == "bca":
        jackknifes = (
            new.mean / _without_each(old.top_means),
            _without_each(new.top_means) / old.mean,
        )
        return bca_bounds(top / bottom, jackknifes, estimate=new.mean / old.mean, confidence=confidence)
    return percentile_bounds(top / bottom, confidence)


def _without_each(means: FloatArray) -> FloatArray:
    return np.asarray((means.sum() - means) / (means.size - 1))


def _studentised(
    old: Nested, new: Nested, *, plans: tuple[ResamplingPlan, ResamplingPlan], confidence: float
) -> Bounds:
    bottom, bottom_errors = means_and_errors(old, plans[0])
    top, top_errors = means_and_errors(new, plans[1])
    if min(old.mean, new.mean, float(bottom.min()), float(top.min())) <= 0:
        raise AnalysisError("bootstrap-t takes logarithms and needs means above 0; use method 'fieller'")
    estimate = math.log(new.mean) - math.log(old.mean)
    error = math.hypot(
        math.sqrt(sample_variance(old.top_means) / old.n_top) / old.mean,
        math.sqrt(sample_variance(new.top_means) / new.n_top) / new.mean,
    )
    errors = np.hypot(bottom_errors / bottom, top_errors / top)
    bounds = studentised_bounds(
        np.log(top / bottom) - estimate, errors, estimate=estimate, error=error, confidence=confidence
    )
    return replace(bounds, low=exponential(bounds.low), high=exponential(bounds.high))
