"""Least squares of two factors without interaction, one of them of many levels: swept out, never in a matrix."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from layoutrand.stats.levels import FloatArray, IntArray

Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class BlockFit:
    """Of ``y = row + block + error``.

    Attributes
    ----------
    effects
        Of each block, shape ``(k,)``, sum 0.
    information, covariance
        ``X'X`` of the blocks with the rows swept out, shape ``(k, k)``, and its pseudo-inverse: the covariance of the
        effects over the error's variance.
    error_variance, degrees
        Mean square of the residuals, 0 without degrees of freedom, and these.
    is_connected
        Whether rows connect all blocks; if not, only some differences of effects are estimates of anything.
    """

    effects: FloatArray
    information: FloatArray
    covariance: FloatArray
    error_variance: float
    degrees: int
    is_connected: bool

    @property
    def usable(self) -> bool:
        """Whether all blocks can be compared, with an error."""
        return self.is_connected and self.degrees >= 1

    def standard_error(self, place: int) -> float:
        """Of one effect."""
        return math.sqrt(max(self.error_variance * float(self.covariance[place, place]), 0.0))


def fit_blocks(y: FloatArray, row: IntArray, block: IntArray, k: int) -> BlockFit:
    """Fit values with the numbers of their rows and blocks.

    Notes
    -----
    The rows are swept out first (Frisch and Waugh, Econometrica 1, 1933; Montgomery, section 4.4, "adjusted" totals),
    so the equations have as many unknowns as blocks.  Their matrix is the Laplacian of the graph in which a row joins
    the blocks that it has values in, of rank ``k - 1`` exactly where these are connected.
    """
    n_rows = int(row.max()) + 1
    cells = np.zeros((n_rows, k))
    np.add.at(cells, (row, block), 1.0)
    sizes = cells.sum(axis=1)
    filled = sizes > 0
    sums = np.bincount(row, weights=y, minlength=n_rows)
    centred = y - (sums / np.where(filled, sizes, 1.0))[row]
    weights = cells / np.sqrt(np.where(filled, sizes, 1.0))[:, None]
    information = np.diag(cells.sum(axis=0)) - weights.T @ weights
    values, vectors = np.linalg.eigh(information)
    alive = values > 1e-9 * max(float(values[-1]), 1.0)
    inverse = np.where(alive, 1.0 / np.where(alive, values, 1.0), 0.0)
    covariance = (vectors * inverse) @ vectors.T
    effects = covariance @ np.bincount(block, weights=centred, minlength=k)
    fitted = effects[block]
    fitted -= (np.bincount(row, weights=fitted, minlength=n_rows) / np.where(filled, sizes, 1.0))[row]
    residuals = centred - fitted
    degrees = int(y.size - filled.sum() - alive.sum())
    # A residual of rounding alone is none: equal values must not differ by it.
    noise = float((residuals**2).sum())
    if noise <= (1e-14 * max(float(np.abs(y).max()), 1e-300)) ** 2 * y.size:
        noise = 0.0
    return BlockFit(
        effects=np.where(np.abs(effects) <= 1e-15 * float(np.abs(y).max()), 0.0, effects),
        information=information,
        covariance=covariance,
        error_variance=noise / degrees if degrees > 0 else 0.0,
        degrees=degrees,
        is_connected=int(alive.sum()) == k - 1,
    )


def numbered(labels: Sequence[Label]) -> tuple[IntArray, tuple[Label, ...]]:
    """The number of each label, and the labels in the order of their first appearance."""
    known: dict[Label, int] = {}
    numbers = [known.setdefault(label, len(known)) for label in labels]
    return np.array(numbers, dtype=np.int64), tuple(known)


def levelled(y: FloatArray, row: IntArray, block: IntArray, k: int) -> FloatArray:
    """What is left of values when what their rows have apart from blocks is taken off: block and error.

    Rows that lie otherwise in the blocks are compared as `fit_blocks` has it, so one that was measured in slow blocks
    alone does not count as slow itself.
    """
    fit = fit_blocks(y, row, block, k)
    sizes = np.bincount(row)
    over = np.bincount(row, weights=y - fit.effects[block]) / np.where(sizes > 0, sizes, 1)
    return np.asarray(y - over[row])
