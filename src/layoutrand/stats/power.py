"""Simulation study of power: how often does a test find that some benchmarks of a suite differ?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import (
    check_choice,
    check_confidence,
    check_count,
    check_real,
    check_seed,
)
from layoutrand.stats.comparison import hpt_test, suite_t_test
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.randomization import randomization_test
from layoutrand.stats.streams import Stream
from layoutrand.stats.studies import Rate, rate

TESTS = ("randomization", "t", "hpt")
SUITE_SDS = tuple(0.012 * (0.91 / 0.012) ** (i / 12) for i in range(13))
SUITE_MEANS = (25.0,) * len(SUITE_SDS)


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
        Random assignments of the randomization test (M).
    seed
        The study depends on it alone.

    Returns
    -------
    tuple of PowerRow
        One for each number of differing benchmarks and test.

    Raises
    ------
    AnalysisError
        Not one mean and one standard deviation of at least 0 for each benchmark, more that differ than there are, an
        unknown test, a significance outside (0, 1), counts that are too small, or scores that are not above 0.
    """
    if len(means) != len(sds) or len(means) == 0:
        raise AnalysisError(
            f"power_study: {len(means)} means and {len(sds)} standard deviations; give one each per benchmark"
        )
    for test in tests:
        check_choice(test, TESTS, name="test")
    check_count(n_datasets, name="n_datasets")
    check_count(n_scores, name="n_scores")
    check_confidence(significance, name="significance", usual=0.05)
    check_real(difference, name="difference")
    check_seed(seed)
    for sd in sds:
        check_real(sd, name="sds")
        if sd < 0:
            raise AnalysisError(f"sds: a standard deviation is at least 0, got {sd:g}")
    for number in n_different or ():
        check_count(number, name="n_different", at_least=0)
        if number > len(means):
            raise AnalysisError(f"n_different: {number} of {len(means)} benchmarks cannot differ")
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
