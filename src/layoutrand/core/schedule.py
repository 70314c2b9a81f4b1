"""Which executions an experiment consists of, and in which order: randomised complete blocks.

A round belongs to one seed.  It executes every system on every benchmark with that seed's binary and, beside it, with
each control, all in one order drawn from the schedule seed, so that drift of the machine hits seeds, controls and
systems alike.  A round is *named by its seed*, not by its position: asking for more seeds later adds rounds and
leaves those already done what they were, and each round keeps its own executions of the controls.

A simulated instrument counts the same to the digit in every execution of one binary.  It therefore executes each
binary once whatever `repetitions` says, and the controls in the first two rounds only: twice is enough to show that
they repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.core.keyed import keyed_order
from layoutrand.model import LayoutName

NATIVE: Final = "native"
CACHEGRIND: Final = "cachegrind"
SIMULATED: Final = frozenset({CACHEGRIND})
SIMULATED_CONTROL_ROUNDS: Final = 2


@dataclass(frozen=True)
class Slot:
    """One execution that the schedule asks for.

    ``round`` is the seed that names the round; ``repetition`` counts from 0 within the round; ``order`` is the
    place in this schedule, counted from 0, and no part of what the slot is.
    """

    system: str
    benchmark: str
    layout: LayoutName
    instrument: str
    round: int
    repetition: int
    order: int

    @property
    def identity(self) -> bytes:
        """What tells this slot from every other, whatever else the schedule holds; the key of all its randomness."""
        return _identity((self.system, self.benchmark, self.layout, self.instrument, self.round, self.repetition))


@dataclass(frozen=True)
class Design:
    """What to execute: ``benchmarks`` holds (name, its instruments), ``repetitions`` executions per binary."""

    systems: tuple[str, ...]
    benchmarks: tuple[tuple[str, tuple[str, ...]], ...]
    seeds: tuple[int, ...]
    controls: tuple[LayoutName, ...]
    repetitions: int
    schedule_seed: int


def schedule(design: Design) -> tuple[Slot, ...]:
    """Every slot of the design in the order of execution: round after round, each in its own random order."""
    slots: list[Slot] = []
    for position, seed in enumerate(dict.fromkeys(design.seeds)):
        cells = list(_cells(design, seed, position))
        identities = [_identity(cell) for cell in cells]
        for place in keyed_order(design.schedule_seed, "schedule", identities):
            slots.append(Slot(*cells[place], order=len(slots)))
    return tuple(slots)


_Cell = tuple[str, str, LayoutName, str, int, int]


def _cells(design: Design, seed: int, position: int) -> Iterable[_Cell]:
    """The executions of the round of ``seed``, which is the ``position``-th."""
    for system in design.systems:
        for benchmark, instruments in design.benchmarks:
            for instrument in instruments:
                simulated = instrument in SIMULATED
                controls: Sequence[LayoutName] = design.controls
                if simulated and position >= SIMULATED_CONTROL_ROUNDS:
                    controls = ()
                for layout in (seed, *controls):
                    for repetition in range(1 if simulated else design.repetitions):
                        yield system, benchmark, layout, instrument, seed, repetition


def _identity(cell: _Cell) -> bytes:
    """Names in a configuration contain no NUL, so the joined parts are unambiguous."""
    return "\0".join(map(str, cell)).encode()
