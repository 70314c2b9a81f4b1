"""Files that a shell has a command print into (``layoutrand compare > table``): no part of the source they lie in.

While the command lasts `layoutrand.capture.source` leaves them out; at its end their content is remembered.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutrand.config.config import Config

_noted: list[tuple[Config, Path, list[Path]]] = []


def note_project(config: Config, directory: Path) -> None:
    """Say of which project the command is, before it has printed anything.

    What somebody else has written into such a file before is not ours, nor is all of the file at the end.
    """
    if not _noted:  # a command may load its configuration again, when it has printed
        _noted.append((config, directory, [path for path in _printed_into() if _is_nobodys(directory, path)]))


def remember_printed() -> None:
    """Remember what was printed into files that would be part of the project's source; all of it is written."""
    for config, directory, files in _noted:
        if files:
            from layoutrand.capture.origin import leave_out_of_source

            with suppress(OSError):  # the next build tells that it is new in the source
                leave_out_of_source(config, directory, files)
    _noted.clear()


def _is_nobodys(directory: Path, path: Path) -> bool:
    from layoutrand.capture.own_files import is_own

    with suppress(OSError):  # removed meanwhile
        return path.stat().st_size == 0 or is_own(directory, path)
    return False


def _printed_into() -> Iterator[Path]:
    for descriptor in (1, 2):
        with suppress(OSError):  # closed before our start, or no /proc
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield Path(os.readlink(f"/proc/self/fd/{descriptor}"))
