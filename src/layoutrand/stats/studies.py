"""Simulation studies: do the methods keep their promises?  Here: do intervals hold the truth?

Each study simulates many experiments of known truth, puts them through the very functions that users call, and
counts.  Rows carry the exact binomial interval of their rate, so that a reader can tell a finding from chance.
False alarms and power are studied in the modules of those names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_choice, check_count, check_seed
from layoutrand.stats.interval import Interval
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import beta_quantile
from layoutrand.stats.ratio import FIELLER_METHODS, RATIO_METHODS, ratio_interval
from layoutrand.stats.simulation import HierarchicalModel, simulate
from layoutrand.stats.streams import Stream


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

    Raises
    ------
    AnalysisError
        An unknown method, counts below 1 or not one for each level, or what `simulate` and `ratio_interval` refuse.

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
    if len(lower) != len(model.sds) - 1:
        raise AnalysisError(
            f"lower_counts: {len(lower)} for the {len(model.sds) - 1} levels that the model has below the top"
        )
    closed = {*FIELLER_METHODS, "log-t", "paired-log-t"}
    is_closed = closed.issuperset(methods) and model.layout == "normal"
    rows = []
    for index, binaries in enumerate(n_binaries):
        check_count(binaries, name="n_binaries")
        population, counts = model, (binaries, *lower)
        if is_closed and binaries > 1:
            population, counts = model.of_top_means(lower), (binaries,)
        old, new = two_systems(population, counts, ratio=ratio, n_datasets=n_datasets, seed=seed, index=index)
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


def two_systems(
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
