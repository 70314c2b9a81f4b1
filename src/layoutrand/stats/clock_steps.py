"""In which steps values were measured or printed, and whether hardly anything but these steps is seen in them."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from layoutrand.stats.levels import FloatArray
from layoutrand.stats.univariate import Values, sample_of

_FINEST: Final = 1e-6
"""Of the largest value: finer steps change nothing that anybody tells."""

_ROUNDING: Final = 1e-6
"""Of a step: what conversion of units leaves."""

_BY_CHANCE: Final = 1e-4
"""How often values that have no step but their last digit may be taken for multiples of another one."""

_DIGITS: Final = 11
"""After the first: what a number has beyond these comes from computing with it."""

_MOST_COUNTED: Final = 1000
"""Different values: further ones make chance less likely, and it is no more then."""

_FIRST: Final = 16
"""Values that are looked at before all others: of a fine clock these say it, and there may be millions."""

_MOST: Final = 0.9
"""Share of the values on two neighbouring steps: of normal ones whose standard deviation is 0.6 steps it is less."""


def decimal_step(values: Values, *, at_most: float = 1.0) -> float | None:
    """The largest power of ten that all values are multiples of; None where it is too small beside them to matter.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``; at least 1 value.
    at_most
        The largest step, as a share of the largest value.  Whole numbers may have steps of 1, whatever it is.

    Returns
    -------
    float or None
        In the unit of the values.

    Raises
    ------
    AnalysisError
        No values, or values that are not finite.
    """
    sample = np.abs(sample_of(values, "clock steps"))
    largest = float(sample.max())
    if largest == 0:
        return None
    power = math.floor(math.log10(at_most * largest))
    if largest >= 1 and not np.remainder(sample, 1).any():
        power = max(power, 0)
    steps = (10.0**each for each in range(power, power + math.floor(math.log10(_FINEST)) - 1, -1))
    for step in steps:
        # Of a value that is hardly above 0 there is no finer step.
        if not 0 < step >= _FINEST * largest:
            return None
        if _are_multiples(sample[:_FIRST], step) and _are_multiples(sample, step):
            return step
    return None


def clock_step(values: Values, *, at_most: float = 1.0) -> float | None:
    """The step of the clock: a power of ten as `decimal_step` has it, or what else all values are multiples of.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``; at least 1 value.
    at_most
        As in `decimal_step`.

    Returns
    -------
    float or None
        In the unit of the values.  Another step than a power of ten, such as 1/64 s, is told only where so many
        different values with as many digits are multiples of one as large in less than 1 of 10,000 cases by chance: of
        two values 10,000 times the last digit or more, of eight 4 times.

    Raises
    ------
    AnalysisError
        No values, or values that are not finite.
    """
    sample = np.abs(sample_of(values, "clock steps"))
    digit = decimal_step(sample, at_most=at_most)
    unit = _FINEST * float(sample.max()) if digit is None else digit
    above = sample[sample > 0]  # 0 is a multiple of any step, and says nothing of it
    step = _common(np.unique(above[:_FIRST]), unit) if unit > 0 else None
    if step is None or step > at_most * float(sample.max()) or not _are_multiples(sample, step):
        return digit
    _, first = np.unique(np.rint(above / step), return_index=True)
    return step if _by_chance(above[first][:_MOST_COUNTED], step, unit) < _BY_CHANCE else digit


def _by_chance(different: FloatArray, step: float, unit: float) -> float:
    """How likely at most values that have nothing but their last digits all are multiples of some step as large.

    A value's last digit is that of ``unit``, or where values are printed with so many digits that of its own size:
    beside 0.0996 those of 0.101 and 0.104 are all even.
    """
    if different.size < 2:
        return 1.0
    n_digits = max(len(f"{value:.{_DIGITS}e}".partition("e")[0].rstrip("0")) - 1 for value in different.tolist())
    last = 10.0 ** (np.floor(np.log10(different)) + 1 - n_digits)
    # Which step it would be is not known beforehand.
    return float(np.minimum(np.maximum(last, unit) / step, 1.0).prod()) * (1 + step / unit / (different.size - 1))


def _common(different: FloatArray, unit: float) -> float | None:
    """The largest number that all are multiples of, by Euclid; None where it is not above the unit."""
    found = 0.0
    for value in different:
        larger, smaller = float(value), found
        while smaller > unit / 2:
            larger, smaller = smaller, abs(larger - round(larger / smaller) * smaller)
        found = larger
        if found <= 1.5 * unit:
            return None
    return found or None


def are_steps(values: Values, step: float) -> bool:
    """Whether nine of ten values lie on one step or on two neighbouring ones.

    Rounding is noise like any other where values scatter over several steps.  Over one or two it may be off by half a
    step, the same way each time, which no number of values averages out.

    Parameters
    ----------
    values
        The sample, shape ``(n,)``; at least 1 value.
    step
        What they are multiples of, in their unit, above 0.

    Raises
    ------
    AnalysisError
        No values, or values that are not finite.
    """
    sample = sample_of(values, "clock steps")
    steps, counts = np.unique(np.rint(sample / step), return_counts=True)
    beside = np.where(np.diff(steps) == 1, counts[:-1] + counts[1:], 0)
    most = max(int(counts.max()), int(beside.max()) if beside.size else 0)
    return most >= _MOST * sample.size


def _are_multiples(sample: FloatArray, step: float) -> bool:
    counted = sample / step
    return bool((np.abs(counted - np.rint(counted)) <= _ROUNDING).all())
