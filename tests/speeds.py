"""Which cases of a test belong to which of the three speeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def only_fast(fast: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Those cases in `make test`, the others in `make merge`."""
    cases = list(cases)
    assert all(case in cases for case in fast), "a case has another name"
    return [case if case in fast else _slow(case) for case in cases]


def first_fast(count: int, cases: Iterable[Any]) -> list[Any]:
    """The first of the cases in `make test`, the others in `make merge`."""
    return [case if place < count else _slow(case) for place, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
