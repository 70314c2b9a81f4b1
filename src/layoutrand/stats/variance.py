"""Variance at each level of the hierarchy.

An execution is slower or faster than another because of its iterations, because of the execution itself, and
because of the binary it was started from.  The biased variances S_i^2 mix these causes; the unbiased ones T_i^2
separate them, and are what planning and the question "does layout matter here?" need.  T_i^2 estimates a
variance without bias, so it may come out negative: a legal value that says "as good as none", kept as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.levels import FloatArray, Measurements, Nested, group_means, group_sums, nested
from layoutrand.stats.stats_warning import StatsWarning


@dataclass(frozen=True, kw_only=True)
class VarianceComponents:
    """Variances of one system on one benchmark; every tuple has level 1 (the lowest) first.

    Attributes
    ----------
    biased
        S_i^2, the variance of the level-i means, in squared units of the measurements; None for a level that was
        not repeated anywhere.
    unbiased
        T_i^2, the variance that level i adds by itself; may be negative; None for a level that was not repeated.
        The next level up that was repeated then includes it.
    counts
        Repetitions of each level; of an unbalanced experiment the largest count of each level.
    is_balanced
        Whether all units of a level were repeated equally often.
    mean
        Grand mean: the unweighted mean of the binaries' means.
    warnings
        What could not be separated, and the repetitions that would separate it.
    """

    biased: tuple[float | None, ...]
    unbiased: tuple[float | None, ...]
    counts: tuple[int, ...]
    is_balanced: bool
    mean: float
    warnings: tuple[StatsWarning, ...]

    @property
    def relative_sd(self) -> tuple[float | None, ...]:
        """Standard deviation that each level adds, over the mean; negative variances count as 0."""
        if self.mean == 0:
            return tuple(None for _ in self.unbiased)
        return tuple(None if t is None else math.sqrt(max(t, 0.0)) / abs(self.mean) for t in self.unbiased)


def variance_components(data: Measurements) -> VarianceComponents:
    """Estimate the variance that each level contributes.

    Parameters
    ----------
    data
        Measurements, axes highest level first, shape ``(r_n, ..., r_1)``, or ragged nested sequences.

    Returns
    -------
    VarianceComponents
        Level 1 first, in squared units of the measurements.

    Raises
    ------
    AnalysisError
        Malformed data, or variances beyond the range of floating point.

    Notes
    -----
    S_i^2 is the mean over the cells above level i of the sample variance (divisor r_i - 1) of the level-i means;
    T_1^2 = S_1^2 and T_i^2 = S_i^2 - S_{i-1}^2 / r_{i-1} (ISMM 2013, equations 1 and 2; TR 4-12, section 7.6).

    For unbalanced data S_i^2 pools the sums of squares of all cells, ``sum SS / sum (r - 1)``, with unweighted
    means of means, and the T_i^2 solve ``E(S_i^2) = sum_k c_ik T_k^2`` for the coefficients of the actual counts
    (method of moments).  With equal counts this is the formula above.  A cell with a single repetition adds no
    information on its level; a level without any repetition is None, and its variance is contained in the next
    level's.
    """
    return components_of(nested(data))


def components_of(sample: Nested) -> VarianceComponents:
    """`variance_components` of measurements that were read already."""
    scaled, exponent = sample.scaled()
    biased = tuple(biased_variance(scaled, level) for level in range(1, sample.n_levels + 1))
    coefficients = expectation_coefficients(sample)
    unbiased: list[float | None] = []
    for level, observed in enumerate(biased):
        if observed is None:
            unbiased.append(None)
            continue
        below = sum(coefficients[level, k] * (unbiased[k] or 0.0) for k in range(level))
        unbiased.append(float(observed - below))
    return VarianceComponents(
        biased=tuple(_rescaled(value, exponent) for value in biased),
        unbiased=tuple(_rescaled(value, exponent) for value in unbiased),
        counts=tuple(reversed(sample.shape)),
        is_balanced=sample.is_balanced,
        mean=math.ldexp(scaled.mean, exponent),
        warnings=_separation_warnings(biased, sample),
    )


def biased_variance(sample: Nested, level: int) -> float | None:
    """S_i^2: pooled sample variance of the level-i means within the cells of the level above; None if r_i = 1."""
    counts = sample.counts[level - 1]
    degrees = int(counts.sum()) - counts.size
    if degrees == 0:
        return None
    means = sample.unit_means(level)
    deviations = means - np.repeat(group_means(means, counts), counts)
    # Equal measurements have variance 0 exactly, whatever the rounding of their mean.
    constant = np.repeat(_is_constant(means, sample, level), counts)
    deviations[constant] = 0.0
    return float((deviations**2).sum() / degrees)


def _is_constant(means: FloatArray, sample: Nested, level: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    counts = sample.counts[level - 1]
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    spread = np.maximum.reduceat(means, starts) - np.minimum.reduceat(means, starts)
    return np.asarray(spread == 0, dtype=np.bool_)


def expectation_coefficients(sample: Nested) -> FloatArray:
    """Matrix c with ``E(S_i^2) = sum_k c[i - 1, k - 1] * sigma_k^2``; lower triangular, ones on the diagonal.

    Notes
    -----
    The mean of a unit of level i with r children has ``a_{i, i-1} = 1 / r`` and ``a_{i, k} = (sum over children
    of a_{i-1, k}) / r^2`` as the weights of the lower variances.  Pooling ``SS / (r - 1)`` over cells weighs the
    units of a cell of r units by ``(1 - 1/r)``.  Balanced: ``c_ik = 1 / (r_k ... r_{i-1})`` (TR 7.6).
    """
    n = sample.n_levels
    result = np.eye(n)
    weights: list[FloatArray] = []
    for level in range(n):
        if level > 0:
            counts = sample.counts[level - 1]
            weights = [group_sums(weight, counts) / counts**2 for weight in weights]
            weights.append(1.0 / counts)
        cells = sample.counts[level]
        degrees = int(cells.sum()) - cells.size
        share = np.repeat(1.0 - 1.0 / cells, cells)
        for k, weight in enumerate(weights):
            result[level, k] = float((share * weight).sum() / degrees) if degrees else float(weight.mean())
    return result


def collapsed(sample: Nested, level: int) -> Nested:
    """Take a level out of the hierarchy (TR 6.1): its units' children become children of the level above.

    Level 1 is taken out by averaging it.
    """
    counts = sample.counts
    if level == 1:
        return Nested(values=group_means(sample.values, counts[0]), counts=counts[1:])
    merged = group_sums(counts[level - 2].astype(np.float64), counts[level - 1]).astype(np.int64)
    return Nested(values=sample.values, counts=(*counts[: level - 2], merged, *counts[level:]))


def _rescaled(value: float | None, exponent: int) -> float | None:
    if value is None or value == 0.0:
        return value
    try:
        result = math.ldexp(value, 2 * exponent)
    except OverflowError:
        result = math.inf
    if result == 0.0 or math.isinf(result):
        raise AnalysisError(
            f"variances of measurements around 2**{exponent} are beyond the range of floating point; "
            "give the measurements in another unit"
        )
    return result


def _separation_warnings(biased: tuple[float | None, ...], sample: Nested) -> tuple[StatsWarning, ...]:
    warnings: list[StatsWarning] = [advice.NotSeparable(i + 1) for i, value in enumerate(biased[:-1]) if value is None]
    if biased[-1] is None:
        warnings.append(advice.Single())
    return (*warnings, *advice.few_binaries(sample.n_top))
