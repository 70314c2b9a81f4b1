"""Values that lie far from the others: flagged, never dropped.

A layout that is far slower than the others is a result, not a mistake.  But a mean and its interval lean on it, and
it may as well be something that disturbed one execution; so it is pointed out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from layoutrand.stats.checks import check_count, check_fraction, check_positive, check_seed
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.streams import Stream
from layoutrand.stats.univariate import Values, sample_of

MAD_TO_SD = 0.6744897501960817
"""Median absolute deviation of a normal distribution, in standard deviations."""

MEAN_DEVIATION_TO_SD = 0.7978845608028654
"""Mean absolute deviation of a normal distribution, in standard deviations: sqrt(2 / pi)."""

FEWEST = 5
"""Below this many values the median deviation is too uncertain to call any of them far away."""


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """Which values of a sample lie far from its median.

    Attributes
    ----------
    positions
        Where the outliers stand in the sample, in its order.
    scores
        Modified z-score of every value: its distance from the median in robust standard deviations, with its sign.
    limit
        Magnitude of the score from which on a value counts as an outlier; infinite for fewer than 5 values.
    """

    positions: tuple[int, ...]
    scores: tuple[float, ...]
    limit: float


def outliers(values: Values, *, false_alarms: float = 0.05, n_resamples: int = 10_000, seed: int = 0) -> Outliers:
    """Find values that lie too far from the median for a normal sample.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``, in any unit.
    false_alarms
        Share of normal samples of this size in which any value at all would be flagged.
    n_resamples, seed
        Simulated normal samples that the limit is read from; it depends on nothing else but the number of values.

    Raises
    ------
    AnalysisError
        No values, values that are not finite, or a share of false alarms outside (0, 1).

    Notes
    -----
    The modified z-score is ``0.6745 (x - median) / MAD`` with the median absolute deviation MAD (Iglewicz and Hoaglin,
    How to Detect and Handle Outliers, ASQC 1993, section 3.3).  Where more than half of the values are equal, MAD is
    0 and the mean absolute deviation takes its place, ``0.7979 (x - median) / mean deviation``, as they suggest.

    Their fixed limit of 3.5 flags something in far more than 5 % of small normal samples.  The limit here is that of
    Davies and Gather (The Identification of Multiple Outliers, JASA 88, 1993, standardisation 4, "Hampel
    identifier"): the quantile of the largest score of a normal sample of the same size.
    """
    check_positive(false_alarms, name="false_alarms")
    check_fraction(false_alarms, name="false_alarms")
    check_count(n_resamples, name="n_resamples", at_least=100)
    check_seed(seed)
    sample = sample_of(values, "outliers")
    scores = _scores(sample[None, :])[0]
    limit = np.inf if sample.size < FEWEST else _limit(sample.size, false_alarms, n_resamples, seed)
    return Outliers(
        positions=tuple(np.flatnonzero(np.abs(scores) > limit).tolist()), scores=tuple(scores.tolist()), limit=limit
    )


def _scores(rows: FloatArray) -> FloatArray:
    """Modified z-scores within each row; 0 where all values of a row are equal."""
    scale = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(scale > 0, scale, 1.0)
    away = scaled - _medians(scaled)
    sizes = np.abs(away)
    median_deviation = _medians(sizes)
    mean_deviation = sizes.mean(axis=1, keepdims=True)
    spread = np.where(median_deviation > 0, median_deviation / MAD_TO_SD, mean_deviation / MEAN_DEVIATION_TO_SD)
    return np.asarray(away / np.where(spread > 0, spread, 1.0))


def _medians(rows: FloatArray) -> FloatArray:
    """The median of each row, shape ``(rows, 1)``; numpy's looks for NaN beside, and takes up to four times as long."""
    middle, is_odd = divmod(rows.shape[1], 2)
    parted = np.partition(rows, middle, axis=1)
    upper = parted[:, middle : middle + 1]
    return upper if is_odd else (parted[:, :middle].max(axis=1, keepdims=True) + upper) / 2


@lru_cache(maxsize=64)
def _limit(size: int, false_alarms: float, n_resamples: int, seed: int) -> float:
    """Quantile of the largest score of normal samples, a chunk of samples at a time."""
    stream = Stream(seed, "outliers", size)
    rows = max(1, (1 << 20) // size)
    largest = [
        np.abs(_scores(stream.normals(count * size).reshape(count, size))).max(axis=1)
        for count in (min(rows, n_resamples - done) for done in range(0, n_resamples, rows))
    ]
    return float(np.quantile(np.concatenate(largest), 1 - false_alarms))
