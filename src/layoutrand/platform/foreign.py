"""Files of other harnesses: finding, reading and writing them."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from layoutrand.errors import UsageError
from layoutrand.platform.disk import readable, write_atomically
from layoutrand.platform.regular_file import RECORD, all_of, open_regular

_GIVEN: Final = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def exists(path: str) -> bool:
    """Whether there is something of this name; no name with a NUL byte is one."""
    return "\0" not in path and os.path.lexists(path)


def same_as(path: str) -> object:
    """What two names of one file have in common, such as a link to it; the name itself where there is no such file."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return path
    known = stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)
    return (facts.st_dev, facts.st_ino) if known else path


def is_directory(path: str) -> bool:
    """Whether it is one, or a link to one."""
    return "\0" not in path and os.path.isdir(path)


def texts_below(path: str, patterns: Sequence[str]) -> dict[str, str]:
    """The texts of all files below the directory that match one of the patterns, by their paths from it.

    Raises `UsageError` as `read_text` does.
    """
    root = Path(path)
    try:
        found = sorted({file for pattern in patterns for file in root.glob(pattern) if file.is_file()})
    except OSError as error:
        raise UsageError(f"cannot read {readable(path)}: {error.strerror}") from error
    return {str(file.relative_to(root)): read_text(str(file)) for file in found}


def matching(pattern: str) -> list[tuple[str, str]]:
    """(What stands for the one ``*`` in the last part, path) of the files that there are, by name.

    Raises `UsageError` where there are none.
    """
    folder, _, last = pattern.rpartition("/")
    before, _, after = last.partition("*")
    where = folder or ("/" if pattern.startswith("/") else ".")
    try:
        names = sorted(os.listdir(where))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot list {readable(where)}: {error}") from error
    found = [
        (name[len(before) : len(name) - len(after)], pattern.removesuffix(last) + name)
        for name in names
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
    ]
    if not found:
        raise UsageError(f"no file matches {readable(pattern)}")
    return found


def read_text(path: str) -> str:
    """The text of a file; raises `UsageError` where it cannot be read or is not UTF-8."""
    try:
        # What the shell puts there is read as it comes, until it ends.
        with open(path, "rb") if path.startswith(_GIVEN) else open_regular(path, largest=RECORD) as file:
            data = all_of(file, RECORD + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot read {readable(path)}: {reason}") from error
    if len(data) > RECORD:
        raise UsageError(f"{readable(path)} is larger than 1 GiB, which no file of results is")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        packed = "; it is compressed, unpack it first" if data[:2] == b"\x1f\x8b" or data[:3] == b"BZh" else ""
        raise UsageError(f"{readable(path)} is not UTF-8 text (byte {error.start}){packed}") from error


def missing_directory(path: Path) -> Path | None:
    """The first directory that is made where this file is written, None where there is nothing to make."""
    missing = [above for above in path.absolute().parents if not above.exists()]
    return missing[-1] if missing else None


def write_text(path: Path, text: str) -> None:
    """Write a file whole, or not at all; a device or pipe is written to and not replaced.  Raises `UsageError`."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes, *, executable: bool = False) -> None:
    """As `write_text`, for what is no text."""
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            write_atomically(target, data, executable=executable)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot write {readable(str(path))}: {reason}") from error
