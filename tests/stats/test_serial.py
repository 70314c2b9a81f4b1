"""Serial correlation: by hand, against scipy's permutation test, its false alarms and what it finds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said


def correlation(x):
    away = np.asarray(x) - np.mean(x)
    return float((away[1:] * away[:-1]).sum() / (away**2).sum())


def test_by_hand():
    """Deviations -3 -1 1 3: neighbours 3 - 1 + 3 = 5 over 20."""
    assert stats.serial_test([1.0, 3.0, 5.0, 7.0]).statistic == pytest.approx(0.25)


def test_all_orders_listed():
    values = [1.0, 2.5, 2.0, 4.0, 3.5, 7.0]
    every = [correlation(order) for order in itertools.permutations(values)]
    exact = np.mean([each >= correlation(values) - 1e-12 for each in every])

    found = stats.serial_test(values, n_resamples=40_000)

    assert abs(found.p_value - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 40_000) + 1e-4


def test_scipy():
    values = np.cumsum(np.random.default_rng(3).normal(size=12)) * 0.3 + np.random.default_rng(4).normal(size=12)
    theirs = scipy_stats.permutation_test(
        (values,), correlation, permutation_type="samples", alternative="greater", n_resamples=1, vectorized=False
    )
    assert stats.serial_test(values).statistic == pytest.approx(theirs.statistic)


def test_without_drift_p_values_are_uniform():
    p = [stats.serial_test(np.random.default_rng(k).lognormal(size=20), n_resamples=499).p_value for k in range(300)]
    assert scipy_stats.kstest(p, "uniform").pvalue > 1e-3


def test_drift_is_found():
    rng = np.random.default_rng(5)
    drift = np.cumsum(rng.normal(size=30))

    assert stats.serial_test(drift + rng.normal(0, 0.5, 30)).p_value < 0.001
    assert stats.serial_test(rng.normal(size=30)).p_value > 0.05


def test_the_unit_and_the_direction_of_time_do_not_matter():
    values = np.random.default_rng(6).normal(size=15)
    p = stats.serial_test(values).p_value

    assert stats.serial_test(values * 1e300).p_value == p
    assert stats.serial_test(-values).p_value == p
    assert stats.serial_test(values[::-1]).statistic == pytest.approx(stats.serial_test(values).statistic)


def test_equal_values():
    found = stats.serial_test([2.0] * 6)

    assert (found.p_value, said(found.warnings)) == (
        1.0,
        ("all values are equal, so no order of them is like another",),
    )


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, 2.0, 3.0], {}, "serial test: 3 values in too few orders to tell; at least 4 are needed"),
        ([1.0, 2.0, math.nan, 1.0], {}, "value 2 is nan"),
        ([1.0, 2.0, 3.0, 1.0], {"n_resamples": 0}, "n_resamples must be an integer of at least 1"),
        ([1.0, 2.0, 3.0, 1.0], {"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_messages(values, options, message):
    with pytest.raises(AnalysisError, match=message):
        stats.serial_test(values, **options)


def test_what_a_machine_adds_to_all_of_its_values_is_no_drift():
    """Two machines, one 10 % slower, executed one after the other: without blocks that is a step."""
    values = np.concatenate(
        [np.random.default_rng(8).normal(1, 0.01, 15), np.random.default_rng(9).normal(1.1, 0.01, 15)]
    )

    assert stats.serial_test(values).p_value < 0.001
    assert stats.serial_test(values, blocks=["a"] * 15 + ["b"] * 15).p_value > 0.05


def test_drift_of_each_machine_is_found_where_they_take_turns():
    rng = np.random.default_rng(10)
    values = np.empty(40)
    values[::2], values[1::2] = 1 + np.cumsum(rng.normal(0, 0.01, 20)), 2 - np.cumsum(rng.normal(0, 0.01, 20))

    assert stats.serial_test(values, blocks=["a", "b"] * 20).p_value < 0.001


def test_one_block_is_none():
    values = np.random.default_rng(11).normal(size=12)
    assert stats.serial_test(values, blocks=["a"] * 12) == stats.serial_test(values)


def test_p_values_with_blocks_are_uniform():
    p = []
    for k in range(300):
        rng = np.random.default_rng(k)
        blocks = rng.integers(3, size=20)
        p.append(stats.serial_test(rng.normal(size=20) + blocks, blocks=list(blocks), n_resamples=499).p_value)
    assert scipy_stats.kstest(p, "uniform").pvalue > 1e-3


def test_not_one_block_for_each():
    with pytest.raises(AnalysisError, match="serial test: 5 values, but 2 blocks"):
        stats.serial_test([1.0, 2.0, 3.0, 4.0, 5.0], blocks=["a", "b"])
