"""Recorded executions as they are read now: which of their iterations count as warm-up is decided here.

The results keep every iteration, with a flag that says what was in force when it was recorded.  The setting in
layoutrand.toml may have changed since, and then it is the one that counts: no execution need be repeated for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from layoutrand.core.config import Benchmark
from layoutrand.core.schedule import NATIVE
from layoutrand.model import Execution, Measurement, SlotKey


def read_now(
    executions: Iterable[Execution], benchmarks: Iterable[Benchmark], former: Mapping[str, str]
) -> list[Execution]:
    """The executions under the definitions of now, their printed numbers flagged by the ``warmup`` of now.

    ``former`` is that of `layoutrand.usecases.experiment.former_definitions`.
    """
    warmups = {benchmark.name: warmup_counts(benchmark) for benchmark in benchmarks}
    return [_read(execution, warmups.get(execution.benchmark, {}), former) for execution in executions]


def key_now(key: SlotKey, former: Mapping[str, str]) -> SlotKey:
    """The slot under the definition of now."""
    return replace(key, definition=former.get(key.definition, key.definition))


def warmup_counts(benchmark: Benchmark) -> dict[str, int]:
    """Metric -> iterations that are warm-up, for the numbers that the program prints."""
    metric = benchmark.metric
    return {number.name: metric.warmup_of(number) for number in metric.numbers().values()}


def all_warmup(executions: Sequence[Execution], benchmarks: Iterable[Benchmark]) -> list[str]:
    """Warnings about executions that have no iteration left, since all are warm-up by now."""
    warnings = []
    for benchmark in benchmarks:
        for metric, warmup in warmup_counts(benchmark).items():
            counts = [
                count
                for execution in executions
                if execution.benchmark == benchmark.name and execution.status == "ok"
                if 0 < (count := sum(m.metric == metric for m in execution.measurements)) <= warmup
            ]
            if counts:
                warnings.append(
                    f"{benchmark.name}: warmup = {warmup} leaves nothing of {metric} in {len(counts)} execution(s), "
                    f"which have {max(counts)} iterations at most: they are not in the sample"
                )
    return warnings


def _read(execution: Execution, warmups: Mapping[str, int], former: Mapping[str, str]) -> Execution:
    definition = former.get(execution.definition, execution.definition)
    measurements = execution.measurements
    if execution.instrument == NATIVE:
        measurements = tuple(_flagged(measurement, warmups) for measurement in measurements)
    if definition == execution.definition and measurements == execution.measurements:
        return execution
    return replace(execution, definition=definition, measurements=measurements)


def _flagged(measurement: Measurement, warmups: Mapping[str, int]) -> Measurement:
    warmup = measurement.iteration < warmups[measurement.metric] if measurement.metric in warmups else None
    return measurement if warmup in {None, measurement.warmup} else replace(measurement, warmup=bool(warmup))
