"""The ratio while rounds go on: what it is made of, when it decides, how sure, and how many rounds it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand.errors import AnalysisError
from layoutrand.stats import (
    decide,
    running_decision,
    running_forecast,
    running_interval,
    running_ratio,
    running_test,
    watching_study,
)
from layoutrand.stats.running_ratio import FEWEST_EXACT, FEWEST_ROUNDS
from layoutrand.stats.streams import Stream

OLD = np.array([10.0, 11.0, 10.5, 9.8, 10.2, 10.9, 10.1, 10.6, 10.4, 9.9])
NEW = OLD * np.exp(np.array([3.0, 3.2, 2.9, 3.1, 2.7, 3.3, 3.0, 2.8, 3.1, 2.9]) / 100)


def test_it_is_the_running_interval_of_the_rounds_logarithms():
    found, logs = running_ratio(OLD, NEW), running_interval(np.log(NEW / OLD))
    assert [found.centre, found.low, found.high] == pytest.approx(
        [math.exp(x) for x in (logs.centre, logs.low, logs.high)]
    )
    assert found.method == "paired-anytime"


def test_nothing_is_decided_by_fewer_rounds_than_are_enough():
    n = FEWEST_ROUNDS - 1
    assert math.isinf(running_ratio(OLD[:n], NEW[:n]).high)
    assert decide(running_ratio(OLD[: n + 1], NEW[: n + 1]), 0.01) == "slower"


def test_counts_that_no_layout_changes_are_exact_after_three_rounds():
    """And only these: times that happen to be equal are not, nor is one system's count that varies."""
    n = FEWEST_EXACT
    exact = running_ratio([1000.0] * n, [1020.0] * n, is_count=True)
    assert (exact.low, exact.high) == (exact.centre, exact.centre) == (pytest.approx(1.02), pytest.approx(1.02))
    assert math.isinf(running_ratio([1000.0] * n, [1020.0] * n).high)
    assert math.isinf(running_ratio([1000.0] * n, [1020.0, 1020.0, 1021.0], is_count=True).high)
    assert running_decision([1000.0] * n, [1020.0] * n, threshold=0.01, is_count=True) == 0.0
    assert running_test([1000.0] * n, [1000.0] * n, is_count=True) == 1.0
    assert math.isinf(running_ratio([1000.0] * (n - 1), [1020.0] * (n - 1), is_count=True).high)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_p_values_are_at_the_ends_of_the_interval_what_its_confidence_says(confidence):
    found = running_ratio(OLD, NEW, confidence=confidence)
    for end in (found.low, found.high):
        assert running_test(OLD, NEW, ratio=end) == pytest.approx(1 - confidence)
    assert running_test(OLD, NEW, ratio=found.centre) == 1.0


def test_a_decision_is_as_sure_as_the_edge_that_is_hardest_to_exclude():
    assert running_decision(OLD, NEW, threshold=0.01) == pytest.approx(running_test(OLD, NEW, ratio=1.01))
    assert running_decision(OLD, NEW, threshold=0.0) == pytest.approx(running_test(OLD, NEW))
    same = running_decision(OLD, OLD * (1 + (NEW / OLD - 1.03)), threshold=0.02)
    assert same == pytest.approx(max(running_test(OLD, OLD * (1 + (NEW / OLD - 1.03)), ratio=e) for e in (0.98, 1.02)))


def test_what_cannot_be_paired_is_an_error():
    with pytest.raises(AnalysisError):
        running_ratio(OLD, NEW[:-1])
    with pytest.raises(AnalysisError):
        running_ratio([0.0] * 9, NEW[:9])


def test_the_forecast_is_enough_in_as_many_experiments_as_it_promises():
    sd, limit = 0.01, 60
    pilot = scipy_stats.norm.ppf(np.arange(0.5, 60) / 60) * sd
    found = running_forecast(np.ones(60), np.exp(pilot), threshold=0.01)
    assert FEWEST_ROUNDS < found.fewest <= found.n_binaries < 60
    draws = sd * scipy_stats.norm.ppf(Stream(5, "forecast").uniforms(100 * limit).reshape(100, limit))
    for true in (0.0, 0.02):
        n = found.fewest
        ratios = np.exp(draws[:, :n] + math.log1p(true))
        decided = [decide(running_ratio(np.ones(n), row), 0.01) != "undecided" for row in ratios]
        assert sum(decided) >= scipy_stats.binom.ppf(0.001, 100, 0.8)


def test_a_forecast_says_why_there_is_none():
    assert running_forecast([1.0], [1.1], threshold=0.01).warnings
    assert running_forecast(OLD, OLD).warnings
    assert running_forecast(np.ones(9), np.ones(9), threshold=0.01).fewest == FEWEST_ROUNDS


def test_a_check_of_normal_rounds_is_wrong_no_more_often_than_stated_and_finds_what_is_there():
    rows = watching_study(noises=["normal"], sds=[0.01], differences=[0.0, 0.0101, 0.02], limit=30, n_datasets=40)
    assert all(row.wrong.count <= scipy_stats.binom.ppf(0.999, 40, 0.05) for row in rows)
    assert all(row.decided.rate >= 0.8 for row in rows if row.difference != 0.0101)


@pytest.mark.slow
@pytest.mark.hour
def test_the_rates_that_the_documentation_states():
    """docs/concepts/statistics.md has these figures; a group that few layouts are in is beyond what so few show."""
    rows = watching_study(n_datasets=1000, seed=20)
    for row in rows:
        honest = row.noise not in {"rare group", "drift", "skewed", "regimes"}
        if honest or abs(abs(row.difference) - 0.01) > 0.005:
            assert row.wrong.low <= 0.05, row
