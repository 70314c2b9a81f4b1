"""What chance gives of the largest of many statistics of doses: values change places, or rounds their sign."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from layoutrand.stats.levels import FloatArray
from layoutrand.stats.signs import turned
from layoutrand.stats.streams import Stream

ROUNDING: Final = 1e-12
"""Of the squares of all values: as good as none."""

_AT_ONCE: Final = 4_000_000
"""Numbers in the largest array while resampling; it decides about memory and nothing else."""


def judged(largest: FloatArray, most: float, confidence: float) -> tuple[float, float]:
    """The p-value of the largest statistic ``most``, and the limit that others keep, from those that chance gives."""
    reached, count = int((largest >= most * (1 - 1e-9)).sum()), len(largest)
    place = min(count, math.ceil(confidence * (count + 1))) - 1
    return (reached + 1) / (count + 1), float(np.sort(largest)[place])


def largest(centred: FloatArray, weights: FloatArray, count: int, seed: int) -> FloatArray:
    """The largest statistic of each permutation within rounds, shape (count,)."""
    n_rounds, n_doses = centred.shape
    stream = Stream(seed, "dose")
    found = []
    for size in _some(count, centred, weights):
        words = stream.words(size * centred.size).reshape(size, n_rounds, n_doses)
        order = np.argsort(words, axis=2, kind="stable")
        found.append(_of_means(np.take_along_axis(centred[None], order, axis=2).mean(axis=1), centred, weights))
    return np.concatenate(found)


def largest_turned(centred: FloatArray, weights: FloatArray, count: int, seed: int) -> FloatArray:
    """The largest statistic where rounds change their sign as a whole: of all ways but as they are, or of ``count``."""
    n_rounds, stream = len(centred), Stream(seed, "dose-turned")
    parts = turned(n_rounds, count, stream, _rows(centred, weights))
    return np.concatenate([_of_means(signs @ centred / n_rounds, centred, weights) for signs in parts])


def _rows(centred: FloatArray, weights: FloatArray) -> int:
    """How many resamples at once memory allows."""
    return max(1, _AT_ONCE // max(centred.size, len(weights)))


def _some(count: int, centred: FloatArray, weights: FloatArray) -> Iterator[int]:
    """Parts of ``count``, as many at once as memory allows."""
    at_once = _rows(centred, weights)
    return (min(at_once, count - done) for done in range(0, count, at_once))


def _of_means(means: FloatArray, centred: FloatArray, weights: FloatArray) -> FloatArray:
    """The largest statistic of each row of means of doses."""
    (n_rounds, n_doses), squares = centred.shape, float((centred**2).sum())
    residual = np.maximum(squares - n_rounds * (means**2).sum(axis=1), ROUNDING * squares)
    return np.asarray(np.abs(means @ weights.T).max(axis=1) / np.sqrt(residual / ((n_rounds - 1) * (n_doses - 1))))
