"""Where nodes keep the inputs of executions below a cache, so that whoever tidies the cache knows what is in use."""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from layoutrand.platform.regular_file import ANY, open_regular

_NODES: Final = "nodes"
_LOCK: Final = "task"
MOST_UPS: Final = 8
"""Leading ".." that a path of an input may have."""


def place_of(root: Path, node: str, inputs: str) -> Path:
    """Where a node of this name keeps a project with inputs of this digest, below the ``root`` of its cache.

    The path has one length on all nodes, because its length moves the stack of what is executed there.  Nodes may share
    a cache, but no place of execution.
    """
    own = hashlib.blake2b(os.fsencode(node), digest_size=6).hexdigest()
    return root / _NODES / own / inputs[:16]


def replicas(root: Path) -> list[Path]:
    """Every project that is kept below the ``root`` of a cache."""
    return sorted(path for path in (root / _NODES).glob("*/*") if path.is_dir() and not path.name.startswith("."))


def lock_beside(project: Path) -> Path:
    """What is locked by whoever executes in a replica, less the ending ``.lock``."""
    return project.parent / _LOCK


def is_used(folder: Path) -> bool:
    """Whether something is executed in this replica at the moment."""
    for path in (folder.joinpath(*["up"] * ups, f"{_LOCK}.lock") for ups in range(MOST_UPS)):
        with suppress(FileNotFoundError), open_regular(path, largest=ANY) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False
