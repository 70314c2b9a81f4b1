"""Validation shared by all methods; every message says what is wrong and what would be right."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection

from layoutrand.errors import AnalysisError


def check_confidence(confidence: float) -> None:
    """Confidence is a fraction strictly between 0 and 1."""
    if not (isinstance(confidence, int | float) and 0 < confidence < 1):
        raise AnalysisError(f"confidence must lie strictly between 0 and 1, got {confidence!r}; 0.95 is usual")


def check_choice(value: str, choices: Collection[str], *, name: str) -> None:
    """`value` is one of `choices`; the message suggests the nearest."""
    if value not in choices:
        near = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AnalysisError(f"unknown {name} {value!r}, choose from {', '.join(sorted(choices))}{hint}")


def check_count(value: int, *, name: str, at_least: int = 1) -> None:
    """`value` is an integer of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise AnalysisError(f"{name} must be an integer of at least {at_least}, got {value!r}")


def check_seed(seed: int) -> None:
    """A seed is an integer of at least 0."""
    check_count(seed, name="seed", at_least=0)


def check_positive(value: float, *, name: str) -> None:
    """`value` is finite and above 0."""
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise AnalysisError(f"{name} must be a finite number above 0, got {value!r}")


def check_fraction(value: float, *, name: str) -> None:
    """`value` is a fraction in [0, 1)."""
    if not (isinstance(value, int | float) and 0 <= value < 1):
        raise AnalysisError(f"{name} must be a fraction from 0 up to 1, such as 0.01 for 1 %, got {value!r}")
