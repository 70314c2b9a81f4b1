"""Which file of the source a function is compiled from, as the capture of its object and the names of the source tell.

An object says what its source is called, without the directory.  Of several files of that name it is the one that lies
as the object does; and where the source has none, the build made it, beside its object.  That this is so is not taken
for granted: what is given to the file must reach the function (`layoutrand.explain.remedy`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import archive, elf
from layoutrand.platform.disk import cache_errors
from layoutrand.text.foreign_fields import plain

_TEMPORARY: Final = re.compile(r"temp\((.*)\)(?::\d+)?")
_MEMBER: Final = re.compile(r"(.+)\(([^()]*)\)")
_AGAIN: Final = re.compile(r"(.+):(\d+)")
"""What objects of one name are called, but for the first (`layoutrand.capture.objects`)."""

_BUILT: Final = "_build"
CMAKE: Final = "CMakeLists.txt"
MESON: Final = "meson.build"
_GENERATED: Final = (
    (re.compile(r"(^|/)CMakeFiles/[^/]+\.dir(/|$)"), CMAKE),
    (re.compile(r"(^|/)[^/]+\.p(/|$)"), MESON),
)
"""Where CMake and Meson put the objects of a program's own sources."""

_OF_TARGET: Final = ".dir/"


@dataclass(frozen=True)
class SourceFile:
    """A file, relative to the source, and functions that are compiled from it.

    ``object`` is what is compiled of it: "" for a temporary file, of a member of an archive the name that it has there.
    ``described`` is the file that tells CMake or Meson of it, "" where neither builds it.
    """

    path: str
    object: str
    functions: tuple[str, ...]
    described: str = ""

    @property
    def called_there(self) -> str:
        """The file as the one that describes it calls it."""
        return _from(self.described, self.path)


def source_file(link: CapturedLink, root: Path, section: int, function: str, names: Sequence[str]) -> SourceFile:
    """The file that the function, which is that section of the capture, is compiled from.

    ``root`` has the captured files, and ``names`` are those of the source.  Raises `FeatureUnsupported` where that
    cannot be told.
    """
    if link.lto:
        raise FeatureUnsupported("link-time optimisation makes objects of several files")
    called = link.sections[section].object
    if link.sections[section].pinned:
        raise FeatureUnsupported(f"{function} is of {called}, which is not built from this source")
    if temporary := _TEMPORARY.fullmatch(called):
        file, folder, own = temporary[1], "", ""
    else:
        sources, folder, own = _of_object(link, root, called)
        if len(sources) > 1:
            raise FeatureUnsupported(f"{called} is linked of several files, {', '.join(sources[:3])} among them")
        file = sources[0] if sources else ""
    if file in ("", "?"):
        raise FeatureUnsupported(f"{called} does not say what it is compiled from")
    path = _found(posixpath.basename(file), folder, names, function)
    if (shown := plain(path)) != path:
        raise FeatureUnsupported(f"{shown} has a name that cannot be written as it is")
    return SourceFile(path, own, (function,), _described(path, own, link, names))


def _described(path: str, own: str, link: CapturedLink, names: Sequence[str]) -> str:
    """The file that tells CMake or Meson of a source: the nearest one, or the one that the object is called after."""
    places = {posixpath.dirname(file) for file in link.files}
    called = next((file for is_of, file in _GENERATED if any(map(is_of.search, places))), "")
    if not called:
        return ""
    known, folder, above = frozenset(names), path, list[str]()
    while folder:
        folder = posixpath.dirname(folder)
        if (file := posixpath.join(folder, called)) in known:
            above.append(file)
    # CMake calls an object as its source is called from there.
    return next((file for file in above if own.endswith(f"{_OF_TARGET}{_from(file, path)}.o")), (above or [called])[0])


def _from(described: str, path: str) -> str:
    """A file of the source as it is called in the one that describes it."""
    return posixpath.relpath(path, posixpath.dirname(described) or ".")


def _of_object(link: CapturedLink, root: Path, called: str) -> tuple[list[str], str, str]:
    """The sources that an object names, the directory that it lies in, and its own name."""
    for name, number in _names(called):
        member = _MEMBER.fullmatch(name)
        path = f"{_BUILT}/{name}"
        if path in link.files:
            return elf.read(_content(root / path), name=name).source_names(), posixpath.dirname(name), name
        if member is not None and (path := f"{_BUILT}/{member[1]}") in link.files:
            members = [m for m in archive.read(_content(root / path), name=member[1]).members if m.name == member[2]]
            if number < len(members):
                found = elf.read(members[number].content, name=name)
                return found.source_names(), posixpath.dirname(member[1]), member[2]
    raise FeatureUnsupported(f"{called} is no object that the build left")


def _names(called: str) -> list[tuple[str, int]]:
    """What an object may be called in the capture, and how many of that name come before it."""
    again = _AGAIN.fullmatch(called)
    return [(called, 0), *([(again[1], int(again[2]))] if again else [])]


def _content(path: Path) -> bytes:
    with cache_errors("read", path):
        return path.read_bytes()


def _found(file: str, folder: str, names: Sequence[str], function: str) -> str:
    """The file of that name that lies as an object in ``folder`` does; beside the object where there is none."""
    there = [name for name in names if posixpath.basename(name) == file]
    if not there:
        return posixpath.join(folder, file)
    nearest = max(_nearness(name, folder) for name in there)
    best = [name for name in there if _nearness(name, folder) == nearest]
    if len(best) > 1:
        raise FeatureUnsupported(f"{', '.join(sorted(best)[:3])} may each be the {file} that has {function}")
    return best[0]


def _nearness(name: str, folder: str) -> tuple[bool, int, int]:
    """Whether the file lies where the object does, and how many directories are called alike: the last, the first."""
    own = [part for part in posixpath.dirname(name).split("/") if part]
    other = [part for part in folder.split("/") if part]
    return own == other, _alike(own[::-1], other[::-1]), _alike(own, other)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many at the beginning are the same."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
