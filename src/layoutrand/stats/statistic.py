"""What is estimated: mean, geometric or harmonic mean, median or another percentile.

The three means are the arithmetic mean of transformed measurements (as they are, their logarithms, their
reciprocals), so one machinery serves all three, and geometric means can neither overflow nor vanish.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import FloatArray, IntArray, Nested

MEANS = ("mean", "geometric", "harmonic")


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """One statistic of a sample.

    Attributes
    ----------
    name
        ``"mean"``, ``"geometric"``, ``"harmonic"``, ``"median"`` or ``"p90"`` and the like.
    fraction
        Of a percentile the fraction below it, in [0, 1]; None for the means.
    """

    name: str
    fraction: float | None

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of transformed measurements."""
        return self.fraction is None

    def forward(self, sample: Nested) -> Nested:
        """Transform measurements so that the statistic becomes their arithmetic mean."""
        if self.name in ("mean", "median") or not self.is_mean:
            return sample
        if not (sample.values > 0).all():
            bad = int(np.flatnonzero(sample.values <= 0)[0])
            raise AnalysisError(
                f"the {self.name} mean needs measurements above 0, but measurement {bad} in reading order is not; "
                "use the mean or the median"
            )
        values = np.log(sample.values) if self.name == "geometric" else 1.0 / sample.values
        return Nested(values=values, counts=sample.counts, lost=sample.lost)

    def backward(self, value: float) -> float:
        """Transform a mean of transformed measurements back to the unit of the measurements."""
        if self.name == "geometric":
            return math.exp(value)
        if self.name == "harmonic":
            return 1.0 / value if value > 0 else math.inf
        return value

    def of(self, sample: Nested) -> float:
        """The statistic of (transformed) measurements, on the transformed scale."""
        if self.fraction is None:
            return sample.mean
        return float(np.quantile(sample.values, self.fraction))

    def of_sorted(self, rows: FloatArray, sizes: IntArray) -> FloatArray:
        """The percentile of each row, of which the first ``sizes`` elements are measurements in rising order."""
        position = (self.fraction or 0.0) * (sizes - 1)
        below = np.floor(position).astype(np.int64)
        above = np.minimum(below + 1, sizes - 1)
        each = np.arange(rows.shape[0])
        weight = position - below
        return np.asarray(rows[each, below] * (1 - weight) + rows[each, above] * weight)

    def without_each_binary(self, sample: Nested) -> FloatArray:
        """The statistic with one binary left out, for each binary (jackknife)."""
        means = sample.top_means
        if self.fraction is None:
            return np.asarray((means.sum() - means) / (means.size - 1))
        sizes = _measurements_per_binary(sample)
        parts = np.split(sample.values, np.cumsum(sizes)[:-1])
        rest = (np.concatenate(parts[:i] + parts[i + 1 :]) for i in range(len(parts)))
        return np.array([np.quantile(values, self.fraction) for values in rest])


def parse_statistic(name: str) -> Statistic:
    """Read the name of a statistic; ``p`` and a number from 0 to 100 is a percentile."""
    if name in MEANS:
        return Statistic(name=name, fraction=None)
    if name == "median":
        return Statistic(name=name, fraction=0.5)
    match = re.fullmatch(r"p(\d{1,3}(?:\.\d+)?)", str(name))
    if match and float(match[1]) <= 100:
        return Statistic(name=name, fraction=float(match[1]) / 100)
    raise AnalysisError(
        f"unknown statistic {name!r}, choose from {', '.join(MEANS)}, median, or a percentile such as p90"
    )


def _measurements_per_binary(sample: Nested) -> IntArray:
    if sample.n_levels == 1:
        return np.ones(sample.n_top, dtype=np.int64)
    sizes = sample.counts[0]
    for counts in sample.counts[1:-1]:
        sizes = np.add.reduceat(sizes, np.cumsum(counts) - counts)
    return sizes
