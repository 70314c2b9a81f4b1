"""Dividing a factor in two: by hand, and against an exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError


def between(response, side):
    """Sum of squares between the two sides."""
    sides = (response[side], response[~side])
    return sum(len(part) * (part.mean() - response.mean()) ** 2 for part in sides)


def sides_of(division, values):
    return np.array([division.side(value) for value in values.tolist()])


def test_classes_by_hand():
    values = np.repeat([0.0, 16.0, 32.0, 48.0], 4)
    response = np.repeat([1.0, 1.1, 2.0, 1.05], 4)
    division = stats.split_factor(values, response, scale="classes")

    assert division.large == (32.0,)
    assert set(division.small) == {0.0, 16.0, 48.0}
    assert division.side(32.0) is True
    assert division.side(16.0) is False
    assert division.side(8.0) is None


@pytest.mark.parametrize("seed", range(5))
def test_no_division_of_classes_is_better(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, 40).astype(float)
    response = rng.normal(size=40)
    division = stats.split_factor(values, response, scale="classes", fewest=1)
    best = max(
        between(response, np.isin(values, chosen))
        for size in range(1, 5)
        for chosen in itertools.combinations(np.unique(values), size)
    )

    assert between(response, sides_of(division, values)) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(5))
def test_no_cut_of_numbers_is_better(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, 40).astype(float)
    response = rng.normal(size=40) - 0.1 * values
    division = stats.split_factor(values, response, scale="number")
    allowed = [cut for cut in np.unique(values)[:-1] if min((values > cut).sum(), (values <= cut).sum()) >= 3]
    side = sides_of(division, values)

    assert between(response, side) == pytest.approx(max(between(response, values > cut) for cut in allowed))
    assert response[side].mean() > response[~side].mean()


def test_a_circle_is_halved_around_its_peak():
    values = np.arange(0, 4096, 64.0)
    response = np.cos(2 * np.pi * (values - 4000) / 4096)
    division = stats.split_factor(values, response, scale="circle", period=4096)

    assert division.centre == pytest.approx(4000)
    assert division.side(4000.0)
    assert division.side(100.0)  # across the end
    assert not division.side(2000.0)
    assert sides_of(division, values).sum() == pytest.approx(32, abs=1)


def test_too_few_on_one_side():
    values = np.array([0.0] * 18 + [1.0] * 2)

    assert stats.split_factor(values, values, scale="number") is None
    assert stats.split_factor(values, values, scale="classes") is None
    assert stats.split_factor(values, values, scale="number", fewest=2).limit == 0.5


def test_messages():
    ones = np.ones(9)
    with pytest.raises(AnalysisError, match="unknown scale 'ordinal'"):
        stats.split_factor(ones, ones, scale="ordinal")
    with pytest.raises(AnalysisError, match="must be as many"):
        stats.split_factor(ones, np.ones(8), scale="number")
    with pytest.raises(AnalysisError, match="period above 0"):
        stats.split_factor(ones, ones, scale="circle")


def test_the_difference_between_the_sides_is_too_large_where_there_is_none():
    """Why it must be confirmed: chosen sides of pure noise differ, on average over 200 samples, by much."""
    rng = np.random.default_rng(1)
    differences = []
    for _ in range(200):
        values, response = rng.normal(size=30), rng.normal(size=30)
        side = sides_of(stats.split_factor(values, response, scale="number"), values)
        differences.append(response[side].mean() - response[~side].mean())

    assert np.mean(differences) > 0.5
