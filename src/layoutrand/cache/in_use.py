"""Who uses a cache at the moment, so that nothing is evicted that somebody has found there and is about to read.

A process that finds something in a cache holds the lock on a file of its own in ``locks`` from then on until it ends,
however it ends, and what it finds counts as used at that moment.  So whatever was used since the oldest of these files
was made may be in use, and stays.  Finding and evicting exclude each other, by a lock that those who find share.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import cache_errors

_GATE: Final = "eviction.lock"
_USES: Final = "use-"
_MOST: Final = 4
"""Caches that a process is known to use; commands use one, and what would use more is known for the latest."""

_OPTIONS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
"""A FIFO in the place of a lock serves as a file does, and nobody waits for a writer of it."""

_held: dict[tuple[int, Path], int] = {}
_holding = threading.Lock()


@contextmanager
def finding(locks: Path) -> Iterator[None]:
    """While something is looked for and marked as used: nothing is evicted meanwhile, nor what is found until we end.

    Where ``locks``, the directory of a cache's locks, cannot be written or locked, nothing can be evicted either.
    """
    try:
        gate = _open(locks / _GATE)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(gate, fcntl.LOCK_SH)
            _begin(locks)
        yield
    finally:
        os.close(gate)


@contextmanager
def evicting(locks: Path) -> Iterator[int | None]:
    """While something is evicted: nobody finds anything; since when others use the cache, None where nobody does.

    That is in nanoseconds since the epoch, by the clock of the file system.  Raises `CacheError` where nobody could be
    kept from finding anything.
    """
    with cache_errors("lock", locks / _GATE):
        gate = _open(locks / _GATE)
    try:
        with cache_errors("lock", locks / _GATE):
            fcntl.flock(gate, fcntl.LOCK_EX)
            began = [since for path in locks.glob(f"{_USES}*") if (since := _used_since(path)) is not None]
        yield min(began, default=None)
    finally:
        os.close(gate)


def _open(path: Path) -> int:
    return os.open(path, _OPTIONS | os.O_CREAT, 0o666)


def _begin(locks: Path) -> None:
    """Be known as one who uses the cache, unless we are already; a fork of ours is another process."""
    with _holding:
        if (os.getpid(), locks) in _held:
            return
        while len(_held) >= _MOST:
            os.close(_held.pop(next(iter(_held))))
        path = locks / f"{_USES}{uuid.uuid4().hex}"
        own = _open(path)
        fcntl.flock(own, fcntl.LOCK_SH)
        _held[os.getpid(), locks] = own
        atexit.register(_end, os.getpid(), path)


def _end(process: int, path: Path) -> None:
    """Remove the file of a process that ends; that of a killed one is removed by whoever evicts."""
    with suppress(OSError):
        if process == os.getpid():
            path.unlink()


def _used_since(path: Path) -> int | None:
    """When the owner of the file began; None where that is ourselves, or ended, whose file is removed."""
    with suppress(FileNotFoundError):
        own = os.open(path, _OPTIONS)
        try:
            state = os.fstat(own)
            with _holding:
                ours = [fd for (process, _), fd in _held.items() if process == os.getpid()]
                if any(os.path.sameopenfile(own, fd) for fd in ours):
                    return None
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        except BlockingIOError:
            return state.st_mtime_ns
        finally:
            os.close(own)
    return None
