"""Executions in rounds: what those of a round, and of the rounds around it, have in common, and what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.univariate import middle_of

RoundValues: TypeAlias = "FloatArray | Sequence[Sequence[Sequence[float]]]"


@dataclass(frozen=True, kw_only=True)
class Contrasts:
    """Binaries and noise, both free of what rounds have in common, of one unit.

    ``of_binaries`` and ``of_noise`` are their variances: the first is what layouts add and the second.  ``degrees`` are
    the degrees of freedom of both, ``to_execution`` what turns the second into that of one execution.
    """

    binaries: FloatArray
    noise: FloatArray
    of_binaries: float
    of_noise: float
    degrees: tuple[float, float]
    to_execution: float


@dataclass(frozen=True)
class LabelTable:
    """Executions ``(pass, round, label)`` less the middle of their label, over ``size``; NaN where there is none."""

    values: FloatArray
    size: float

    def relative(self, window: int | None) -> FloatArray:
        """Each execution less the mean of the others around it, about the middle of its label."""
        left = _less_others(self.values, window)
        means = _over_passes(left)
        for label in range(left.shape[2]):
            own = means[:, label]
            left[:, :, label] -= middle_of(own[np.isfinite(own)])
        return left


def deviations_by_label(cells: RoundValues) -> LabelTable | None:
    """The cells that have a binary and a control, about the middle of their label; None where all are equal."""
    try:
        table = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise AnalysisError(f"spread in rounds: the cells must be numbers: {error}") from error
    if table.ndim != 3 or table.shape[2] < 2 or np.isinf(table).any():
        raise AnalysisError(
            f"spread in rounds: give finite cells (pass, round, binary and controls), not shape {table.shape}"
        )
    table[~_takes_part(table)] = np.nan
    table = table[:, _takes_part(table).any(axis=0), :]
    if table.shape[1] < 2:
        raise AnalysisError(
            f"spread in rounds: {table.shape[1]} rounds have both a binary and a control; at least 2 are needed, "
            "better 20"
        )
    table = table[:, :, np.isfinite(table).any(axis=(0, 1))]
    for label in range(table.shape[2]):
        own = table[:, :, label]
        own -= np.nanmedian(own)
    size = float(np.nanmax(np.abs(table)))
    return LabelTable(table / size, size) if size > 0 else None


def window_of(table: FloatArray) -> int | None:
    """How many rounds before and after make up the mean that leaves the least mean square; None for all rounds."""
    n_cells, n_labels = table.shape[0] * table.shape[1], table.shape[2]
    best, least = None, _mean_square(table, None)
    window = 0 if n_labels > 2 else 1
    while 2 * (2 * window + 1) <= n_cells:
        left = _mean_square(table, window)
        if left < least:
            best, least = window, left
        window = 2 * window if window else 1
    return best


def contrasts(table: FloatArray, window: int | None) -> Contrasts:
    """Binaries less the mean of the controls around them, and controls less that of the other controls, alike in noise.

    Here a binary takes no part in what it or a control is compared with: its layout would be in that, too.
    """
    n_passes, n_rounds, n_labels = table.shape
    only = table.copy()
    only[:, :, 0] = np.nan
    total, count = _window_sums(only, window)
    there = np.isfinite(table[:, :, 0])
    binaries = binaries_by_pass(table, window)
    noise = np.full((n_passes, n_rounds, n_labels - 1), np.nan)
    for label in range(1, n_labels):
        own = table[:, :, label]
        usable = np.isfinite(own) & (count > 1) & there
        others = np.maximum(count - 1, 1)
        # The mean of fewer controls is noisier: alike again by how much.
        alike = np.sqrt((1 + 1 / np.maximum(count, 1)) / (1 + 1 / others))
        noise[:, :, label - 1] = np.where(usable, (own - (total - np.nan_to_num(own)) / others) * alike, np.nan)
    own_means = _over_passes(binaries[:, :, None])[:, 0]
    noise_means = _over_passes(noise)
    columns = [column[np.isfinite(column)] for column in noise_means.T]
    columns = [column for column in columns if column.size > 1]
    n = own_means.size
    spent = 0.0 if window is None else n_passes / min(2 * window + 1, n_passes * n_rounds) / n_passes
    degrees = (n - 1.0, max(sum(column.size - 1 for column in columns) - spent * (n - 1), 0.0))
    per_round = float(np.maximum(there.sum(axis=0), 1).mean())
    return Contrasts(
        binaries=own_means - middle_of(own_means),
        noise=np.concatenate([column - middle_of(column) for column in columns]) if columns else np.zeros(1),
        of_binaries=_variance_of([own_means]),
        of_noise=_variance_of(columns) if columns else 0.0,
        degrees=degrees,
        to_execution=per_round / (1 + float((1 / np.maximum(count[there], 1)).mean())),
    )


def binaries_by_pass(table: FloatArray, window: int | None) -> FloatArray:
    """Binaries ``(pass, round)`` less the mean of the controls around them."""
    only = table.copy()
    only[:, :, 0] = np.nan
    total, count = _window_sums(only, window)
    return np.where(np.isfinite(table[:, :, 0]), table[:, :, 0] - total / np.maximum(count, 1), np.nan)


def _takes_part(table: FloatArray) -> Any:
    there = np.isfinite(table)
    return there[:, :, 0] & there[:, :, 1:].any(axis=2)


def _less_others(table: FloatArray, window: int | None) -> FloatArray:
    total, count = _window_sums(table, window)
    others = np.maximum(count - 1, 1)
    return np.asarray(table - (total[:, :, None] - np.nan_to_num(table)) / others[:, :, None])


def _window_sums(table: FloatArray, window: int | None) -> tuple[FloatArray, FloatArray]:
    """Of each cell the sum and the number of executions in the rounds around it, in the order of measurement."""
    n_passes, n_rounds, n_labels = table.shape
    flat = table.reshape(-1, n_labels)
    sums, counts = np.nan_to_num(flat).sum(axis=1), np.isfinite(flat).sum(axis=1).astype(np.float64)
    n = sums.size
    around = n if window is None else window
    first = np.maximum(np.arange(n) - around, 0)
    last = np.minimum(np.arange(n) + around + 1, n)
    total, count = (np.concatenate(([0.0], np.cumsum(each))) for each in (sums, counts))
    shape = (n_passes, n_rounds)
    return (total[last] - total[first]).reshape(shape), (count[last] - count[first]).reshape(shape)


def _mean_square(table: FloatArray, window: int | None) -> float:
    return float(np.nanmean(_less_others(table, window) ** 2))


def _over_passes(table: FloatArray) -> FloatArray:
    """Mean over the passes of ``(pass, round, label)``; NaN where there is none."""
    count = np.isfinite(table).sum(axis=0)
    return np.where(count > 0, np.nan_to_num(table).sum(axis=0) / np.maximum(count, 1), np.nan)


def _variance_of(parts: Sequence[FloatArray]) -> float:
    squares = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    return squares / sum(part.size - 1 for part in parts) if math.isfinite(squares) else math.inf
