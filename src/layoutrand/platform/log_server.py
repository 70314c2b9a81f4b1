"""What other processes write to a socket of this machine, each by a connection of its own, as it comes."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_AT_ONCE: Final = 1 << 20
_PATIENCE_S: Final = 0.02


class LogServer:
    """A socket that nobody but this machine reaches; ``address`` is its address and port, in words."""

    def __init__(self) -> None:
        """Listen from now on."""
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: dict[int, socket.socket] = {}
        self._count = 0

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        for each in (self._listening, *self._open.values()):
            each.close()

    def pieces(self, is_over: Callable[[], bool]) -> Iterator[tuple[int, bytes]]:
        """What comes, each piece with the number of its connection, b"" where that ends.

        Until it ``is_over`` and nothing is left.  Raises `OSError`.
        """
        while True:
            ending = is_over()
            sockets = {each.fileno(): number for number, each in self._open.items()}
            listening = self._listening.fileno()
            ready, _, _ = select.select([listening, *sockets], [], [], 0 if ending else _PATIENCE_S)
            if not ready and ending:
                return
            for each in ready:
                if each == listening:
                    self._count += 1
                    self._open[self._count] = self._listening.accept()[0]
                else:
                    yield from self._piece(sockets[each])

    def _piece(self, number: int) -> Iterator[tuple[int, bytes]]:
        try:
            piece = self._open[number].recv(_AT_ONCE)
        except ConnectionError:
            piece = b""
        if not piece:
            self._open.pop(number).close()
        yield number, piece


def end_writer(pid: int, mark: str) -> bool:
    """SIGKILL for the process, if it is one that was started with the ``mark`` among its words; whether it is.

    What a process calls itself need not be what it is called here.
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        with suppress(OSError):
            if mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        return False
    finally:
        os.close(handle)
