"""Which of the numbers that an execution yields a benchmark is judged by."""

from __future__ import annotations

from layoutrand.config.config import Benchmark
from layoutrand.errors import FeatureUnsupported
from layoutrand.instruments.known import asked


def primary_metric(benchmark: Benchmark) -> tuple[str, str]:
    """(Instrument, metric) that a benchmark is judged by.

    What ``primary`` says, of a real processor before a simulated one; else the first of the first instrument: wall
    time, a number that the program prints, the cycles estimated from simulated caches, a counter.
    """
    metric = benchmark.metric
    instruments = asked(metric)
    if metric.primary is None:
        return instruments[0].name, instruments[0].metrics(metric)[0]
    for each in sorted(instruments, key=lambda instrument: instrument.simulated):
        if metric.primary in each.metrics(metric):
            return each.name, metric.primary
    raise FeatureUnsupported(f"benchmark {benchmark.name!r}: primary = {metric.primary!r} is not measured")
