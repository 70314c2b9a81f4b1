"""What harnesses of benchmarks recorded, read case by case: one process is one execution, and each case a benchmark.

The results have one execution for each process, with the numbers of all its cases, so that what was executed is counted
once, whoever counts: the schedule, what is resumed, what is repeated.  Only who reads results sees a benchmark in each
case, called after the harness's entry and itself ("sorting/BM_Sort/16"); a process's time is then shared out equally.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from layoutrand.config.config import Benchmark, Config
from layoutrand.config.metric import Metric, Printed, usual_direction
from layoutrand.config.readings import HarnessReading
from layoutrand.errors import AnalysisError
from layoutrand.execute.run_warnings import CasesFailed
from layoutrand.harnesses.case_names import benchmark_of, split_metric
from layoutrand.harnesses.known import harness_named
from layoutrand.instruments.known import asked
from layoutrand.model import Execution, Measurement

FAILED_CASES: Final = "failed_cases"
"""The key of `Execution.conditions` under which is said why cases of a process that ended well have no numbers."""

ABSENT: Final = "the harness did not report this case, which it reported in other executions"
"""Why an execution of a case has no numbers, where it is in other executions alone."""


@dataclass(frozen=True)
class CasesOfHarnesses:
    """Which cases the entries with a harness have, by what was recorded: entry -> case -> (quantity -> unit)."""

    config: Config
    found: Mapping[str, Mapping[str, Mapping[str, str]]]

    @classmethod
    def of(cls, config: Config, executions: Iterable[Execution]) -> CasesOfHarnesses:
        """Those that any of the executions has, in the order in which they were first reported."""
        entries = [each.name for each in config.benchmarks if each.metric.by_case]
        found: dict[str, dict[str, dict[str, str]]] = {name: {} for name in entries}
        for execution in executions if found else ():
            if execution.benchmark not in found:
                continue
            cases = found[execution.benchmark]
            for measurement in execution.measurements:
                if (place := split_metric(measurement.metric)) is not None:
                    cases.setdefault(place[0], {}).setdefault(place[1], measurement.unit)
            for case in _failed(execution):
                cases.setdefault(case, {})
        return cls(config, found)

    def configuration(self) -> Config:
        """The configuration with a benchmark for each case in the place of each entry that has any."""
        if not any(self.found.values()):
            return self.config
        benchmarks: list[Benchmark] = []
        for entry in self.config.benchmarks:
            cases = self.found.get(entry.name, {})
            benchmarks += [_benchmark(entry, case, units) for case, units in cases.items()] or [entry]
        return self.config.model_copy(update={"benchmarks": benchmarks})

    def names(self, wanted: Sequence[str]) -> list[str]:
        """The names of benchmarks with those of cases in the place of an entry's."""
        names: list[str] = []
        for name in wanted:
            names += [benchmark_of(name, case) for case in self.found.get(name, {})] or [name]
        return names

    def definitions(self, of_entries: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
        """(Benchmark, instrument) -> digest, with the cases of each entry."""
        cased = {
            (benchmark_of(entry, case), instrument): digest
            for (entry, instrument), digest in of_entries.items()
            for case in self.found.get(entry, {})
        }
        return {**of_entries, **cased}

    def entries(self, names: Sequence[str]) -> list[Benchmark]:
        """The entries of the configuration that these benchmarks come from."""
        wanted = set(names)
        return [
            entry
            for entry in self.config.benchmarks
            if entry.name in wanted
            or any(benchmark_of(entry.name, case) in wanted for case in self.found.get(entry.name, {}))
        ]

    def split(self, executions: Iterable[Execution]) -> list[Execution]:
        """The executions, those of harnesses once for each case: a process that failed has failed all of them."""
        result: list[Execution] = []
        for execution in executions:
            cases = self.found.get(execution.benchmark, {})
            result += [_of_case(execution, case, len(cases)) for case in cases] if cases else [execution]
        return result


def _of_case(execution: Execution, case: str, n_cases: int) -> Execution:
    own: list[Measurement] = []
    for measurement in execution.measurements:
        place = split_metric(measurement.metric)
        if place is not None and place[0] == case:
            own.append(measurement._replace(metric=place[1]))
    status, reason = execution.status, execution.reason
    if status == "ok" and not own:
        status, reason = "no-measurement", _failed(execution).get(case, ABSENT)
    return replace(
        execution,
        benchmark=benchmark_of(execution.benchmark, case),
        status=status,
        reason=reason,
        wall_s=execution.wall_s / n_cases,
        measurements=tuple(own),
    )


def failed_cases(executions: Iterable[Execution]) -> list[CasesFailed]:
    """The cases without numbers in executions that ended well, those of one entry and one reason together."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for execution in executions:
        failed = _failed(execution)
        for case, reason in failed.items():
            found.setdefault((execution.benchmark, str(reason)), {})[case] = None
        counts.update((execution.benchmark, reason) for reason in {str(each) for each in failed.values()})
    return [CasesFailed(name, tuple(cases), counts[name, reason], reason) for (name, reason), cases in found.items()]


def _failed(execution: Execution) -> Mapping[str, str]:
    failed = execution.conditions.get(FAILED_CASES, {})
    return failed if isinstance(failed, dict) else {}


def _benchmark(entry: Benchmark, case: str, units: Mapping[str, str]) -> Benchmark:
    primary = entry.metric.primary
    if primary is not None and units and primary not in units:
        raise AnalysisError(
            f"metric.primary = {primary!r}: {benchmark_of(entry.name, case)} has no such number; "
            f"there are {', '.join(units)}"
        )
    numbers = [
        Printed.model_construct(name=name, unit=unit, better=usual_direction(unit)) for name, unit in units.items()
    ]
    reading = entry.metric.suite
    assert isinstance(reading, HarnessReading)
    wanted = (primary,) if primary else harness_named(reading.harness).main
    main = next((name for name in wanted if name in units), "")
    ordered = sorted(numbers, key=lambda each: each.name != main)
    simulating = [each.name for each in asked(entry.metric) if each.simulated]
    metric = Metric.model_construct(printed=ordered, warmup=entry.metric.warmup, instruments=simulating)
    return entry.model_copy(
        update={"name": benchmark_of(entry.name, case), "label": None, "metric": metric if units else entry.metric}
    )


def processes(executions: Iterable[Execution]) -> int:
    """How many there were: an execution under a harness is there once for each of its cases, with all else alike."""
    return len(set(map(process_of, executions)))


def process_of(execution: Execution) -> Hashable:
    """What is the same of all cases of one process, and of no two; what has no time was imported, and counts alone."""
    of = execution
    whose = "" if of.started_at else of.benchmark
    return (of.system, whose, of.argv, of.started_at, of.node, of.layout, of.order, of.repetition)
