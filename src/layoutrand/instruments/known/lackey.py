"""Lackey, valgrind's example tool: it prints every instruction, load and store of a program, in order.

Its lines go through a socket to who asks for them (`layoutrand.instruments.memory_trace`), as a file of them would have
gigabytes for each second of the program; each process has a connection of its own, and a forked one is silent until it
executes another program.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from layoutrand.instruments.tracer import Tracer

if TYPE_CHECKING:
    from layoutrand.instruments.memory_trace import TraceReader

_OPTIONS: Final = (
    "--tool=lackey",
    "--trace-mem=yes",
    "--trace-children=yes",
    "--child-silent-after-fork=yes",
    "--vgdb=no",
)
"""Children are followed, so that a script may start the program."""

_PLACE_OF_PIE: Final = 0x108000
"""Where valgrind loads a program that can be loaded anywhere (its ``m_ume/elf.c``)."""


class _Lackey(Tracer):
    name = "lackey"
    program = "valgrind"
    simulated = True
    slowdown = 100
    options = _OPTIONS

    def find(self) -> str:
        """See `Starter`; valgrind finds its tools beside the file that it really is."""
        return os.path.realpath(super().find())

    def absent(self) -> str:
        """See `Starter`."""
        return f"there is nothing to trace loads and stores with; valgrind has lackey ({self.how_to_install()})"

    def prefix(self, program: str, address: str) -> tuple[str, ...]:
        """See `Tracer`."""
        return (program, *_OPTIONS, f"--log-socket={address}")

    def reading(self, programs: Collection[str]) -> TraceReader:
        """See `Tracer`."""
        from layoutrand.instruments.memory_trace import TraceReader  # every command asks what instruments there are

        return TraceReader(programs)

    def moved(self, *, movable: bool) -> int:
        """See `Tracer`."""
        return _PLACE_OF_PIE if movable else 0


INSTRUMENT: Final = _Lackey()
