"""That an execution was of the program that was built: its files compared before it began and after it ended.

Permissions keep nobody out who is root, and a program may have its own file written to after it ended
(``sh -c '"$0"; printf X >> "$0"' {artefact}``).  So an execution has files of its own, what they are copies of is
checked before and after, and what was changed in the meantime is said in place of what was measured.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.build.as_built import BuiltContents
from layoutrand.model import Binary
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.own_file import FileState
from layoutrand.text.name_lists import first_names

_CONTENT: Final = "its content"
_IN_WORDS: Final = {
    "device": "it is another file",
    "inode": "it is another file",
    "size": "its size",
    "modified_ns": "its content, or when it was modified",
    "mode": "its permissions",
    "changed_ns": "its content, or what is known about it",
}
_MOST_NAMED: Final = 3


@dataclass(frozen=True)
class Alteration:
    """Files that were changed while a program was executed, each with what about it; words itself.

    With ``of_the_cache`` they are what the execution's own files, which stayed as they were, are copies of.
    """

    files: tuple[tuple[str, str], ...]
    of_the_cache: bool = False

    def __str__(self) -> str:
        named = first_names([f"{name} ({what})" for name, what in self.files], _MOST_NAMED)
        whose = "the cache" if self.of_the_cache else "the program"
        return (
            f"files of {whose} were changed while it was executed: {named}; so nothing says what was measured. Have "
            "the command leave them as they are"
        )


class ProgramGuard:
    """The files of one execution, as they were before it began."""

    def __init__(self, own: Mapping[Path, Binary], trees: Iterable[Path], as_built: BuiltContents, base: Path) -> None:
        """Look at the execution's ``own`` files, each of the binary that it is of, and at all others of the ``trees``.

        Files below ``base`` are called by their paths relative to that.  Raises `CacheError` where a binary in the
        cache is not what was built any more, and `OSError` where a file cannot be looked at.
        """
        self._own, self._as_built, self._base = own, as_built, base
        as_built.check(own.values())
        self._before = {path: FileState.of(path) for path in own}
        self._trees = {tree: _states(tree, own) for tree in trees}

    def alteration(self) -> Alteration | None:
        """What was changed since, None for nothing: of the execution's files, else of those that they are copies of."""
        found = [(path, self._changed(path, before)) for path, before in self._before.items()]
        for tree, states in self._trees.items():
            now = _states(tree, self._own)
            found += [(path, _difference(before, now.get(path))) for path, before in states.items()]
        if files := tuple((self._called(path), what) for path, what in found if what):
            return Alteration(files)
        spoilt = [str(binary.path) for binary in self._own.values() if not self._as_built.holds(binary)]
        return Alteration(tuple((path, _CONTENT) for path in spoilt), of_the_cache=True) if spoilt else None

    def _called(self, path: Path) -> str:
        return str(path.relative_to(self._base) if path.is_relative_to(self._base) else path)

    def _changed(self, path: Path, before: FileState) -> str:
        """What about an own file is another; the time of change moves with links to it, too: then its content tells."""
        now = _state(path)
        if now is not None and before.differences(now) == ("changed_ns",):
            return "" if sha256_file(path) == self._own[path].sha256 else _CONTENT
        return _difference(before, now)


def _difference(before: FileState, now: FileState | None) -> str:
    if now is None:
        return "it is gone"
    differences = before.differences(now)
    return next((words for name, words in _IN_WORDS.items() if name in differences), "")


def _state(path: Path) -> FileState | None:
    """The state of what is at the path, None where nothing is."""
    try:
        return FileState.of(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _states(tree: Path, own: Container[Path]) -> dict[Path, FileState]:
    """The state of every file below the directory but an ``own`` one, or of the one file that is there."""
    paths = [Path(folder, name) for folder, _, names in os.walk(tree) for name in names] if tree.is_dir() else [tree]
    return {path: state for path in paths if path not in own and (state := _state(path)) is not None}
