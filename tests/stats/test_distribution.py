"""Empirical distribution of a suite's mean and its five-number summary."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError

MEANS = {"geometric": scipy_stats.gmean, "arithmetic": np.mean, "harmonic": scipy_stats.hmean}


@pytest.mark.parametrize("mean", MEANS)
def test_draws_one_score_per_benchmark_each_as_likely(mean):
    """Against all 3 x 4 combinations: exact frequencies."""
    suite = {"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0, 7.0, 11.0]}
    every = sorted(MEANS[mean](pair) for pair in itertools.product(*suite.values()))

    found = stats.empirical_distribution(suite, mean=mean, n_resamples=12_000, seed=1)
    values, counts = np.unique(found.round(9), return_counts=True)

    assert values == pytest.approx(np.unique(np.round(every, 9)))
    expected = 1000 * np.unique(np.round(every, 9), return_counts=True)[1]
    assert scipy_stats.chisquare(counts, expected).pvalue > 1e-4


def test_hierarchical_scores_are_measurements_of_random_binaries():
    """A binary with fewer measurements is drawn as often as one with more."""
    found = stats.empirical_distribution({"a": [[1.0], [2.0, 3.0, 4.0]]}, n_resamples=12_000)

    assert (np.isclose(found, 1.0)).mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(12_000))


def test_summary_is_that_of_the_distribution():
    suite = {"a": np.random.default_rng(1).lognormal(size=30), "b": np.random.default_rng(2).lognormal(size=20)}
    values = stats.empirical_distribution(suite, n_resamples=2000, seed=3)

    found = stats.five_number_summary(suite, n_resamples=2000, seed=3)

    assert found == stats.FiveNumberSummary(
        minimum=values.min(),
        lower_quartile=pytest.approx(np.percentile(values, 25)),
        median=pytest.approx(np.median(values)),
        upper_quartile=pytest.approx(np.percentile(values, 75)),
        maximum=values.max(),
    )


def test_the_geometric_mean_lies_within_the_distribution():
    """LCP X: the ratio of geometric means always fell into the interval; the mean of means into the range."""
    rng = np.random.default_rng(4)
    suite = {f"b{i}": rng.lognormal(i, 0.1, 30) for i in range(10)}
    found = stats.five_number_summary(suite)

    assert found.lower_quartile < scipy_stats.gmean([x.mean() for x in suite.values()]) < found.upper_quartile


def test_seed_and_order():
    suite = {"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0]}
    found = stats.empirical_distribution(suite, seed=5, n_resamples=50)

    assert (found == stats.empirical_distribution(dict(reversed(suite.items())), seed=5, n_resamples=50)).all()
    assert (found != stats.empirical_distribution(suite, seed=6, n_resamples=50)).any()


def test_no_overflow():
    suite = {f"b{i}": [1e300, 2e300] for i in range(40)}

    assert 1e300 < stats.five_number_summary(suite, n_resamples=100).minimum < 2e300


@pytest.mark.parametrize(
    ("suite", "arguments", "message"),
    [
        ({}, {}, "no benchmark in the suite; give at least one"),
        ({"a": [1.0, 0.0]}, {}, "a: some measurements are not above 0, but suite means take logarithms"),
        ({"a": [1.0]}, {"mean": "max"}, "unknown mean 'max'"),
        ({"a": [1.0]}, {"n_resamples": -1}, "n_resamples must be an integer of at least 1, got -1"),
        ({"a": []}, {}, "a: no measurements"),
    ],
)
def test_messages(suite, arguments, message):
    with pytest.raises(AnalysisError) as error:
        stats.five_number_summary(suite, **arguments)

    assert message in str(error.value)


def test_benchmarks_that_share_binaries_are_drawn_together():
    """A binary that is slow for all makes the mean vary; drawn apart most of that cancels."""
    rng = np.random.default_rng(1)
    common = rng.normal(0, 1, 200)
    system = {f"b{i}": np.exp(0.01 * (common + 0.1 * rng.normal(0, 1, 200))) for i in range(8)}
    true = np.exp(np.mean([np.log(scores) for scores in system.values()], axis=0))

    together = stats.five_number_summary(system, draws="shared")
    apart = stats.five_number_summary(system)

    spread = np.quantile(true, 0.75) - np.quantile(true, 0.25)
    assert together.upper_quartile - together.lower_quartile == pytest.approx(spread, rel=0.05)
    assert apart.upper_quartile - apart.lower_quartile < 0.5 * spread
    assert (together.minimum, together.maximum) == pytest.approx((true.min(), true.max()))


def test_shared_draws_need_the_same_binaries():
    with pytest.raises(AnalysisError, match="from 2 to 3 binaries"):
        stats.empirical_distribution({"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]}, draws="shared")
