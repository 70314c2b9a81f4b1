"""Waiting for a lock on a file that another layoutrand may hold."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for_lock(
    attempt: Callable[[], int | str], *, wait_s: float, poll_s: float, on_wait: Callable[[str], None]
) -> int | str:
    """The descriptor that ``attempt`` gives once it has the lock; what it said last where ``wait_s`` seconds pass.

    While somebody else has it ``attempt`` gives a clause that says who, and ``on_wait`` gets that once.  It is made
    every ``poll_s`` seconds: whoever waits disturbs the one who measures as little as that.
    """
    deadline = time.monotonic() + wait_s
    told = False
    while isinstance(found := attempt(), str):
        if time.monotonic() >= deadline:
            return found
        if not told:
            on_wait(f"{found}; waiting for it to finish")
            told = True
        time.sleep(max(0.0, min(poll_s, deadline - time.monotonic())))
    return found
