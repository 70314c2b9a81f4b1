"""Validation shared by all methods; every message says what is wrong and what would be right."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from layoutrand.errors import AnalysisError

_LARGEST_COUNT: Final = 2**53
"""The largest integer that floating point counts to."""


def check_confidence(confidence: float, *, name: str = "confidence", usual: float = 0.95) -> None:
    """Confidence, or one minus it, is a fraction strictly between 0 and 1."""
    if not (is_real(confidence) and 0 < confidence < 1):
        raise AnalysisError(f"{name} must lie strictly between 0 and 1, got {shown(confidence)}; {usual:g} is usual")


def check_choice(value: str, choices: Collection[str], *, name: str) -> None:
    """`value` is one of `choices`; the message suggests the nearest."""
    if not isinstance(value, str) or value not in choices:
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AnalysisError(f"unknown {name} {value!r}, choose from {', '.join(sorted(choices))}{hint}")


def check_count(value: int, *, name: str, at_least: int = 1) -> None:
    """`value` is an integer of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= _LARGEST_COUNT:
        raise AnalysisError(f"{name} must be an integer of at least {at_least}, got {shown(value)}{cured(value)}")


def check_seed(seed: int) -> None:
    """A seed is an integer of at least 0, of any size."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise AnalysisError(f"seed must be an integer of at least 0, got {seed!r}{cured(seed)}")


def cured(value: object) -> str:
    """Numpy's integers have few bits, in which sums and products wrap around unnoticed."""
    return f"; give int({value:d}), Python's own" if isinstance(value, np.integer) else ""


def check_real(value: float, *, name: str) -> None:
    """`value` is a finite number."""
    if not is_real(value):
        raise AnalysisError(f"{name} must be a finite number, got {shown(value)}")


def is_real(value: object) -> bool:
    """Whether this is a finite number: no truth value, no text, no integer beyond the range of floating point."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def shown(value: object) -> str:
    """A value in a message; of an endless one its beginning."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_COUNT:
        return "an integer of so many digits that it is beyond any count"
    return f"{value!r:.60}"


def check_mapping(suite: object, *, name: str) -> None:
    """`suite` maps names of benchmarks to measurements."""
    if not isinstance(suite, Mapping) or not all(isinstance(key, str) for key in suite):
        raise AnalysisError(f"{name} must map names of benchmarks to measurements, got {type(suite).__name__}")


def check_positive(value: float, *, name: str) -> None:
    """`value` is finite and above 0."""
    if not (is_real(value) and value > 0):
        raise AnalysisError(f"{name} must be a finite number above 0, got {shown(value)}")


def check_fraction(value: float, *, name: str) -> None:
    """`value` is a fraction in [0, 1)."""
    if not (is_real(value) and 0 <= value < 1):
        raise AnalysisError(f"{name} must be a fraction from 0 up to 1, such as 0.01 for 1 %, got {shown(value)}")


def check_labels(labels: object, *, name: str) -> None:
    """`labels` are a sequence of labels, one for each value."""
    if not isinstance(labels, Sequence) and not (isinstance(labels, np.ndarray) and labels.ndim > 0):
        raise AnalysisError(f"{name} must be a sequence with one label for each value, got {type(labels).__name__}")
