"""What the processor counts where code is slow: counters corroborate a mechanism, or speak against it.

Each mechanism costs time by something that processors count (`layoutrand.explain.processor_events`): a set conflict by
misses of the instruction cache, aliasing by branches that were foreseen wrongly.  Offsets at which the program is slow
and the others are executed again, in rounds, with cycles and such events counted together.  What is compared is how
many more cycles there are where it is slow, and how many more events, by what one costs at most: if all of these
together are not half of the cycles, what makes them slow is something else, and the mechanism is out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.explain.causes import Cause, Mechanism, decided
from layoutrand.explain.processor_events import CONSEQUENCES, Consequence, Event
from layoutrand.stats import Interval, mean_interval

ROUNDS: Final = 6
"""So often each offset is executed with the events of one set; counts scatter less than times do."""

TOGETHER: Final = 3
"""Events that are counted at once, beside cycles: every processor has as many counters."""

PART: Final = 0.5
"""Of the cycles: what events must be able to cost."""


@dataclass(frozen=True)
class Counted:
    """One event where the program is slow against the other offsets.

    ``more`` and ``cycles`` are means over rounds of how many more there are, with their intervals; ``beyond`` is that
    of what the events cost at most less half of the cycles.
    """

    consequence: Consequence
    event: Event
    mechanisms: tuple[str, ...]
    more: Interval
    cycles: Interval
    beyond: Interval

    @property
    def is_slow(self) -> bool:
        """Whether the counted executions show what the timed ones did."""
        return self.cycles.low > 0

    @property
    def agrees(self) -> bool | None:
        """Whether so many events can make it slow; None where that is open."""
        if not self.is_slow or self.beyond.low <= 0 <= self.beyond.high:
            return None
        return self.beyond.low > 0

    @property
    def part(self) -> float:
        """Of the cycles, what the events cost at most."""
        return self.more.centre * self.event.at_most / self.cycles.centre


@dataclass(frozen=True)
class Counters:
    """What was counted, and why nothing was ("" where something was).

    ``without`` are the mechanisms of which this processor, or its perf, counts nothing; ``failures`` is how many of the
    executions failed.
    """

    counted: tuple[Counted, ...]
    without: tuple[str, ...]
    absent: str = ""
    failures: int = 0

    def against(self) -> dict[str, Counted]:
        """Mechanism -> what speaks against it."""
        return {name: each for each in self.counted if each.agrees is False for name in each.mechanisms}


def consequences_of(mechanisms: Collection[str]) -> dict[Consequence, tuple[str, ...]]:
    """What these make more of -> those of them that do, in their usual order."""
    found: dict[Consequence, tuple[str, ...]] = {}
    for name, consequence in CONSEQUENCES.items():
        if name in mechanisms:
            found[consequence] = (*found.get(consequence, ()), name)
    return found


def in_sets(events: Sequence[Event]) -> list[tuple[Event, ...]]:
    """As many as are counted at once."""
    return [tuple(events[at : at + TOGETHER]) for at in range(0, len(events), TOGETHER)]


def compared(
    counts: Mapping[Event, NDArray[np.float64]],
    cycles: Mapping[Event, NDArray[np.float64]],
    slow: Sequence[bool],
    mechanisms: Collection[str],
    *,
    confidence: float,
) -> tuple[Counted, ...]:
    """Each event where the program is ``slow`` (of each offset) against elsewhere.

    ``counts`` and the ``cycles`` of the same executions have shape (rounds, offsets).  Each event by itself may speak
    wrongly with the chance that is left by ``confidence``, divided by how many there are.
    """
    chosen = np.array(slow, bool)
    each_confidence = 1 - (1 - confidence) / max(1, len(counts))

    def over_rounds(table: NDArray[np.float64]) -> Interval:
        by_round = table[:, chosen].mean(axis=1) - table[:, ~chosen].mean(axis=1)
        return mean_interval(by_round, confidence=each_confidence)

    found = []
    for consequence, names in consequences_of(mechanisms).items():
        for event in consequence.events:
            if event in counts:
                own, of_cycles = counts[event], cycles[event]
                beyond = over_rounds(event.at_most * own - PART * of_cycles)
                found.append(Counted(consequence, event, names, over_rounds(own), over_rounds(of_cycles), beyond))
    return tuple(found)


def with_counters(cause: Cause, counters: Counters) -> Cause:
    """The cause by what is left when those are out that counters speak against."""
    against = counters.against()

    def judged(each: Mechanism) -> Mechanism:
        spoken = against.get(each.mechanism)
        return each if each.out or spoken is None else replace(each, out=f"{spoken.event.word} speaks against it")

    return decided(tuple(judged(each) for each in cause.candidates), cause.unseen)
