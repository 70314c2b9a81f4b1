"""The linkers that layoutrand knows: each module here is one, and has it as ``LINKER``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from layoutrand.linkers.linker import Linker


def names() -> list[str]:
    """What ``linker`` in a toolchain file can be."""
    return sorted(module.name for module in iter_modules(__path__))


@cache
def linker(name: str) -> Linker:
    """The linker of that name, one of `names`."""
    found = import_module(f"{__name__}.{name}").LINKER
    assert isinstance(found, Linker)
    return found
