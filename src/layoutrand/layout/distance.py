"""How far two layouts are apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutrand.errors import AnalysisError

_LAST_BITS: Final = 6


def relative_order(identity: Sequence[int], achieved: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both orders restricted to the sections they share and renumbered 0 ... n-1, each shape (n,)."""
    shared = sorted(set(identity) & set(achieved))
    number = {index: place for place, index in enumerate(shared)}
    first, second = (np.array([number[i] for i in order if i in number], np.int64) for order in (identity, achieved))
    return first, second


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Kendall's tau-a between two orders of the same items: 1 equal, 0 unrelated, -1 reversed.

    ``first`` and ``second`` list the items' numbers, shape (n,), each once. tau = 1 - 4 d / (n (n - 1)), d the number
    of discordant pairs (Kendall 1938, "A New Measure of Rank Correlation", Biometrika 30). Fewer than two items: 1.
    Raises `AnalysisError` if the two do not hold the same items. O(n log n); scipy's kendalltau would be right too,
    but importing scipy.stats costs more than all links of a small program.
    """
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    if not (_counts_up(a) and _counts_up(b)):  # other numbers than 0 ... n-1 by their ranks
        items = np.sort(a)
        if a.shape != b.shape or not np.array_equal(items, np.sort(b)) or (items[1:] == items[:-1]).any():
            raise AnalysisError("Kendall's tau compares two orders of the same items")
        a, b = np.searchsorted(items, a), np.searchsorted(items, b)
    n = len(a)
    if n != len(b):
        raise AnalysisError("Kendall's tau compares two orders of the same items")
    if n < 2:
        return 1.0
    place = np.empty(n, np.int32)  # place[j]: where item j stands in the first order
    place[a] = np.arange(n)
    return 1.0 - 4.0 * _inversions(place[b]) / (n * (n - 1))


def _counts_up(items: NDArray[np.int64]) -> bool:
    """Whether the items are the numbers 0 ... n-1, each once."""
    if items.ndim != 1 or (len(items) and (items.min() < 0 or items.max() >= len(items))):
        return False
    return bool((np.bincount(items, minlength=len(items)) == 1).all())


def adjacent_kept(first: ArrayLike, second: ArrayLike) -> int:
    """How many items directly follow the same item in both orders (0 ... n-1)."""
    a, b = np.asarray(first).tolist(), np.asarray(second).tolist()
    pairs = set(pairwise(a))
    return sum(pair in pairs for pair in pairwise(b))


def _inversions(ranks: NDArray[np.int32]) -> int:
    """Pairs out of order in a permutation of 0 ... n-1, counted bit by bit from the highest.

    Before each bit the ranks are grouped by the bits above it, groups ascending, so that a group's ranks stand at the
    places they will have in the end.  A pair whose first differing bit is this one is out of order if the 1 comes
    first.  Then each group is split by the bit, keeping the order inside.  Groups that are small are compared pair by
    pair.
    """
    n = len(ranks)
    at = np.arange(n, dtype=ranks.dtype)
    before = np.zeros(n + 1, ranks.dtype)
    total = 0
    for bit in reversed(range(_LAST_BITS, max(0, n - 1).bit_length())):
        ones = (ranks >> bit) & 1
        np.cumsum(ones, out=before[1:])
        begin = (ranks >> (bit + 1)) << (bit + 1)
        ones_before = before[:-1] - before[begin]  # in the same group
        zero = ones == 0
        total += int(ones_before[zero].sum())
        split = np.empty_like(ranks)
        split[np.where(zero, at - ones_before, begin + (1 << bit) + ones_before)] = ranks
        ranks = split
    filled = np.append(ranks, np.arange(n, n + -n % (1 << _LAST_BITS), dtype=ranks.dtype))
    last = (filled & ((1 << _LAST_BITS) - 1)).astype(np.uint8).reshape(-1, 1 << _LAST_BITS)
    return total + sum(int(np.count_nonzero(last[:, :k] > last[:, k : k + 1])) for k in range(1, 1 << _LAST_BITS))
