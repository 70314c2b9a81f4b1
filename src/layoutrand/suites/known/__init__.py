"""The suites that layoutrand knows: each module here is one, and has it as ``SUITE``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from layoutrand.suites.suite import Suite


@cache
def suites() -> tuple[Suite, ...]:
    """All of them."""
    return tuple(import_module(f"{__name__}.{module.name}").SUITE for module in iter_modules(__path__))


def by_kind(kind: str) -> Suite:
    """The suite of a ``[suite]`` table."""
    return next(suite for suite in suites() if suite.kind == kind)


def by_reading(kind: str) -> Suite:
    """The suite whose benchmarks have such a reading."""
    return next(suite for suite in suites() if suite.reading == kind)
