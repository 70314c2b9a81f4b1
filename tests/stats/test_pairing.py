"""Pairing by seed: numpy, scipy, and what it wins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said


def _pair(shared=0.02, own=0.01, n=30, seed=1):
    rng = np.random.default_rng(seed)
    common = rng.normal(0, shared, n)
    return tuple(100 * np.exp(common + rng.normal(0, own, n))[:, None] for _ in range(2))


def test_correlation_and_interval_of_scipy():
    a, b = _pair()
    expected = scipy_stats.pearsonr(np.log(a[:, 0]), np.log(b[:, 0]))

    found = stats.pairing(a, b, confidence=0.9).correlation

    assert found.centre == pytest.approx(expected.statistic)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.9)))


def test_variance_reduction_in_closed_form():
    a, b = _pair()
    la, lb = np.log(a[:, 0]), np.log(b[:, 0])
    covariance = np.cov(la, lb)

    found = stats.pairing(a, b)

    assert found.variance_reduction == pytest.approx(2 * covariance[0, 1] / np.trace(covariance))
    assert found.variance_reduction == pytest.approx(0.8, abs=0.2)  # 2 % shared, 1 % own
    assert found.n_binaries == 30
    assert found.paired == stats.ratio_interval(a, b, method="paired-log-t")
    assert found.unpaired == stats.ratio_interval(a, b, method="log-t")
    widths = math.log(found.paired.high / found.paired.low) / math.log(found.unpaired.high / found.unpaired.low)
    assert widths == pytest.approx(math.sqrt(1 - found.variance_reduction), rel=0.05)


def test_pairing_systems_that_share_nothing_wins_nothing():
    reductions = [stats.pairing(*_pair(shared=0.0, seed=seed)).variance_reduction for seed in range(200)]

    assert np.mean(reductions) == pytest.approx(0, abs=4 * np.std(reductions) / math.sqrt(200))
    assert min(reductions) < 0


def test_identical_and_opposite_systems():
    a, _ = _pair()
    same = stats.pairing(a, a * 2)
    opposite = stats.pairing(a, 1e4 / a)

    assert same.variance_reduction == pytest.approx(1)
    assert (same.correlation.low, same.correlation.centre) == (pytest.approx(1), pytest.approx(1))
    assert opposite.variance_reduction == pytest.approx(-1)
    assert opposite.correlation.centre == pytest.approx(-1)


@pytest.mark.parametrize(
    ("a", "b", "warning"),
    [
        ([1.0, 2.0, 4.0], [1.0, 2.0, 5.0], "3 seeds say nothing about a correlation: 1 more would give an interval"),
        ([1.0] * 5, [1.0, 2.0, 3.0, 2.0, 1.0], "one system does not vary, so there is no correlation"),
    ],
)
def test_correlations_that_cannot_be_had(a, b, warning):
    found = stats.pairing(a, b)

    assert (found.correlation.low, found.correlation.high) == (-1, 1)
    assert warning in said(found.correlation.warnings)[0]
    assert found.warnings


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0], [1.0], "paired by seed: the baseline has 2 binaries and the candidate 1; keep only the seeds"),
        ([1.0], [1.0], "pairing: 1 binary has no correlation; measure at least 4 seeds on both systems"),
        ([1.0, 2.0], [1.0, -1.0], "candidate: the mean of binary 1 is not above 0"),
    ],
)
def test_messages(a, b, message):
    with pytest.raises(AnalysisError) as error:
        stats.pairing(a, b)

    assert message in str(error.value)
