"""Outliers: by hand, against scipy's median deviation, against published limits, and their false alarms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError


def test_scores_by_hand():
    """Median 5, deviations 2 1 0 1 95: MAD 1."""
    found = stats.outliers([3.0, 4.0, 5.0, 6.0, 100.0])

    assert found.scores == pytest.approx([-2 * 0.67449, -0.67449, 0, 0.67449, 95 * 0.67449], abs=1e-3)
    assert found.positions == (4,)


def test_scipy():
    sample = np.random.default_rng(1).normal(3, 2, 25)
    expected = (sample - np.median(sample)) / scipy_stats.median_abs_deviation(sample, scale="normal")

    assert stats.outliers(sample).scores == pytest.approx(expected)


@pytest.mark.parametrize(("size", "published"), [(20, 5.82), (50, 5.53), (100, 5.52)])
def test_limits_of_davies_and_gather(size, published):
    """JASA 1993: in median deviations, at 5 %; simulated there and here, so to within 2 %."""
    limit = stats.outliers(np.arange(float(size)), n_resamples=40_000).limit

    assert limit / 0.6744897501960817 == pytest.approx(published, rel=0.02)


@pytest.mark.parametrize("size", [5, 10, 30])
def test_a_normal_sample_is_flagged_as_often_as_promised(size):
    """5 % of 2,000 samples, within 4.5 standard deviations (the limit itself is simulated, too)."""
    rng = np.random.default_rng(size)
    flagged = sum(bool(stats.outliers(rng.normal(100, 1, size)).positions) for _ in range(2000))

    assert abs(flagged - 100) < 4.5 * math.sqrt(95)


def test_the_fixed_limit_of_three_and_a_half_would_flag_far_more():
    rng = np.random.default_rng(8)
    flagged = sum(max(map(abs, stats.outliers(rng.normal(size=10)).scores)) > 3.5 for _ in range(1000))

    assert flagged > 100


def test_where_most_values_are_equal_the_mean_deviation_is_the_scale():
    found = stats.outliers([7.0] * 20 + [8.0])

    assert found.scores[-1] == pytest.approx(math.sqrt(2 / math.pi) * 21)
    assert found.positions == (20,)


def test_equal_values_and_few_values_have_no_outliers():
    assert stats.outliers([4.0] * 9).positions == ()
    few = stats.outliers([1.0, 1.1, 1.2, 1000.0])
    assert (few.positions, few.limit) == ((), math.inf)


def test_the_unit_does_not_matter():
    sample = [3.0, 4.0, 5.0, 6.0, 100.0, 4.5]

    for unit in (1e-300, 1e300):
        scaled = stats.outliers([value * unit for value in sample])
        assert scaled.positions == (4,)
        assert scaled.scores == pytest.approx(stats.outliers(sample).scores)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "give a flat sequence of at least one number"),
        ([1.0, math.inf], {}, "value 1 is inf"),
        ([1.0], {"false_alarms": 0.0}, "false_alarms must be a finite number above 0"),
        ([1.0], {"false_alarms": 1.0}, "false_alarms must be a fraction"),
        ([1.0], {"n_resamples": 10}, "n_resamples must be an integer of at least 100"),
        ([1.0], {"seed": 1.5}, "seed must be an integer"),
    ],
)
def test_messages(values, options, message):
    with pytest.raises(AnalysisError, match=message):
        stats.outliers(values, **options)
