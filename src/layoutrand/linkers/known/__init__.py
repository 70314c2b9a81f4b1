"""The linkers that layoutrand knows: each module here is one, and has it as ``LINKER``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers.linker import Linker


def names() -> list[str]:
    """What ``linker`` in a toolchain file can be."""
    return sorted(module.name for module in iter_modules(__path__))


@cache
def linker(name: str) -> Linker:
    """The linker of that name; raises `FeatureUnsupported` for one that is none of `names`, such as of a capture."""
    if name not in names():
        raise FeatureUnsupported(f"no linker is called {name!r}; there are {', '.join(names())}")
    found = import_module(f"{__name__}.{name}").LINKER
    assert isinstance(found, Linker)
    return found
