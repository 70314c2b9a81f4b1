"""Random numbers that depend on the seed alone.

NumPy promises the raw 64-bit output of `PCG64` for ever, but not what its `Generator` methods make of it.  So
only raw words are taken from numpy, and the way from words to indices, uniforms and normals is spelled out here:
the same seed gives the same resampling on every numpy version, every chunk size and every number of threads.
(Sums of floating-point numbers may still differ in the last digit between builds of numpy, and normals with the
`ndtri` of the scipy in use.)

The user's seed is hashed together with a label for each use, so neighbouring seeds, and different uses of one
seed, are unrelated streams.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.quantiles import normal_points

Words: TypeAlias = npt.NDArray[np.uint64]
Lanes: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]

_SHORT_LANE_ITEMS = 1024
"""Up to this many items 16 random bits make an index; the chance of a redraw stays below 1.6 %."""


class Stream:
    """One stream of random words, named by a seed and labels."""

    def __init__(self, seed: int, *labels: str | int) -> None:
        """Hash `seed` and `labels` into the 256-bit state of a PCG64 generator."""
        name = "\x1f".join(["layoutrand.stats", str(seed), *map(str, labels)])
        digest = hashlib.blake2b(name.encode(), digest_size=40).digest()
        state, increment, key = digest[:16], digest[16:32], digest[32:]
        self._bits = np.random.PCG64(0)
        self._bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": int.from_bytes(state, "little"), "inc": int.from_bytes(increment, "little") | 1},
            "has_uint32": 0,
            "uinteger": 0,
        }
        self.key = int.from_bytes(key, "little")

    def words(self, count: int) -> Words:
        """The next `count` 64-bit words, in little-endian byte order."""
        return np.asarray(self._bits.random_raw(count)).astype("<u8", copy=False)

    def uniforms(self, count: int) -> FloatArray:
        """The next `count` numbers in (0, 1): 53 bits of a word, centred in their cell so that 0 cannot occur."""
        return ((self.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

    def normals(self, count: int) -> FloatArray:
        """The next `count` standard normal numbers, by inversion of `uniforms`."""
        return normal_points(self.uniforms(count))

    def order(self, count: int) -> IntArray:
        """A random order of `count` items: the ranks of random words."""
        return np.argsort(self.words(count), kind="stable").astype(np.int64)


class IndexSampler:
    """Rows of indices drawn with replacement from ``range(n_items)``; each row uses up the same number of words.

    Notes
    -----
    A word is cut into lanes of 16 bits (32 for more than 1024 items).  A lane divided by ``2**bits // n_items`` is
    an index; the few lanes beyond the last full cell are redrawn from a hash (splitmix64) of their position in the
    stream, so they depend neither on chunk size nor on other redraws.  Indices are uniform to within 2^-40.
    """

    def __init__(self, stream: Stream, n_items: int, *, row_length: int) -> None:
        """Prepare rows of `row_length` indices below `n_items`."""
        self._stream = stream
        self._n_items = n_items
        self._row_length = row_length
        self._rows_drawn = 0
        short = n_items <= _SHORT_LANE_ITEMS
        self._lane = np.dtype("<u2" if short else "<u4")
        lanes_per_word = 4 if short else 2
        self._words_per_row = -(-row_length // lanes_per_word)
        cells = 1 << (16 if short else 32)
        self._cell = cells // n_items
        self._is_exact = cells % n_items == 0

    def rows(self, count: int) -> Lanes:
        """The next `count` rows, shape ``(count, row_length)``, unsigned integers of 16 or 32 bits."""
        first = self._rows_drawn * self._row_length
        self._rows_drawn += count
        if self._n_items == 1:
            return np.zeros((count, self._row_length), dtype=self._lane)
        words = self._stream.words(count * self._words_per_row)
        lanes = words.view(self._lane).reshape(count, -1)[:, : self._row_length]
        indices: Lanes = lanes // self._lane.type(self._cell)
        if not self._is_exact:
            self._redraw(indices, first)
        return indices

    def _redraw(self, indices: Lanes, first: int) -> None:
        flat = indices.reshape(-1)
        bad = np.flatnonzero(flat >= self._n_items)
        if bad.size:
            fresh = splitmix64(bad.astype(np.uint64) + np.uint64(first), self._stream.key)
            flat[bad] = (fresh % np.uint64(self._n_items)).astype(flat.dtype)


def splitmix64(positions: Words, key: int) -> Words:
    """A 64-bit hash of each position (Steele, Lea and Flood 2014, the splitmix64 finaliser)."""
    with np.errstate(over="ignore"):
        z = (positions + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


class RaggedSampler:
    """Rows of indices where every column has its own number of items, for unbalanced hierarchies.

    Notes
    -----
    The index is the high half of a 32-bit lane times the number of items, uniform to within ``n_items / 2**32``.
    """

    def __init__(self, stream: Stream, *, row_length: int) -> None:
        """Prepare rows of `row_length` indices."""
        self._stream = stream
        self._row_length = row_length
        self._words_per_row = -(-row_length // 2)

    def rows(self, n_items: IntArray) -> IntArray:
        """The next rows; ``n_items`` of shape ``(count, row_length)`` gives each index its upper bound."""
        words = self._stream.words(n_items.shape[0] * self._words_per_row)
        lanes = words.view("<u4").reshape(n_items.shape[0], -1)[:, : self._row_length].astype(np.uint64)
        return ((lanes * n_items.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
