"""Executions of a sweep in which the processor counts events (`layoutrand.explain.counted` says what follows)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.build.swept import SweptBinaries, SweptSection
from layoutrand.config.config import Config
from layoutrand.config.counter_names import metric_of
from layoutrand.config.metric import Metric
from layoutrand.errors import FeatureUnsupported, LayoutrandError
from layoutrand.execute.run_progress import RunProgress
from layoutrand.explain.counted import ROUNDS, Counters, compared, consequences_of, in_sets
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.processor_events import CYCLES, Event
from layoutrand.explain.sweep_rounds import SweepOrder, SweepSetup, by_round, request_of, results_path, sample_of
from layoutrand.instruments.counters import counted_of
from layoutrand.instruments.known import instrument
from layoutrand.model import Execution

_INSTRUMENT: Final = "perf"
_CYCLES: Final = Event(CYCLES, 1)


@dataclass(frozen=True)
class EventCounter:
    """What a sweep was made with: its binaries, at ``offsets``, are executed again."""

    order: SweepOrder
    setup: SweepSetup
    config: Config
    swept: SweptSection
    made: SweptBinaries
    offsets: tuple[int, ...]
    progress: Callable[[RunProgress], None]

    def count(self, slow: Sequence[int], mechanisms: Sequence[str]) -> Counters:
        """What these mechanisms make more of, where the program is slow and elsewhere.

        Where nothing can be counted it is said why.
        """
        failed: list[Execution] = []
        try:
            events = _events(instrument(_INSTRUMENT).find(), mechanisms)
            tables = [self._executed(chosen, failed) for chosen in in_sets(events)]
        except LayoutrandError as error:  # the sweep that it would corroborate is measured, and is not to be lost
            return Counters((), tuple(mechanisms), str(error), len(failed))
        counts = {event: table for each in tables for event, table in each.items() if event != _CYCLES}
        cycles = {event: each[_CYCLES] for each in tables for event in each if event != _CYCLES}
        found = compared(
            counts, cycles, [offset in slow for offset in self.offsets], mechanisms, confidence=self.order.confidence
        )
        counted = {name for each in found for name in each.mechanisms}
        return Counters(found, tuple(name for name in mechanisms if name not in counted), failures=len(failed))

    def _executed(self, events: Sequence[Event], failed: list[Execution]) -> dict[Event, NDArray[np.float64]]:
        """Each of the events, and cycles, counted at once: counts, shape (rounds, offsets); failures are added."""
        together = (_CYCLES, *events)
        order = replace(self.order, rounds=ROUNDS, metric=None)
        benchmarks = [
            benchmark.model_copy(update={"metric": Metric(counters=[event.name for event in together])})
            if benchmark.name == order.benchmark
            else benchmark
            for benchmark in self.config.benchmarks
        ]
        config = self.config.model_copy(update={"benchmarks": benchmarks})
        request = request_of(order, self.setup, config, self.swept, self.made)
        say = self.setup.setup.progress.say
        say(f"counting {', '.join(event.word for event in together)} in {ROUNDS * len(self.offsets)} executions more")
        done = execute_apart(
            request, results_path(self.setup.project), self.setup.executor, progress=self.progress, say=say
        )
        failed += done.failures
        tables = {}
        for event in together:  # the first is the main metric, of which it is said why there is none
            asked = order if event == _CYCLES else replace(order, metric=metric_of(event.name))
            sample, _ = sample_of(asked, self.setup, config, request.built.captures)
            tables[event] = by_round(sample, self.offsets, ROUNDS)[1]
        return tables


def _events(perf: str, mechanisms: Sequence[str]) -> list[Event]:
    """Of each thing that these make more of the best event that is counted here.

    Raises `FeatureUnsupported` where there is none, or cycles are not counted.
    """
    if not counted_of(perf, [CYCLES]):
        raise FeatureUnsupported("perf counts no cycles here, as in many virtual machines")
    found = []
    for consequence in consequences_of(mechanisms):
        known = next((event for event in consequence.events if counted_of(perf, [event.name])), None)
        found += [] if known is None else [known]
    if not found:
        raise FeatureUnsupported("perf counts cycles here, and no event of what could make it slow")
    return found
