"""The instruction sets that layoutrand knows: each module here is one, and has it as ``PROCESSOR``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.processor import Processor


@cache
def processors() -> dict[str, Processor]:
    """All of them by what ELF calls their machine."""
    found = [import_module(f"{__name__}.{module.name}").PROCESSOR for module in iter_modules(__path__)]
    return {each.machine: each for each in found}


def processor(machine: str, where: str) -> Processor:
    """The one of that name; raises `FeatureUnsupported`, which begins with ``where``, for code of another machine."""
    known = processors()
    if machine not in known:
        *some, last = sorted(each.words for each in known.values())
        able = f"{', '.join(some)} and {last}"
        raise FeatureUnsupported(f"{where}: code for {machine} cannot be verified, only {able} can")
    return known[machine]
