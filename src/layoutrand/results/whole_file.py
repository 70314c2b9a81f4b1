"""Whether the pages of a results file belong together, looked at when it is opened.

SQLite's quick check reads all of the file: 0.1 s for 100,000 executions.  So what was found in order is remembered
beside a large file, by inode, size and time of change, and such a file is looked at again when it has changed.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import canonical_json, write_atomically
from layoutrand.platform.regular_file import content_of_regular
from layoutrand.results.recorded_rows import is_damage

_MOST: Final = 10
_LARGE: Final = 4 << 20
_OF_ONE_ROW: Final = re.compile(r"\w+ value in |CHECK constraint failed")
"""What the check says of values; rows have seals, and are left out one by one."""


def disorder(path: Path, connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the pages, in SQLite's words; nothing where the file is what was found in order before."""
    state = _state(path)
    if state and _remembered(path) == state:
        return []
    found = check(connection, "quick_check")
    if state and not found:
        # Where it cannot be remembered, as on a full disk, the file is looked at each time.
        with contextlib.suppress(OSError):
            write_atomically(_beside(path), state)
    return found


def check(connection: sqlite3.Connection, pragma: str) -> list[str]:
    """What SQLite's check of that name finds, without what it says of the values of rows; raises `sqlite3.Error`."""
    try:
        said = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}({_MOST})")]
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return [str(error)]
    lines = [line for text in said for line in text.splitlines() if line != "ok"]
    return [line for line in lines if not line.startswith("***") and not _OF_ONE_ROW.search(line)]


def _state(path: Path) -> bytes:
    """What changes with the file; empty for one that is looked at in no time."""
    facts: list[list[int]] = []
    for name in (path, path.with_name(path.name + "-wal")):
        try:
            found = os.stat(name)
        except FileNotFoundError:
            facts.append([])
        else:
            facts.append([found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns])
    return canonical_json(facts) if os.path.getsize(path) >= _LARGE else b""


def _remembered(path: Path) -> bytes:
    try:
        return content_of_regular(_beside(path), largest=1 << 12)
    except OSError:
        return b""


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".checked")
