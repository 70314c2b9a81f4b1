"""What met a limit, or lacks what every machine has, and is no defect: in words, in place of a traceback."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Final

_NOT_LOADED: Final = ("failed to map segment", "cannot allocate memory")
"""What the loader of libraries says where there is no room for one, in small letters."""

_NO_THREAD: Final = "can't start new thread"
"""What Python says then, in a `RuntimeError` as any other."""

NO_PROC: Final = "there is no /proc here, by which processes are watched"
MOUNT_PROC: Final = "mount -t proc proc /proc"
_PROC: Final = Path("/proc/self")
"""Where it is mounted, this is there; in a bare chroot it may be missing."""


def limit_met(error: BaseException) -> str | None:
    """What was met, and which limit to raise; None where the error is about none.

    Of the error itself, or of the one that it was raised from: numpy puts advice of its own around the loader's words.
    """
    for each in (error, error.__cause__):
        if isinstance(each, MemoryError):
            return f"there is not enough memory for what was asked; ask for less of it at once{_of_memory(', or ')}"
        if isinstance(each, ImportError) and any(words in str(each).lower() for words in _NOT_LOADED):
            return f"there is not enough memory to load a library that is needed{_of_memory(': ')}"
        if isinstance(each, RuntimeError) and _NO_THREAD in str(each):
            return f"no further thread can be started: raise {_of_processes()}"
        if isinstance(each, OSError) and each.errno == errno.ENOMEM:
            return f"there is not enough memory{_of_memory(': ')}"
        if isinstance(each, OSError) and each.errno == errno.EMFILE:
            return "too many files are open at once: raise `ulimit -n`"
        if isinstance(each, FileNotFoundError) and _is_below_proc(each.filename) and lacks_proc():
            return f"{NO_PROC}: mount it ({MOUNT_PROC})"
    return None


def lacks_proc() -> bool:
    """Whether no /proc is mounted."""
    return not _PROC.exists()


def _is_below_proc(name: object) -> bool:
    return isinstance(name, str | bytes) and os.fsdecode(name).startswith("/proc/")


def _of_processes() -> str:
    """The limits of processes, which are those of threads; before them that of addresses, which a stack takes of."""
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    allowed = "" if most == resource.RLIM_INFINITY else f" ({most:,} of one user now)"
    addresses = _addresses()
    first = f"`ulimit -v` ({addresses} now), or else " if addresses else ""
    return f"{first}the limit of processes: `ulimit -u`{allowed}, or pids.max of the container"


def _of_memory(joint: str) -> str:
    """The limit of addresses, where there is one: a process that meets it gets no more memory, however much is free."""
    addresses = _addresses()
    return f"{joint}raise `ulimit -v` ({addresses} now)" if addresses else ""


def _addresses() -> str:
    """How many addresses the process may have; "" where there is no limit."""
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return "" if most == resource.RLIM_INFINITY else f"{most >> 20:,} MiB"
