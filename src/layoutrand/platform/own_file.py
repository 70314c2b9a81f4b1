"""A file of one's own with the content of another, and what tells that a file is still what it was.

A clone shares blocks on the disk with the original until one of the two is written to.  The page cache knows files
alone, so what a clone shares on the disk it does not share in memory: it is read once when it is made, and begins with
all its pages there, as a copy does.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, fields
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final, Literal

from layoutrand.platform.executable_files import writing_executable

Manner = Literal["reflink", "copy"]
"""How a file came by its content: blocks shared until they are written to, or blocks of its own."""

_WRITERS: Final = 0o222
_FICLONE: Final = 0x40049409
"""``_IOW(0x94, 9, int)`` of linux/fs.h on x86, Arm, RISC-V and IBM Z; the others refuse it, which leaves the copy."""
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class FileState:
    """What a file is known by without reading it; times in nanoseconds since the epoch."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    mode: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """That of what is at the path, of a symbolic link its own; raises `OSError`."""
        found = os.lstat(path)
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)

    def differences(self, other: FileState) -> tuple[str, ...]:
        """The names of what the two differ in."""
        return tuple(each.name for each in fields(self) if getattr(self, each.name) != getattr(other, each.name))


def make_own(source: Path, target: Path, *, clone: bool = True) -> Manner:
    """Make ``target``, which is not there, a file of its own with the content and the times of ``source``.

    It may be read and executed by whom the source may, and written to by nobody; all its pages are in the page cache.
    It may be executed at once.  Without ``clone`` it is a copy everywhere.  Raises `OSError`.
    """
    with writing_executable(), source.open("rb") as old, target.open("xb") as new:
        known = os.fstat(old.fileno())
        manner = _fill(old, new) if clone else _copy(old, new)
        _make_like(new, known)
    if manner == "reflink":
        _read_through(target)
    return manner


def write_own(content: Iterable[bytes | memoryview], like: Path, target: Path) -> Manner:
    """As `make_own`, of a content that comes in pieces: it is written as a copy is, and is as one in all that follows.

    Permissions and times are those of the file ``like``.  Raises `OSError`.
    """
    with writing_executable(), target.open("xb", buffering=0) as new:
        known, waiting = os.stat(like), bytearray()
        for piece in content:
            waiting += piece
            while len(waiting) >= _CHUNK:  # how much is written at once decides in how large parts memory is taken
                _write(new, memoryview(waiting)[:_CHUNK])
                waiting = waiting[_CHUNK:]
        _write(new, memoryview(waiting))
        _make_like(new, known)
    return "copy"


def _write(new: FileIO, data: memoryview) -> None:
    while data:
        data = data[new.write(data) :]


def write_program(path: Path, data: bytes) -> None:
    """Write a file that is not there and may be executed, by whom the umask lets; raises `OSError`."""
    with writing_executable(), open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777), "wb") as file:
        file.write(data)


def take_write_permission(path: Path) -> None:
    """Leave nobody the permission to write to the file; whoever else is root needs none.  Raises `OSError`."""
    mode = os.stat(path).st_mode & 0o777
    if mode & _WRITERS:
        os.chmod(path, mode & ~_WRITERS)


def _fill(old: BinaryIO, new: BinaryIO) -> Manner:
    try:
        fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
    except OSError:  # no file system that can, or two of them; whatever else it was, writing meets it, too
        return _copy(old, new)
    return "reflink"


def _copy(old: BinaryIO, new: BinaryIO) -> Manner:
    shutil.copyfileobj(old, new, min(_CHUNK, os.fstat(old.fileno()).st_size + 1))  # memory for what there is alone
    new.flush()
    return "copy"


def _make_like(new: BinaryIO | FileIO, known: os.stat_result) -> None:
    os.utime(new.fileno(), ns=(known.st_atime_ns, known.st_mtime_ns))
    os.fchmod(new.fileno(), known.st_mode & 0o777 & ~_WRITERS)


def _read_through(path: Path) -> None:
    buffer = bytearray(_CHUNK)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
