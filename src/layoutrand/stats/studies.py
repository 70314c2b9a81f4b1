"""Simulation studies: do the methods keep their promises?

Each study simulates many experiments of known truth, puts them through the very functions that users call, and
counts.  Rows carry the exact binomial interval of their rate, so that a reader can tell a finding from chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_choice, check_count, check_fraction, check_seed
from layoutrand.stats.comparison import hpt_test, suite_t_test
from layoutrand.stats.decision import decide
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import beta_quantile
from layoutrand.stats.randomization import randomization_test
from layoutrand.stats.ratio import FIELLER_METHODS, RATIO_METHODS, ratio_interval
from layoutrand.stats.simulation import HierarchicalModel, simulate
from layoutrand.stats.streams import Stream

ANALYSES = ("per-binary", "flat-t", "fieller", "fieller-welch", "fieller-normal", "log-t", "RRR", "RRN", "RNN", "FLAT")
TESTS = ("randomization", "t", "hpt")
SUITE_SDS = tuple(0.012 * (0.91 / 0.012) ** (i / 12) for i in range(13))
SUITE_MEANS = (25.0,) * len(SUITE_SDS)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share of simulated experiments, with its exact (Clopper-Pearson) 95 % interval."""

    count: int
    n: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class CoverageRow:
    """How often an interval held the true ratio.

    Attributes
    ----------
    n_binaries
        Binaries of each system.
    method
        As in `ratio_interval`.
    coverage
        Share of intervals that held the truth.
    mean_half_width
        Of the intervals with bounds.
    n_unbounded
        Intervals without bounds; they count as holding the truth.
    """

    n_binaries: int
    method: str
    coverage: Rate
    mean_half_width: float
    n_unbounded: int


@dataclass(frozen=True, kw_only=True)
class FalseAlarmRow:
    """How often two samples of one system were called different.

    Attributes
    ----------
    counts
        Repetitions of each sample, highest level first.
    analysis
        One of the analyses of `false_alarm_study`.
    threshold
        Smallest relative difference that counts.
    alarms
        Share of comparisons that found one.
    """

    counts: tuple[int, ...]
    analysis: str
    threshold: float
    alarms: Rate


@dataclass(frozen=True, kw_only=True)
class PowerRow:
    """How often a test found that some benchmarks of a suite differ.

    Attributes
    ----------
    n_different
        Benchmarks that truly differ; 0 gives the false alarm rate.
    test
        ``"randomization"``, ``"t"`` or ``"hpt"``.
    rejections
        Share of experiments in which the test rejected.
    """

    n_different: int
    test: str
    rejections: Rate


def rate(count: int, n: int) -> Rate:
    """A share with its exact binomial interval (Clopper and Pearson, Biometrika 26, 1934)."""
    low = beta_quantile(0.025, count, n - count + 1) if count else 0.0
    high = beta_quantile(0.975, count + 1, n - count) if count < n else 1.0
    return Rate(count=count, n=n, rate=count / n, low=low, high=high)


def coverage_study(
    model: HierarchicalModel,
    *,
    n_binaries: Sequence[int] = (3, 5, 10, 20, 30, 50),
    lower_counts: Sequence[int] = (100, 100),
    ratio: float = 0.95,
    methods: Sequence[str] = ("fieller", "fieller-normal", "log-t"),
    confidence: float = 0.95,
    n_datasets: int = 2000,
    n_resamples: int = 1000,
    resampling: str = "RRR",
    seed: int = 0,
) -> tuple[CoverageRow, ...]:
    """Count how often intervals of the ratio hold the true ratio (TR 4-12, section 8.4).

    Parameters
    ----------
    model
        Population of the baseline; the candidate's has the mean times `ratio` and the same variances.
    n_binaries
        Numbers of binaries to study.  With 1 the experimenter ignores that binaries differ, and takes the executions
        of one binary as the top level (TR 8.4.2); the truth still is that of all binaries.
    lower_counts
        Repetitions below the top, highest first; as many as the model has levels below the top.
    ratio
        True ratio.
    methods
        Methods of `ratio_interval`.
    confidence
        Nominal confidence.
    n_datasets
        Simulated comparisons for each number of binaries, the same for all methods.
    n_resamples, resampling
        Of the bootstrap methods.
    seed
        The study depends on it alone.

    Returns
    -------
    tuple of CoverageRow
        One for each number of binaries and method.

    Notes
    -----
    When no method looks below the binaries' means and layouts are normal, only those means are simulated: they are
    normal with variance ``sigma_n^2 + sigma_{n-1}^2 / r_{n-1} + ...``, which is the same experiment for a fraction
    of the work.
    """
    for method in methods:
        check_choice(method, RATIO_METHODS, name="method")
    check_count(n_datasets, name="n_datasets")
    check_seed(seed)
    lower = tuple(lower_counts)
    closed = {*FIELLER_METHODS, "log-t", "paired-log-t"}
    is_closed = closed.issuperset(methods) and model.layout == "normal"
    rows = []
    for index, binaries in enumerate(n_binaries):
        check_count(binaries, name="n_binaries")
        population, counts = model, (binaries, *lower)
        if is_closed and binaries > 1:
            population, counts = model.of_top_means(lower), (binaries,)
        old, new = _two_systems(population, counts, ratio=ratio, n_datasets=n_datasets, seed=seed, index=index)
        if binaries == 1:
            old, new = old[:, 0], new[:, 0]
        for method in methods:
            found = [
                ratio_interval(
                    a,
                    b,
                    confidence=confidence,
                    method=method,
                    resampling=resampling,
                    n_resamples=n_resamples,
                    seed=seed + k,
                )
                for k, (a, b) in enumerate(zip(old, new, strict=True))
            ]
            rows.append(_coverage_row(found, binaries, method, ratio))
    return tuple(rows)


def false_alarm_study(
    model: HierarchicalModel,
    *,
    designs: Sequence[Sequence[int]] = ((1, 30, 1), (3, 10, 1), (10, 3, 1), (30, 1, 1)),
    analyses: Sequence[str] = ("flat-t", "per-binary", "log-t"),
    thresholds: Sequence[float] = (0.0,),
    n_comparisons: int = 1000,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[FalseAlarmRow, ...]:
    """Compare a system with itself and count the differences found (TR 4-12, section 8.3).

    Parameters
    ----------
    model
        Population of both samples.
    designs
        Repetitions of each sample, highest level first.  Each sample has its own binaries, also when that is one.
    analyses
        ``"per-binary"``: what users get by default, fieller on the binaries' means; it needs several binaries, so
        designs with one are left out.  ``"flat-t"``: fieller-welch on all measurements as if independent.
        ``"fieller"``, ``"fieller-welch"``, ``"fieller-normal"``, ``"log-t"``: that method of `ratio_interval`;
        ``"RRR"``, ``"RRN"``, ``"RNN"``, ``"FLAT"``: bootstrap with that resampling; who measures only one binary takes
        its executions as the top level (TR 8.3.2), and so do these, but for FLAT.
    thresholds
        Smallest relative differences that count as different.
    n_comparisons
        Comparisons for each design, the same for all analyses.
    n_resamples
        Of the bootstrap analyses.
    confidence
        Of the intervals.
    seed
        The study depends on it alone.

    Returns
    -------
    tuple of FalseAlarmRow
        One for each design, analysis and threshold.
    """
    for analysis in analyses:
        check_choice(analysis, ANALYSES, name="analysis")
    for threshold in thresholds:
        check_fraction(threshold, name="threshold")
    check_count(n_comparisons, name="n_comparisons")
    check_seed(seed)
    rows = []
    for index, design in enumerate(designs):
        counts = tuple(design)
        old, new = _two_systems(model, counts, ratio=1.0, n_datasets=n_comparisons, seed=seed, index=index)
        for analysis in analyses:
            if analysis == "per-binary" and counts[0] == 1:
                continue
            compare = _comparison(analysis, counts, confidence, n_resamples)
            found = [compare(a, b, seed + k) for k, (a, b) in enumerate(zip(old, new, strict=True))]
            for threshold in thresholds:
                alarms = sum(decide(interval, threshold) in ("faster", "slower") for interval in found)
                rows.append(
                    FalseAlarmRow(
                        counts=counts, analysis=analysis, threshold=threshold, alarms=rate(alarms, n_comparisons)
                    )
                )
    return tuple(rows)


def power_study(
    means: Sequence[float] = SUITE_MEANS,
    sds: Sequence[float] = SUITE_SDS,
    *,
    difference: float = 1.0,
    n_scores: int = 5,
    n_different: Sequence[int] | None = None,
    tests: Sequence[str] = TESTS,
    significance: float = 0.05,
    n_datasets: int = 100,
    n_resamples: int = 500,
    seed: int = 0,
) -> tuple[PowerRow, ...]:
    """Count how often tests find that some benchmarks of a suite differ (Li, Chen and Peng, section VI.A).

    Parameters
    ----------
    means, sds
        Mean and standard deviation of each benchmark's normal scores on both systems.  By default 13 benchmarks with
        the range of standard deviations that the paper gives, 0.012 to 0.91; it gives no means.
    difference
        Added to the candidate's scores of the benchmarks that differ, in the unit of the scores.
    n_scores
        Scores of each system per benchmark (the paper's m).
    n_different
        Numbers of benchmarks that differ (L), drawn at random in each experiment; 0 to all by default.
    tests
        ``"randomization"``, ``"t"`` (over benchmarks), ``"hpt"``.
    significance
        Two-sided level.
    n_datasets
        Experiments for each number.
    n_resamples
        Deals of the randomization test (M).
    seed
        The study depends on it alone.

    Returns
    -------
    tuple of PowerRow
        One for each number of differing benchmarks and test.
    """
    if len(means) != len(sds) or len(means) == 0:
        raise AnalysisError(
            f"power_study: {len(means)} means and {len(sds)} standard deviations; give one each per benchmark"
        )
    for test in tests:
        check_choice(test, TESTS, name="test")
    check_count(n_datasets, name="n_datasets")
    check_seed(seed)
    names = [f"benchmark {i}" for i in range(len(means))]
    numbers = range(len(means) + 1) if n_different is None else n_different
    centre, spread = np.array(means)[:, None], np.array(sds)[:, None]
    rows = []
    for number in numbers:
        rejections = dict.fromkeys(tests, 0)
        for k in range(n_datasets):
            stream = Stream(seed, "power", number, k)
            scores = centre + spread * stream.normals(2 * len(means) * n_scores).reshape(2, len(means), n_scores)
            scores[1, stream.order(len(means))[:number]] += difference
            systems = [dict(zip(names, system, strict=True)) for system in scores]
            for test in tests:
                rejections[test] += _rejects(test, systems, significance, n_resamples, seed=seed + k)
        rows += [
            PowerRow(n_different=number, test=test, rejections=rate(count, n_datasets))
            for test, count in rejections.items()
        ]
    return tuple(rows)


def _two_systems(
    model: HierarchicalModel, counts: tuple[int, ...], *, ratio: float, n_datasets: int, seed: int, index: int
) -> tuple[FloatArray, FloatArray]:
    """Independent samples of a baseline and of a candidate whose mean is `ratio` times the baseline's."""
    seeds = [int(Stream(seed, "study", index, who).words(1)[0] >> np.uint64(1)) for who in ("baseline", "candidate")]
    candidate = replace(model, mean=model.mean * ratio)
    return (
        simulate(model, counts, n_datasets=n_datasets, seed=seeds[0]),
        simulate(candidate, counts, n_datasets=n_datasets, seed=seeds[1]),
    )


def _coverage_row(found: Sequence[Interval], n_binaries: int, method: str, truth: float) -> CoverageRow:
    bounded = [interval.half_width for interval in found if math.isfinite(interval.half_width)]
    return CoverageRow(
        n_binaries=n_binaries,
        method=method,
        coverage=rate(sum(truth in interval for interval in found), len(found)),
        mean_half_width=float(np.mean(bounded)) if bounded else math.inf,
        n_unbounded=len(found) - len(bounded),
    )


def _comparison(
    analysis: str, counts: tuple[int, ...], confidence: float, n_resamples: int
) -> Callable[[FloatArray, FloatArray, int], Interval]:
    def compare(old: FloatArray, new: FloatArray, seed: int) -> Interval:
        if analysis == "flat-t":
            return ratio_interval(old.ravel(), new.ravel(), confidence=confidence, method="fieller-welch")
        if analysis == "FLAT":
            old, new = old.ravel(), new.ravel()
        elif counts[0] == 1:
            old, new = old[0], new[0]
        if analysis == "per-binary" or analysis in RATIO_METHODS:
            method = "fieller" if analysis == "per-binary" else analysis
            return ratio_interval(old, new, confidence=confidence, method=method)
        return ratio_interval(
            old,
            new,
            confidence=confidence,
            method="bootstrap",
            resampling="R" if analysis == "FLAT" else analysis,
            n_resamples=n_resamples,
            seed=seed,
        )

    return compare


def _rejects(
    test: str, systems: Sequence[dict[str, FloatArray]], significance: float, n_resamples: int, *, seed: int
) -> bool:
    if test == "randomization":
        result = randomization_test(systems[0], systems[1], n_resamples=n_resamples, seed=seed)
    elif test == "t":
        result = suite_t_test(systems[0], systems[1])
    else:
        result = hpt_test(systems[0], systems[1], significance=significance)
    return result.p_value <= significance
