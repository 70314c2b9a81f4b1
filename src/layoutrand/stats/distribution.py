"""Empirical distribution of a suite's mean, and its summary in five numbers (Li, Chen and Peng, section V)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.benchmark_suite import SUITE_MEANS, log_suite_mean
from layoutrand.stats.checks import check_choice, check_count, check_seed
from layoutrand.stats.levels import FloatArray, Measurements, Nested, nested
from layoutrand.stats.streams import RaggedSampler, Stream


@dataclass(frozen=True, kw_only=True)
class FiveNumberSummary:
    """Minimum, quartiles and maximum, in the unit of what is summarised."""

    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


def empirical_distribution(
    suite: Mapping[str, Measurements], *, mean: str = "geometric", n_resamples: int = 10_000, seed: int = 0
) -> FloatArray:
    """Sample the distribution of one system's suite mean when every benchmark is measured once.

    Parameters
    ----------
    suite
        Benchmark name to measurements above 0, axes highest level first.
    mean
        Mean over benchmarks: ``"geometric"``, ``"arithmetic"`` or ``"harmonic"``.
    n_resamples
        Number of values.
    seed
        The values depend on it alone.

    Returns
    -------
    ndarray
        Shape ``(n_resamples,)``, in the unit of the measurements, in the order drawn.

    Raises
    ------
    AnalysisError
        No benchmark, malformed data, or a measurement not above 0.

    Notes
    -----
    Each value draws one score per benchmark and takes their mean over benchmarks (Li, Chen and Peng, section V).
    The score of hierarchical data is one measurement of a random execution of a random binary.
    """
    check_choice(mean, SUITE_MEANS, name="mean")
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    if not suite:
        raise AnalysisError("no benchmark in the suite; give at least one")
    logs = np.empty((len(suite), n_resamples))
    for row, name in zip(logs, sorted(suite), strict=True):
        sample = nested(suite[name], name=name)
        if not (sample.values > 0).all():
            raise AnalysisError(f"{name}: some measurements are not above 0, but suite means take logarithms")
        row[:] = np.log(sample.values)[_one_each(sample, Stream(seed, "distribution", name), n_resamples)]
    return np.asarray(np.exp(log_suite_mean(logs, mean)))


def five_number_summary(
    suite: Mapping[str, Measurements], *, mean: str = "geometric", n_resamples: int = 10_000, seed: int = 0
) -> FiveNumberSummary:
    """Summarise the empirical distribution of one system's suite mean.

    Parameters and errors are those of `empirical_distribution`; quartiles interpolate linearly.
    """
    return summarise(empirical_distribution(suite, mean=mean, n_resamples=n_resamples, seed=seed))


def summarise(values: FloatArray) -> FiveNumberSummary:
    """Five-number summary of a sample; quartiles interpolate linearly."""
    low, first, middle, third, high = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist()
    return FiveNumberSummary(minimum=low, lower_quartile=first, median=middle, upper_quartile=third, maximum=high)


def _one_each(sample: Nested, stream: Stream, n_resamples: int) -> np.ndarray:
    """Positions of randomly drawn measurements: at each level a random unit of those inside the last one."""
    sampler = RaggedSampler(stream, row_length=1)
    cells = np.zeros((n_resamples, 1), dtype=np.int64)
    for counts in reversed(sample.counts):
        starts = np.cumsum(counts) - counts
        cells = starts[cells] + sampler.rows(counts[cells])
    return cells[:, 0]
