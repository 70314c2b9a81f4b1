"""Verdicts and forecasts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2
from scipy.stats import t as t_distribution

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.streams import Stream
from warningkit import said


def _interval(low, high, centre=None):
    middle = (low + high) / 2 if centre is None else centre
    return stats.Interval(centre=middle, low=low, high=high, confidence=0.95, method="x", warnings=())


@pytest.mark.parametrize(
    ("low", "high", "threshold", "verdict"),
    [
        (0.90, 0.98, 0.0, "faster"),
        (0.90, 0.98, 0.01, "faster"),
        (0.90, 0.98, 0.02, "undecided"),  # touches 1 - threshold
        (0.90, 1.00, 0.0, "undecided"),
        (1.02, 1.10, 0.0, "slower"),
        (1.02, 1.10, 0.02, "undecided"),
        (0.99, 1.01, 0.02, "equivalent"),
        (0.98, 1.02, 0.02, "equivalent"),
        (0.97, 1.01, 0.02, "undecided"),
        (0.99, 1.03, 0.02, "undecided"),
        (1.0, 1.0, 0.0, "equivalent"),
        (0.99, 1.01, 0.0, "undecided"),
        (-math.inf, math.inf, 0.05, "undecided"),
        (-math.inf, 0.5, 0.05, "faster"),
    ],
)
def test_verdicts(low, high, threshold, verdict):
    assert stats.decide(_interval(low, high), threshold) == verdict


@pytest.mark.parametrize("threshold", [-0.01, 1.0, 5, float("nan"), "1%"])
def test_threshold_is_a_fraction(threshold):
    with pytest.raises(AnalysisError, match="threshold must be a fraction from 0 up to 1"):
        stats.decide(_interval(0.9, 1.1), threshold)


@pytest.mark.parametrize(
    ("low", "high", "less", "more"),
    [
        (0.5, 0.98, "faster", "slower"),
        (1.02, 1.5, "slower", "faster"),
        (0.995, 1.01, "equivalent", "equivalent"),
        (0.5, 1.5, "undecided", "undecided"),
    ],
)
def test_where_more_is_better_faster_and_slower_change_places(low, high, less, more):
    """A throughput of 1.5 times the baseline is faster; what is equivalent or undecided stays so."""
    assert stats.decide(_interval(low, high), 0.01) == stats.decide(_interval(low, high), 0.01, better="less") == less
    assert stats.decide(_interval(low, high), 0.01, better="more") == more


def _spread(sd=0.02, degrees=18.0, n=10):
    return stats.PairSpread(sd=sd, degrees=degrees, n_binaries=(n, n))


def test_with_a_threshold_the_number_decides_that_the_same_are_and_that_others_differ():
    found = stats.forecast(_interval(0.99, 1.02), _spread(), n_binaries=10, threshold=0.01)
    upper = math.sqrt(stats.variance_limit([0.02**2], [18]))
    same, apart = (stats.binaries_to_decide(0.02, upper, threshold=0.01, difference=d) for d in (0.0, 0.02))

    assert (found.fewest, found.n_binaries) == (max(same.low, apart.low), max(same.high, apart.high))
    assert found.n_more == found.n_binaries - 10
    assert (found.difference, found.is_measured) == (0.02, False)


def test_without_a_threshold_it_is_the_difference_measured():
    found = stats.forecast(_interval(0.985, 1.005, 0.996), _spread(), n_binaries=10)

    assert (found.is_measured, found.difference) == (True, pytest.approx(0.004))
    assert found.fewest == stats.binaries_to_decide(0.02, 0.02, threshold=0.0, difference=0.004).low


def test_a_ratio_and_its_inverse_take_as_many():
    counts = {
        stats.forecast(_interval(0.1, 3.0, ratio), _spread(sd=0.5), n_binaries=10).n_binaries for ratio in (0.5, 2.0)
    }
    assert len(counts) == 1


def test_a_threshold_above_a_half_has_larger_differences_too():
    assert stats.forecast(_interval(0.3, 1.7), _spread(0.5), n_binaries=10, threshold=0.6).difference == 0.8


def test_those_at_hand_may_be_enough():
    """An open verdict from so many is bad luck, or a ratio near the threshold."""
    assert stats.forecast(_interval(0.99, 1.011), _spread(0.01), n_binaries=300, threshold=0.01).n_more == 0


def test_equal_means_show_no_difference_to_confirm():
    found = stats.forecast(_interval(0.98, 1.02, 1.0), _spread(), n_binaries=10)

    assert (found.n_binaries, found.n_more, found.fewest) == (None, None, None)
    assert said(found.warnings) == (
        "the means are the same, so there is no difference that more binaries could confirm; "
        "state a threshold within which systems count as equivalent",
    )


@pytest.mark.parametrize(("low", "high", "n", "degrees"), [(-math.inf, math.inf, 3, 4.0), (0.9, 1.1, 1, 0.0)])
def test_no_forecast_without_bounds(low, high, n, degrees):
    found = stats.forecast(_interval(low, high, 1.0), _spread(degrees=degrees), n_binaries=n)

    assert found.n_more is None
    assert "allows no forecast; measure 5 or more first" in said(found.warnings)[0]


def test_forecast_needs_a_count():
    with pytest.raises(AnalysisError, match="n_binaries must be an integer of at least 1, got 0"):
        stats.forecast(_interval(0.9, 1.1), _spread(), n_binaries=0)


def test_the_spread_of_a_ratio_is_that_of_its_interval():
    """Welch's and the paired interval of the logarithms are t times it over the root of the number."""
    stream = Stream(1, "spread")
    old = 100 + stream.normals(12)
    new = old * (1.01 + 0.002 * stream.normals(12))
    for is_paired, method in ((False, "log-t"), (True, "paired-log-t")):
        found = stats.pair_spread(old, new, is_paired=is_paired)
        interval = stats.ratio_interval(old, new, method=method)
        half = math.log(interval.high / interval.low) / 2
        assert t_distribution.ppf(0.975, found.degrees) * found.sd / math.sqrt(12) == pytest.approx(half, rel=2e-3)
        assert found.n_binaries == (12, 12)
    assert stats.pair_spread(old, new, is_paired=True).sd < stats.pair_spread(old, new).sd / 3


def test_a_single_binary_has_no_spread():
    assert stats.pair_spread([1.0], [1.0, 2.0]) == stats.PairSpread(sd=0.0, degrees=0.0, n_binaries=(1, 2))
    with pytest.raises(AnalysisError, match="the mean is 0, so a relative spread has no meaning"):
        stats.pair_spread([-1.0, 1.0], [1.0, 2.0])


@pytest.mark.parametrize("half_width", [0.001, 0.01])
def test_the_numbers_for_a_half_width_are_those_of_the_standard_deviation(half_width):
    values = np.random.default_rng(1).normal(100, 5, 12)
    found = stats.binaries_to_reach(stats.mean_interval(values), half_width, n_binaries=12)

    relative = float(values.std(ddof=1) / values.mean())
    upper = relative * math.sqrt(11 / chi2.ppf(0.2, 11))
    assert found == stats.binaries_for_half_width(relative, upper, half_width=half_width)
    assert found.low < found.high


def test_the_half_width_is_reached_as_often_as_promised():
    """In four of five experiments with the upper number, from 10 binaries."""
    reached = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        first = stats.mean_interval(rng.normal(100, 3, 10))
        needed = stats.binaries_to_reach(first, 0.01, n_binaries=10).high
        reached.append(stats.mean_interval(rng.normal(100, 3, needed)).relative_half_width <= 0.01)

    assert np.sum(reached) >= binom.ppf(0.001, 100, 0.8)


def test_what_allows_no_forecast_of_the_width():
    enough = stats.binaries_to_reach(_interval(99.9, 100.1), 0.01, n_binaries=7)
    assert (enough.low, enough.high) == (7, 7)
    assert stats.binaries_to_reach(_interval(-math.inf, math.inf, 1.0), n_binaries=1) is None
    assert stats.binaries_to_reach(_interval(-1, 1), n_binaries=5) is None
    assert stats.binaries_to_reach(_interval(1, 199), 1e-4, n_binaries=5).low is None
    with pytest.raises(AnalysisError, match="half_width must be a finite number above 0"):
        stats.binaries_to_reach(_interval(1, 2), 0.0, n_binaries=5)
    with pytest.raises(AnalysisError, match="n_binaries must be an integer of at least 1"):
        stats.binaries_to_reach(_interval(1, 2), n_binaries=0)
