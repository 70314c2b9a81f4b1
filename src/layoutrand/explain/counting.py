"""Executions of a sweep in which the processor counts events (`layoutrand.explain.counted` says what follows)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from layoutrand.build.swept import SweptBinaries, SweptFunction
from layoutrand.config.config import Config
from layoutrand.config.counter_names import metric_of
from layoutrand.config.metric import Metric
from layoutrand.errors import AnalysisError, FeatureUnsupported, ToolNotFound
from layoutrand.execute.run_progress import RunProgress
from layoutrand.explain.counted import ROUNDS, Counters, compared, consequences_of, in_sets
from layoutrand.explain.own_results import execute_apart
from layoutrand.explain.processor_events import CYCLES, Event
from layoutrand.explain.sweep_rounds import SweepOrder, SweepSetup, by_round, request_of, results_path, sample_of
from layoutrand.instruments.counters import counted_of
from layoutrand.instruments.known import instrument

_INSTRUMENT = "perf"


@dataclass(frozen=True)
class EventCounter:
    """What a sweep was made with: its binaries, at ``offsets``, are executed again."""

    order: SweepOrder
    setup: SweepSetup
    config: Config
    function: SweptFunction
    made: SweptBinaries
    offsets: tuple[int, ...]
    progress: Callable[[RunProgress], None]

    def count(self, slow: Sequence[int], mechanisms: Sequence[str]) -> Counters:
        """What these mechanisms make more of, where the program is slow and elsewhere.

        Where nothing can be counted it is said why.
        """
        try:
            perf = instrument(_INSTRUMENT).find()
            events = _events(perf, mechanisms)
            sets = [self._executed(chosen) for chosen in in_sets(list(events.values()))]
        except (ToolNotFound, FeatureUnsupported, AnalysisError) as error:
            return Counters((), tuple(mechanisms), str(error))
        tables, failures = [table for table, _ in sets], sum(failed for _, failed in sets)
        counts = {event: table for each in tables for event, table in each.items() if event.name != CYCLES}
        cycles = {
            event: each[own] for each in tables for own in each if own.name == CYCLES for event in each if event != own
        }
        found = compared(
            counts, cycles, [offset in slow for offset in self.offsets], mechanisms, confidence=self.order.confidence
        )
        counted = {name for each in found for name in each.mechanisms}
        return Counters(found, tuple(name for name in mechanisms if name not in counted), failures=failures)

    def _executed(self, events: Sequence[Event]) -> tuple[dict[Event, NDArray[np.float64]], int]:
        """Each of the events, and cycles, counted at once: counts, shape (rounds, offsets); and the failures."""
        together = (Event(CYCLES, 1), *events)
        order = replace(self.order, rounds=ROUNDS, metric=None)
        benchmarks = [
            benchmark.model_copy(update={"metric": Metric(counters=[event.name for event in together])})
            if benchmark.name == order.benchmark
            else benchmark
            for benchmark in self.config.benchmarks
        ]
        config = self.config.model_copy(update={"benchmarks": benchmarks})
        request = request_of(order, self.setup, config, self.function, self.made)
        say = self.setup.setup.progress.say
        say(f"counting {', '.join(event.name for event in together)} in {ROUNDS * len(self.offsets)} executions more")
        done = execute_apart(
            request, results_path(self.setup.project), self.setup.executor, progress=self.progress, say=say
        )
        tables = {}
        for event in together:
            asked = replace(order, metric=metric_of(event.name))
            sample, _ = sample_of(asked, self.setup, config, request.built.captures)
            tables[event] = by_round(sample, self.offsets, ROUNDS)[1]
        return tables, len(done.failures)


def _events(perf: str, mechanisms: Sequence[str]) -> dict[str, Event]:
    """Of each thing that these make more of the best event that is counted here, by its words.

    Raises `FeatureUnsupported` where there is none, or cycles are not counted.
    """
    if not counted_of(perf, [CYCLES]):
        raise FeatureUnsupported("perf counts no cycles here, as in many virtual machines")
    found = {}
    for consequence in consequences_of(mechanisms):
        known = next((event for event in consequence.events if counted_of(perf, [event.name])), None)
        if known is not None:
            found[consequence.words] = known
    if not found:
        raise FeatureUnsupported("perf counts cycles here, and no event of what could make it slow")
    return found
