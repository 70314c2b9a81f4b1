"""How far two layouts are apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutrand.errors import AnalysisError


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-a between two orders of the same items: 1 equal, 0 unrelated, -1 reversed.

    ``first`` and ``second`` list the items' numbers, shape (n,), each once. tau = 1 - 4 d / (n (n - 1)), d the number
    of discordant pairs (Kendall 1938, "A New Measure of Rank Correlation", Biometrika 30). Fewer than two items: 1.
    Raises `AnalysisError` if the two do not hold the same items. O(n log n); scipy's kendalltau would be right too,
    but importing scipy.stats costs more than all links of a small program.
    """
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    if a.shape != b.shape or not np.array_equal(np.sort(a), np.sort(b)):
        raise AnalysisError("Kendall's tau compares two orders of the same items")
    n = len(a)
    if n < 2:
        return 1.0
    place = np.argsort(a)  # place[j]: where the j-th smallest item stands in the first order
    ranks = place[np.searchsorted(a, b, sorter=place)]
    return 1.0 - 4.0 * _inversions(ranks) / (n * (n - 1))


def adjacent_kept(first: ArrayLike, second: ArrayLike) -> int:
    """How many items directly follow the same item in both orders (0 ... n-1)."""
    a, b = np.asarray(first).tolist(), np.asarray(second).tolist()
    pairs = set(pairwise(a))
    return sum(pair in pairs for pair in pairwise(b))


def _inversions(ranks: NDArray[np.int64]) -> int:
    """Pairs out of order, by merging sorted blocks of doubling width, all blocks of one width at once."""
    n = len(ranks)
    size = 1 << max(0, (n - 1).bit_length())
    # Padding with ever larger ranks at the end adds no inversion.
    padded = np.concatenate([ranks, np.arange(n, size)])
    total = 0
    width = 1
    while width < size:
        pairs = padded.reshape(-1, 2 * width)
        offset = np.arange(len(pairs))[:, None] * size  # makes one sorted array of all left halves
        left = (np.sort(pairs[:, :width], axis=1) + offset).ravel()
        right = (pairs[:, width:] + offset).ravel()
        smaller = np.searchsorted(left, right)  # left elements of earlier blocks and of this one below the right ones
        begin = np.repeat(np.arange(len(pairs)) * width, width)
        total += int((width - (smaller - begin)).sum())
        padded = np.sort(pairs, axis=1).ravel()
        width *= 2
    return total
