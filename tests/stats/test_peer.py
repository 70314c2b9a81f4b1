"""What the nearest peer, libkalibera, gets wrong, and what is done here instead.

Each test names the finding; the golden numbers are those measured on its Python 3 port.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from stats.papers import KALIBERA, THREE_LEVEL


def test_its_95_percent_interval_is_a_90_percent_one():
    """Its table holds t(0.95): the example gives 3.182 instead of 4.689, data Q 4.525 instead of 9.106."""
    for data, theirs, correct in ((THREE_LEVEL, 3.182, 4.689), (KALIBERA, 4.525, 9.106)):
        assert stats.mean_interval(data).half_width == pytest.approx(correct, abs=5e-4)
        assert stats.mean_interval(data, confidence=0.90).half_width == pytest.approx(theirs, abs=5e-4)


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 29, 100, 999])
def test_our_quantiles_are_those_of_t(degrees):
    from layoutrand.stats.quantiles import t_quantile

    assert t_quantile(0.95, degrees) == pytest.approx(scipy_stats.t.ppf(0.975, degrees))
    assert t_quantile(0.95, degrees) != pytest.approx(scipy_stats.t.ppf(0.95, degrees), rel=0.1)


def test_counts_are_computed_anew_for_every_argument():
    """Its memoisation ignores keyword arguments; here the same call with other costs gives other counts."""
    unbiased = stats.variance_components(KALIBERA).unbiased

    assert stats.optimal_counts(unbiased, [3, 20, 100]) == (5, 2)  # lists are taken, too
    assert stats.optimal_counts(unbiased, (3, 80, 100)) == (9, 1)


def test_negative_variances_do_not_crash_planning():
    """Its optimalreps takes the root of the example's T_2^2 = -5.667."""
    unbiased = stats.variance_components(THREE_LEVEL).unbiased

    assert unbiased[1] == pytest.approx(-5.66667, abs=5e-6)
    assert stats.optimal_counts(unbiased, (1, 10, 100)) == (29, 1)


@pytest.mark.parametrize("shape", [(30, 1, 1), (30, 1, 5), (30, 5, 1), (1, 5, 5), (1, 1, 1)])
def test_levels_with_one_repetition_do_not_divide_by_zero(shape):
    data = np.random.default_rng(1).normal(10, 1, shape)

    found = stats.variance_components(data)
    interval = stats.mean_interval(data)

    assert [value is None for value in found.biased] == [count == 1 for count in reversed(shape)]
    assert math.isinf(interval.half_width) == (shape[0] == 1)


def test_missing_executions_can_be_represented():
    assert not stats.variance_components([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 3.0]]]).is_balanced


def test_the_ratio_has_a_parametric_interval_and_its_centre_is_the_ratio():
    """It reports the median of the bootstrap replicates as the estimate."""
    a, b = np.random.default_rng(2).normal(10, 1, (2, 12))

    for method in ("fieller", "bootstrap", "bootstrap-t"):
        assert stats.ratio_interval(a, b, method=method).centre == pytest.approx(b.mean() / a.mean())


def test_resampling_is_seeded():
    a = np.random.default_rng(3).normal(10, 1, (12, 3))

    assert stats.mean_interval(a, method="bootstrap", seed=1) == stats.mean_interval(a, method="bootstrap", seed=1)
    assert stats.mean_interval(a, method="bootstrap", seed=1) != stats.mean_interval(a, method="bootstrap", seed=2)


def test_geometric_means_of_extreme_values():
    """Its product of [1e200] * 3 is infinite and of [1e-200] * 3 zero."""
    for value in (1e200, 1e-200):
        suite = {f"b{i}": [value, value * 1.01, value * 0.99] for i in range(3)}
        assert stats.suite_ratio(suite, suite).centre == pytest.approx(1.0)
        assert stats.mean_interval([value] * 3, statistic="geometric").centre == pytest.approx(value)


def test_a_zero_mean_is_an_error_or_no_bounds_never_silent_infinity():
    with pytest.raises(ValueError, match="its mean is 0"):
        stats.ratio_interval([1.0, -1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="its mean is not above 0"):
        stats.suite_ratio({"a": [1.0, -1.0]}, {"a": [1.0, 2.0]})


def test_confidence_is_any_number_not_a_string_of_a_table():
    found = stats.mean_interval([1.0, 2.0, 4.0], confidence=0.937)

    assert found.half_width == pytest.approx(scipy_stats.t.ppf(0.9685, 2) * np.std([1, 2, 4], ddof=1) / math.sqrt(3))


def test_top_level_costs_count():
    """No unequal costs of the highest level there: here a dearer build asks for more executions of each binary."""
    cheap, dear = (stats.optimal_counts((1.0, 4.0, 1.0), (1, 5, build)) for build in (5, 500))

    assert cheap[1] < dear[1]
