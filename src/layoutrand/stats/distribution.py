"""Empirical distribution of a suite's mean, and its summary in five numbers (Li, Chen and Peng, section V)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.benchmark_suite import SUITE_DRAWS, SUITE_MEANS, log_suite_mean
from layoutrand.stats.checks import check_choice, check_count, check_mapping, check_seed
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
    suite: Mapping[str, Measurements],
    *,
    mean: str = "geometric",
    n_resamples: int = 10_000,
    seed: int = 0,
    draws: str = "separate",
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
    draws
        Whether each benchmark draws its own binary (``"separate"``) or all the same one (``"shared"``), as they do
        where one binary executes all of them; for the latter all need the same binaries in the same order.

    Returns
    -------
    ndarray
        Shape ``(n_resamples,)``, in the unit of the measurements, in the order drawn.

    Raises
    ------
    AnalysisError
        No benchmark, malformed data, a measurement not above 0, or binaries that cannot be shared.

    Notes
    -----
    Each value draws one score per benchmark and takes their mean over benchmarks (Li, Chen and Peng, section V).
    The score of hierarchical data is one measurement of a random execution of a random binary.  Their benchmarks are
    independent programs; what a binary does to several at once cancels in separate draws, which are too narrow then.
    """
    check_choice(mean, SUITE_MEANS, name="mean")
    check_choice(draws, SUITE_DRAWS[:2], name="draws")
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    check_mapping(suite, name="suite")
    if not suite:
        raise AnalysisError("no benchmark in the suite; give at least one")
    logs = np.empty((len(suite), n_resamples))
    samples = {name: nested(suite[name], name=name) for name in sorted(suite)}
    counts = {sample.n_top for sample in samples.values()}
    if draws == "shared" and len(counts) > 1:
        raise AnalysisError(
            f"shared draws: the benchmarks have from {min(counts)} to {max(counts)} binaries; keep only the binaries "
            "that all of them have, in the same order"
        )
    for row, (name, sample) in zip(logs, samples.items(), strict=True):
        if not (sample.values > 0).all():
            raise AnalysisError(f"{name}: some measurements are not above 0, but suite means take logarithms")
        row[:] = np.log(sample.values)[_one_each(sample, seed, name, n_resamples, is_shared=draws == "shared")]
    return np.asarray(np.exp(log_suite_mean(logs, mean)))


def five_number_summary(
    suite: Mapping[str, Measurements],
    *,
    mean: str = "geometric",
    n_resamples: int = 10_000,
    seed: int = 0,
    draws: str = "separate",
) -> FiveNumberSummary:
    """Summarise the empirical distribution of one system's suite mean.

    Parameters and errors are those of `empirical_distribution`; quartiles interpolate linearly.
    """
    return summarise(empirical_distribution(suite, mean=mean, n_resamples=n_resamples, seed=seed, draws=draws))


def summarise(values: FloatArray) -> FiveNumberSummary:
    """Five-number summary of a sample; quartiles interpolate linearly."""
    low, first, middle, third, high = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist()
    return FiveNumberSummary(minimum=low, lower_quartile=first, median=middle, upper_quartile=third, maximum=high)


def _one_each(sample: Nested, seed: int, name: str, n_resamples: int, *, is_shared: bool) -> np.ndarray:
    """Positions of randomly drawn measurements: at each level a random unit of those inside the last one."""
    sampler = RaggedSampler(Stream(seed, "distribution", name), row_length=1)
    top = RaggedSampler(Stream(seed, "distribution of binaries"), row_length=1) if is_shared else sampler
    cells = np.zeros((n_resamples, 1), dtype=np.int64)
    for level, counts in enumerate(reversed(sample.counts)):
        starts = np.cumsum(counts) - counts
        cells = starts[cells] + (top if level == 0 else sampler).rows(counts[cells])
    return cells[:, 0]
