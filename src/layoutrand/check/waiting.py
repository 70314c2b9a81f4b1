"""How long a round waited for another layoutrand, which is no part of what a round takes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass
class Waiting:
    """The wait before the executions of one round; ``clock`` tells seconds, ``say`` is told who is waited for."""

    clock: Callable[[], float]
    say: Callable[[str], None]
    _since: float | None = None
    _until: float | None = None

    def begins(self, who: str) -> None:
        """Another one is at it; of several that are waited for one after the other, the first is the beginning."""
        self._since = self.clock() if self._since is None else self._since
        self.say(who)

    @contextlib.contextmanager
    def ends(self) -> Iterator[None]:
        """The executions begin, whether or not anything was waited for."""
        self._until = self.clock()
        yield

    def waited_s(self, since: float) -> float:
        """How long, until now where the wait is not over; from ``since`` on where it was given up untold."""
        if self._until is not None:
            return 0.0 if self._since is None else self._until - self._since
        return self.clock() - (since if self._since is None else self._since)
