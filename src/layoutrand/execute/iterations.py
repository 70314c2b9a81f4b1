"""Recorded executions as they are read now: which of their iterations count as warm-up is decided here.

The results keep every iteration, with a flag that says what was in force when it was recorded.  The setting in
layoutrand.toml may have changed since, and then it is the one that counts: no execution need be repeated for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from layoutrand.config.config import Benchmark, Config
from layoutrand.config.execution_warnings import NothingButWarmup
from layoutrand.config.readings import EACH_CASE
from layoutrand.config.twice import first_of
from layoutrand.config.warmup_choices import InForce, WarmupScope, warmups_in_force
from layoutrand.harnesses.case_names import split_metric
from layoutrand.instruments.known import reads_output
from layoutrand.model import Execution, Measurement


def read_now(executions: Iterable[Execution], config: Config, host: str) -> list[Execution]:
    """The executions, their printed numbers flagged by the ``warmup`` of now.

    ``host`` is the name of the machine they were made on.
    """
    warmups = _Warmups(config, host)
    return [_read(execution, warmups.of(execution)) for execution in executions]


def warmups_of(config: Config, benchmark: Benchmark, system: str, host: str) -> dict[str, InForce]:
    """Metric -> iterations that are warm-up, for the numbers that the program prints."""
    return warmups_in_force(config.warmup, benchmark.metric, WarmupScope(benchmark.name, first_of(system), host))


def all_warmup(executions: Sequence[Execution], config: Config, host: str) -> list[NothingButWarmup]:
    """Warnings about executions that have no iteration left, since all are warm-up by now."""
    warmups = _Warmups(config, host)
    counts: dict[tuple[str, str, InForce], list[int]] = {}
    for execution in executions:
        for metric, warmup in warmups.of(execution).items() if execution.status == "ok" else ():
            count = sum(m.metric == metric for m in execution.measurements)
            if 0 < count <= warmup.iterations:
                counts.setdefault((execution.benchmark, metric, warmup), []).append(count)
    return [
        NothingButWarmup(benchmark, metric, warmup.setting, warmup.iterations, len(those), max(those))
        for (benchmark, metric, warmup), those in counts.items()
    ]


class _Warmups:
    """What is in force for each execution on one host, looked up once for each benchmark and system."""

    def __init__(self, config: Config, host: str) -> None:
        self._config, self._host = config, host
        self._benchmarks = {benchmark.name: benchmark for benchmark in config.benchmarks}
        self._known: dict[tuple[str, str], dict[str, InForce]] = {}

    def of(self, execution: Execution) -> Mapping[str, InForce]:
        """Metric -> warm-up; nothing for a benchmark that is not configured any more."""
        key = execution.benchmark, execution.system
        if key not in self._known:
            benchmark = self._benchmarks.get(execution.benchmark)
            found = {} if benchmark is None else warmups_of(self._config, benchmark, execution.system, self._host)
            self._known[key] = found
        return self._known[key]


def _read(execution: Execution, warmups: Mapping[str, InForce]) -> Execution:
    if not warmups or not reads_output(execution.instrument):
        return execution
    measurements = tuple([_flagged(measurement, warmups) for measurement in execution.measurements])
    return execution if measurements == execution.measurements else replace(execution, measurements=measurements)


def _flagged(measurement: Measurement, warmups: Mapping[str, InForce]) -> Measurement:
    name = measurement.metric
    if name not in warmups and EACH_CASE in warmups and split_metric(name) is not None:
        name = EACH_CASE
    if name not in warmups:
        return measurement
    warmup = measurement.iteration < warmups[name].iterations
    return measurement if warmup == measurement.warmup else measurement._replace(warmup=warmup)
