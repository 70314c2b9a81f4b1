"""Two things at once, where there are jobs for both: a link, and what need not wait for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

_One = TypeVar("_One")
_Other = TypeVar("_Other")

Beside = Callable[[], AbstractContextManager[bool]]
"""Whether something may happen beside something else while the context lasts; asked each time."""


def nothing_beside() -> AbstractContextManager[bool]:
    """One thing at a time."""
    return nullcontext(False)


def something_beside() -> AbstractContextManager[bool]:
    """There are jobs for two things."""
    return nullcontext(True)


def both(beside: Beside, first: Callable[[], _One], other: Callable[[], _Other]) -> tuple[_One, _Other]:
    """What both return, at once where that may be; what is wrong with the first is told before the other's."""
    with beside() as may:
        if not may:
            return first(), other()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(first)
            try:
                done = other()
            except Exception:  # raised again, unless the first has failed, too; an interrupt always
                running.result()
                raise
            return running.result(), done
