"""The harnesses that layoutrand knows: each module here is one, and has it as ``HARNESS``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from layoutrand.config.problems import suggest
from layoutrand.errors import FeatureUnsupported
from layoutrand.harnesses.harness import Harness


def harnesses() -> tuple[Harness, ...]:
    """All of them, by name."""
    return _found(tuple(__path__))


def harness_named(name: str) -> Harness:
    """The one of that name; raises `FeatureUnsupported` that lists what there is."""
    for each in harnesses():
        if each.name == name:
            return each
    names = [each.name for each in harnesses()]
    raise FeatureUnsupported(f"no harness is called {name!r}; there are {', '.join(names)}{suggest(name, names)}")


@cache
def _found(places: tuple[str, ...]) -> tuple[Harness, ...]:
    """By the directories that were looked into."""
    found = [import_module(f"{__name__}.{module.name}").HARNESS for module in iter_modules(places)]
    return tuple(sorted(found, key=lambda each: each.name))
