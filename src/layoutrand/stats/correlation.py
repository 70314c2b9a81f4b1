"""How much of one quantity goes with another: a squared correlation with a lower bound that holds.

Measurement errors make a correlation smaller, never larger, so the lower bound is one for what is measured without
error, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_confidence, check_count, check_seed
from layoutrand.stats.levels import FloatArray
from layoutrand.stats.quantiles import t_quantile
from layoutrand.stats.streams import Stream
from layoutrand.stats.univariate import Values, sample_of

FEWEST: Final = 8
"""Pairs: with fewer hardly any correlation is told from none."""

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, kw_only=True)
class SharedVariance:
    """What two quantities have in common.

    Attributes
    ----------
    share
        The squared correlation; 0 where they go against each other.
    low
        Its lower bound.
    p_value
        Of no relation, or one against each other: the share of permutations that go together at least as well.
    """

    share: float
    low: float
    p_value: float


def shared_variance(
    first: Values,
    second: Values,
    *,
    confidence: float = 0.95,
    n_left_out: int = 0,
    n_permutations: int = 9999,
    seed: int = 0,
) -> SharedVariance:
    """Judge how much of the variance of one quantity goes with another, which is to rise with it.

    Parameters
    ----------
    first, second
        Pairs of measurements, shape ``(n,)`` each; at least 8.
    confidence
        Of the lower bound, which is one-sided.
    n_left_out
        Pairs without which the bound has to hold, too: those that speak most for a relation.
    n_permutations, seed
        Of the test.

    Raises
    ------
    AnalysisError
        Fewer than 8 pairs, beside those that are left out, different numbers, or values that are not finite.

    Notes
    -----
    The bound is that of Fisher's z (Metron 1, 1921) with Student's t in place of the normal quantile; its standard
    error is the larger one of ``1 / sqrt(n - 3)``, which holds for normal values, and the jackknife's (Miller,
    Biometrika 61, 1974, section 4.2), which is larger where few pairs make the correlation.  Of few pairs that make
    a relation, such as rare slow layouts, others may be missing from the sample that would make another: so the bound
    is the least of that of all pairs and that without the ``n_left_out`` whose product of deviations is largest.
    """
    check_confidence(confidence)
    check_count(n_permutations, name="n_permutations", at_least=99)
    check_count(n_left_out, name="n_left_out", at_least=0)
    check_seed(seed)
    x, y = sample_of(first, "shared variance"), sample_of(second, "shared variance")
    fewest = FEWEST + n_left_out
    if x.size != y.size or x.size < fewest:
        raise AnalysisError(f"shared variance: {x.size} and {y.size} values; at least {fewest} pairs are needed")
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float((x**2).sum()) * float((y**2).sum()))
    if scale == 0:
        return SharedVariance(share=0.0, low=0.0, p_value=1.0)
    r = float((x * y).sum()) / scale
    stream = Stream(seed, "shared variance", x.size)
    orders = np.argsort(stream.words(n_permutations * x.size).reshape(-1, x.size), axis=1, kind="stable")
    hits = int((y[orders] @ x / scale >= r - _ROUNDING).sum())
    low = min(_bound(x, y, confidence), _bound(*_without_most(x, y, n_left_out), confidence))
    return SharedVariance(share=max(r, 0.0) ** 2, low=low, p_value=(hits + 1) / (n_permutations + 1))


def _bound(x: FloatArray, y: FloatArray, confidence: float) -> float:
    """The lower bound of the squared correlation of values whose means are 0."""
    scale = math.sqrt(float((x**2).sum()) * float((y**2).sum()))
    r = float((x * y).sum()) / scale if scale > 0 else 0.0
    one_sided = 2 * confidence - 1
    if r <= 0:
        return 0.0
    z, left_out = (np.arctanh(np.clip(each, -1 + _ROUNDING, 1 - _ROUNDING)) for each in (r, _without_each(x, y)))
    jackknife = math.sqrt((x.size - 1) / x.size * float(((left_out - left_out.mean()) ** 2).sum()))
    error = max(jackknife, 1 / math.sqrt(x.size - 3))
    reach = t_quantile(one_sided, x.size - 2) * error if one_sided > 0 else 0.0
    return math.tanh(max(float(z) - reach, 0.0)) ** 2


def _without_most(x: FloatArray, y: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Both without so many pairs that speak most for a relation, with means of 0 again."""
    kept = np.argsort(x * y, kind="stable")[: x.size - count]
    return x[kept] - x[kept].mean(), y[kept] - y[kept].mean()


def _without_each(x: FloatArray, y: FloatArray) -> FloatArray:
    """The correlation without each of the pairs, of values whose means are 0; 0 where nothing varies then."""
    n = x.size
    xx, yy, xy = (products.sum() - products for products in (x * x, y * y, x * y))
    mean_x, mean_y = -x / (n - 1), -y / (n - 1)
    xx, yy, xy = xx - (n - 1) * mean_x**2, yy - (n - 1) * mean_y**2, xy - (n - 1) * mean_x * mean_y
    scale = np.sqrt(np.maximum(xx, 0) * np.maximum(yy, 0))
    return np.asarray(np.divide(xy, scale, out=np.zeros_like(xy), where=scale > 0))
