"""Shared libraries of the build that its artefacts need at run time."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.capture.capture_warnings import UnlistedLibrary
from layoutrand.capture.linked_files import by_name
from layoutrand.model import Binary
from layoutrand.objects import dynamic, elf

_BUILT = "_build/"


def unlisted_libraries(
    link: CapturedLink, data: bytes, root: Path, artefacts: Sequence[str], tree: Path
) -> list[UnlistedLibrary]:
    """What to tell the user of libraries that the artefact ``data`` needs and that are no artefacts themselves.

    ``root`` holds the files of the captured ``link``, ``tree`` is where the build was made.
    """
    needs = dynamic.read(data)
    if not needs.needed:
        return []
    built = {}
    for name in link.files:
        if name.startswith(_BUILT) and _is_library(root / name):
            built[name.removeprefix(_BUILT)] = dynamic.read((root / name).read_bytes())
    return [_unlisted(name, made, artefacts, tree) for name, made in dynamic.unlisted(needs, artefacts, built)]


def _unlisted(name: str, made: str, artefacts: Sequence[str], tree: Path) -> UnlistedLibrary:
    """The library that was linked with as ``made``, by the path that it has under the ``name`` that is asked for."""
    path = by_name(name, made, tree)
    beside = posixpath.join(posixpath.dirname(made), name)
    return UnlistedLibrary(name, path or beside, made, there=path is not None, listed=made in artefacts)


def _is_library(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(18)
    return elf.is_elf(begin) and begin[16:18] == b"\x03\x00"  # e_type ET_DYN


def search_path(binaries: Iterable[Mapping[str, Binary]]) -> tuple[str, ...]:
    """Directories of artefacts that other artefacts of a layout need, relative to where all of them are placed.

    ``binaries`` has the binaries of some layouts by artefact; the result serves all, so that no two differ in it.
    """
    found: set[str] = set()
    for artefacts in binaries:
        if len(artefacts) > 1:
            parts = {path: dynamic.read(content_of(binary.stored)) for path, binary in artefacts.items()}
            found.update(dynamic.library_directories(parts))
    return tuple(sorted(found))
