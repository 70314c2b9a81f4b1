"""Which executions of a schedule make a round of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from layoutrand.config.schedule import Slot
from layoutrand.model import STOCK
from layoutrand.stats.running_ratio import FEWEST_ROUNDS

STOCK_ROUNDS: Final = FEWEST_ROUNDS
"""Rounds in which stock is executed beside the layouts: one build is no sample, whatever is executed of it."""

Executed = tuple[str, str]
"""What one execution is of: an entry of ``[[benchmarks]]``, and the instrument."""


def slots_of_rounds(slots: Sequence[Slot], wanted: Mapping[Executed, int]) -> list[Slot]:
    """Those of the wanted round of each, but for rounds that one of the commits has no binary for."""
    return _complete([slot for slot in slots if _is_due(slot, wanted)])


def _is_due(slot: Slot, wanted: Mapping[Executed, int]) -> bool:
    """Whether it is of a wanted round; stock is executed in the first few."""
    if slot.round != wanted.get((slot.benchmark, slot.instrument)):
        return False
    return isinstance(slot.layout, int) or (slot.layout == STOCK and slot.round <= STOCK_ROUNDS)


def _complete(slots: Sequence[Slot]) -> list[Slot]:
    """Without rounds that one of the commits has no binary for: half a round tells nothing."""
    sides: dict[tuple[str, str, int], set[str]] = {}
    for slot in slots:
        if isinstance(slot.layout, int):
            sides.setdefault((slot.benchmark, slot.instrument, slot.round), set()).add(slot.system)
    return [slot for slot in slots if len(sides.get((slot.benchmark, slot.instrument, slot.round), ())) == 2]
