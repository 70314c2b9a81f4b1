"""Which shared libraries an artefact needs at run time, and which of them its own build made.

The build's tree is gone when a binary is executed. So a library of the build must be an artefact itself: then every
execution has the program and its libraries in one layout, and the dynamic linker is shown where they are.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf

_DT_NEEDED: Final = 1
_DT_SONAME: Final = 14
_DT_FLAGS_1: Final = 0x6FFFFFFB
_DF_1_PIE: Final = 0x08000000
_INTERPRETER: Final = ".interp"


@dataclass(frozen=True)
class Dynamic:
    """Names of the libraries that a file needs, and the name by which other files need it ("" for none)."""

    needed: tuple[str, ...] = ()
    soname: str = ""


def read(data: bytes) -> Dynamic:
    """What a file's dynamic section says; nothing for files that have none, such as static programs and scripts."""
    if not elf.is_elf(data):
        return Dynamic()
    try:
        source = elf.read(data, name="")
        found = np.flatnonzero(source.sections["type"] == elf.SHT_DYNAMIC)
        if not len(found):
            return Dynamic()
        entries = source.entries(int(found[0]), elf.DYNAMIC)
        strings = int(source.sections[found[0]]["link"])
        names = {
            tag: source.strings(strings, entries["value"][entries["tag"] == tag].astype(np.uint32))
            for tag in (_DT_NEEDED, _DT_SONAME)
        }
    except FeatureUnsupported:  # damaged, or for another machine: whoever executes it will be told
        return Dynamic()
    return Dynamic(tuple(names[_DT_NEEDED]), "".join(names[_DT_SONAME][:1]))


def is_library(data: bytes) -> bool:
    """Whether only programs can load a file: position-independent, and it neither asks for a loader nor says it is one.

    What cannot be read is none. The C library is a program besides, and so is a static one at any address.
    """
    if not elf.is_elf(data):
        return False
    try:
        source = elf.read(data, name="")
        if source.kind != "ET_DYN" or _INTERPRETER in source.section_names:
            return False
        found = np.flatnonzero(source.sections["type"] == elf.SHT_DYNAMIC)
        if not len(found):
            return False
        entries = source.entries(int(found[0]), elf.DYNAMIC)
    except FeatureUnsupported:
        return False
    flags = entries["value"][entries["tag"] == _DT_FLAGS_1]
    return not (flags & np.uint64(_DF_1_PIE)).any()


def library_directories(artefacts: Mapping[str, Dynamic]) -> list[str]:
    """Directories of the artefacts that other artefacts need, relative like the artefacts' own paths."""
    wanted = {name for dynamic in artefacts.values() for name in dynamic.needed}
    return sorted({posixpath.dirname(path) for path in artefacts if posixpath.basename(path) in wanted})


def companions(artefacts: Mapping[str, Dynamic]) -> dict[str, list[str]]:
    """For each artefact those others that it needs, itself or through another one, in the order of their paths."""
    providers = {posixpath.basename(path): path for path in artefacts}
    result = {}
    for path, dynamic in artefacts.items():
        found, pending = set[str](), list(dynamic.needed)
        while pending:
            other = providers.get(pending.pop())
            if other is not None and other not in found:
                found.add(other)
                pending += artefacts[other].needed
        result[path] = sorted(found - {path})
    return result


def unlisted(artefact: Dynamic, listed: Iterable[str], built: Mapping[str, Dynamic]) -> Iterator[tuple[str, str]]:
    """Each library of the build that the artefact needs, itself or through another one, in vain: its name, its path.

    ``listed`` are the paths of all artefacts; ``built`` the shared libraries that the build made, by path in its tree.
    """
    providers = {dynamic.soname or posixpath.basename(path): path for path, dynamic in built.items()}
    there = {posixpath.basename(path) for path in listed}
    pending, seen = list(artefact.needed), set[str]()
    while pending:
        name = pending.pop(0)
        if name in seen or name not in providers:
            continue
        seen.add(name)
        pending += built[providers[name]].needed
        if name not in there:
            yield name, providers[name]
