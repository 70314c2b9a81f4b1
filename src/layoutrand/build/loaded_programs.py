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

LoadedProgram = Mapping[str, tuple[tuple[str, int, int, str], ...]]
"""Artefact -> (name, address, size, SHA-256) of each section that is loaded."""


def loaded_program(binaries: Iterable[Binary], layout: LayoutName) -> LoadedProgram:
    """What is loaded of the binaries in that layout; two that are equal and not empty do the same alike."""
    return {each.artefact: _loaded(each) for each in binaries if each.layout == layout}


def _loaded(binary: Binary) -> tuple[tuple[str, int, int, str], ...]:
    rows = elf.loaded_content(elf.read(content_of(binary.stored), name=binary.artefact), skip=_NO_PROGRAM)
    return tuple((name, address, size, sha256_bytes(content)) for name, address, size, content in rows)
