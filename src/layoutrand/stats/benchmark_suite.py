"""One ratio for a suite of benchmarks.

The suite mean of a system is the geometric (default), arithmetic or harmonic mean, over benchmarks, of the
benchmarks' means.  All work is on logarithms, so that no product of benchmarks overflows or vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.bootstrap import Bounds, check_resamples, percentile_bounds, studentised_bounds
from layoutrand.stats.checks import check_choice, check_confidence, check_mapping, check_seed
from layoutrand.stats.interval import Interval, is_constant, means_and_errors, sample_variance
from layoutrand.stats.levels import FloatArray, Measurements, Nested, nested
from layoutrand.stats.quantiles import t_quantile
from layoutrand.stats.ratio import exponential, log_means, satterthwaite
from layoutrand.stats.resample import replicate_means, resampling_plan
from layoutrand.stats.stats_warning import Side, StatsWarning, WarningSubject

SUITE_MEANS = ("geometric", "arithmetic", "harmonic")
SUITE_METHODS = ("log-t", "bootstrap", "bootstrap-t", "paired-log-t")
SUITE_DRAWS = ("separate", "shared", "paired")


@dataclass(frozen=True, kw_only=True)
class SuitePair:
    """The benchmarks that both systems ran, in the order of their names.

    Attributes
    ----------
    names
        Names of the common benchmarks.
    baselines, candidates
        Their measurements, one per name.
    warnings
        Names that only one system has.
    """

    names: tuple[str, ...]
    baselines: tuple[Nested, ...]
    candidates: tuple[Nested, ...]
    warnings: tuple[StatsWarning, ...]


def suite_ratio(
    baselines: Mapping[str, Measurements],
    candidates: Mapping[str, Measurements],
    *,
    mean: str = "geometric",
    confidence: float = 0.95,
    method: str = "log-t",
    resampling: str = "RRR",
    n_resamples: int = 10_000,
    seed: int = 0,
    draws: str = "separate",
) -> Interval:
    """Estimate the ratio candidate / baseline of the suite means, with a confidence interval.

    Parameters
    ----------
    baselines, candidates
        Benchmark name to measurements above 0 on average, axes highest level first.  Only benchmarks that both
        systems have are compared; the others are named in a warning.
    mean
        Mean over benchmarks: ``"geometric"``, ``"arithmetic"`` or ``"harmonic"``.
    confidence
        Nominal confidence in (0, 1).
    method
        ``"log-t"`` (default), ``"bootstrap"``, ``"bootstrap-t"``, or ``"paired-log-t"``; see Notes.
    resampling, n_resamples, seed
        Bootstrap only, as in `mean_interval`.
    draws
        Bootstrap only: whether each benchmark of each system draws its own binaries (``"separate"``), all benchmarks of
        a system the same ones (``"shared"``), or both systems too (``"paired"``, by seed).  The last two need the same
        binaries in the same order throughout.

    Returns
    -------
    Interval
        Without unit.

    Raises
    ------
    AnalysisError
        No benchmark in common, malformed data, a mean not above 0, or binaries that cannot be paired.

    Notes
    -----
    log-t: Student's t on the logarithm of the ratio.  With shares ``w_b`` of the benchmarks in the suite mean (1/k
    for the geometric mean of k benchmarks), the variance of its logarithm is ``sum w_b^2 S_b^2 / (r_b Y_b^2)`` over
    both systems (delta method), with Welch and Satterthwaite's degrees of freedom.

    bootstrap: Li, Chen and Peng, section IV, with one change.  As printed, its step 1 pools the scores of both
    machines before resampling, which would centre the interval on 1; their results are those of resampling within
    each machine and benchmark, which is done here, through all levels of the hierarchy.

    log-t and the bootstraps with separate draws take benchmarks as independent.  When all benchmarks run from the
    same binaries (one artefact, many workloads), a layout that is slow for one may be slow for others.  paired-log-t
    allows for that, and for the two systems sharing seeds: for each seed it averages the logarithm of the ratio over
    benchmarks and takes Student's t over seeds; geometric mean only.  So do the bootstraps with shared or paired draws.
    """
    check_confidence(confidence)
    check_choice(mean, SUITE_MEANS, name="mean")
    check_choice(method, SUITE_METHODS, name="method")
    check_choice(draws, SUITE_DRAWS, name="draws")
    check_seed(seed)
    pair = pair_suites(baselines, candidates)
    log_old, log_new = (
        np.array([_log_mean(s, n) for s, n in zip(system, pair.names, strict=True)])
        for system in (pair.baselines, pair.candidates)
    )
    fewest = min(sample.n_top for sample in pair.baselines + pair.candidates)
    estimate = float(log_suite_mean(log_new, mean) - log_suite_mean(log_old, mean))
    if fewest == 1:
        bounds = Bounds(low=-math.inf, high=math.inf, warnings=())
    elif method == "log-t":
        bounds = _delta_bounds(pair, (log_old, log_new), mean=mean, confidence=confidence)
    elif method == "paired-log-t":
        bounds = _paired_bounds(pair, mean=mean, confidence=confidence)
        estimate = (bounds.low + bounds.high) / 2
    else:
        check_resamples(n_resamples, confidence)
        settings = _Resampling(resampling=resampling, n_resamples=n_resamples, seed=seed, draws=draws)
        _check_draws(pair, draws)
        bounds = _bootstrap_bounds(
            pair, settings, mean=mean, confidence=confidence, estimate=estimate if method == "bootstrap-t" else None
        )
    return Interval(
        centre=exponential(estimate),
        low=exponential(bounds.low) if fewest > 1 else -math.inf,
        high=exponential(bounds.high),
        confidence=confidence,
        method=method,
        warnings=pair.warnings + bounds.warnings + _suite_warnings(pair, fewest, is_percentile=method == "bootstrap"),
    )


def pair_suites(baselines: Mapping[str, Measurements], candidates: Mapping[str, Measurements]) -> SuitePair:
    """Read the benchmarks that both systems have."""
    check_mapping(baselines, name="baselines")
    check_mapping(candidates, name="candidates")
    names = tuple(sorted(set(baselines) & set(candidates)))
    if not names:
        raise AnalysisError(
            f"no benchmark in common: the baseline has {', '.join(sorted(baselines)) or 'none'}, "
            f"the candidate {', '.join(sorted(candidates)) or 'none'}; run both systems on the same suite"
        )
    warnings: list[StatsWarning] = []
    sides: tuple[Side, Side] = ("baseline", "candidate")
    for side, ours, theirs in zip(sides, (baselines, candidates), (candidates, baselines), strict=True):
        missing = sorted(set(ours) - set(theirs))
        if missing:
            warnings.append(advice.LeftOut(tuple(missing), len(ours), side))
    return SuitePair(
        names=names,
        baselines=tuple(nested(baselines[name], name=f"baseline, {name}") for name in names),
        candidates=tuple(nested(candidates[name], name=f"candidate, {name}") for name in names),
        warnings=tuple(warnings),
    )


@dataclass(frozen=True, kw_only=True)
class _Resampling:
    resampling: str
    n_resamples: int
    seed: int
    draws: str


def _log_mean(sample: Nested, name: str) -> float:
    scaled, exponent = sample.scaled()
    if scaled.mean <= 0:
        raise AnalysisError(f"{name}: its mean is not above 0, but suite means take logarithms; leave it out")
    return math.log(scaled.mean) + exponent * math.log(2)


def log_suite_mean(logs: FloatArray, mean: str) -> FloatArray:
    """Logarithm of the mean over benchmarks (axis 0) of quantities given by their logarithms."""
    if mean == "geometric":
        return np.asarray(logs.mean(axis=0))
    sign = 1.0 if mean == "arithmetic" else -1.0
    largest = (sign * logs).max(axis=0)
    return np.asarray(sign * (largest + np.log(np.exp(sign * logs - largest).mean(axis=0))))


def _shares(logs: FloatArray, mean: str) -> FloatArray:
    """Derivative of the logarithm of the suite mean by the logarithms of the benchmarks' means."""
    if mean == "geometric":
        return np.full(logs.shape, 1.0 / logs.shape[0])
    sign = 1.0 if mean == "arithmetic" else -1.0
    weights = np.exp(sign * logs - (sign * logs).max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def _relative_variances(system: tuple[Nested, ...]) -> FloatArray:
    """``S^2 / (r Y^2)`` of each benchmark."""
    scaled = [sample.scaled()[0] for sample in system]
    return np.array([sample_variance(s.top_means) / s.n_top / s.mean**2 for s in scaled])


def _delta_variances(pair: SuitePair, logs: tuple[FloatArray, FloatArray], mean: str) -> tuple[float, ...]:
    parts = [
        _shares(log, mean) ** 2 * _relative_variances(system)
        for system, log in zip((pair.baselines, pair.candidates), logs, strict=True)
    ]
    return tuple(np.concatenate(parts).tolist())


def _delta_bounds(pair: SuitePair, logs: tuple[FloatArray, FloatArray], *, mean: str, confidence: float) -> Bounds:
    variances = _delta_variances(pair, logs, mean)
    degrees = satterthwaite(variances, tuple(sample.n_free for sample in pair.baselines + pair.candidates))
    half = t_quantile(confidence, degrees) * math.sqrt(sum(variances))
    estimate = float(log_suite_mean(logs[1], mean) - log_suite_mean(logs[0], mean))
    return Bounds(low=estimate - half, high=estimate + half, warnings=())


def _paired_bounds(pair: SuitePair, *, mean: str, confidence: float) -> Bounds:
    if mean != "geometric":
        raise AnalysisError(f"paired-log-t is for the geometric mean, not the {mean}; use method 'log-t'")
    counts = {sample.n_top for sample in pair.baselines + pair.candidates}
    if len(counts) > 1:
        raise AnalysisError(
            f"paired by seed: the benchmarks have from {min(counts)} to {max(counts)} binaries; "
            "keep only the seeds that all benchmarks of both systems have, in the same order"
        )
    ratios = np.mean(
        [
            log_means(new, f"candidate, {name}") - log_means(old, f"baseline, {name}")
            for name, old, new in zip(pair.names, pair.baselines, pair.candidates, strict=True)
        ],
        axis=0,
    )
    free = min(sample.n_free for sample in pair.baselines + pair.candidates)
    half = t_quantile(confidence, free - 1) * math.sqrt(sample_variance(ratios) / ratios.size)
    return Bounds(low=float(ratios.mean()) - half, high=float(ratios.mean()) + half, warnings=())


def _bootstrap_bounds(
    pair: SuitePair, settings: _Resampling, *, mean: str, confidence: float, estimate: float | None
) -> Bounds:
    """Percentile bounds of the logarithm of the ratio, or with an `estimate` studentised ones."""
    is_studentised = estimate is not None
    logs, variances = zip(
        *(
            _replicates(pair, who, settings, mean=mean, is_studentised=is_studentised)
            for who in ("baseline", "candidate")
        ),
        strict=True,
    )
    replicates = logs[1] - logs[0]
    if estimate is None:
        return percentile_bounds(replicates, confidence)
    originals = tuple(
        np.array([_log_mean(s, n) for s, n in zip(system, pair.names, strict=True)])
        for system in (pair.baselines, pair.candidates)
    )
    error = math.sqrt(sum(_delta_variances(pair, (originals[0], originals[1]), mean)))
    errors = np.sqrt(variances[0] + variances[1])
    return studentised_bounds(replicates - estimate, errors, estimate=estimate, error=error, confidence=confidence)


def _check_draws(pair: SuitePair, draws: str) -> None:
    groups = {
        "separate": (),
        "shared": (pair.baselines, pair.candidates),
        "paired": (pair.baselines + pair.candidates,),
    }
    for group in groups[draws]:
        counts = {sample.n_top for sample in group}
        if len(counts) > 1:
            raise AnalysisError(
                f"{draws} draws: the benchmarks have from {min(counts)} to {max(counts)} binaries; "
                "keep only the binaries that all of them have, in the same order"
            )


def _replicates(
    pair: SuitePair, who: str, settings: _Resampling, *, mean: str, is_studentised: bool
) -> tuple[FloatArray, FloatArray]:
    """Logarithm of the suite mean of each replicate of one system, and its delta-method variance if wanted."""
    logs, variances = [], []
    for name, sample in zip(pair.names, pair.baselines if who == "baseline" else pair.candidates, strict=True):
        scaled, exponent = sample.scaled()
        plan = resampling_plan(settings.resampling, settings.n_resamples, seed=settings.seed, label=f"{who}\x1f{name}")
        if settings.draws != "separate":
            plan = replace(plan, top_label="both" if settings.draws == "paired" else who)
        if is_studentised:
            means, errors = means_and_errors(scaled, plan)
        else:
            means, errors = replicate_means(scaled, plan), np.zeros(settings.n_resamples)
        if means.min() <= 0:
            raise AnalysisError(f"{who}, {name}: some replicates have a mean not above 0; leave the benchmark out")
        logs.append(np.log(means) + exponent * math.log(2))
        variances.append((errors / means) ** 2)
    stacked = np.array(logs)
    total = (_shares(stacked, mean) ** 2 * np.array(variances)).sum(axis=0)
    return log_suite_mean(stacked, mean), np.asarray(total)


def _suite_warnings(pair: SuitePair, fewest: int, *, is_percentile: bool) -> tuple[StatsWarning, ...]:
    """Warnings of the worst benchmark: the one with the fewest binaries, and all without variation."""
    sides: tuple[Side, Side] = ("baseline", "candidate")
    every = [
        (WarningSubject(side, name), sample)
        for side, system in zip(sides, (pair.baselines, pair.candidates), strict=True)
        for name, sample in zip(pair.names, system, strict=True)
    ]
    worst = next(subject for subject, sample in every if sample.n_top == fewest)
    if fewest == 1:
        return (advice.Single(of=(worst,)),)
    warnings = (advice.few_for_percentile if is_percentile else advice.few_binaries)(fewest, worst)
    constant = tuple(subject for subject, sample in every if is_constant(sample.top_means))
    if constant:
        warnings += (advice.NoVariation(of=constant),)
    return warnings
