"""Adding the layouts that `compare` names, and comparing again: how often that says of two alike systems that they differ."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutrand.analysis.forecasting import GOING_ON, forecast_words
from layoutrand.stats import decide, forecast, pair_spread, ratio_interval
from layoutrand.stats.streams import Stream

SD, MOST, EXPERIMENTS = 0.01, 1_000, 300


def looked_at(logs, threshold):
    """The verdict of so many rounds, and what would decide it."""
    data = [[1.0]] * len(logs), [[math.exp(value)] for value in logs]
    ratio = ratio_interval(*data, confidence=0.95, method="paired-log-t")
    spread = pair_spread(*data, is_paired=True)
    return decide(ratio, threshold), forecast(ratio, spread, n_binaries=len(logs), threshold=threshold)


def gone_on(number, first, threshold, true=1.0):
    """The verdict at the first look, and the one after all that follows the advice."""
    logs = math.log(true) + SD * np.asarray(Stream(number, "going on").normals(MOST))
    verdict, told = looked_at(logs[:first], threshold)
    at_first = verdict
    while verdict == "undecided" and told.n_more and told.n_binaries <= MOST:
        verdict, told = looked_at(logs[: told.n_binaries], threshold)
    return at_first, verdict


def rate(of, *wanted):
    return sum(each in wanted for each in of) / len(of)


@pytest.mark.slow
def test_without_a_threshold_it_errs_as_often_as_the_sentence_says():
    once, at_last = zip(*(gone_on(k, 5, 0.0) for k in range(EXPERIMENTS)), strict=True)
    error = 2 * math.sqrt(GOING_ON * (1 - GOING_ON) / EXPERIMENTS)
    assert rate(once, "faster", "slower") <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / EXPERIMENTS)
    assert GOING_ON - error <= rate(at_last, "faster", "slower") <= GOING_ON + error


@pytest.mark.slow
def test_with_a_threshold_what_is_the_same_stays_the_same():
    _, at_last = zip(*(gone_on(k, 5, 0.01) for k in range(EXPERIMENTS)), strict=True)
    assert rate(at_last, "faster", "slower") <= 0.01
    assert rate(at_last, "equivalent") >= 0.95


def test_the_sentence_says_so_where_there_is_no_threshold():
    logs = 0.002 + SD * np.asarray(Stream(1, "going on").normals(10))
    verdict, told = looked_at(logs, 0.0)
    assert verdict == "undecided"
    assert forecast_words(told, 10).endswith("finds a difference where there is none in about 12 of 100 cases")
    assert "until it is decided" not in forecast_words(told, 10, confidence=0.9)
    verdict, told = looked_at(logs, 0.004)
    assert verdict == "undecided"
    assert "until it is decided" not in forecast_words(told, 10)
