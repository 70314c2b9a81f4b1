"""Signals that stop layoutrand: held back while a child process is in our care, and never overlooked."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from layoutrand.platform.ending import STOPPING, look_again

_WAKE_S: Final = 0.5


@dataclass(frozen=True)
class Interrupts:
    """Signals noted so far, and a descriptor that becomes readable with the first of them."""

    received: list[int]
    wakeup: int | None

    def drain(self) -> None:
        """Forget what made the descriptor readable."""
        if self.wakeup is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wakeup, 4096)

    def comes_within(self, seconds: float) -> bool:
        """Whether one was noted by now, or is within that time."""
        deadline = time.monotonic() + seconds
        while not self.received and self.wakeup is not None and (left := deadline - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self.wakeup, select.POLLIN)
            poll.poll(left * 1000)
            self.drain()
        return bool(self.received)


_blocks: list[Interrupts] = []  # the block that notes signals at present, or nothing


@contextlib.contextmanager
def noted_interrupts() -> Iterator[Interrupts]:
    """Note the signals that would stop layoutrand, and let them have their usual effect afterwards.

    Within another such block this is a part of it: what was noted there already is known here, and has its effect at
    the end of the outer one.

    Python raises KeyboardInterrupt between any two instructions, also between the start of a child and the
    assignment of its handle: the child would run on, unknown to anyone.  So signals only wake the poll, by way of
    Python's wake-up descriptor, and no exception can arise where it would do harm.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Interrupts([], None)  # signal handlers run in the main thread alone, so nothing can interrupt this one
        return
    if _blocks:
        yield _blocks[-1]
        return
    received: list[int] = []
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    wakeup_before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    before = {number: signal.getsignal(number) for number in STOPPING}
    routed = {number: handler for number, handler in before.items() if callable(handler) or handler == signal.SIG_DFL}
    for number in routed:
        signal.signal(number, lambda caught, _frame: received.append(caught))
    _blocks.append(Interrupts(received, reading))
    try:
        yield _blocks[-1]
    finally:
        _blocks.clear()
        signal.set_wakeup_fd(wakeup_before)
        os.close(reading)
        os.close(writing)
        for number, handler in routed.items():
            signal.signal(number, handler)
        if received:
            # Whoever installed the handler before decides: Python's own raises KeyboardInterrupt for SIGINT, while
            # SIGTERM and SIGHUP usually end this process, now that the child is gone.
            signal.raise_signal(received[0])


@contextlib.contextmanager
def prompt_interrupts() -> Iterator[None]:
    """While the main thread waits for others, have a signal noticed within a second.

    Python notes a signal, and handles it when the main thread executes its next instruction.  A main thread that waits
    for a lock (for the result of another thread) executes none, and the signal that should wake it can come just before
    it goes to sleep, or be given to another thread: tried, one Ctrl-C in ten at the start of a build was lost on a busy
    machine.  So a timer wakes it now and then, and what was noted meanwhile is handled.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGALRM, look_again)
    signal.setitimer(signal.ITIMER_REAL, _WAKE_S, _WAKE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
