"""Verdicts and forecasts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as t_distribution

from layoutrand import stats
from layoutrand.errors import AnalysisError
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


def test_a_decided_comparison_needs_no_more():
    found = stats.binaries_to_decide(_interval(0.9, 0.95), n_binaries=7)

    assert found == stats.Forecast(verdict="faster", n_binaries=7, n_more=0, warnings=())


@pytest.mark.parametrize(
    ("low", "high", "centre", "threshold", "verdict"),
    [(0.96, 1.02, 0.99, 0.0, "faster"), (0.96, 1.03, 1.0, 0.01, "equivalent"), (0.99, 1.05, 1.02, 0.01, "slower")],
)
def test_forecast_is_the_first_count_whose_interval_decides(low, high, centre, threshold, verdict):
    from scipy.stats import t

    found = stats.binaries_to_decide(_interval(low, high, centre), threshold, n_binaries=10)

    def shrunk(m):
        factor = t.ppf(0.975, m - 1) / math.sqrt(m) / (t.ppf(0.975, 9) / math.sqrt(10))
        return _interval(centre * (low / centre) ** factor, centre * (high / centre) ** factor)

    assert found.verdict == verdict
    assert stats.decide(shrunk(found.n_binaries), threshold) == verdict
    assert stats.decide(shrunk(found.n_binaries - 1), threshold) == "undecided"
    assert found.n_more == found.n_binaries - 10


def test_forecast_comes_true_in_simulation():
    """Measure the number of binaries forecast: about half of the comparisons are then decided."""
    model = stats.HierarchicalModel(mean=100.0, sds=(2.0,), layout="normal")
    slower = stats.HierarchicalModel(mean=101.0, sds=(2.0,), layout="normal")
    interval = _interval(0.9925, 1.0275, 1.01)  # what 10 binaries show on average
    needed = stats.binaries_to_decide(interval, n_binaries=10).n_binaries
    old = stats.simulate(model, (needed,), n_datasets=400, seed=1)
    new = stats.simulate(slower, (needed,), n_datasets=400, seed=2)

    decided = np.mean([stats.decide(stats.ratio_interval(a, b)) == "slower" for a, b in zip(old, new, strict=False)])

    assert 0.35 < decided < 0.65


def test_a_ratio_on_the_edge_is_never_decided():
    found = stats.binaries_to_decide(_interval(0.98, 1.0, 0.99), 0.01, n_binaries=10)

    assert (found.verdict, found.n_binaries, found.n_more) == ("undecided", None, None)
    assert said(found.warnings) == (
        "the ratio 0.99 is too close to 0.99 for 100000 binaries to decide; a larger threshold would",
    )


@pytest.mark.parametrize(("low", "high", "n"), [(-math.inf, math.inf, 3), (0.9, 1.1, 1)])
def test_no_forecast_without_bounds(low, high, n):
    found = stats.binaries_to_decide(_interval(low, high, 1.0), n_binaries=n)

    assert found.n_more is None
    assert "allows no forecast; measure 5 or more first" in said(found.warnings)[0]


def test_intervals_that_reach_zero_shrink_on_the_linear_scale():
    assert stats.binaries_to_decide(_interval(-0.2, 1.2, 0.5), n_binaries=5).verdict == "faster"


def test_an_interval_that_misses_its_centre_is_taken_from_its_nearest_bound():
    assert stats.binaries_to_decide(_interval(0.97, 1.01, 0.96), n_binaries=5).verdict == "faster"


def test_forecast_needs_a_count():
    with pytest.raises(AnalysisError, match="n_binaries must be an integer of at least 1, got 0"):
        stats.binaries_to_decide(_interval(0.9, 1.1), n_binaries=0)


@pytest.mark.parametrize("half_width", [0.001, 0.01, 0.05])
def test_the_forecast_number_is_the_first_that_reaches_the_half_width(half_width):
    values = np.random.default_rng(1).normal(100, 5, 12)
    interval = stats.mean_interval(values)
    needed = stats.binaries_to_reach(interval, half_width, n_binaries=12)
    deviation = values.std(ddof=1)

    def reached(m):
        return t_distribution.ppf(0.975, m - 1) * deviation / math.sqrt(m) / values.mean()

    assert reached(needed) <= half_width
    assert needed == 12 or reached(needed - 1) > half_width


def test_the_forecast_agrees_with_the_plan():
    values = np.random.default_rng(2).normal(100, 5, 30)
    needed = stats.binaries_to_reach(stats.mean_interval(values), 0.01, n_binaries=30)
    predicted = [
        stats.predict((values.var(ddof=1),), (m,), costs=(1.0,), mean=values.mean()).relative_half_width
        for m in (needed, needed - 1)
    ]

    assert predicted[0] <= 0.01 < predicted[1]


def test_forecasts_are_about_right_on_average():
    """As many binaries as forecast from 20 give about the half-width asked for."""
    reached = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        needed = stats.binaries_to_reach(stats.mean_interval(rng.normal(100, 5, 20)), 0.01, n_binaries=20)
        reached.append(stats.mean_interval(rng.normal(100, 5, needed)).relative_half_width)

    assert np.mean(reached) == pytest.approx(0.01, rel=0.15)


def test_what_allows_no_forecast_of_the_width():
    assert stats.binaries_to_reach(_interval(99.9, 100.1), 0.01, n_binaries=7) == 7
    assert stats.binaries_to_reach(_interval(-math.inf, math.inf, 1.0), n_binaries=1) is None
    assert stats.binaries_to_reach(_interval(-1, 1), n_binaries=5) is None
    assert stats.binaries_to_reach(_interval(1, 199), 1e-4, n_binaries=5) is None
    with pytest.raises(AnalysisError, match="half_width must be a finite number above 0"):
        stats.binaries_to_reach(_interval(1, 2), 0.0, n_binaries=5)
    with pytest.raises(AnalysisError, match="n_binaries must be an integer of at least 1"):
        stats.binaries_to_reach(_interval(1, 2), n_binaries=0)
