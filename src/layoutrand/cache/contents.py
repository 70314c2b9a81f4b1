"""The contents of binaries in the cache, whole, however they are kept there: all who read one ask here.

A binary is kept as its whole file, or as a delta (`layoutrand.cache.delta`) against the whole file of another layout of
the same program.  Whoever needs a file and not a content has one made in a place of its own.
"""

from __future__ import annotations

import errno
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from layoutrand.cache.delta import DeltaBase
from layoutrand.errors import UnusableFile
from layoutrand.model import Stored
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.own_file import FileState, Manner, make_own, write_own
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

_HELD: Final = 1 << 28
"""Bytes of bases that stay in memory, beside the latest one, for the next delta against them."""


def content_of(stored: Stored) -> bytes:
    """All bytes of the binary; raises `OSError`, for a delta that is damaged or against another base `UnusableFile`.

    Raises `ToolNotFound` where what reads deltas is not installed.
    """
    if stored.base is None:
        return content_of_regular(stored.path, largest=PROGRAM)
    return b"".join(_decoded(stored.path, stored.base))


def sha256_of(stored: Stored) -> str:
    """Hexadecimal SHA-256 of the binary; raises as `content_of` does."""
    if stored.base is None:
        return sha256_file(stored.path, largest=PROGRAM)
    digest = hashlib.sha256()
    for piece in _decoded(stored.path, stored.base):
        digest.update(piece)
    return digest.hexdigest()


def place(stored: Stored, target: Path, *, clone: bool = True) -> Manner:
    """Make ``target``, which is not there, a file of its own with the binary's content, as `make_own` does.

    Raises as `content_of` does.
    """
    if stored.base is None:
        return make_own(stored.path, target, clone=clone)
    return write_own(_decoded(stored.path, stored.base), stored.path, target)


def _decoded(path: Path, base: Path) -> Iterator[bytes]:
    """The content of the delta at the path, in pieces; raises as `content_of` does."""
    try:
        yield from base_at(base).decode(content_of_regular(path, largest=PROGRAM))
    except ValueError as error:
        raise UnusableFile(errno.EINVAL, f"no delta against {base}: {error}", str(path)) from error


def is_there(stored: Stored) -> bool:
    """Whether all files are there that the binary's content is made of."""
    return all(path.exists() for path in stored if path is not None)


def state_of(stored: Stored) -> tuple[FileState, ...]:
    """What the binary's files are known by without reading them; raises `OSError`."""
    return tuple(FileState.of(path) for path in stored if path is not None)


class _BasesInMemory:
    """The bases of the latest deltas, each as long as its file is what it was."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, tuple[FileState, DeltaBase]] = OrderedDict()
        self._changing = threading.Lock()

    def at(self, path: Path) -> DeltaBase:
        state = FileState.of(path)
        with self._changing:
            known = self._known.get(path)
            if known is not None and known[0] == state:
                self._known.move_to_end(path)
                return known[1]
        base = DeltaBase(content_of_regular(path, largest=PROGRAM))
        with self._changing:
            self._known[path] = (state, base)
            self._known.move_to_end(path)
            while len(self._known) > 1 and sum(each.size for _, each in self._known.values()) > _HELD:
                self._known.popitem(last=False)
        return base


_bases: Final = _BasesInMemory()


def base_at(path: Path) -> DeltaBase:
    """The whole file at the path as the base of deltas; raises `OSError`, `ToolNotFound` without the library."""
    return _bases.at(path)
