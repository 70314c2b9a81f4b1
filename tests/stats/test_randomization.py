"""Randomization test: scipy, exact enumeration, random assignments against exact, invariances, messages."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said

ALTERNATIVES = ("two-sided", "less", "greater")


def _suite(seed, n, factor=1.0, benchmarks=3):
    rng = np.random.default_rng(seed)
    return {f"b{i}": factor * rng.normal(10 + i, 0.3, n) for i in range(benchmarks)}


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_exact_test_of_scipy_for_one_benchmark(alternative):
    a, b = _suite(1, 6, benchmarks=1), _suite(2, 5, 1.02, benchmarks=1)

    expected = scipy_stats.permutation_test(
        (b["b0"], a["b0"]),
        lambda x, y, axis: np.log(x.mean(axis=axis) / y.mean(axis=axis)),
        vectorized=True,
        n_resamples=np.inf,
        alternative=alternative,
    )
    found = stats.randomization_test(a, b, alternative=alternative)

    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.statistic == pytest.approx(math.exp(expected.statistic))
    assert (found.method, found.n_resamples) == ("randomization test, all assignments", 0)


@pytest.mark.parametrize("mean", ["geometric", "arithmetic", "harmonic"])
def test_all_deals_of_two_benchmarks_by_brute_force(mean):
    a, b = _suite(3, 3, benchmarks=2), _suite(4, 3, 1.03, benchmarks=2)
    average = {"geometric": scipy_stats.gmean, "arithmetic": np.mean, "harmonic": scipy_stats.hmean}[mean]
    pools = [np.concatenate([a[name], b[name]]) for name in a]
    assignments = [list(itertools.combinations(range(6), 3))] * 2
    ratios = []
    for choice in itertools.product(*assignments):
        new = [pool[list(picked)].mean() for pool, picked in zip(pools, choice, strict=False)]
        old = [np.delete(pool, list(picked)).mean() for pool, picked in zip(pools, choice, strict=False)]
        ratios.append(average(new) / average(old))
    observed = average([x.mean() for x in b.values()]) / average([x.mean() for x in a.values()])

    found = stats.randomization_test(a, b, mean=mean, alternative="greater")

    assert found.p_value == np.mean(np.array(ratios) >= observed * (1 - 1e-12))
    assert found.statistic == pytest.approx(observed)


@pytest.mark.parametrize("n", [6, 9])
def test_random_deals_approach_the_exact_p_value(n):
    """6 + 6 scores are drawn from the list of assignments, 9 + 9 are shuffled."""
    a, b = _suite(5, n, benchmarks=1), _suite(6, n, 1.01, benchmarks=1)
    exact = scipy_stats.permutation_test(
        (b["b0"], a["b0"]),
        lambda x, y, axis: np.log(x.mean(axis=axis) / y.mean(axis=axis)),
        vectorized=True,
        n_resamples=np.inf,
    ).pvalue

    m = 500 if n == 6 else 20_000  # fewer than 924 assignments, so they are drawn
    found = np.mean(
        [stats.randomization_test(a, b, n_resamples=m, seed=seed).p_value for seed in range(40 if n == 6 else 3)]
    )

    assert found == pytest.approx(exact, abs=0.02)


def test_shuffled_deals_are_uniform():
    """All ways to pick 8 of 16 scores are as likely: every score is picked half the time, every pair 7/30."""
    from layoutrand.stats.randomization import _partial_shuffle
    from layoutrand.stats.streams import IndexSampler, Stream

    samplers = [IndexSampler(Stream(1, place), 16 - place, row_length=1) for place in range(8)]
    sums = _partial_shuffle(2.0 ** np.arange(16), samplers, 40_000).astype(np.int64)
    picked = (sums[:, None] >> np.arange(16)) & 1

    assert (picked.sum(axis=1) == 8).all()
    together = picked.T @ picked / 40_000
    expected = np.where(np.eye(16, dtype=bool), 0.5, 8 * 7 / (16 * 15))
    assert np.abs(together - expected).max() < 4.5 * 0.5 / 200


def test_p_values_count_the_observed_deal_itself():
    found = stats.randomization_test(_suite(1, 10), _suite(2, 10, 2.0), n_resamples=999)

    assert found.p_value == 2 / 1000
    assert (
        stats.randomization_test(_suite(1, 10), _suite(2, 10, 2.0), n_resamples=999, alternative="greater").p_value
        == 1 / 1000
    )
    assert (
        stats.randomization_test(_suite(1, 10), _suite(2, 10, 2.0), n_resamples=999, alternative="less").p_value == 1.0
    )


def test_two_sided_is_twice_the_smaller_one_sided():
    a, b = _suite(1, 5), _suite(2, 5, 1.01)
    p = {side: stats.randomization_test(a, b, alternative=side, seed=3).p_value for side in ALTERNATIVES}

    assert p["two-sided"] == min(1.0, 2 * min(p["less"], p["greater"]))


def test_equal_scores_give_p_one():
    for n_resamples in (100, 10_000):
        found = stats.randomization_test({"a": [2.0] * 5}, {"a": [2.0] * 5}, n_resamples=n_resamples)
        assert found.p_value == 1.0


def test_systems_of_different_size_and_hierarchical_scores():
    """Scores are the binaries' means: repeating executions of a binary is no new evidence."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(10, 1, (6, 40)), rng.normal(10, 1, (9, 1))

    found = stats.randomization_test({"a": a}, {"a": b})

    assert found == stats.randomization_test({"a": a.mean(axis=1)}, {"a": b[:, 0]})


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_scale_and_order_do_not_matter(scale):
    a, b = _suite(1, 5), _suite(2, 5, 1.02)
    scaled = stats.randomization_test(
        {n: x[::-1] * scale for n, x in reversed(a.items())}, {n: x * scale for n, x in b.items()}, seed=4
    )
    plain = stats.randomization_test(a, b, seed=4)

    assert scaled.statistic == pytest.approx(plain.statistic)
    assert scaled.p_value == pytest.approx(plain.p_value, abs=0.02)  # listed in another order


def test_seed_alone_decides():
    a, b = _suite(1, 5), _suite(2, 5, 1.005)
    p = [stats.randomization_test(a, b, seed=seed).p_value for seed in (1, 1, 2)]

    assert p[0] == p[1] != p[2]
    assert p[0] == pytest.approx(p[2], abs=0.06)


def test_pinned_p_value():
    found = stats.randomization_test(_suite(1, 5), _suite(2, 5, 1.01), n_resamples=2000, seed=7)

    assert found.p_value == 0.4947526236881559


def test_too_few_scores_warn_with_the_count_that_would_do():
    found = stats.randomization_test({"a": [1.0, 2.0, 3.0]}, {"a": [4.0, 5.0, 6.0]})

    assert found.p_value == 0.1
    assert said(found.warnings) == (
        "with so few scores p cannot fall below 0.1; 4 binaries of each system per benchmark would let it fall below 0.05",
    )
    assert stats.randomization_test(_suite(1, 2), _suite(2, 2)).warnings == ()  # 6^3 assignments are enough


@pytest.mark.parametrize(
    ("a", "b", "arguments", "message"),
    [
        ({"a": [1.0]}, {"b": [1.0]}, {}, "no benchmark in common"),
        ({"a": [1.0, 0.0]}, {"a": [1.0, 2.0]}, {}, "a: some binaries' means are not above 0"),
        (
            {"a": [1.0]},
            {"a": [1.0]},
            {"alternative": "bigger"},
            "unknown alternative 'bigger', choose from greater, less, two-sided",
        ),
        ({"a": [1.0]}, {"a": [1.0]}, {"mean": "median"}, "unknown mean 'median'"),
        ({"a": [1.0]}, {"a": [1.0]}, {"n_resamples": 0}, "n_resamples must be an integer of at least 1, got 0"),
        ({"a": [1.0]}, {"a": [1.0]}, {"seed": -3}, "seed must be an integer of at least 0, got -3"),
    ],
)
def test_messages(a, b, arguments, message):
    with pytest.raises(AnalysisError) as error:
        stats.randomization_test(a, b, **arguments)

    assert message in str(error.value)


@pytest.mark.slow
def test_false_alarms_are_as_many_as_promised():
    """A/A over 4 benchmarks x 5 scores: 1,000 tests at 5 %, binomial bounds of 4 standard errors."""
    alarms = sum(
        stats.randomization_test(
            _suite(2 * k, 5, benchmarks=4), _suite(2 * k + 1, 5, benchmarks=4), n_resamples=500, seed=k
        ).p_value
        <= 0.05
        for k in range(1000)
    )

    assert alarms == pytest.approx(50, abs=4 * math.sqrt(47.5))
