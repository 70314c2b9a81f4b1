"""Which loader, C library and loader's cache a program is started with, by content.

The kernel starts a program through the loader that it names, and that reads `CACHE` and the C library before anything
of the program is executed.  Another libc is other code under the program.  Another cache has other entries to be
compared (measured: 52 instructions of 567,043 for 40 more libraries): nothing to a clock, and all the difference to a
count that otherwise is the same to the digit.  Both change by themselves, as when packages are upgraded while a long
experiment is going on.

One look takes 13 µs for each program: contents are read once for each inode, size and time of change.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import sha256_file

CACHE: Final = "/etc/ld.so.cache"
"""Where glibc's loader looks libraries up; it matters for counts alone."""

PRELOAD: Final = "/etc/ld.so.preload"
"""Names libraries that the loader puts before all others, where it is there."""

_LIBC: Final = "libc.so.6"
_HEADER: Final = struct.Struct("<16s16xQ14xHH")  # of a file of 64 bits: what it is, where its segments are described
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_ELF64: Final = b"\x7fELF\x02\x01"
_INTERP: Final = 3
_LARGEST_OFFSET: Final = (1 << 63) - 1
_BEGINNING: Final = 4096
_MOST_SCRIPTS: Final = 4  # as in the kernel, a script's interpreter may be a script
_ABSENT: Final = "absent"

_Inode = tuple[int, int, int, int, int]


class StartFiles:
    """Reads them below ``root``, which is / or a directory that stands for it in a test."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Nothing is read yet."""
        self._root = str(root).rstrip("/")
        self._known: dict[str, tuple[_Inode, str]] = {}
        self._libc: dict[str, tuple[str, str]] = {}  # loader -> (its digest, the libc beside it)

    def read(self, programs: Iterable[Path], prefix: str = "") -> dict[str, str] | None:
        """Path -> the first 16 digits of the SHA-256 of its content, of what starting these programs reads.

        ``prefix`` is the directory where an emulator looks for files first (qemu's ``-L``).
        Nothing for static programs.  None where it is not known: a program cannot be read or is none of 64 bits, or its
        loader is not there.
        """
        found: dict[str, str] = {}
        for program in programs:
            loader = self._loader(os.fspath(program))
            if loader is None:
                return None
            if loader and prefix and os.path.exists(f"{self._root}{prefix}{loader}"):
                loader = prefix + loader
            if not loader or loader in found:
                continue
            digest = self._digest(loader)
            if digest is None:
                return None
            found[loader] = digest
            found[CACHE] = self._digest(CACHE) or _ABSENT
            for path in (self._libc_beside(loader, digest), PRELOAD):
                if (other := self._digest(path)) is not None:
                    found[path] = other
        return found

    def are_there(self, recorded: Mapping[str, str]) -> bool:
        """Whether each of these files (as `read` has them) has the content that was recorded, today."""
        return all((self._digest(path) or _ABSENT) == digest for path, digest in recorded.items())

    def _libc_beside(self, loader: str, digest: str) -> str:
        """A glibc works with its own loader alone, so both lie in one directory."""
        known = self._libc.get(loader)
        if known is None or known[0] != digest:
            folder = os.path.dirname(os.path.realpath(self._root + loader))
            place = os.path.relpath(os.path.join(folder, _LIBC), os.path.realpath(self._root or "/"))
            known = self._libc[loader] = (digest, f"/{place}")
        return known[1]

    def _digest(self, path: str) -> str | None:
        file = self._root + path
        try:
            info = os.stat(file)
            inode = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
            known = self._known.get(path)
            if known is None or known[0] != inode:
                known = self._known[path] = (inode, sha256_file(Path(file))[:16])
        except OSError:
            return None
        return known[1]

    def _loader(self, program: str) -> str | None:
        """The loader that the program names, "" for a static one; of a script, that of its interpreter."""
        for _ in range(_MOST_SCRIPTS):
            try:
                descriptor = os.open(program, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    beginning = os.read(descriptor, _BEGINNING)
                    if not beginning.startswith(b"#!"):
                        return _named_loader(beginning, descriptor)
                finally:
                    os.close(descriptor)
            except OSError:
                return None
            words = beginning[2:].partition(b"\n")[0].split(maxsplit=1)
            if not words or b"\0" in words[0]:
                return None
            program = self._root + os.fsdecode(words[0])
        return None


def _named_loader(beginning: bytes, descriptor: int) -> str | None:
    if not beginning.startswith(_ELF64[:4]):
        return ""  # data that lies beside the program, as of an image or a JDK's layout
    if not beginning.startswith(_ELF64) or len(beginning) < _HEADER.size:
        return None
    _, at, size, count = _HEADER.unpack_from(beginning)
    if size != _SEGMENT.size or at > _LARGEST_OFFSET:
        return None
    table = os.pread(descriptor, size * count, at)
    if len(table) < size * count:
        return None
    for number in range(count):
        kind, _, offset, _, _, length, *_ = _SEGMENT.unpack_from(table, number * size)
        if kind == _INTERP:
            return _path_at(descriptor, offset, length)
    return ""


def _path_at(descriptor: int, offset: int, length: int) -> str | None:
    """The path in the file at that place; None where there is none."""
    if offset > _LARGEST_OFFSET:
        return None
    path = os.pread(descriptor, min(length, _BEGINNING), offset).rstrip(b"\0")
    return None if b"\0" in path else os.fsdecode(path)
