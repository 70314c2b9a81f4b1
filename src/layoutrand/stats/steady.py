"""Are the iterations of an execution independent?  Diagnostics (Kalibera and Jones, ISMM 2013, section 6.1).

Each diagnostic is meant to be seen beside the same series randomly reordered, where any dependence is destroyed:
what differs systematically between the two is dependence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import series_advice
from layoutrand.stats.checks import check_confidence, check_count, check_seed
from layoutrand.stats.levels import FloatArray, Measurements, nested
from layoutrand.stats.quantiles import normal_quantile
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.streams import Stream

_SHUFFLES = 999


@dataclass(frozen=True, kw_only=True)
class Autocorrelation:
    """Autocorrelation of a series of iterations, beside that of the same series reordered.

    Attributes
    ----------
    values
        Correlation with the series itself 0, 1, ..., max_lag iterations earlier; the first is 1.
    reordered
        The same of the series in a random order.
    band
        Correlations of independent iterations lie within -band ... band with the given confidence, each lag.
    confidence
        Of the band.
    statistic
        Ljung and Box's Q over lags 1 to max_lag.
    p_value
        Chance of a Q this large if the iterations are exchangeable, by permutation.
    warnings
        What limits the answer, and the count that would cure it.
    """

    values: tuple[float, ...]
    reordered: tuple[float, ...]
    band: float
    confidence: float
    statistic: float
    p_value: float
    warnings: tuple[StatsWarning, ...]


def autocorrelation(
    series: Measurements, *, max_lag: int | None = None, confidence: float = 0.95, seed: int = 0
) -> Autocorrelation:
    """Autocorrelation of one execution's iterations, with a noise band and a test.

    Parameters
    ----------
    series
        Durations of the iterations of one execution in order, shape ``(n,)``, warm-up left out; at least 3.
    max_lag
        Largest lag, below n; ``10 log10(n)`` by default.
    confidence
        Of the noise band.
    seed
        The reordering and the test depend on it alone.

    Returns
    -------
    Autocorrelation
        A series without any variation has correlation 0 at all lags but 0, p = 1, and a warning.

    Raises
    ------
    AnalysisError
        Not a flat series, fewer than 3 iterations, or a lag out of range.

    Notes
    -----
    ``r_h = sum (y_t - m)(y_{t+h} - m) / sum (y_t - m)^2``; band ``u / sqrt(n)``;
    ``Q = n (n + 2) sum r_h^2 / (n - h)`` (Ljung and Box, Biometrika 65, 1978), judged against 999 random orders.
    """
    check_confidence(confidence)
    check_seed(seed)
    values = nested(read_series(series, at_least=3, what="autocorrelation")).scaled()[0].values
    n = values.size
    lags = min(n - 1, int(10 * math.log10(n))) if max_lag is None else max_lag
    check_count(lags, name="max_lag")
    if lags >= n:
        raise AnalysisError(f"max_lag {lags} needs more than {lags} iterations, the series has {n}")
    warnings = series_advice.few_iterations(n)
    band = normal_quantile(confidence) / math.sqrt(n)
    if values.max() == values.min():
        flat = (1.0, *([0.0] * lags))
        return Autocorrelation(
            values=flat,
            reordered=flat,
            band=band,
            confidence=confidence,
            statistic=0.0,
            p_value=1.0,
            warnings=(*warnings, series_advice.NoVariationInTime()),
        )
    own = correlations(values[None, :], lags)
    shuffled = correlations(reorderings(values, seed), lags)
    statistic = float(ljung_box(own, n)[0])
    return Autocorrelation(
        values=tuple(own[0].tolist()),
        reordered=tuple(shuffled[0].tolist()),
        band=band,
        confidence=confidence,
        statistic=statistic,
        p_value=permutation_p(statistic, ljung_box(shuffled, n)),
        warnings=warnings,
    )


def lag_points(series: Measurements, lag: int) -> FloatArray:
    """Points of a lag plot: each iteration with the one `lag` iterations before it.

    Parameters
    ----------
    series
        Iterations of one execution in order, shape ``(n,)``.
    lag
        From 1 to n - 1; the paper looks at 1 to 4.

    Returns
    -------
    ndarray
        Shape ``(n - lag, 2)``: the earlier iteration, then the later one.
    """
    values = read_series(series, at_least=2, what="lag_points")
    check_count(lag, name="lag")
    if lag >= values.size:
        raise AnalysisError(f"lag {lag} needs more than {lag} iterations, the series has {values.size}")
    return np.column_stack([values[:-lag], values[lag:]])


def reordered(series: Measurements, *, seed: int = 0) -> FloatArray:
    """The series in a random order that depends on `seed` alone, to be shown beside the original.

    Parameters
    ----------
    series
        Iterations of one execution, shape ``(n,)``.
    seed
        Names the order.
    """
    check_seed(seed)
    values = read_series(series, at_least=1, what="reordered")
    return values[Stream(seed, "reorder").order(values.size)]


def read_series(series: Measurements, *, at_least: int, what: str) -> FloatArray:
    """Read one execution's iterations."""
    sample = nested(series, name=what)
    if sample.n_levels != 1:
        raise AnalysisError(
            f"{what}: expected the iterations of one execution, shape (n,), got {sample.n_levels} levels"
        )
    if sample.n_top < at_least:
        raise AnalysisError(f"{what}: {sample.n_top} iterations are too few, at least {at_least} are needed")
    return sample.values


def correlations(rows: FloatArray, max_lag: int) -> FloatArray:
    """Autocorrelations of each row at lags 0 to `max_lag`."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    products = [(centred[:, lag:] * centred[:, : rows.shape[1] - lag]).sum(axis=1) for lag in range(max_lag + 1)]
    return np.asarray((np.array(products) / total).T)


def ljung_box(values: FloatArray, n: int) -> FloatArray:
    """Q of each row of autocorrelations (lag 0 first) of series of length n."""
    lags = np.arange(1, values.shape[1])
    return np.asarray(n * (n + 2) * (values[:, 1:] ** 2 / (n - lags)).sum(axis=1))


def reorderings(values: FloatArray, seed: int) -> FloatArray:
    """Random orders of a series, one per row; the first is that of `reordered`."""
    first = Stream(seed, "reorder").words(values.size)
    rest = Stream(seed, "shuffle").words(values.size * (_SHUFFLES - 1))
    words = np.concatenate([first, rest]).reshape(_SHUFFLES, values.size)
    return values[np.argsort(words, axis=1, kind="stable")]


def permutation_p(statistic: float, shuffled: FloatArray) -> float:
    """``(count + 1) / (M + 1)`` of the shuffled statistics at least as large as the observed one."""
    return (int((shuffled >= statistic * (1 - 1e-9)).sum()) + 1) / (shuffled.size + 1)
