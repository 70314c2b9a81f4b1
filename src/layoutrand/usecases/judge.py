"""Whether an execution counts, and what it measured: process status first, then its answer, then its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.core.config import Benchmark
from layoutrand.core.schedule import CACHEGRIND
from layoutrand.errors import NoMeasurement
from layoutrand.model import RUSAGE_METRICS, WALL_METRIC, Measurement
from layoutrand.text.cachegrind import parse_counts
from layoutrand.text.program_output import first_difference, read_iterations
from layoutrand.world.measure import Outcome
from layoutrand.world.workplace import Workplace


@dataclass(frozen=True)
class Judgement:
    """``status`` and ``reason`` as in `Execution`; measurements only where the status is "ok"."""

    status: str
    reason: str
    measurements: tuple[Measurement, ...]


def judge(
    outcome: Outcome, benchmark: Benchmark, instrument: str, workplace: Workplace, reference: bytes | None
) -> Judgement:
    """Check one finished execution; ``reference`` is the expected standard output, or None for any."""
    if outcome.status != "ok":
        return Judgement(outcome.status, outcome.reason, ())
    needs_output = reference is not None or (benchmark.metric.regex and instrument != CACHEGRIND)
    output = workplace.stdout() if needs_output else b""
    if reference is not None and (difference := first_difference(reference, output)) is not None:
        return Judgement("wrong-output", f"{difference} (expect_stdout = {benchmark.expect_stdout!r})", ())
    try:
        if instrument == CACHEGRIND:
            return Judgement("ok", "", _simulated(workplace.profile(outcome.pid)))
        return Judgement("ok", "", _native(outcome, benchmark, output))
    except NoMeasurement as error:
        return Judgement("no-measurement", str(error), ())


def _simulated(profile: str | None) -> tuple[Measurement, ...]:
    if profile is None:
        raise NoMeasurement(
            "cachegrind wrote no counts: valgrind follows no exec, so the benchmark's command must itself be the "
            "program to measure, not a script or a launcher such as env"
        )
    counts = parse_counts(profile)
    return tuple(Measurement(metric, "1", 0, count, warmup=False) for metric, count in counts.items())


def _native(outcome: Outcome, benchmark: Benchmark, output: bytes) -> tuple[Measurement, ...]:
    metric = benchmark.metric
    measurements = [
        Measurement(name, RUSAGE_METRICS[name], 0, value, warmup=False) for name, value in outcome.rusage.items()
    ]
    if metric.wall:
        measurements.append(Measurement(WALL_METRIC, "s", 0, outcome.wall_s, warmup=False))
    if metric.regex:
        values = read_iterations(output, metric.regex)
        if len(values) <= metric.warmup:
            raise NoMeasurement(
                f"metric.regex found {len(values)} iterations, "
                f"and all of them are warm-up (metric.warmup = {metric.warmup})"
            )
        measurements += [
            Measurement(metric.name, metric.unit, number, value, warmup=number < metric.warmup)
            for number, value in enumerate(values)
        ]
    return tuple(measurements)
