"""What another process writes into a FIFO, as it comes."""

from __future__ import annotations

import fcntl
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_AT_ONCE: Final = 1 << 20
_PATIENCE_S: Final = 0.02


def pieces(fifo: Path, is_over: Callable[[], bool]) -> Iterator[bytes]:
    """What is written, by one process after the other, until it ``is_over`` and nothing is left.

    It is open when the first piece is asked for, and whoever opens it for writing waits for that.  Raises `OSError`.
    """
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with suppress(OSError):  # more at once than the system allows is no need
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, _AT_ONCE)
        while True:
            ending = is_over()
            ready, _, _ = select.select([reader], [], [], 0 if ending else _PATIENCE_S)
            piece = _read(reader) if ready else b""
            if piece:
                yield piece
            elif ending:
                return
            elif ready:  # nobody has it open for writing, which counts as ready
                select.select([], [], [], _PATIENCE_S)
    finally:
        os.close(reader)


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, _AT_ONCE)
    except BlockingIOError:
        return b""


def end_writer(pid: int) -> None:
    """SIGKILL for the process, if it is there still."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
