"""What holds of any distribution: by hand, against scipy, and how often."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError


def test_what_thirty_layouts_can_miss():
    assert stats.missed_share(30) == pytest.approx(0.095, abs=5e-4)
    assert stats.missed_share(1, confidence=0.9) == pytest.approx(0.9)
    assert (1 - stats.missed_share(10)) ** 10 == pytest.approx(0.05)


def test_a_group_of_that_share_is_missed_in_one_of_twenty_samples():
    rng = np.random.default_rng(1)
    missed = (rng.random((4000, 30)) >= stats.missed_share(30)).all(axis=1).sum()

    assert abs(missed - 200) < 3.5 * math.sqrt(200 * 0.95)


@pytest.mark.parametrize(("n", "rank"), [(5, None), (6, 1), (10, 2), (30, 10), (100, 40)])
def test_the_ranks_of_the_medians_bounds(n, rank):
    """Those of tables of the sign test."""
    found = stats.median_interval(np.arange(1, n + 1)[::-1])

    assert found.centre == (n + 1) / 2
    assert (found.low, found.high) == ((-math.inf, math.inf) if rank is None else (rank, n + 1 - rank))


@pytest.mark.parametrize("shape", ["normal", "gamma", "rare"])
def test_the_median_is_covered_whatever_the_distribution(shape):
    rng, runs = np.random.default_rng(2), 1000
    draws = {"normal": rng.normal(size=(runs, 12)), "gamma": rng.gamma(1, size=(runs, 12))}
    draws["rare"] = draws["normal"] + 50 * (rng.random((runs, 12)) < 0.05)
    truth = {"normal": 0.0, "gamma": math.log(2), "rare": scipy_stats.norm.ppf(0.5 / 0.95)}[shape]
    covered = sum(truth in stats.median_interval(row) for row in draws[shape])

    assert covered > 0.95 * runs - 3.5 * math.sqrt(0.0475 * runs)


def test_skewness_against_scipy():
    values = np.random.default_rng(3).gamma(2, size=25)
    found, theirs = stats.skewness_test(1e6 * values), scipy_stats.skewtest(values)

    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.statistic == pytest.approx(scipy_stats.skew(values))


def test_few_or_equal_values_are_not_lopsided():
    assert stats.skewness_test([1.0, 1.0, 9.0]).p_value == 1.0
    assert stats.skewness_test([0.1] * 20).p_value == 1.0


def test_skewed_layouts_are_told_from_normal_ones():
    rng = np.random.default_rng(4)
    normal = sum(stats.skewness_test(row).p_value <= 0.05 for row in rng.normal(size=(1000, 30)))
    skewed = sum(stats.skewness_test(row).p_value <= 0.05 for row in rng.gamma(1, size=(400, 30)))

    assert abs(normal - 50) < 3.5 * math.sqrt(47.5)
    assert skewed > 0.85 * 400


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.missed_share(0), "n_drawn must be"),
        (lambda: stats.median_interval([]), "median interval: give a flat"),
        (lambda: stats.skewness_test([math.nan]), "value 0 is nan"),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()
