"""Signs of whole rounds or seeds: what has no effect is as likely to have the other one (Fisher 1935).

All ways to choose them are looked at where these are few, and else random ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from layoutrand.stats.levels import FloatArray
from layoutrand.stats.streams import Stream

WORD_BITS: Final = 64


def listed_signs(first: int, count: int, size: int) -> FloatArray:
    """Rows ``first`` and following of all ways to choose ``size`` signs, shape (count, size); row 0 is 1 throughout."""
    turned_ones = np.arange(first, first + count)[:, None] >> np.arange(size) & 1
    return 1.0 - 2.0 * turned_ones.astype(np.float64)


def random_signs(stream: Stream, count: int, size: int) -> FloatArray:
    """So many rows of 1 and -1, of random bits, shape (count, size)."""
    words = stream.words(-(-count * size // WORD_BITS))
    bits = np.unpackbits(words.view(np.uint8), count=count * size, bitorder="little")
    return 1.0 - 2.0 * bits.reshape(count, size).astype(np.float64)


def turned(size: int, count: int, stream: Stream, at_once: int) -> Iterator[FloatArray]:
    """Signs of ``size`` rounds other than as they are, in parts of at most ``at_once`` rows.

    All 2^(size - 1) - 1 ways where these are no more than ``count``, as turning all rounds changes no square and no
    absolute value; else ``count`` random ones, which do not depend on ``at_once``.
    """
    ways = 2 ** (size - 1) - 1
    whole = -(-size // WORD_BITS) * WORD_BITS
    for done in range(0, min(ways, count), at_once):
        rows = min(at_once, min(ways, count) - done)
        if ways <= count:
            yield listed_signs(done + 1, rows, size)
        else:
            yield random_signs(stream, rows, whole)[:, :size]
