"""The range of one more binary, or of one more of each of two systems."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError


def test_closed_form():
    values = [9.0, 10.0, 12.0, 9.5]
    half = scipy_stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * math.sqrt(1.25)
    found = stats.next_mean(values)
    assert (found.centre, found.low, found.high) == pytest.approx((10.125, 10.125 - half, 10.125 + half))
    assert found.method == "prediction-t"


def test_by_seed_it_is_that_of_the_logarithms_and_else_of_two_samples():
    old, new = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.1, 2.3, 4.1, 3.4])
    logs = np.log(new / old)
    half = scipy_stats.t.ppf(0.975, 3) * logs.std(ddof=1) * math.sqrt(1.25)
    found = stats.next_ratio(old, new)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(logs.mean() + np.array([-half, half]))))
    apart = stats.next_ratio(old, new, pairing="none")
    assert apart.centre == pytest.approx(found.centre)
    assert apart.high / apart.low > 3 * found.high / found.low


@pytest.mark.parametrize(("count", "confidence", "place"), [(39, 0.95, 1), (79, 0.95, 2), (199, 0.99, 1), (19, 0.9, 1)])
def test_from_enough_binaries_on_it_is_the_order_that_counts(count, confidence, place):
    values = np.arange(count, dtype=float)[::-1] ** 3
    found = stats.next_mean(values, confidence=confidence)
    assert (found.low, found.high) == pytest.approx(((place - 1) ** 3, (count - place) ** 3), rel=1e-12)
    assert found.method == "order-statistics"
    assert stats.next_mean(values[1:], confidence=confidence).method == (
        "prediction-t-or-seen" if place == 1 else "order-statistics"
    )


def test_below_that_number_it_is_never_narrower_than_what_was_measured():
    values = np.r_[np.zeros(29), 1.0]
    found = stats.next_mean(values)
    half = scipy_stats.t.ppf(0.975, 29) * np.std(values, ddof=1) * math.sqrt(31 / 30)
    assert half + values.mean() < 0.5
    assert (found.low, found.high) == pytest.approx((values.mean() - half, 1.0))
    assert found.method == "prediction-t-or-seen"
    assert stats.next_mean(-values).low == -1.0


KEPT, SLOW = 0.7, 0.1


def ratios_of_kept_layouts(rng, shape):
    """Logarithms where most seeds give both systems the same layout, as neighbouring commits have."""
    effect = np.where(rng.random(shape) < KEPT, 0.0, 0.014 * rng.standard_normal(shape))
    return effect + 0.001 * rng.standard_normal(shape)


def ratios_of_few_slow(rng, shape):
    return 0.05 * (rng.random(shape) < SLOW) - 0.05 * (rng.random(shape) < SLOW) + 0.003 * rng.standard_normal(shape)


@pytest.mark.parametrize("draw", [ratios_of_kept_layouts, ratios_of_few_slow])
@pytest.mark.parametrize("count", [20, 30, 38])
def test_it_holds_where_most_layouts_are_alike(draw, count):
    """By the normal distribution alone .86 to .92 of them."""
    runs, rng = 1500, np.random.default_rng(count)
    held = 0
    for logs in draw(rng, (runs, count + 1)):
        held += float(np.exp(logs[-1])) in stats.next_ratio(np.ones(count), np.exp(logs[:-1]))
    assert held > runs * 0.93 - 3.3 * math.sqrt(runs * 0.93 * 0.07)


def test_it_does_not_grow_with_the_number_of_binaries():
    rng = np.random.default_rng(1)
    many = stats.next_mean(rng.normal(100, 1, 5000))
    assert (many.low, many.high) == pytest.approx((98.04, 101.96), abs=0.15)


def test_scale_and_order_change_nothing():
    values = np.array([3.0, 5.0, 4.0, 4.4])
    one, other = stats.next_mean(values), stats.next_mean(values[::-1] * 1e-300)
    assert (one.low * 1e-300, one.high * 1e-300) == pytest.approx((other.low, other.high), rel=1e-12)


def test_what_there_is_no_range_of():
    with pytest.raises(AnalysisError, match="cannot show how much binaries differ"):
        stats.next_mean([1.0])
    with pytest.raises(AnalysisError, match="keep only the seeds that both have"):
        stats.next_ratio([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(AnalysisError, match="logarithms are taken"):
        stats.next_ratio([1.0, 0.0], [1.0, 2.0])
    with pytest.raises(AnalysisError, match="pairing"):
        stats.next_ratio([1.0, 2.0], [1.0, 2.0], pairing="both")
    with pytest.raises(AnalysisError, match="confidence"):
        stats.next_mean([1.0, 2.0], confidence=1.0)
    assert stats.next_mean([1.0, 2.0]).warnings
