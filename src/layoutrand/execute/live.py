"""What can be told while a run goes on: how long it will still take, and how well each mean is known so far.

Nothing here has an effect or decides anything; it is asked between executions, never during one.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Final

from layoutrand.config.config import Benchmark
from layoutrand.config.metric import Better
from layoutrand.config.schedule import Slot
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import simulated
from layoutrand.model import Execution
from layoutrand.stats import Interval, mean_interval, running_interval
from layoutrand.text.quantities import finite

_FEWEST_ROUNDS: Final = 2
_BEYOND: Final = 700.0
"""The logarithm beyond which a ratio is no number any more."""

_LONG_S: Final = 1.0
"""From where on the time between executions is small beside them, so that it need not be known."""

_Kind = tuple[str, str, str]


@dataclass(frozen=True)
class Standing:
    """The mean over binaries of a benchmark's main metric so far, in ``unit``.

    ``relative_half_width`` is that of its interval over the mean, None as long as it has no bounds.
    """

    system: str
    benchmark: str
    mean: float
    unit: str
    relative_half_width: float | None
    n_binaries: int


@dataclass(frozen=True)
class RatioStanding:
    """Candidate over baseline in a benchmark's main metric, by rounds that both are done in.

    ``ratio`` is geometric, and its interval holds at every moment of a run together, so that it may be watched.
    """

    benchmark: str
    baseline: str
    candidate: str
    ratio: Interval
    better: Better
    unit: str
    n_rounds: int


class Live:
    """The state of a run after each execution.

    Durations are means per system, benchmark and instrument, of executions recorded before and of those just made; a
    kind that was never executed is taken to last as long as the kinds most like it.  Of simulated executions others
    tell nothing, nor they of these: they take tens of times as long.
    """

    def __init__(
        self,
        benchmarks: Mapping[str, Benchmark],
        recorded: Iterable[Execution],
        pending: Sequence[Slot],
        systems: Sequence[str] = (),
    ) -> None:
        """Begin with what is ``recorded`` of this schedule, and the slots still to be executed.

        The others of ``systems`` are compared with the first.
        """
        self._systems = list(systems)
        self._better = {name: b.metric.better_of(primary_metric(b)[1]) for name, b in benchmarks.items()}
        self._main = {name: primary_metric(benchmark) for name, benchmark in benchmarks.items()}
        self._waiting = Counter((slot.system, slot.benchmark, slot.instrument) for slot in pending)
        self._count: Counter[_Kind] = Counter()
        self._seconds: dict[_Kind, float] = {}
        self._between: list[float] = []
        self._last_end: dict[str, float] = {}
        self._values: dict[tuple[str, str], dict[int, list[float]]] = {}
        self._units: dict[str, str] = {}
        earlier = list(recorded)
        for execution in earlier:
            self._keep(execution)
        self._recorded = sorted(filter(self._is_main, earlier), key=lambda each: (each.node, each.started_at))
        self._gap = _usual_gap(self._recorded)
        self._beside: dict[tuple[str, str, str], tuple[set[int], set[int]]] = {}

    def add(self, execution: Execution) -> None:
        """One slot is executed."""
        self._waiting[_kind(execution)] -= 1
        last_end = self._last_end.get(execution.node)
        if last_end is not None:  # what lies between two executions takes its time, too
            self._between.append(max(0.0, execution.started_at - last_end))
        self._last_end[execution.node] = execution.started_at + execution.wall_s
        self._keep(execution)

    def leave_out(self, slot: Slot) -> None:
        """One slot is not executed."""
        self._waiting[slot.system, slot.benchmark, slot.instrument] -= 1

    def remaining_s(self) -> float | None:
        """Seconds until the schedule is done by as many nodes as do it now; None as long as nobody can tell.

        Short executions take less time than what lies between them, which two of this call tell, or earlier ones.
        """
        waiting = {kind: n for kind, n in self._waiting.items() if n > 0}
        if not waiting:
            return 0.0
        if not self._count:
            return None
        lasting = [(n, self._duration(kind)) for kind, n in waiting.items()]
        if any(seconds is None for _, seconds in lasting):
            return None
        executing = sum(n * seconds for n, seconds in lasting if seconds is not None)
        if not self._between and self._gap is None and executing < _LONG_S * sum(waiting.values()):
            return None
        between = fmean(self._between) if self._between else self._gap or 0.0
        return (executing + between * sum(waiting.values())) / max(1, len(self._last_end))

    def executing_s(self, slots: Sequence[Slot]) -> float | None:
        """Seconds that executions of these take one after the other, without what lies between; None as above."""
        seconds = [self._duration((slot.system, slot.benchmark, slot.instrument)) for slot in slots]
        known = [each for each in seconds if each is not None]
        return sum(known) if known and len(known) == len(seconds) else None

    def standings(self, *, confidence: float) -> list[Standing]:
        """How each benchmark of each system stands, benchmark by benchmark."""
        found = []
        order = list(self._main)
        for system, benchmark in sorted(self._values, key=lambda place: (order.index(place[1]), place[0])):
            binaries = self._values[system, benchmark]
            interval = mean_interval([fmean(v) for v in binaries.values()], confidence=confidence)
            known = finite(interval.half_width / abs(interval.centre)) if interval.centre else None
            found.append(Standing(system, benchmark, interval.centre, self._units[benchmark], known, len(binaries)))
        return found

    def ratios(self, *, confidence: float) -> list[RatioStanding]:
        """How each system stands against the first, benchmark by benchmark; nothing before two rounds of both.

        A round counts where both were executed at one time, as in `compare`: what the machine did between an earlier
        call and this one would look like a difference.
        """
        found = []
        for benchmark, better in self._better.items():
            for candidate in self._systems[1:]:
                old, new = (self._values.get((each, benchmark), {}) for each in (self._systems[0], candidate))
                both = self._at_one_time(benchmark, self._systems[0], candidate)
                means = [(fmean(old[seed]), fmean(new[seed])) for seed in old if seed in new and both(seed)]
                if len(means) < _FEWEST_ROUNDS or not all(one > 0 and other > 0 for one, other in means):
                    continue
                logs = running_interval([math.log(other / one) for one, other in means], confidence=confidence)
                low, high = (math.exp(end) if end < _BEYOND else math.inf for end in (logs.low, logs.high))
                ratio = replace(logs, centre=math.exp(logs.centre), low=low, high=high)
                unit = self._units[benchmark]
                found.append(RatioStanding(benchmark, self._systems[0], candidate, ratio, better, unit, len(means)))
        return found

    def _at_one_time(self, benchmark: str, baseline: str, candidate: str) -> Callable[[int], bool]:
        """Whether both systems were executed beside each other in a round, which those of this call are."""
        if self._main[benchmark][0] in simulated():
            return lambda _seed: True
        key = benchmark, baseline, candidate
        if key not in self._beside:
            own = [e for e in self._recorded if e.benchmark == benchmark and e.system in key[1:]]
            self._beside[key] = {each.layout for each in own if isinstance(each.layout, int)}, _together(own)
        known, together = self._beside[key]
        return lambda seed: seed not in known or seed in together

    def _is_main(self, execution: Execution) -> bool:
        return execution.instrument == self._main[execution.benchmark][0]

    def _keep(self, execution: Execution) -> None:
        self._count[_kind(execution)] += 1
        self._seconds[_kind(execution)] = self._seconds.get(_kind(execution), 0.0) + execution.wall_s
        instrument, metric = self._main[execution.benchmark]
        if execution.instrument != instrument or not isinstance(execution.layout, int):
            return
        values = [m for m in execution.measurements if m.metric == metric and not m.warmup]
        if execution.status == "ok" and values:
            self._units[execution.benchmark] = values[0].unit
            binaries = self._values.setdefault((execution.system, execution.benchmark), {})
            mean = fmean(m.value for m in values)
            binaries.setdefault(execution.layout, []).append(mean)

    def _duration(self, kind: _Kind) -> float | None:
        """Of this kind, or of the benchmark on any system, or the instrument, or of any that is as simulated."""
        _system, benchmark, instrument = kind
        is_simulated = instrument in simulated()
        comparable = [k for k in self._count if (k[2] in simulated()) == is_simulated]
        if not comparable:
            return None
        alike = [[k for k in comparable if k == kind], [k for k in comparable if k[1:] == (benchmark, instrument)]]
        alike += [[k for k in comparable if k[2] == instrument], comparable]
        kinds = next(kinds for kinds in alike if kinds)
        return sum(self._seconds[k] for k in kinds) / sum(self._count[k] for k in kinds)


def _together(executions: Sequence[Execution]) -> set[int]:
    """Seeds of which the executions of two systems follow each other, but for one of another round."""
    made = [execution for execution in executions if isinstance(execution.layout, int)]
    places: dict[int, list[int]] = {}
    systems: dict[int, set[str]] = {}
    for place, execution in enumerate(made):
        if isinstance(execution.layout, int):
            places.setdefault(execution.layout, []).append(place)
            systems.setdefault(execution.layout, set()).add(execution.system)
    return {seed for seed, own in places.items() if len(systems[seed]) > 1 and own[-1] - own[0] <= len(own)}


def _usual_gap(executions: Sequence[Execution]) -> float | None:
    """Seconds between executions that follow each other; the median, since some lie between calls."""
    gaps = [
        max(0.0, after.started_at - before.started_at - before.wall_s)
        for before, after in itertools.pairwise(executions)
        if before.node == after.node
    ]
    return median(gaps) if gaps else None


def _kind(execution: Execution) -> _Kind:
    return execution.system, execution.benchmark, execution.instrument
