"""Quantiles, tail areas and the search for a count.

The distributions come from `scipy.special`, imported when first needed: importing `scipy.stats` costs half a
second, which the command line would pay at every start.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from layoutrand.stats.levels import FloatArray


def special() -> Any:
    """The module `scipy.special`, imported when first asked for."""
    return importlib.import_module("scipy.special")


def normal_points(probabilities: FloatArray) -> FloatArray:
    """Quantiles of the standard normal distribution."""
    points: FloatArray = special().ndtri(probabilities)
    return points


def normal_levels(points: FloatArray) -> FloatArray:
    """``P(Z <= point)`` of the standard normal distribution."""
    levels: FloatArray = special().ndtr(points)
    return levels


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of the beta distribution."""
    return float(special().betaincinv(a, b, probability))


def t_quantile(confidence: float, degrees: float) -> float:
    """Two-sided t quantile ``t_{1 - a/2}`` with ``1 - a == confidence``; infinite degrees give the normal one."""
    return (
        normal_quantile(confidence) if math.isinf(degrees) else float(special().stdtrit(degrees, 0.5 + confidence / 2))
    )


def t_tail(statistic: float, degrees: float) -> float:
    """``P(T > statistic)`` of Student's t."""
    return float(special().ndtr(-statistic)) if math.isinf(degrees) else float(special().stdtr(degrees, -statistic))


def normal_quantile(confidence: float) -> float:
    """Two-sided normal quantile ``u_{1 - a/2}``."""
    return float(special().ndtri(0.5 + confidence / 2))


def normal_tail(statistic: float) -> float:
    """``P(Z > statistic)`` of the standard normal distribution."""
    return float(special().ndtr(-statistic))


def f_tail(statistic: float, upper: float, lower: float) -> float:
    """``P(F > statistic)`` with `upper` numerator and `lower` denominator degrees of freedom."""
    return float(special().fdtrc(upper, lower, statistic))


def f_quantile(probability: float, upper: float, lower: float) -> float:
    """Quantile of the F distribution."""
    return float(special().fdtri(upper, lower, probability))


def chi2_quantile(probability: float, degrees: float) -> float:
    """Quantile of the chi-square distribution."""
    return float(special().chdtri(degrees, 1 - probability))


def first_count(is_enough: Callable[[int], bool], *, start: int, limit: int = 10_000_000) -> int | None:
    """Smallest count from `start` to `limit` that is enough, or None; once enough, always enough."""
    if is_enough(start):
        return start
    short, enough = start, start
    while not is_enough(enough):
        if enough >= limit:
            return None
        short, enough = enough, min(2 * enough, limit)
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (short, middle) if is_enough(middle) else (middle, enough)
    return enough
