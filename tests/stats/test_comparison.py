"""Comparators: scipy, brute force, hand-worked HPT, messages."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.ranks import average_ranks, rank_sum_cdf, signed_rank_cdf
from warningkit import said

ALTERNATIVES = ("two-sided", "less", "greater")


def _pair(n=8, m=6):
    rng = np.random.default_rng(0)
    return rng.normal(10, 1, n), rng.normal(10.5, 1, m)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_welch_of_scipy(alternative, scale):
    a, b = _pair()
    forward = np.log if scale == "log" else np.asarray
    expected = scipy_stats.ttest_ind(forward(b), forward(a), equal_var=False, alternative=alternative)

    found = stats.welch_test(a, b, alternative=alternative, scale=scale)

    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_welch_takes_binaries_means():
    a, b = np.random.default_rng(1).normal(10, 1, (2, 6, 20))

    assert stats.welch_test(a, b) == stats.welch_test(a.mean(axis=1), b.mean(axis=1))


def test_welch_p_and_log_t_interval_agree():
    a, b = _pair()
    p = stats.welch_test(a, b).p_value
    just_below, just_above = (stats.ratio_interval(a, b, method="log-t", confidence=1 - p * f) for f in (1.001, 0.999))

    assert 1.0 not in just_below
    assert 1.0 in just_above


@pytest.mark.parametrize(("new", "p"), [([2.0] * 3, 0.0), ([1.0] * 3, 1.0)])
def test_welch_without_variation(new, p):
    found = stats.welch_test([1.0] * 3, new)

    assert found.p_value == p
    assert "exactly the same mean" in said(found.warnings)[-1]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n", "m"), [(8, 6), (2, 3), (1 + 1, 30), (40, 39)])
def test_exact_mann_whitney_of_scipy(alternative, n, m):
    a, b = _pair(n, m)
    expected = scipy_stats.mannwhitneyu(b, a, alternative=alternative, method="exact")

    found = stats.mann_whitney_test(a, b, alternative=alternative)

    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.method == "Mann-Whitney, exact"


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n", "m"), [(12, 9), (60, 45)])
def test_mann_whitney_of_scipy_with_ties(alternative, n, m):
    a, b = (x.round(1 if n == 60 else 0) for x in _pair(n, m))
    expected = scipy_stats.mannwhitneyu(b, a, alternative=alternative, method="asymptotic")

    found = stats.mann_whitney_test(a, b, alternative=alternative)

    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.method == "Mann-Whitney, normal approximation"


def test_mann_whitney_of_equal_values():
    found = stats.mann_whitney_test([1.0] * 4, [1.0] * 5)

    assert (found.statistic, found.p_value) == (10.0, 1.0)


def test_mann_whitney_says_when_it_can_never_reject():
    found = stats.mann_whitney_test([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])

    assert found.p_value == pytest.approx(0.1)
    assert said(found.warnings) == (
        "with so few scores p cannot fall below 0.1; 4 binaries of each system would let it fall below 0.05",
    )
    assert stats.mann_whitney_test([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], alternative="greater").warnings == ()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (5, 5)])
def test_rank_sum_distribution_by_enumeration(n, m):
    u = [
        sum(x > y for x in chosen for y in set(range(n + m)) - set(chosen))
        for chosen in itertools.combinations(range(n + m), m)
    ]

    assert rank_sum_cdf(n, m) == pytest.approx([np.mean(np.array(u) <= k) for k in range(n * m + 1)])


@pytest.mark.parametrize("n", [1, 4, 9])
def test_signed_rank_distribution_by_enumeration(n):
    w = [
        sum(rank for rank, sign in zip(range(1, n + 1), signs, strict=False) if sign)
        for signs in itertools.product((0, 1), repeat=n)
    ]

    assert signed_rank_cdf(n) == pytest.approx([np.mean(np.array(w) <= k) for k in range(n * (n + 1) // 2 + 1)])


def test_ranks_of_scipy():
    values = np.random.default_rng(3).integers(0, 8, 30).astype(float)

    assert average_ranks(values) == pytest.approx(scipy_stats.rankdata(values))


def _shifted(n_different, n_benchmarks=13, m=5, shift=1.0):
    """A suite in which the first benchmarks' scores are wholly apart and the others' overlap."""
    scores = 20 + 0.1 * np.arange(m)
    old = {f"b{i:02}": scores for i in range(n_benchmarks)}
    new = {name: scores + 0.05 + (shift + 0.1 * i if i < n_different else 0) for i, name in enumerate(old)}
    return old, new


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_hpt_with_all_benchmarks_different_is_the_signed_rank_test(alternative):
    old, new = _shifted(13)
    logs = [math.log(np.median(new[name]) / np.median(old[name])) for name in old]
    expected = scipy_stats.wilcoxon(logs, alternative=alternative, method="exact")

    assert stats.hpt_test(old, new, alternative=alternative).p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("n_different", "rejects"), [(0, False), (5, False), (6, True), (13, True)])
def test_hpt_of_thirteen_benchmarks_needs_six_that_differ(n_different, rejects):
    """By hand: 13 - L zeros share half their rank sum; W = (13 - L)(14 - L) / 4 against the critical value 17."""
    found = stats.hpt_test(*_shifted(n_different))
    w = (13 - n_different) * (14 - n_different) / 4

    assert found.statistic == 91 - w if n_different else 45.5
    assert (found.p_value <= 0.05) == rejects == (w <= 17)


def test_hpt_takes_insignificant_benchmarks_as_equal():
    old, new = _shifted(0)

    assert stats.hpt_test(old, new).p_value == 1.0
    assert stats.hpt_test(old, new, significance=0.99).p_value < 1.0


@pytest.mark.parametrize("n_different", range(14))
def test_t_over_benchmarks_in_closed_form(n_different):
    """When L of k benchmarks differ by one ratio, t = sqrt(L (k - 1) / (k - L)): power starts at L = 4 (LCP VI.A)."""
    old = {f"b{i}": [10.0, 10.0] for i in range(13)}
    new = {name: [11.0, 11.0] if i < n_different else [10.0, 10.0] for i, name in enumerate(old)}

    found = stats.suite_t_test(old, new)

    if n_different in (0, 13):
        assert found.p_value == (1.0 if n_different == 0 else 0.0)
        assert said(found.warnings) == (
            "all benchmarks changed by exactly the same ratio; more binaries would show whether by chance",
        )
    else:
        assert found.statistic == pytest.approx(math.sqrt(n_different * 12 / (13 - n_different)))
        assert (found.p_value <= 0.05) == (n_different >= 4)


def test_t_over_benchmarks_of_scipy():
    old, new = _shifted(7)
    logs = [[math.log(x.mean()) for x in suite.values()] for suite in (new, old)]
    expected = scipy_stats.ttest_rel(*logs)

    found = stats.suite_t_test(old, new)

    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: stats.welch_test([1.0], [1.0, 2.0]),
            "welch_test: 1 binary of the baseline and 2 of the candidate; at least 2 of each",
        ),
        (lambda: stats.welch_test([1.0, -2.0], [1.0, 2.0]), "baseline: the mean of binary 1 is not above 0"),
        (lambda: stats.welch_test([1.0, 2.0], [1.0, 2.0], scale="ln"), "unknown scale 'ln', choose from linear, log"),
        (lambda: stats.welch_test([1.0, 2.0], [1.0, 2.0], alternative="x"), "unknown alternative 'x'"),
        (
            lambda: stats.mann_whitney_test([1.0], [1.0]),
            "mann_whitney_test: 1 binary of the baseline and 1 of the candidate",
        ),
        (lambda: stats.hpt_test({"a": [1.0]}, {"a": [1.0]}), "hpt_test, a: 1 binary of the baseline"),
        (
            lambda: stats.hpt_test({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]}, significance=5),
            "significance must be a fraction",
        ),
        (
            lambda: stats.suite_t_test({"a": [1.0]}, {"a": [1.0]}),
            "suite_t_test: 1 benchmark has no spread over benchmarks",
        ),
        (lambda: stats.suite_t_test({"a": [1.0], "b": [-1.0]}, {"a": [1.0], "b": [1.0]}), "b: its mean is not above 0"),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError) as error:
        call()

    assert message in str(error.value)


def test_hpt_says_when_it_can_never_reject():
    found = stats.hpt_test({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]})

    assert said(found.warnings) == (
        "with so few scores p cannot fall below 1; 6 benchmarks would let it fall below 0.05",
    )


@pytest.mark.parametrize("test", [stats.welch_test, stats.mann_whitney_test])
def test_false_alarms_are_as_many_as_promised(test):
    """1,000 comparisons of equal systems, 10 binaries each: binomial bounds of 4 standard errors."""
    data = stats.simulate(
        stats.HierarchicalModel(mean=100.0, sds=(2.0,), layout="normal"), (20,), n_datasets=1000, seed=3
    )

    alarms = sum(test(row[:10], row[10:]).p_value <= 0.05 for row in data)

    assert alarms == pytest.approx(47, abs=4 * math.sqrt(47.5))
