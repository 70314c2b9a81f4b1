"""Which of the files that a build linked is the program to lay out: the one that a command names, or the likeliest."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from layoutrand.capture.cargo_messages import without_hash
from layoutrand.capture.linked_files import LinkedFile, is_elf_file
from layoutrand.errors import CaptureFailed
from layoutrand.platform.disk import readable
from layoutrand.text.name_lists import several_paths

_ASIDE: Final = frozenset(
    {"test", "tests", "testing", "t", "example", "examples", "demo", "demos", "doc", "docs", "fuzz"}
)
"""Directories of programs that are not what a project is for."""

_TESTING: Final = frozenset({"test", "tests", "unittest", "unittests", "selftest", "fuzz", "fuzzer"})
"""Words in names of such programs: `x-test` of a large test suite is no smaller than `x`."""

_WORDS: Final = re.compile(r"[^-_.]+")

_BUILD_SCRIPTS: Final = ("build-script-", "build_script_")
"""What Cargo links to execute during the build."""

_KINDS: Final = ("bin", "", "example", "bench", "test")
"""Of Cargo's programs, those for users first."""

_HASHED: Final = ("bench", "test")
"""Of them, those that Cargo leaves where it linked them, under a name with a hash."""

_OF_CMAKE: Final = "CMakeFiles"
"""Where CMake links programs of its own."""


@dataclass(frozen=True)
class ChosenProgram:
    """A program with the libraries of its build that it needs: ``artefacts``, the program first, and its ``linker``.

    ``place`` is the word of the command that names it, 0 where there is no command; ``others`` are the programs that
    were linked besides. Where nothing but libraries was linked, the first artefact is one. Cargo's benchmarks and tests
    are named without their hash, which is another one with other flags. ``why`` says what it was preferred to those
    others for, "" where there are none, or where a command names it. ``libraries`` are shared libraries of the
    build that nothing in it asks for by name: what a program opens by itself (``dlopen``) is among them.
    """

    artefacts: tuple[str, ...]
    linker: str
    place: int
    others: tuple[str, ...]
    is_program: bool = True
    why: str = ""
    libraries: tuple[str, ...] = ()


class Chooser(Protocol):
    """Chooses among the files that a build linked."""

    def wish(self) -> Any:
        """What decides the choice, as a JSON value."""

    def choices(self, tree: Path, linked: Sequence[LinkedFile]) -> Iterator[ChosenProgram]:
        """What to lay out, the likeliest first; raises `CaptureFailed` where nothing that was linked will do."""


@dataclass(frozen=True)
class Likeliest:
    """Chooses without a command: by names that the project goes by, then by what programs are for, then by size.

    Where only libraries were linked, the largest of these.
    """

    hints: tuple[str, ...]

    def wish(self) -> Any:
        """See `Chooser.wish`."""
        return {"hints": list(self.hints)}

    def choices(self, tree: Path, linked: Sequence[LinkedFile]) -> Iterator[ChosenProgram]:  # noqa: ARG002 - of the protocol
        """See `Chooser.choices`."""
        real = [file for file in linked if not posixpath.basename(file.path).startswith(_BUILD_SCRIPTS)] or list(linked)
        programs = [file for file in real if file.is_program]
        for file in sorted(programs or real, key=self._rank):
            chosen = _chosen(file, linked, 0)
            yield replace(chosen, why=self._why(file, [each for each in programs if each.path in chosen.others]))

    def _why(self, file: LinkedFile, others: Sequence[LinkedFile]) -> str:
        """What decided between the file and the likeliest of the others, in a few words."""
        if not others:
            return ""
        own, best = self._rank(file), min(map(self._rank, others))
        if own > best:
            return "as the likeliest whose link can be captured"
        kind, place, is_aside, _size = (mine != theirs for mine, theirs in zip(own, best, strict=True))
        if kind:
            return f"as a {file.kind} of cargo's" if file.kind else "as no example, benchmark or test of cargo's"
        if place:
            return "by its name (the directory's or one in the build's files)"
        if is_aside:
            return "as it is not among tests, examples and the like"
        smaller = all(each.size <= file.size for each in others)
        return "as the largest" if smaller else "as the largest that is not among tests, examples and the like"

    def _rank(self, file: LinkedFile) -> tuple[int, int, bool, int]:
        """What cargo says is for users first; then names that the project goes by, in the order of the hints."""
        name = _plain_name(file)
        place = next((n for n, hint in enumerate(self.hints) if name == posixpath.basename(hint)), len(self.hints))
        return (
            _KINDS.index(file.kind),
            place,
            _is_aside(file.path, name),
            -file.size,
        )


def _is_aside(path: str, name: str) -> bool:
    """Whether the place or the name of a program says that a project is not for it."""
    return not (
        _ASIDE.isdisjoint(posixpath.dirname(path).split("/"))
        and _TESTING.isdisjoint(each.lower() for each in _WORDS.findall(name))
    )


@dataclass(frozen=True)
class NamedByWords:
    """Chooses what a command names: ``words`` as they would be typed in ``folder``, a path relative to the source."""

    words: tuple[str, ...]
    folder: str = ""

    def wish(self) -> Any:
        """See `Chooser.wish`."""
        return {"words": list(self.words), "folder": self.folder}

    def choices(self, tree: Path, linked: Sequence[LinkedFile]) -> Iterator[ChosenProgram]:
        """See `Chooser.choices`: by its path, else by its name, else as a later word of the command.

        A path into a directory of the build is taken at its word: ``release/tool`` is not another ``debug/tool``.
        """
        programs = [file for file in linked if file.is_program]
        file = self._at(0, tree, linked) or (None if self._is_in_a_directory() else self._called(programs))
        place = 0
        while file is None and place + 1 < len(self.words):
            place += 1
            file = self._at(place, tree, linked)
        if file is None:
            there = [*programs, *(each for each in linked if not each.is_program)]
            there = [each for each in there if not _is_of_the_build(each.path)] or there
            raise CaptureFailed(
                f"the build linked no {self.words[0]}{self._script(tree)}; it linked: "
                f"{several_paths([each.path for each in there])}. "
                "Name one of these, by its path from here, as the program or among its words"
            )
        yield _chosen(file, linked, place)

    def _at(self, place: int, tree: Path, linked: Sequence[LinkedFile]) -> LinkedFile | None:
        """The linked file at the path that the word is, or what the build made of one there, as a copy."""
        word = self.words[place]
        path = posixpath.normpath(posixpath.join(self.folder, word))
        if path.startswith("../") or posixpath.isabs(path):
            return None
        behind = posixpath.join(posixpath.dirname(path), ".libs", posixpath.basename(path))  # libtool's script
        for wanted in (path, behind):
            found = next((file for file in linked if file.path == wanted), None)
            if found is not None:
                return found
        if (hashed := self._with_hash(path, linked)) is not None:
            return hashed
        real = os.path.relpath(os.path.realpath(tree / path), os.path.realpath(tree))
        if not is_elf_file(tree / path) or real.startswith("../"):
            return None
        origin = next((file for file in linked if file.path == real), None) or self._copied(path, linked)
        return None if origin is None else LinkedFile(path, origin.is_program, origin.linker, origin.size, origin.needs)

    def _with_hash(self, path: str, linked: Sequence[LinkedFile]) -> LinkedFile | None:
        """The only file that cargo has put its hash behind the path of."""
        found = [file for file in linked if _plain_path(file) == path]
        return self._only(path, found)

    def _only(self, name: str, found: Sequence[LinkedFile]) -> LinkedFile | None:
        """The one that was found, if any; raises `CaptureFailed` where it is not to be told which."""
        if len(found) > 1:
            raise CaptureFailed(
                f"the build linked several programs called {name}: {several_paths([file.path for file in found])}. "
                "Name one of them by its path from here"
            )
        return found[0] if found else None

    def _copied(self, path: str, linked: Sequence[LinkedFile]) -> LinkedFile | None:
        """The linked file that a file may be a copy of: of its name, else any; which it is, the capture proves."""
        name = posixpath.basename(path)
        programs = sorted(linked, key=lambda file: (posixpath.basename(file.path) != name, not file.is_program))
        return programs[0] if programs else None

    def _is_in_a_directory(self) -> bool:
        """Whether the first word leads into a directory of the source, other than the one that it is typed in."""
        way = posixpath.normpath(posixpath.join(self.folder, self.words[0]))
        return not way.startswith(("/", "../")) and posixpath.dirname(way) != posixpath.normpath(self.folder).strip(".")

    def _called(self, programs: Sequence[LinkedFile]) -> LinkedFile | None:
        """The only program of the first word's name, wherever it lies."""
        name = posixpath.basename(self.words[0])
        found = [file for file in programs if name in (posixpath.basename(file.path), _plain_name(file))]
        return self._only(name, found)

    def _script(self, tree: Path) -> str:
        """That it is a script, where it is one."""
        path = tree / posixpath.join(self.folder, self.words[0])
        try:
            return ", which is a script" if path.is_file() and path.read_bytes()[:2] == b"#!" else ""
        except OSError as error:
            return f" ({readable(str(error.strerror))})"


def _chosen(file: LinkedFile, linked: Sequence[LinkedFile], place: int) -> ChosenProgram:
    programs = [each for each in linked if each.is_program]
    others = tuple(each.path for each in programs if each.path != file.path and not _is_of_the_build(each.path))
    plain = _plain_path(file)
    alike = [each for each in programs if without_hash(each.path) == plain]
    path = file.path if len(alike) > 1 else plain
    libraries = _opened_later(file, linked) if file.is_program else ()
    return ChosenProgram((path, *file.needs), file.linker, place, others, file.is_program, libraries=libraries)


def _opened_later(program: LinkedFile, linked: Sequence[LinkedFile]) -> tuple[str, ...]:
    """Libraries that nothing of the build asks for; none of cargo's, which are mostly plugins of rustc."""
    if program.kind:
        return ()
    return tuple(each.path for each in linked if each.is_unasked and not _is_of_the_build(each.path))


def _plain_path(file: LinkedFile) -> str:
    return posixpath.join(posixpath.dirname(file.path), _plain_name(file))


def _plain_name(file: LinkedFile) -> str:
    name = posixpath.basename(file.path)
    return without_hash(name) if file.kind in _HASHED else name


def _is_of_the_build(path: str) -> bool:
    """Whether a program is there for the build alone: of CMake, to see what a compiler can, or a script of Cargo."""
    return _OF_CMAKE in path.split("/") or posixpath.basename(path).startswith(_BUILD_SCRIPTS)
