"""One execution with the host's state around it, and whether it was disturbed."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.config.disturbance import Disturbance, disturbances
from layoutrand.execute.measure import Outcome
from layoutrand.host.watch import HostWatch

REMEMBERED: Final = 100
_LEAST: Final = 5  # frequencies, before one of them can be said to be unusual


@dataclass(frozen=True)
class Observed:
    """What came of an execution, what is recorded of the host, and the names of what disturbed it."""

    outcome: Outcome
    state: Mapping[str, Any]
    disturbances: tuple[str, ...]


class Observer:
    """Watches the host while executions are made.

    The reference for the clock frequency is the median of the last `REMEMBERED` executions, those of earlier calls
    included, so that interrupting a run changes nothing.  ``recorded`` are the states of executions recorded before,
    oldest first.
    """

    def __init__(self, limits: Disturbance, recorded: Iterable[Mapping[str, Any]], watch: HostWatch) -> None:
        """Begin with what is known of the frequency."""
        self._limits = limits
        self._watch = watch
        known = (state["frequency_hz"] for state in recorded if "frequency_hz" in state)
        self._frequencies: deque[float] = deque(known, maxlen=REMEMBERED)

    def watch(
        self, execute: Callable[[], Outcome], *, cpus: Sequence[int] | None = None, immune: bool = False
    ) -> Observed:
        """Call ``execute`` between two readings.

        ``cpus`` are those that the program may use, None for all of ours.  ``immune`` says that nothing which happens
        on the host can change what is measured, as with a simulated processor: then nothing disturbs it.
        """
        before = self._watch.before(cpus)
        outcome = execute()
        state = self._watch.state(before, cpus)
        if len(self._frequencies) >= _LEAST and "frequency_hz" in state:
            state["frequency_reference_hz"] = round(statistics.median(self._frequencies))
        if "frequency_hz" in state:
            self._frequencies.append(state["frequency_hz"])
        found: tuple[str, ...] = ()
        if not immune and outcome.status != "start":
            found = disturbances(state, self._limits)
        if "busy" in found:
            state |= self._watch.culprits()
        return Observed(outcome, state, found)
