"""Quantiles, tail areas and the search for a count.

The distributions come from `scipy.special`, imported when first needed: importing `scipy.stats` costs half a
second, which the command line would pay at every start.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def t_quantile(confidence: float, degrees: float) -> float:
    """Two-sided t quantile ``t_{1 - a/2}`` with ``1 - a == confidence``; infinite degrees give the normal one."""
    from scipy.special import stdtrit

    return normal_quantile(confidence) if math.isinf(degrees) else float(stdtrit(degrees, 0.5 + confidence / 2))


def t_tail(statistic: float, degrees: float) -> float:
    """``P(T > statistic)`` of Student's t."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(-statistic)) if math.isinf(degrees) else float(stdtr(degrees, -statistic))


def normal_quantile(confidence: float) -> float:
    """Two-sided normal quantile ``u_{1 - a/2}``."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))


def f_tail(statistic: float, upper: float, lower: float) -> float:
    """``P(F > statistic)`` with `upper` numerator and `lower` denominator degrees of freedom."""
    from scipy.special import fdtrc

    return float(fdtrc(upper, lower, statistic))


def f_quantile(probability: float, upper: float, lower: float) -> float:
    """Quantile of the F distribution."""
    from scipy.special import fdtri

    return float(fdtri(upper, lower, probability))


def chi2_quantile(probability: float, degrees: float) -> float:
    """Quantile of the chi-square distribution."""
    from scipy.special import chdtri

    return float(chdtri(degrees, 1 - probability))


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
