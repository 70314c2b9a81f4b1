"""The engines that layoutrand knows: each module here is one, and has it as ``ENGINE``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from layoutrand.engines.engine import Engine


def names() -> list[str]:
    """What ``cluster.kind`` can be, beside "local"."""
    return sorted(module.name for module in iter_modules(__path__))


def engines() -> list[Engine]:
    """All of them, in the order of their names."""
    return [engine(name) for name in names()]


@cache
def engine(name: str) -> Engine:
    """The engine of that name, which is one of `names`."""
    found = import_module(f"{__name__}.{name}").ENGINE
    assert isinstance(found, Engine)
    return found
