"""Whether builds of two commits are one program, though they were made from files that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from layoutrand.cache.contents import content_of
from layoutrand.capture.identity import NOT_LOADED_CODE
from layoutrand.model import Binary, LayoutName
from layoutrand.objects import elf
from layoutrand.platform.disk import sha256_bytes

_NO_PROGRAM: Final = frozenset({*NOT_LOADED_CODE, ".note.go.buildid"})
"""Sections that differ between two builds of one program: Go's id is of all that a program was made from."""

LoadedSections = tuple[tuple[str, int, int, str], ...]
"""(Name, address, size, SHA-256) of each section that is loaded."""

LoadedProgram = Mapping[str, LoadedSections]
"""Artefact -> what is loaded of it."""


def loaded_program(binaries: Iterable[Binary], layout: LayoutName) -> LoadedProgram:
    """What is loaded of the binaries in that layout; two that are equal and not empty do the same alike."""
    files = {each.artefact: content_of(each.stored) for each in binaries if each.layout == layout}
    return {name: loaded_sections(elf.read(data, name=name), skip=_NO_PROGRAM) for name, data in files.items()}


def loaded_sections(binary: elf.Elf, *, skip: frozenset[str]) -> LoadedSections:
    """What is loaded of a file, but for sections of these names."""
    rows = elf.loaded_content(binary, skip=skip)
    return tuple((name, address, size, sha256_bytes(content)) for name, address, size, content in rows)
