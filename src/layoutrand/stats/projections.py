"""What is left of columns beside others, and permutations within classes: parts of several tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layoutrand.stats.levels import FloatArray, IntArray
from layoutrand.stats.streams import Stream

_AT_ONCE = 4_000_000
"""Numbers in the largest array while resampling; it decides about memory and nothing else."""


def basis_of(table: FloatArray, scale: float | None = None) -> FloatArray:
    """Orthonormal columns that span those of the table, shape ``(observations, rank)``.

    What is nothing beside the ``scale``, a sum of squares, is rounding.
    """
    if not table.shape[1]:
        return np.asarray(table)
    left, values, _ = np.linalg.svd(table, full_matrices=False)
    size = np.sqrt(scale) if scale is not None else float(values.max(initial=0.0))
    return np.asarray(left[:, values > 1e-8 * size]) if size > 0 else np.empty((len(table), 0))


def beyond(table: FloatArray, basis: FloatArray) -> FloatArray:
    """What is left of the columns of a table beside those of a basis."""
    return np.asarray(table - basis @ (basis.T @ table))


def basis_beyond(table: FloatArray, basis: FloatArray) -> FloatArray:
    """As `basis_of`, of what is left of the table beside the basis, which has an intercept."""
    centred = table - table.mean(axis=0)
    return basis_of(beyond(table, basis), scale=float((centred**2).sum()))


def orders_within(place: IntArray, shape: tuple[int, ...], count: int, stream: Stream) -> Iterator[IntArray]:
    """Permutations of the last axis within classes, ``count`` in all, some at once: shape ``(some, *shape)``.

    ``place`` has the number of each one's class, from 0 on.  What stands at ``order`` goes to the places of
    ``argsort(place, kind="stable")``, one after the other.
    """
    size = int(np.prod(shape))
    at_once = max(1, _AT_ONCE // size)
    for done in range(0, count, at_once):
        some = min(at_once, count - done)
        chance = stream.uniforms(some * size).reshape(some, *shape)
        # A random order within each class: by class, then by chance.
        yield np.argsort(place + chance * 0.999, axis=-1, kind="stable")
