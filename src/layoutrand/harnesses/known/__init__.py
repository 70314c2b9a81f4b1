"""The harnesses that layoutrand knows: each module here is one, and has it as ``HARNESS``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from layoutrand.config.problems import suggest
from layoutrand.errors import FeatureUnsupported
from layoutrand.harnesses.harness import Harness

_NOT_EXECUTED: Final[Mapping[str, str]] = {
    "iai": (
        "iai starts each benchmark under Valgrind by itself, and prints no numbers for programs: iai-callgrind, its "
        "successor, is executed; or have a program (an example of the crate, say) call the same functions, and give it "
        "metric = { cachegrind = true }, which counts their instructions and cache misses in every layout"
    )
}
"""What to do where benchmarks are written with a harness that is known and that executes none here."""


def harnesses() -> tuple[Harness, ...]:
    """All of them, by name."""
    return _found(tuple(__path__))


def harness_named(name: str) -> Harness:
    """The one of that name; raises `FeatureUnsupported` that lists what there is, or says what to do."""
    if name in _NOT_EXECUTED:
        raise FeatureUnsupported(_NOT_EXECUTED[name])
    for each in harnesses():
        if each.name == name:
            return each
    names = [each.name for each in harnesses()]
    raise FeatureUnsupported(f"no harness is called {name!r}; there are {', '.join(names)}{suggest(name, names)}")


def harness_in(program: bytes) -> str:
    """The name of the harness that a program's cases are linked with, by its file's bytes; "" where none is seen."""
    return next((each.name for each in harnesses() if any(trace in program for trace in each.traces)), "")


@cache
def _found(places: tuple[str, ...]) -> tuple[Harness, ...]:
    """By the directories that were looked into."""
    found = [import_module(f"{__name__}.{module.name}").HARNESS for module in iter_modules(places)]
    return tuple(sorted(found, key=lambda each: each.name))
