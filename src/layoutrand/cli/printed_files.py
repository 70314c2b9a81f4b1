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

_projects: list[tuple[Config, Path]] = []


def note_project(config: Config, directory: Path) -> None:
    """Say of which project the command is."""
    _projects.append((config, directory))


def remember_printed() -> None:
    """Remember what was printed into files that would be part of the project's source; all of it is written."""
    if not _projects:
        return
    config, directory = _projects[-1]
    _projects.clear()
    for path in _printed_into():
        from layoutrand.capture.origin import is_part_of_source
        from layoutrand.capture.own_files import remember_written

        if is_part_of_source(config, directory, path):
            with suppress(OSError):  # the next build tells that it is new in the source
                remember_written(directory, [path])


def _printed_into() -> Iterator[Path]:
    for descriptor in (1, 2):
        with suppress(OSError):  # closed before our start, or no /proc
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield Path(os.readlink(f"/proc/self/fd/{descriptor}"))
