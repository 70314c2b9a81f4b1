"""Which executions go to a node together, and in which order nodes are given them.

A round is never divided: one node executes all systems on all benchmarks in the layouts of one seed, and stock and
identity beside them, so that whatever the node adds is the same on both sides of every pair.  Rounds are given out in
an order drawn from the schedule seed to whichever node is free: which node executes which seed is chance.  Further
executions of a binary come in further passes over all rounds, each pass shuffled anew, so that they fall on other
nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutrand.config.schedule import Slot
from layoutrand.layout.keyed import keyed_order


def slots_by_task(slots: Iterable[Slot], *, schedule_seed: int, rounds: int) -> list[tuple[Slot, ...]]:
    """The slots of each task, tasks in the order in which they are given out, slots in the order of the schedule.

    ``rounds`` are given out together; a later call with other slots of the same rounds divides them in the same way.
    """
    found: dict[tuple[int, int], list[Slot]] = {}
    for slot in slots:
        found.setdefault((slot.repetition, slot.round), []).append(slot)
    tasks = []
    for repetition in sorted({repetition for repetition, _ in found}):
        shuffled = _shuffled(schedule_seed, repetition, [seed for again, seed in found if again == repetition])
        for begin in range(0, len(shuffled), rounds):
            together = [slot for seed in shuffled[begin : begin + rounds] for slot in found[repetition, seed]]
            tasks.append(tuple(sorted(together, key=lambda slot: slot.order)))
    return tasks


def _shuffled(schedule_seed: int, repetition: int, seeds: Sequence[int]) -> list[int]:
    names = [f"{repetition} {seed}".encode() for seed in seeds]
    return [seeds[place] for place in keyed_order(schedule_seed, "node-deal", names)]
