"""What is executed no further: of a system and benchmark, where nothing ever succeeded and the first all failed alike.

A failure that comes and goes with the layout is part of the sample, so that nothing is left out for it.  Where no
execution ever succeeded there is no sample, and where the first ones all failed for one cause, such as an input file
that is not there, the others would only take their time to say so again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from layoutrand.config.schedule import Slot
from layoutrand.execute.run_warnings import NotExecuted
from layoutrand.instruments.program_output import without_last_words
from layoutrand.model import Execution

ENOUGH: Final = 8
"""Executions that fail alike before the others are left out."""

_Kind = tuple[str, str, str]


@dataclass
class _Failed:
    cause: str
    count: int = 0
    left_out: int = 0


@dataclass
class Fruitless:
    """What came of a call's executions so far; nothing is left out unless ``give_up`` is asked for."""

    give_up: bool = False
    _goes_on: set[_Kind] = field(default_factory=set)
    _failed: dict[_Kind, _Failed] = field(default_factory=dict)

    def note(self, executions: Iterable[Execution]) -> None:
        """Remember what has just been executed."""
        for each in executions:
            kind = each.system, each.benchmark, each.instrument
            cause = without_last_words(each.reason)
            if each.status == "ok" or self._failed.setdefault(kind, _Failed(cause)).cause != cause:
                self._goes_on.add(kind)
            else:
                self._failed[kind].count += 1

    def recorded(self, executions: Iterable[Execution]) -> None:
        """Remember what earlier calls brought; what failed then may have been mended since."""
        self.note(each for each in executions if each.status == "ok")

    def leaves_out(self, slot: Slot) -> bool:
        """Whether the slot is not to be executed; it is counted then."""
        kind = slot.system, slot.benchmark, slot.instrument
        failed = self._failed.get(kind)
        if not self.give_up or kind in self._goes_on or failed is None or failed.count < ENOUGH:
            return False
        failed.left_out += 1
        return True

    def left_out(self) -> tuple[NotExecuted, ...]:
        """What was not executed, and for which cause."""
        return tuple(
            NotExecuted(system, benchmark, instrument, failed.left_out, failed.count, failed.cause)
            for (system, benchmark, instrument), failed in self._failed.items()
            if failed.left_out
        )
