"""Levels that a machine alternates between."""

from itertools import combinations, pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.regimes import _cuts


def test_two_levels_of_one_binary():
    """72 and 107 ms: both are told, and which execution is where."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 0, 1, 0], [20, 8, 12, 10, 10])
    values = np.where(truth, 107, 72) * (1 + 0.02 * rng.normal(size=60))
    found = stats.find_regimes(values, ["stock"] * 60)

    assert found.labels == tuple(truth)
    assert found.changes == (20, 28, 40, 50)
    assert found.counts == (42, 18)
    assert found.levels[1] / found.levels[0] == pytest.approx(107 / 72, rel=0.02)
    assert found.share > 0.95
    assert found.scale == "log"


def test_groups_have_levels_of_their_own_however_unevenly_they_met_the_slow_time():
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 3, size=90)
    truth = np.repeat([0, 1, 0], [30, 25, 35])
    values = np.array([1.0, 5.0, 40.0])[groups] * np.where(truth, 1.5, 1.0) * (1 + 0.03 * rng.normal(size=90))
    found = stats.find_regimes(values, groups.tolist())

    assert found.labels == tuple(truth)
    assert found.levels[1] / found.levels[0] == pytest.approx(1.5, rel=0.03)


def test_three_levels_that_come_again():
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 2, 1, 0, 1, 2], 12)
    found = stats.find_regimes(np.array([1.0, 1.3, 2.0])[truth] * (1 + 0.01 * rng.normal(size=72)), [0] * 72)
    assert found.labels == tuple(truth)


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(1, 2, 60) + 0.02 * np.random.default_rng(4).normal(size=60),
        np.repeat([1.0, 2.0, 3.0], 20) + 0.02 * np.random.default_rng(5).normal(size=60),
        1 + 0.02 * np.random.default_rng(6).normal(size=60) + (np.arange(60) == 30),
        np.ones(60),
        [1.0, 2.0, 1.0],
    ],
    ids=["slope", "stairs", "far value", "constant", "few"],
)
def test_what_are_no_levels(values):
    assert stats.find_regimes(values, [0] * len(values)) is None


def test_values_not_above_0_have_differences():
    values = np.repeat([-5.0, 5.0], 20) + np.random.default_rng(7).normal(size=40)
    found = stats.find_regimes(values, [0] * 40)

    assert found.scale == "linear"
    assert found.levels[1] - found.levels[0] == pytest.approx(10, abs=1)


def test_scaling_changes_nothing_but_rounding():
    rng = np.random.default_rng(8)
    values = np.repeat([1.0, 1.5], 20) * (1 + 0.02 * rng.normal(size=40))
    one, other = stats.find_regimes(values, [0] * 40), stats.find_regimes(values * 1e-200, [0] * 40)

    assert one.labels == other.labels
    assert one.levels == pytest.approx(other.levels)


def test_one_group_for_each():
    with pytest.raises(AnalysisError, match="20 values, but 3 groups"):
        stats.find_regimes([1.0] * 20, [1, 2, 3])


def _drifts(rng, n):
    return 100 * np.exp(0.01 * (rng.normal(size=n) + 3 * np.arange(n) / n))


def _switches(rng, n, deviations):
    """A level that is left with probability 1/15 at every place."""
    level = np.cumsum(rng.random(n) < 1 / 15) % 2
    return 100 * np.exp(0.01 * (rng.normal(size=n) + deviations * level))


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 90, 180])
def test_a_drift_is_seldom_taken_for_levels_and_levels_are_found(n):
    """As one would: of values that follow their order alone.  Four standard deviations apart."""
    rng = np.random.default_rng(4_000 + n)
    drift, switching = (
        [make(k) for k in range(100)] for make in (lambda _: _drifts(rng, n), lambda _: _switches(rng, n, 4))
    )
    taken = sum(stats.find_regimes(values, [0] * n) is not None for values in drift)
    asked = [values for values in switching if stats.order_test(values, [0] * n).p_value <= 0.01]
    found = sum(stats.find_regimes(values, [0] * n) is not None for values in asked)

    assert taken <= 20
    assert found >= 0.75 * len(asked)
    assert len(asked) >= 50


@given(
    values=st.lists(st.integers(0, 12), min_size=4, max_size=9),
    count=st.integers(2, 4),
)
def test_cuts_are_the_best_of_all(values, count):
    """No other way to cut the values into so many sets has a smaller sum of squares."""
    ordered = np.sort(np.array(values, dtype=np.float64))

    def squares(cuts):
        ends = [0, *cuts, ordered.size]
        return sum(((part - part.mean()) ** 2).sum() for a, b in pairwise(ends) if (part := ordered[a:b]).size)

    least = min(squares(cuts) for cuts in combinations(range(1, ordered.size), count - 1))
    assert squares(_cuts(ordered, count)) == pytest.approx(least, abs=1e-9)


def test_a_hundred_thousand_values_are_no_trouble():
    """Room and time grow with the number of values: a table of all pairs would be 80 GB."""
    rng = np.random.default_rng(8)
    high = np.arange(100_000) // 5_000 % 2 == 1
    values = 100 * (1 + 0.01 * rng.normal(size=100_000) + 0.1 * high)
    found = stats.find_regimes(values, ["one"] * 100_000)

    assert found is not None
    assert np.mean(np.array(found.labels) == high) > 0.999
    assert found.changes == tuple(range(5_000, 100_000, 5_000))
