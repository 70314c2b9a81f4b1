"""The dip test: by hand, by linear programming, against the published table, and its false alarms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said


def dip(values):
    """The statistic; equal values stay all but equal."""
    return stats.dip_test(values, resolution=1e-7, n_resamples=1).statistic


def dip_by_linear_programming(points):
    """Smallest distance of the steps of `points` from a function that is convex up to one of them, then concave."""
    x, n = np.sort(points), len(points)
    return min(_distance(x, n, peak) for peak in range(n))


def _distance(x, n, peak):
    # Variables: the function at each point, at the peak from the left (there may be a jump), and the distance.
    size = n + 2
    rows, limits = [], []

    def at_most(terms, limit):
        row = np.zeros(size)
        for place, factor in terms:
            row[place] += factor
        rows.append(row)
        limits.append(limit)

    for i in range(n):
        left = n if i == peak else i
        at_most([(left, 1), (n + 1, -1)], i / n)
        at_most([(i, -1), (n + 1, -1)], -(i + 1) / n)
        at_most([(left, -1), (i, 1), (n + 1, 0)], 1.0 if i == peak else 0.0)
        at_most([(left, -1), (n + 1, -1)], -i / n)
        at_most([(i, 1), (n + 1, -1)], (i + 1) / n)
    at_most([(n, 1), (peak, -1)], 0.0)

    def slope(i):  # of the piece from point i to i + 1
        width = x[i + 1] - x[i]
        right = n if i + 1 == peak else i + 1
        return [(right, 1 / width), (i, -1 / width)]

    for i in range(n - 1):
        at_most([(place, -factor) for place, factor in slope(i)], 0.0)
        if i + 1 < n - 1:
            rising = i + 1 < peak
            if rising:
                at_most([*slope(i), *((place, -factor) for place, factor in slope(i + 1))], 0.0)
            elif i >= peak:
                at_most([*slope(i + 1), *((place, -factor) for place, factor in slope(i))], 0.0)
    cost = np.zeros(size)
    cost[-1] = 1
    solved = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=[(0, 1)] * size)
    assert solved.status == 0
    return solved.fun


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 3, 6], 1 / 8),
        ([0, 2, 3, 5, 6], 2 / 15),
        ([6, 4, 3, 1, 0], 2 / 15),
        ([1, 1, 2, 2], 1 / 4),
        ([1, *[2] * 9], 1 / 20),
    ],
)
def test_values_that_the_r_package_diptest_checks(values, expected):
    assert dip(values) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_the_distance_from_the_nearest_unimodal_distribution(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=4 + seed) ** (1 + seed % 3)

    assert dip(points) == pytest.approx(dip_by_linear_programming(points), abs=1e-7)


@pytest.mark.parametrize(
    ("size", "quantiles"),
    [
        (4, {0.9: 0.1874, 0.95: 0.2073}),
        (10, {0.5: 0.0978, 0.9: 0.1305, 0.95: 0.1396}),
        (30, {0.5: 0.0615, 0.9: 0.0815, 0.95: 0.0882}),
        (100, {0.5: 0.0355, 0.9: 0.0472, 0.95: 0.0511}),
    ],
)
def test_critical_values_of_the_published_table(size, quantiles):
    """Hartigan and Hartigan 1985, table 1, as recomputed with a million samples by the R package diptest."""
    dips = np.array([dip(row) for row in np.random.default_rng(size).uniform(size=(600, size))])

    for level, value in quantiles.items():
        share = (dips <= value).mean()
        assert abs(share - level) < 4.5 * math.sqrt(level * (1 - level) / 600)


def _false_alarms(draw, size, trials=300):
    return sum(stats.dip_test(draw(k, size), n_resamples=199).p_value <= 0.05 for k in range(trials))


def test_false_alarms_of_one_peak_stay_below_the_level():
    """Uniform samples are the hardest: about 5 % (15 of 300, bound of 4 standard deviations). Others alarm less."""
    assert _false_alarms(lambda k, n: np.random.default_rng(k).uniform(size=n), 30) <= 15 + 4 * math.sqrt(14.25)
    assert _false_alarms(lambda k, n: np.random.default_rng(k).normal(size=n), 30) <= 10
    assert _false_alarms(lambda k, n: np.random.default_rng(k).lognormal(sigma=0.5, size=n), 30) <= 10


def test_rounding_does_not_look_like_peaks():
    """Thirty times in steps of a half standard deviation: most values are shared by several binaries."""
    rounded = _false_alarms(lambda k, n: np.round(2 * np.random.default_rng(k).normal(100, 1, size=n)) / 2, 30)

    assert rounded <= 15


def test_two_groups_of_layouts_are_found():
    rng = np.random.default_rng(1)
    groups = np.concatenate([rng.normal(100, 1, 15), rng.normal(108, 1, 15)])

    found = stats.dip_test(groups)

    assert found.p_value < 0.01
    assert (found.alternative, found.method) == ("greater", "dip test, simulated")


def test_counts_that_take_two_values_have_two_peaks_when_their_resolution_is_known():
    counts = [1000.0] * 14 + [2000.0] * 16

    assert stats.dip_test(counts, resolution=1.0).p_value < 0.01
    assert stats.dip_test(counts).p_value > 0.5  # as far as the values tell, they may have been rounded to 1000


def test_unit_order_and_the_number_of_other_samples_do_not_matter():
    values = np.random.default_rng(4).normal(size=20)
    first = stats.dip_test(values)

    assert stats.dip_test(values[::-1] * 1e-9 + 5e-9).p_value == first.p_value
    assert stats.dip_test(-values).statistic == pytest.approx(first.statistic)
    stats.dip_test(np.random.default_rng(5).normal(size=20), n_resamples=500)
    assert stats.dip_test(values) == first


def test_equal_values_are_one_peak():
    found = stats.dip_test([3.0] * 8)

    assert (found.p_value, found.statistic) == (1.0, 1 / 16)
    assert said(found.warnings) == ("all values are equal, so there is one peak of no width",)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, 2.0, 3.0], {}, "3 values cannot show two peaks; at least 4 are needed"),
        ([], {}, "flat sequence of"),
        ([[1.0, 2.0]], {}, "flat sequence of"),
        ([1.0, math.nan, 2.0, 3.0], {}, "value 1 is nan"),
        (["x"] * 4, {}, "expected a flat sequence of numbers"),
        ([1.0, 2.0, 3.0, 5.0], {"resolution": 0}, "resolution must be a finite number above 0"),
        ([1.0, 2.0, 3.0, 5.0], {"n_resamples": 0}, "n_resamples must be an integer of at least 1"),
        ([1.0, 2.0, 3.0, 5.0], {"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_messages(values, options, message):
    with pytest.raises(AnalysisError, match=message):
        stats.dip_test(values, **options)
