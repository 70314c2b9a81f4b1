"""Ranks, and the exact null distributions of the two Wilcoxon statistics."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from layoutrand.stats.levels import FloatArray


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1 in rising order; equal values share the average of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse], dtype=np.float64)


@lru_cache(maxsize=64)
def rank_sum_cdf(n: int, m: int) -> FloatArray:
    """``P(U <= u)`` for u = 0 ... n m of the Mann-Whitney statistic without ties.

    Notes
    -----
    The number of ways to reach u is the coefficient of x^u in the Gaussian binomial ``[n + m over n]``, built by
    multiplying and dividing by ``1 - x^k``.
    """
    ways = [1] + [0] * (n * m)  # Python integers: the counts outgrow floating point
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):
            ways[u] -= ways[u - m - k]
        for u in range(k, n * m + 1):
            ways[u] += ways[u - k]
    total = sum(ways)
    return np.array([reached / total for reached in itertools.accumulate(ways)])


@lru_cache(maxsize=64)
def signed_rank_cdf(n: int) -> FloatArray:
    """``P(W <= w)`` for w = 0 ... n (n + 1) / 2 of the signed-rank statistic without ties."""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] += ways[: ways.size - rank].copy()
    return np.asarray(np.cumsum(ways) / ways.sum(), dtype=np.float64)
