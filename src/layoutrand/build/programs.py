"""Programs and shared libraries in a directory tree: this machine's ELF files that are executed or loaded."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from layoutrand.platform.regular_file import beginning

_SKIPPED: Final = frozenset({".git"})
_HEADER: Final = 20
_PROGRAM: Final = (b"\x02\x00", b"\x03\x00")  # ET_EXEC, ET_DYN
_ELF64: Final = b"\x7fELF\x02"


def programs_in(folder: Path, since_ns: int) -> tuple[list[Path], list[Path]]:
    """Those whose contents are as old as ``since_ns`` or newer, and files that may be older ones, unread.

    Symbolic links are not followed, other file systems and .git not entered, what cannot be read is left out.
    """
    new: list[Path] = []
    old: list[Path] = []
    for entry, status in _files(folder):
        if status.st_mtime_ns >= since_ns:
            if is_program(Path(entry.path)):
                new.append(Path(entry.path))
        elif status.st_mode & stat.S_IXUSR or ".so" in entry.name:
            old.append(Path(entry.path))
    return sorted(new), sorted(old)


def installed(sizes: Iterable[int], folders: Iterable[Path]) -> Iterator[Path]:
    """Programs directly in the folders whose size is one of these."""
    wanted = frozenset(sizes)
    for folder in dict.fromkeys(folders):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_file() and entry.stat().st_size in wanted and is_program(Path(entry.path)):
                        yield Path(entry.path)


def is_program(path: Path) -> bool:
    """Whether the file is a program or a shared library of 64 bits, for the processor that executes us."""
    begin = beginning(path, _HEADER)
    return begin.startswith(_ELF64) and begin[16:18] in _PROGRAM and begin[18:] == _machine()


@cache
def _machine() -> bytes:
    """The machine that our own interpreter is for, as in an ELF header."""
    return beginning("/proc/self/exe", _HEADER)[18:]


def _files(folder: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Every regular file below, with its status."""
    with contextlib.suppress(OSError):
        device = folder.stat().st_dev
        waiting = [str(folder)]
        while waiting:
            with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            yield entry, status
                        elif stat.S_ISDIR(status.st_mode) and entry.name not in _SKIPPED and status.st_dev == device:
                            waiting.append(entry.path)
