"""Files that others wrote: opened without waiting, ordinary files alone, and none larger than its kind can be.

To open a pipe waits for somebody to write into it, to read a device may never end, and a file with holes has any size
that it says.  What is refused is an `UnusableFile`, which is an `OSError` too: whoever says what cannot be read and why
says it of these as well.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Final

from layoutrand.errors import UnusableFile

WRITTEN_BY_HAND: Final = 16 << 20
"""Bytes that a configuration, a toolchain file or another text of a person may have."""
RECORD: Final = 1 << 30
"""Bytes of what layoutrand or another harness records; the manifest of a captured HotSpot has 2e7."""
PROGRAM: Final = 8 << 30
"""Bytes of an object file, an archive or a program, all of which are held in memory."""
ANY: Final = 256 << 30
"""Bytes of what is only passed through, such as the inputs of a benchmark."""

_AT_ONCE: Final = 1 << 16
_KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"))


def open_regular(path: str | bytes | os.PathLike[str], *, largest: int) -> BufferedReader:
    """The ordinary file at the path, to be read; raises `OSError`, `UnusableFile` for more than ``largest`` bytes.

    The null device, which people write for an empty file, is one.
    """
    _refuse_others(path, os.stat(path), largest)  # before it is opened, which devices may act upon
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller's
    try:
        _refuse_others(path, os.fstat(file.fileno()), largest)  # another one may stand there by now
    except BaseException:
        file.close()
        raise
    return file


def _without_waiting(path: str | bytes, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def content_of_regular(path: str | bytes | os.PathLike[str], *, largest: int) -> bytes:
    """All of the file's bytes; raises as `open_regular` does, also where it grows beyond ``largest`` meanwhile."""
    with open_regular(path, largest=largest) as file:
        data = all_of(file, largest + 1)
    if len(data) > largest:
        raise _too_large(path, len(data), largest)
    return data


def beginning(path: str | bytes | os.PathLike[str], size: int) -> bytes:
    """How a regular file begins, which tells what it is; nothing of one that is not there, or cannot be read."""
    try:
        with open_regular(path, largest=ANY) as file:
            return file.read(size)
    except OSError:
        return b""


def all_of(file: BufferedReader, most: int) -> bytes:
    """What is left in the file, at most so many bytes; memory is taken for what there is alone."""
    parts = [file.read(min(most, max(os.fstat(file.fileno()).st_size + 1, _AT_ONCE)))]
    most -= len(parts[0])
    while most and (more := file.read(min(most, _AT_ONCE))):
        parts.append(more)
        most -= len(more)
    return b"".join(parts)


def text_of_regular(path: Path, *, largest: int, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The file's text, with line ends as they are read from text files; raises `UnicodeDecodeError` too."""
    text = content_of_regular(path, largest=largest).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _refuse_others(path: str | bytes | os.PathLike[str], found: os.stat_result, largest: int) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFCHR and found.st_rdev == os.stat(os.devnull).st_rdev:
        return
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fsdecode(path))
    if kind != stat.S_IFREG:
        raise UnusableFile(
            errno.EINVAL, f"it is {_KINDS.get(kind, 'no file')}, not an ordinary file", os.fsdecode(path)
        )
    if found.st_size > largest:
        raise _too_large(path, found.st_size, largest)


def _too_large(path: str | bytes | os.PathLike[str], size: int, largest: int) -> UnusableFile:
    return UnusableFile(
        errno.EFBIG, f"it has {_words(size)}, and no such file has more than {_words(largest)}", os.fsdecode(path)
    )


def _words(size: int) -> str:
    unit, name = next((each for each in _UNITS if size >= each[0]), (1, "bytes"))
    return f"{size / unit:.1f} {name}" if unit > 1 else f"{size} bytes"
