"""Verdicts and forecasts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError


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
    assert found.warnings == (
        "the ratio 0.99 is too close to 0.99 for 100000 binaries to decide; a larger threshold would",
    )


@pytest.mark.parametrize(("low", "high", "n"), [(-math.inf, math.inf, 3), (0.9, 1.1, 1)])
def test_no_forecast_without_bounds(low, high, n):
    found = stats.binaries_to_decide(_interval(low, high, 1.0), n_binaries=n)

    assert found.n_more is None
    assert "allows no forecast; measure 5 or more first" in found.warnings[0]


def test_intervals_that_reach_zero_shrink_on_the_linear_scale():
    assert stats.binaries_to_decide(_interval(-0.2, 1.2, 0.5), n_binaries=5).verdict == "faster"


def test_an_interval_that_misses_its_centre_is_taken_from_its_nearest_bound():
    assert stats.binaries_to_decide(_interval(0.97, 1.01, 0.96), n_binaries=5).verdict == "faster"


def test_forecast_needs_a_count():
    with pytest.raises(AnalysisError, match="n_binaries must be an integer of at least 1, got 0"):
        stats.binaries_to_decide(_interval(0.9, 1.1), n_binaries=0)
