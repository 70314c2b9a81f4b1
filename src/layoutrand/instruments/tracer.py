"""What layoutrand needs of an instrument that tells every load and store of a program, in order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from layoutrand.instruments.instrument import Starter

if TYPE_CHECKING:
    from layoutrand.instruments.memory_trace import TraceReader


class Tracer(Starter):
    """One that writes what it sees to a socket as it comes; it measures nothing, and no metric asks for it."""

    options: ClassVar[tuple[str, ...]] = ()
    """Words that change what it tells; a trace that was made with others is not used again."""

    @abstractmethod
    def prefix(self, program: str, address: str) -> tuple[str, ...]:
        """The words before a command; each process connects to the ``address`` of a socket by itself."""

    @abstractmethod
    def reading(self, programs: Collection[str]) -> TraceReader:
        """What makes sense of one process' lines; ``programs`` are names that the program may have been started by."""

    @abstractmethod
    def moved(self, *, movable: bool) -> int:
        """By how many bytes it loads a program elsewhere than its file says; ``movable``: one that can be anywhere."""
