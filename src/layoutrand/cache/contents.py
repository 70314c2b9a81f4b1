"""The contents of binaries in the cache, whole, however they are kept there: all who read one ask here.

A binary is kept as its whole file, as a delta (`layoutrand.cache.delta`) against the whole file of another layout of
the same program, or as the order that it is written in (`layoutrand.cache.written_order`), of what was learned of that
program.  Whoever needs a file and not a content has one made in a place of its own.
"""

from __future__ import annotations

import errno
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from layoutrand.cache.delta import DeltaBase
from layoutrand.cache.learned_program import read_learned, table_path
from layoutrand.cache.written_order import WrittenOrder
from layoutrand.errors import NotPermuted, UnusableFile
from layoutrand.model import Stored
from layoutrand.platform.disk import sha256_file
from layoutrand.platform.own_file import FileState, Manner, make_own, write_own
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

if TYPE_CHECKING:
    from layoutrand.permute.learned import LearnedTable

_HELD: Final = 1 << 28
"""Bytes of whole files that stay in memory, beside the latest one, for the next binary that is made with them."""
_PIECE: Final = 1 << 20


def content_of(stored: Stored) -> bytes:
    """All bytes of the binary; raises `OSError`.

    For a delta or an order that is damaged, or not of what is there as its base, that is `UnusableFile`. Raises
    `ToolNotFound` where a library is not installed that this takes.
    """
    if stored.base is None:
        return content_of_regular(stored.path, largest=PROGRAM)
    return b"".join(_made(stored, stored.base))


def sha256_of(stored: Stored) -> str:
    """Hexadecimal SHA-256 of the binary; raises as `content_of` does."""
    if stored.base is None:
        return sha256_file(stored.path, largest=PROGRAM)
    digest = hashlib.sha256()
    for piece in _made(stored, stored.base):
        digest.update(piece)
    return digest.hexdigest()


def place(stored: Stored, target: Path, *, clone: bool = True) -> Manner:
    """Make ``target``, which is not there, a file of its own with the binary's content, as `make_own` does.

    Raises as `content_of` does.
    """
    if stored.base is None:
        return make_own(stored.path, target, clone=clone)
    return write_own(_made(stored, stored.base), stored.path, target)


def _made(stored: Stored, base: Path) -> Iterator[bytes | memoryview]:
    """The content of a binary that is no whole file, in pieces; raises as `content_of` does.

    A piece is what it is until the next one of this thread is made.
    """
    data = content_of_regular(stored.path, largest=PROGRAM)
    try:
        if stored.storage == "delta":
            yield from base_at(base).decode(data)
        else:
            order = WrittenOrder.of_stored(data)
            _own.data = order.written(_learned(base, order.learned), getattr(_own, "data", None))
            whole = memoryview(_own.data)
            yield from (whole[begin : begin + _PIECE] for begin in range(0, len(whole), _PIECE))
    except (ValueError, NotPermuted) as error:
        what = "no delta against" if stored.storage == "delta" else "no order of the program of"
        raise UnusableFile(errno.EINVAL, f"{what} {base}: {error}", str(stored.path)) from error


_own: Final = threading.local()
"""Where each thread writes binaries, one over the other: new memory would take longer than what is written to it."""


def is_there(stored: Stored) -> bool:
    """Whether all files are there that the binary's content is made of."""
    return all(path.exists() for path in _files(stored))


def state_of(stored: Stored) -> tuple[FileState, ...]:
    """What the binary's files are known by without reading them; raises `OSError`."""
    return tuple(FileState.of(path) for path in _files(stored))


def _files(stored: Stored) -> Iterator[Path]:
    yield stored.path
    if stored.base is not None:
        yield stored.base
        if stored.storage == "order":
            yield table_path(stored.base)


_Held = TypeVar("_Held")
_Key = TypeVar("_Key")


class _InMemory(Generic[_Key, _Held]):
    """What was read of the latest files, each as long as its files are what they were."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[tuple[FileState, ...], _Held]] = OrderedDict()
        self._changing = threading.Lock()

    def get(self, key: _Key, files: tuple[Path, ...], read: Callable[[], _Held]) -> _Held:
        state = tuple(FileState.of(path) for path in files)
        with self._changing:
            known = self._known.get(key)
            if known is not None and known[0] == state:
                self._known.move_to_end(key)
                return known[1]
        held = read()
        with self._changing:
            self._known[key] = (state, held)
            self._known.move_to_end(key)
            while len(self._known) > 1 and self._size() > _HELD:
                self._known.popitem(last=False)
        return held

    def _size(self) -> int:
        return sum(each.size for files, _ in self._known.values() for each in files)


_bases: Final[_InMemory[Path, DeltaBase]] = _InMemory()
_programs: Final[_InMemory[tuple[Path, str], LearnedTable]] = _InMemory()


def base_at(path: Path) -> DeltaBase:
    """The whole file at the path as the base of deltas; raises `OSError`, `ToolNotFound` without the library."""
    return _bases.get(path, (path,), lambda: DeltaBase(content_of_regular(path, largest=PROGRAM)))


def _learned(image: Path, digest: str) -> LearnedTable:
    """What was learned of the program with that image; raises `OSError`, and `NotPermuted` for anything else."""

    def read() -> LearnedTable:
        table = read_learned(image, digest)
        if table is None:
            raise NotPermuted("what was learned of it is gone, or of another layoutrand")
        return table

    return _programs.get((image, digest), (image, table_path(image)), read)
