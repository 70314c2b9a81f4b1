"""The interval that may be looked at after every value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand.errors import AnalysisError
from layoutrand.stats import mean_interval, running_interval
from layoutrand.stats.streams import Stream

N_SETS, N_VALUES = 200, 60


@pytest.fixture(scope="module")
def noise():
    """Normal numbers, a set in each row."""
    return scipy_stats.norm.ppf(Stream(11, "anytime").uniforms(N_SETS * N_VALUES).reshape(N_SETS, N_VALUES))


def test_it_is_the_interval_that_the_martingale_rejects_outside_of():
    """At both ends the mixture of likelihoods is 1 / alpha, by its definition."""
    values = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 2.5, 3.5, 1.5])
    found = running_interval(values, confidence=0.9)
    n = values.size
    for end in (found.low, found.high):
        total, squares = float((values - end).sum()), float(((values - end) ** 2).sum())
        mixture = math.sqrt(1 / (n + 1)) * ((n + 1) * squares / ((n + 1) * squares - total**2)) ** (n / 2)
        assert mixture == pytest.approx(10.0)


def test_looking_after_every_value_errs_no_more_often_than_stated(noise):
    """And the interval for one look does: which is why it is not what a run shows."""
    missed = {"running": 0, "one look": 0}
    for row in noise:
        for name, interval in (("running", running_interval), ("one look", mean_interval)):
            looks = (interval(row[:n]) for n in range(5, N_VALUES + 1, 5))
            missed[name] += any(not look.low <= 0 <= look.high for look in looks)
    assert missed["running"] <= scipy_stats.binom.ppf(0.999, N_SETS, 0.05)
    assert missed["one look"] > scipy_stats.binom.ppf(0.999, N_SETS, 0.05)


def test_it_narrows_and_is_less_than_twice_as_wide_as_for_one_look(noise):
    row = noise[0]
    widths = [running_interval(row[:n]).half_width for n in (5, 10, 30, 60)]
    assert widths == sorted(widths, reverse=True)
    for n in (10, 30, 60):
        assert 1 < running_interval(row[:n]).half_width / mean_interval(row[:n]).half_width < 2


def test_few_values_have_no_bounds_and_none_is_an_error():
    assert math.isinf(running_interval([1.0]).half_width)
    assert math.isinf(running_interval([1.0, 1.1, 0.9]).half_width)
    with pytest.raises(AnalysisError):
        running_interval([])
    with pytest.raises(AnalysisError):
        running_interval([1.0, math.nan])
