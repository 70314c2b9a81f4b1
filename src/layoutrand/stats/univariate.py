"""A flat sample: one number for each unit, as the means of binaries are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import FloatArray, flat_numbers

Values: TypeAlias = Sequence[float] | FloatArray


def sample_of(values: Values, what: str) -> FloatArray:
    """The values as an array of shape ``(n,)``; raises `AnalysisError` where there are none or some are not finite."""
    sample = flat_numbers(values, name=what)
    if sample.size == 0:
        raise AnalysisError(f"{what}: give a flat sequence of at least one number, not shape {sample.shape}")
    if not np.isfinite(sample).all():
        bad = int(np.flatnonzero(~np.isfinite(sample))[0])
        raise AnalysisError(f"{what}: value {bad} is {sample[bad]}, but only finite numbers can be judged")
    return sample


def middle_of(values: FloatArray) -> float:
    """The median; of an odd number of values, from 3 on, the mean of the three in the middle."""
    return float(middles_of(values[None, :])[0, 0])


def middles_of(rows: FloatArray) -> FloatArray:
    """`middle_of` each row, shape ``(n, 1)``."""
    n = rows.shape[1]
    half = (n - 1) // 2
    reach = 1 if n % 2 and n > 1 else 0
    return np.asarray(np.sort(rows, axis=1)[:, half - reach : n - half + reach].mean(axis=1, keepdims=True))
