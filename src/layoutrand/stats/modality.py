"""Does a sample have more than one peak? Hartigan and Hartigan's dip.

Binaries whose layouts fall into a fast and a slow group have a mean that describes neither.  The dip is the largest
distance between the sample's distribution function and the nearest unimodal one; whether it is larger than that of
samples with one peak is told by simulation from the uniform distribution, the unimodal one with the largest dips.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.checks import check_count, check_positive, check_seed
from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.randomization import TestResult
from layoutrand.stats.stats_warning import StatsWarning
from layoutrand.stats.streams import Stream
from layoutrand.stats.univariate import Values, sample_of
from layoutrand.warning import plural

_CHUNK = 50
_ENOUGH_LARGER = 20
"""Simulated dips at least as large as the observed one after which the simulation stops."""

_FEWEST = 4
"""Three values have the same dip wherever they lie."""


def dip_test(values: Values, *, resolution: float | None = None, n_resamples: int = 2_000, seed: int = 0) -> TestResult:
    """Test whether a sample comes from a distribution with one peak.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``; at least 4 values.
    resolution
        Step in which the values were measured or rounded, in their unit.  Equal values are spread evenly over it,
        as they would lie had they been measured finely; rounding would otherwise look like peaks.  Default: the
        smallest distance between different values.
    n_resamples
        Simulated samples at most.
    seed
        The simulated samples depend on it, and on the number of values, alone.

    Returns
    -------
    TestResult
        The statistic is the dip, from 1 / (2 n) to 1/4; small p-values speak for more than one peak.

    Raises
    ------
    AnalysisError
        Fewer than 4 values, values that are not finite, or a resolution not above 0.

    Notes
    -----
    The dip is the largest distance between the sample's distribution function and the nearest unimodal one (Hartigan
    and Hartigan, The Dip Test of Unimodality, Annals of Statistics 13, 1985, section 3); the interval that holds the
    peak is narrowed as in algorithm AS 217 (P. M. Hartigan, Applied Statistics 34, 1985).

    p is the share of uniform samples of the same size with a dip at least as large (section 4:
    asymptotically no unimodal distribution has stochastically larger dips, so for distributions with tails
    the test is cautious).  After 20 such samples among the first l the simulation stops and ``p = 20 / l``;
    otherwise ``p = (count + 1) / (M + 1)`` (Besag and Clifford, Sequential Monte Carlo p-values, Biometrika 78,
    1991, section 2).
    """
    check_count(n_resamples, name="n_resamples")
    check_seed(seed)
    sample = np.sort(sample_of(values, "dip test"))
    if sample.size < _FEWEST:
        raise AnalysisError(
            f"dip test: {plural(sample.size, 'value')} cannot show two peaks; at least {_FEWEST} are needed, better 20"
        )
    if resolution is not None:
        check_positive(resolution, name="resolution")
    if sample[0] == sample[-1]:
        return _result(1 / (2 * sample.size), 1.0, 0, (advice.NoPeaks(),))
    spread = _spread(sample, resolution)
    observed = _dip_of_sorted((spread - spread[0]) / (spread[-1] - spread[0]))
    count = 0
    for drawn, simulated in enumerate(_simulated_dips(sample.size, n_resamples, seed), 1):
        count += simulated >= observed * (1 - 1e-9)
        if count == _ENOUGH_LARGER:
            return _result(observed, count / drawn, drawn, ())
    return _result(observed, (count + 1) / (n_resamples + 1), n_resamples, ())


def _result(statistic: float, p_value: float, n_resamples: int, warnings: tuple[StatsWarning, ...]) -> TestResult:
    return TestResult(
        statistic=statistic,
        p_value=p_value,
        alternative="greater",
        method="dip test, simulated",
        n_resamples=n_resamples,
        warnings=warnings,
    )


def _spread(points: FloatArray, resolution: float | None) -> FloatArray:
    """Sorted values with runs of equal ones spread evenly over the step in which they were measured."""
    different, counts = np.unique(points, return_counts=True)
    if different.size == points.size:
        return points
    smallest = float(np.diff(different).min())
    step = smallest if resolution is None else min(resolution, smallest)
    place = np.arange(points.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return points + step * ((place + 0.5) / np.repeat(counts, counts) - 0.5)


def _simulated_dips(size: int, n_resamples: int, seed: int) -> Iterator[float]:
    for chunk in range(math.ceil(n_resamples / _CHUNK)):
        yield from _dips_of_uniforms(size, seed, chunk)[: n_resamples - chunk * _CHUNK]


@lru_cache(maxsize=1024)
def _dips_of_uniforms(size: int, seed: int, chunk: int) -> tuple[float, ...]:
    """One chunk of dips; samples of one size share them, so many benchmarks cost little more than one."""
    rows = np.sort(Stream(seed, "dip", size, chunk).uniforms(_CHUNK * size).reshape(_CHUNK, size), axis=1)
    return tuple(_dip_of_sorted(row) for row in rows)


def _dip_of_sorted(points: FloatArray) -> float:
    """The dip of different, rising points.

    Heights are ranks; the lower corners of the steps lie one below the upper ones, hence the ones added.
    """
    ranks = np.arange(points.size, dtype=np.float64)
    low, high, best = 0, points.size - 1, 1.0
    while True:
        x, y = points[low : high + 1], ranks[: high + 1 - low]
        below, above = _hull(x, y, 1.0), _hull(x, y, -1.0)
        minorant, majorant = np.interp(x, x[below], y[below]), np.interp(x, x[above], y[above])
        gap = majorant - minorant + 1
        corners = np.union1d(below, above)
        widest = int(corners[np.argmax(gap[corners])])
        if gap[widest] <= best:
            break
        left = int(below[np.searchsorted(below, widest, side="right") - 1])
        right = int(above[np.searchsorted(above, widest)])
        best = max(best, float((y - minorant + 1)[: left + 1].max()), float((majorant - y + 1)[right:].max()))
        if (left, right) == (0, x.size - 1):
            break
        low, high = low + left, low + right
    return best / (2 * points.size)


def _hull(x: FloatArray, y: FloatArray, sign: float) -> IntArray:
    """Positions of the corners of the greatest convex minorant (`sign` 1), or the least concave majorant (-1)."""
    xs, ys = x.tolist(), (sign * y).tolist()
    corners: list[int] = []
    for new in range(len(xs)):
        while len(corners) > 1:
            first, middle = corners[-2], corners[-1]
            rise = (ys[middle] - ys[first]) * (xs[new] - xs[middle])
            if rise < (ys[new] - ys[middle]) * (xs[middle] - xs[first]):
                break
            corners.pop()
        corners.append(new)
    return np.array(corners)
