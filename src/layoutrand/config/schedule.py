"""Which executions an experiment consists of, and in which order: randomised complete blocks, unless asked otherwise.

A round belongs to one seed.  It executes every system on every benchmark with that seed's binary and, beside it, with
each control, all in one order drawn from the schedule seed, so that drift of the machine hits seeds, controls and
systems alike.  A round is *named by its seed*, not by its position: asking for more seeds later adds rounds and
leaves those already done what they were, and each round keeps its own executions of the controls.

Further executions of a binary are made in further passes over all rounds, not one after the other: a drift of the
machine that lasts longer than a round would otherwise be the same for all of them, and pass for a property of the
binary.

The other orders execute exactly the same slots.  ``interleaved``: round after round, but within each benchmark the
systems alternate in the order of the configuration (A B A B), which is fair to slow drift and not to anything periodic.
``random``: all slots in one random order, so drift is noise rather than cancelled within a round; an experiment that
was cut short is unbalanced.  ``pairs``: as blocks, but the systems' executions of one benchmark in one layout follow
each other, in random order: the default on a cluster, where a round may take hours.  ``sequential``: system after
system, benchmark after benchmark, seeds in turn: any drift is confounded with the systems; for looking at drift itself.

A simulated instrument counts the same to the digit in every execution of one binary, unless something has changed
meanwhile that the program reads as it starts, or the program has threads.  It therefore executes each binary once
whatever `repetitions` says.  The controls it executes in the first two rounds and in every `SIMULATED_CONTROLS_EVERY`
th: over all of the experiment they show whether it repeats; beside 30 layouts that is 7 executions of each control.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, Literal

from layoutrand.config.twice import layout_in_round
from layoutrand.layout.keyed import keyed_order
from layoutrand.model import STOCK, LayoutName

SIMULATED_CONTROLS_EVERY: Final = 5
"""Of 30 rounds 7 have controls: with noise, the half-width of a shift has t of 6 degrees (2.4) and not of 1 (12.7)."""

Order = Literal["blocks", "pairs", "interleaved", "random", "sequential"]


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
    """What to execute: ``benchmarks`` holds (name, its instruments), ``repetitions`` executions per binary.

    Systems in ``fixed`` have no layout but stock, which each round executes whatever the ``controls`` are.
    ``simulated`` are those of the instruments that count the same in every execution of a binary.
    """

    systems: tuple[str, ...]
    benchmarks: tuple[tuple[str, tuple[str, ...]], ...]
    seeds: tuple[int, ...]
    controls: tuple[LayoutName, ...]
    repetitions: int
    schedule_seed: int
    order: Order = "blocks"
    fixed: frozenset[str] = frozenset()
    simulated: frozenset[str] = frozenset()


def schedule(design: Design) -> tuple[Slot, ...]:
    """Every slot of the design in the order of execution."""
    rounds = [list(_cells(design, seed, position)) for position, seed in enumerate(dict.fromkeys(design.seeds))]
    return tuple(Slot(*cell, order=place) for place, cell in enumerate(_ordered(design, rounds)))


_Cell = tuple[str, str, LayoutName, str, int, int]


def _ordered(design: Design, rounds: list[list[_Cell]]) -> Iterable[_Cell]:
    """The cells of all rounds in the design's order; they come sorted by system, benchmark, layout, repetition."""
    everything = [cell for cells in rounds for cell in cells]
    benchmarks = [name for name, _ in design.benchmarks]
    passes = [[cell for cell in cells if cell[5] == n] for n in range(design.repetitions) for cells in rounds]
    if design.order == "random":
        return _shuffled(design.schedule_seed, "schedule-random", everything)
    if design.order == "sequential":  # a stable sort: within each benchmark the rounds stay in turn
        return sorted(everything, key=lambda cell: (design.systems.index(cell[0]), benchmarks.index(cell[1])))
    if design.order == "interleaved":
        return [cell for cells in passes for cell in _alternating(design, cells)]
    if design.order == "pairs":
        return [cell for cells in passes for cell in _in_pairs(design, cells)]
    return [cell for cells in passes for cell in _shuffled(design.schedule_seed, "schedule", cells)]


def _shuffled(seed: int, stream: str, cells: Sequence[_Cell]) -> list[_Cell]:
    return [cells[place] for place in keyed_order(seed, stream, [_identity(cell) for cell in cells])]


def _in_pairs(design: Design, cells: Sequence[_Cell]) -> list[_Cell]:
    """One round in which the systems of a benchmark, layout and instrument follow each other."""
    groups: dict[tuple[str, LayoutName, str], list[_Cell]] = {}
    for cell in _shuffled(design.schedule_seed, "schedule", cells):
        layout = cell[4] if isinstance(cell[2], int) else cell[2]  # one layout each, not the same for all systems
        groups.setdefault((cell[1], layout, cell[3]), []).append(cell)
    names = ["\0".join(map(str, (*group, *cells[0][4:]))).encode() for group in groups]
    order = keyed_order(design.schedule_seed, "schedule-pairs", names)
    together = list(groups.values())
    return [cell for place in order for cell in together[place]]


def _alternating(design: Design, cells: Sequence[_Cell]) -> list[_Cell]:
    """One round with the systems innermost: the first execution of each system, then the second of each, and so on."""
    of_system = [[cell for cell in cells if cell[0] == system] for system in design.systems]
    # Not all are as long: a fixed system has fewer layouts.
    return [cell for together in zip_longest(*of_system) for cell in together if cell is not None]


def _cells(design: Design, seed: int, position: int) -> Iterable[_Cell]:
    """The executions of the round of ``seed``, which is the ``position``-th."""
    for system in design.systems:
        for benchmark, instruments in design.benchmarks:
            for instrument in instruments:
                simulated = instrument in design.simulated
                controls: Sequence[LayoutName] = (STOCK,) if system in design.fixed else design.controls
                if simulated and position > 1 and position % SIMULATED_CONTROLS_EVERY:
                    controls = ()
                own = layout_in_round(system, seed)
                for layout in controls if system in design.fixed else (own, *controls):
                    for repetition in range(1 if simulated else design.repetitions):
                        yield system, benchmark, layout, instrument, seed, repetition


def _identity(cell: _Cell) -> bytes:
    """Names in a configuration contain no NUL, so the joined parts are unambiguous."""
    return "\0".join(map(str, cell)).encode()
