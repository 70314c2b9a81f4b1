"""Adjusting p-values for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutrand.errors import AnalysisError
from layoutrand.stats.checks import check_choice
from layoutrand.stats.levels import flat_numbers

METHODS = ("holm", "bh")


def adjust(p_values: Sequence[float], method: str = "holm") -> tuple[float, ...]:
    """Adjust the p-values of a family of tests.

    Parameters
    ----------
    p_values
        One per test, in [0, 1].
    method
        ``"holm"`` bounds the chance of any false alarm (family-wise error), ``"bh"`` (Benjamini and Hochberg) the
        share of false ones among the alarms; for independent or positively dependent tests.

    Returns
    -------
    tuple of float
        Adjusted p-values in the order given, comparable with the level for the whole family.

    Raises
    ------
    AnalysisError
        A p-value outside [0, 1].

    Notes
    -----
    With the k p-values in rising order, holm: running maximum of ``(k - i + 1) p_(i)``; bh: running minimum from
    the largest down of ``k p_(i) / i``; both at most 1.  Holm, Scandinavian Journal of Statistics 6, 1979;
    Benjamini and Hochberg, JRSS B 57, 1995.
    """
    check_choice(method, METHODS, name="method")
    values = flat_numbers(p_values, name="p-values")
    if not bool(((values >= 0) & (values <= 1)).all()):
        raise AnalysisError(f"p-values must be a flat sequence of numbers from 0 to 1, got {p_values!r}")
    size = values.size
    order = np.argsort(values, kind="stable")
    rank = np.arange(1, size + 1)
    if method == "holm":
        stepped = np.maximum.accumulate((size - rank + 1) * values[order])
    else:
        stepped = np.minimum.accumulate((size / rank * values[order])[::-1])[::-1]
    adjusted = np.empty(size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return tuple(adjusted.tolist())
