"""What layoutrand needs of an instrument that tells every load and store of a program, in order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from layoutrand.instruments.instrument import InstrumentFiles, Starter
from layoutrand.instruments.memory_trace import TraceReader


class Tracer(Starter):
    """One that writes what it sees into a FIFO as it comes; it measures nothing, and no metric asks for it."""

    options: ClassVar[tuple[str, ...]] = ()
    """Words that change what it tells; a trace that was made with others is not used again."""

    @abstractmethod
    def fifo(self, files: InstrumentFiles) -> Path:
        """Where it is read from; `prepare` has made it."""

    @abstractmethod
    def prefix(self, program: str, files: InstrumentFiles) -> tuple[str, ...]:
        """The words before a command."""

    @abstractmethod
    def reading(self, programs: Collection[str]) -> TraceReader:
        """What makes sense of its lines; ``programs`` are the names under which the program may have been started."""

    @abstractmethod
    def moved(self, *, movable: bool) -> int:
        """By how many bytes it loads a program elsewhere than its file says; ``movable``: one that can be anywhere."""
