"""Which of the numbers that an execution yields a benchmark is judged by."""

from __future__ import annotations

from layoutrand.config.config import Benchmark
from layoutrand.config.counter_names import metric_of
from layoutrand.config.schedule import CACHEGRIND, NATIVE, PERF
from layoutrand.instruments.cachegrind import ESTIMATED_CYCLES
from layoutrand.model import WALL_METRIC


def primary_metric(benchmark: Benchmark) -> tuple[str, str]:
    """(Instrument, metric) that a benchmark is judged by.

    What ``primary`` says, else wall time, else the first number that the program prints, else the cycles estimated
    from simulated caches, else the first of the counters.
    """
    metric = benchmark.metric
    native = [WALL_METRIC] * metric.wall + [number.name for number in metric.numbers().values()]
    if metric.primary is not None:
        return (NATIVE if metric.primary in native else PERF), metric.primary
    if native:
        return NATIVE, native[0]
    return (CACHEGRIND, ESTIMATED_CYCLES) if metric.cachegrind else (PERF, metric_of(metric.counters[0]))
