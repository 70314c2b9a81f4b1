"""The interval of one system: closed forms, worked examples, other implementations, awkward data, messages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from stats.papers import BOOTSTRAP, KALIBERA, OLD, THREE_LEVEL, TWO_LEVEL
from stats.scipy_generator import seeded
from warningkit import said

METHODS = ("t", "normal", "bootstrap", "bca", "bootstrap-t")


def _sample(n=25, seed=8):
    return np.random.default_rng(seed).lognormal(0, 0.5, n)


def test_worked_example_of_the_report():
    found = stats.mean_interval(THREE_LEVEL)

    assert found.centre == 6.5
    assert found.half_width == pytest.approx(4.68871, abs=5e-6)
    assert stats.mean_interval(OLD).half_width == pytest.approx(5.98904, abs=5e-6)  # printed 6.0
    assert round(stats.mean_interval(OLD).half_width, 1) == 6.0
    assert stats.mean_interval(KALIBERA).half_width == pytest.approx(9.10611, abs=5e-6)


def test_the_interval_is_that_of_the_binaries_means_alone():
    assert stats.mean_interval(TWO_LEVEL) == stats.mean_interval(THREE_LEVEL)
    assert stats.mean_interval([6.25, 8.5, 4.75]) == stats.mean_interval(THREE_LEVEL)


def test_t_interval_of_scipy():
    values = _sample()

    expected = scipy_stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = stats.mean_interval(values, confidence=0.9)

    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-12)


def test_normal_interval_in_closed_form():
    values = _sample()
    found = stats.mean_interval(values, method="normal")

    assert found.half_width == pytest.approx(1.959963984540054 * values.std(ddof=1) / 5, rel=1e-12)


def test_interval_fields_and_derived_widths():
    found = stats.Interval(centre=-4.0, low=-6.0, high=-3.0, confidence=0.9, method="x", warnings=())

    assert found.half_width == 1.5
    assert found.relative_half_width == 0.375
    assert -6.0 in found
    assert -3.0 in found
    assert -2.9 not in found


@pytest.mark.parametrize(("half", "expected"), [(1.0, math.inf), (0.0, 0.0)])
def test_relative_half_width_around_zero(half, expected):
    found = stats.Interval(centre=0.0, low=-half, high=half, confidence=0.9, method="x", warnings=())

    assert found.relative_half_width == expected


@pytest.mark.parametrize(("ours", "theirs"), [("bootstrap", "percentile"), ("bca", "BCa")])
def test_bootstrap_of_scipy(ours, theirs):
    values = _sample()

    expected = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=40_000, method=theirs, **seeded()
    ).confidence_interval
    found = stats.mean_interval(values, method=ours, n_resamples=40_000)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)


@pytest.mark.parametrize(("ours", "theirs"), [("bootstrap", "percentile"), ("bca", "bca")])
def test_bootstrap_of_arch(ours, theirs):
    values = _sample(seed=9)

    expected = IIDBootstrap(values, seed=1).conf_int(np.mean, 40_000, method=theirs).ravel()
    found = stats.mean_interval(values, method=ours, n_resamples=40_000)

    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.01)


def test_studentised_bootstrap_of_arch():
    values = _sample(seed=10)

    expected = IIDBootstrap(values, seed=1).conf_int(
        np.mean, 20_000, method="studentized", std_err_func=lambda _, x: np.array([x.std(ddof=1) / math.sqrt(x.size)])
    )
    found = stats.mean_interval(values, method="bootstrap-t", n_resamples=40_000)

    assert (found.low, found.high) == pytest.approx(tuple(expected.ravel()), abs=0.012)


@pytest.mark.parametrize(
    ("statistic", "function"), [("median", np.median), ("p90", lambda x, axis: np.quantile(x, 0.9, axis=axis))]
)
@pytest.mark.parametrize(("ours", "theirs"), [("bootstrap", "percentile"), ("bca", "BCa")])
def test_percentiles_of_scipy(statistic, function, ours, theirs):
    values = _sample(61)

    expected = scipy_stats.bootstrap(
        (values,), function, n_resamples=20_000, method=theirs, **seeded()
    ).confidence_interval
    found = stats.mean_interval(values, method=ours, n_resamples=20_000, statistic=statistic)

    assert found.centre == function(values, axis=0)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("statistic", "function"), [("geometric", scipy_stats.gmean), ("harmonic", scipy_stats.hmean)])
def test_other_means_are_means_of_logarithms_and_reciprocals(method, statistic, function):
    values = _sample().reshape(5, 5)
    forward = np.log if statistic == "geometric" else np.reciprocal
    backward = np.exp if statistic == "geometric" else np.reciprocal

    found = stats.mean_interval(values, method=method, statistic=statistic, n_resamples=1000)
    plain = stats.mean_interval(forward(values), method=method, n_resamples=1000)

    assert found.centre == pytest.approx(function(values.ravel()), rel=1e-12)
    assert sorted((found.low, found.high)) == pytest.approx(sorted(backward([plain.low, plain.high])), rel=1e-9)


def test_geometric_means_neither_overflow_nor_vanish():
    large = stats.mean_interval(np.full(200, 1e300) * _sample(200), statistic="geometric")
    small = stats.mean_interval(np.full(200, 1e-300) * _sample(200), statistic="geometric")

    assert large.centre / 1e300 == pytest.approx(small.centre * 1e300, rel=1e-9)
    assert 0 < small.low < small.high < large.low < large.high < math.inf


def test_an_unbounded_harmonic_mean_says_infinity_not_a_negative_number():
    found = stats.mean_interval([1.0, 100.0], statistic="harmonic")

    assert (found.low, found.high) == (pytest.approx(0.14718, abs=1e-5), math.inf)
    assert "several times the 2 binaries would bound it" in said(found.warnings)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", [[5.0], [[[5.0, 6.0], [7.0, 8.0]]]])
def test_one_binary_has_no_bounds_and_says_how_many_more(method, data):
    found = stats.mean_interval(data, method=method)

    assert (found.low, found.high) == (-math.inf, math.inf)
    assert said(found.warnings) == (
        (
            "1 binary cannot show how much binaries differ, so the interval has no bounds; "
            "at least 1 more is needed, and 4 more for a usable interval"
        ),
    )


@pytest.mark.parametrize(
    ("n", "method", "warnings"),
    [
        (4, "t", ("4 binaries hardly support an interval: 1 more would make 5, the fewest that do",)),
        (5, "t", ()),
        (
            19,
            "bootstrap",
            (
                (
                    "percentile bootstrap intervals are too narrow with 19 binaries: 1 more would make 20, "
                    "or choose a method based on t"
                ),
            ),
        ),
        (20, "bootstrap", ()),
        (5, "bootstrap-t", ()),
    ],
)
def test_warnings_carry_the_count_that_would_cure_them(n, method, warnings):
    assert said(stats.mean_interval(_sample(n), method=method, n_resamples=100).warnings) == warnings


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0.1, 3.0, -7.7, 1e-300, 1e300, 0.0])
def test_constant_data_give_an_interval_without_width_and_a_warning(method, value):
    found = stats.mean_interval([value] * 6, method=method, n_resamples=100)

    assert (found.centre, found.low, found.high) == (value, value, value)
    assert found.relative_half_width == 0
    assert any("all binaries have exactly the same mean" in warning for warning in said(found.warnings))


def test_bootstrap_t_with_three_binaries_may_have_infinite_bounds_and_says_so():
    found = stats.mean_interval([1.0, 2.0, 4.0], method="bootstrap-t", n_resamples=1000)

    assert (found.low, found.high) == (-math.inf, math.inf)
    assert "drew the same binary every time" in said(found.warnings)[0]


def test_percentile_of_1000_replicates_are_numbers_25_and_974():
    from layoutrand.stats.bootstrap import percentile_bounds

    bounds = percentile_bounds(np.random.default_rng(1).permutation(1000).astype(float), 0.95)

    assert (bounds.low, bounds.high) == (25.0, 974.0)


@pytest.mark.parametrize(("pattern", "expected"), [("RN", 0.6521811), ("RR", 0.7953909)])
def test_bootstrap_variances_in_closed_form(pattern, expected):
    """Var of the replicate mean: (1/B^2) sum (y_b - y)^2, plus for RR (1/(B I)) mean_b (1/I) sum (y_bi - y_b)^2."""
    from layoutrand.stats.levels import nested
    from layoutrand.stats.resample import replicate_means, resampling_plan

    data = np.array(BOOTSTRAP)
    top = ((data.mean(axis=1) - data.mean()) ** 2).sum() / 9
    inside = data.var(axis=1).mean() / 9
    replicates = replicate_means(nested(data), resampling_plan(pattern, 100_000, seed=1, label="x"))

    assert expected == pytest.approx(top + (inside if pattern == "RR" else 0), abs=1e-7)
    assert replicates.var() == pytest.approx(expected, rel=4 * math.sqrt(2 / 100_000))
    assert replicates.mean() == pytest.approx(data.mean(), abs=4 * math.sqrt(expected / 100_000))


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_percentiles_of_replicates_interpolate_like_numpy(fraction):
    from layoutrand.stats.statistic import Statistic

    rows = np.sort(np.random.default_rng(1).normal(size=(5, 8)), axis=1)
    padded = np.column_stack([rows, np.full((5, 2), np.inf)])

    found = Statistic(name="p", fraction=fraction).of_sorted(padded, np.full(5, 8))

    assert found == pytest.approx(np.quantile(rows, fraction, axis=1))


def test_ragged_percentiles_pool_all_measurements():
    data = [[1.0, 2.0, 3.0], [10.0], [4.0, 5.0]]

    found = stats.mean_interval(data, method="bootstrap", statistic="median", n_resamples=500)

    assert found.centre == np.median([1, 2, 3, 10, 4, 5])
    assert 1 <= found.low <= found.high <= 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0; 0.95 is usual"),
        ({"confidence": "0.95"}, "confidence must lie strictly between 0 and 1"),
        ({"confidence": float("nan")}, "confidence must lie strictly between 0 and 1"),
        ({"method": "boot"}, "unknown method 'boot', choose from bca, bootstrap, bootstrap-t, normal, t"),
        ({"method": "bootstrapt"}, "did you mean 'bootstrap-t'?"),
        (
            {"statistic": "mode"},
            "unknown statistic 'mode', choose from mean, geometric, harmonic, median, or a percentile",
        ),
        ({"statistic": "p101"}, "unknown statistic 'p101'"),
        ({"statistic": "median"}, "method 't' is for means, not for the median; use method 'bootstrap' or 'bca'"),
        ({"statistic": "p90", "method": "bootstrap-t"}, "method 'bootstrap-t' is for means, not for the p90"),
        (
            {"method": "bootstrap", "n_resamples": 39},
            "n_resamples must be an integer of at least 40 at confidence 0.95, got 39",
        ),
        ({"method": "bootstrap", "n_resamples": 100.0}, "n_resamples must be an integer"),
        ({"method": "bootstrap", "resampling": "RRX"}, "resampling must be FLAT, or a word of R"),
        ({"method": "bootstrap", "resampling": ""}, "resampling must be FLAT"),
        ({"method": "bootstrap-t", "resampling": "FLAT"}, "bootstrap-t needs the binaries of each replicate"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be an integer of at least 0, got 1.5"),
    ],
)
def test_validation_messages(arguments, message):
    with pytest.raises(AnalysisError) as error:
        stats.mean_interval(np.ones((6, 2)) + np.arange(6)[:, None], **arguments)

    assert message in str(error.value)


def test_means_of_logarithms_need_positive_measurements():
    with pytest.raises(AnalysisError, match="the geometric mean needs measurements above 0, but measurement 1 in"):
        stats.mean_interval([1.0, 0.0, 2.0], statistic="geometric")
