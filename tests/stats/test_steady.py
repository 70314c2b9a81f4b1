"""Autocorrelation, lag plots, reordering."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.tsa.stattools import acf

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said


def _series(phi=0.0, n=300, seed=1):
    noise = np.random.default_rng(seed).normal(size=n)
    for i in range(1, n):
        noise[i] += phi * noise[i - 1]
    return 100 + noise


@pytest.mark.parametrize("phi", [0.0, 0.6, -0.5])
def test_autocorrelation_and_q_of_statsmodels(phi):
    values = _series(phi)

    found = stats.autocorrelation(values, max_lag=12)

    assert found.values == pytest.approx(acf(values, nlags=12))
    assert found.statistic == pytest.approx(acorr_ljungbox(values, lags=[12])["lb_stat"].iloc[0])


def test_default_lags_and_band():
    found = stats.autocorrelation(_series(n=300))

    assert len(found.values) == len(found.reordered) == 1 + int(10 * math.log10(300))
    assert found.band == pytest.approx(1.959964 / math.sqrt(300), rel=1e-6)
    assert found.warnings == ()


def test_the_permutation_test_agrees_with_ljung_and_box():
    ours = [stats.autocorrelation(_series(0.1, seed=s), max_lag=4).p_value for s in range(20)]
    theirs = [acorr_ljungbox(_series(0.1, seed=s), lags=[4])["lb_pvalue"].iloc[0] for s in range(20)]

    assert ours == pytest.approx(theirs, abs=0.06)


def test_independent_series_give_uniform_p_values():
    p = [stats.autocorrelation(_series(n=60, seed=s), max_lag=4, seed=s).p_value for s in range(300)]

    assert scipy_stats.kstest(p, "uniform").pvalue > 1e-3


def test_dependence_shows_beside_the_reordered_series():
    found = stats.autocorrelation(_series(0.6))

    assert found.p_value == 0.001
    assert found.values[1] > 3 * found.band
    assert sum(abs(value) > found.band for value in found.reordered[1:]) <= 5


def test_reordering_is_the_one_shown():
    values = _series()

    shuffled = stats.reordered(values, seed=4)

    assert stats.autocorrelation(values, max_lag=5, seed=4).reordered == pytest.approx(acf(shuffled, nlags=5))
    assert sorted(shuffled) == sorted(values)
    assert (shuffled != stats.reordered(values, seed=5)).any()


def test_lag_points():
    assert stats.lag_points([1.0, 2.0, 3.0, 4.0], 1).tolist() == [[1, 2], [2, 3], [3, 4]]
    assert stats.lag_points([1.0, 2.0, 3.0, 4.0], 3).tolist() == [[1, 4]]


@pytest.mark.parametrize("value", [0.1, 5.0])
def test_constant_series(value):
    found = stats.autocorrelation([value] * 30, max_lag=3)

    assert found.values == (1.0, 0.0, 0.0, 0.0)
    assert found.p_value == 1.0
    assert "all iterations take exactly the same time" in said(found.warnings)[0]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_do_not_matter(scale):
    found, plain = stats.autocorrelation(_series(0.3) * scale), stats.autocorrelation(_series(0.3))

    assert found.values == pytest.approx(plain.values)
    assert found.p_value == plain.p_value


def test_short_series_warn():
    assert said(stats.autocorrelation(_series(n=12)).warnings) == (
        "12 iterations say little about dependence: 8 more would make 20; the papers look at 300",
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.autocorrelation([1.0, 2.0]), "autocorrelation: 2 iterations are too few, at least 3 are needed"),
        (
            lambda: stats.autocorrelation([[1.0, 2.0], [3.0, 4.0]]),
            "expected the iterations of one execution, shape (n,), got 2 levels",
        ),
        (
            lambda: stats.autocorrelation([1.0, 2.0, 3.0], max_lag=3),
            "max_lag 3 needs more than 3 iterations, the series has 3",
        ),
        (lambda: stats.autocorrelation([1.0, 2.0, 3.0], max_lag=0), "max_lag must be an integer of at least 1, got 0"),
        (lambda: stats.lag_points([1.0, 2.0], 2), "lag 2 needs more than 2 iterations, the series has 2"),
        (lambda: stats.lag_points([1.0, 2.0], -1), "lag must be an integer of at least 1, got -1"),
        (lambda: stats.reordered([1.0], seed=-1), "seed must be an integer of at least 0"),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError) as error:
        call()

    assert message in str(error.value)
