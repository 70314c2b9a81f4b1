"""Whether an execution counts, and what it measured: process status first, then its answer, then its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from layoutrand.config.conditions import Ending, limit_verdict
from layoutrand.config.config import Benchmark
from layoutrand.config.metric import Metric
from layoutrand.config.schedule import CACHEGRIND, NATIVE, PERF
from layoutrand.config.warmup_choices import InForce
from layoutrand.errors import NoMeasurement
from layoutrand.execute.measure import Command, Outcome, signal_name
from layoutrand.execute.workplace import Workplace
from layoutrand.instruments import perf_stat
from layoutrand.instruments.cachegrind import parse_counts
from layoutrand.instruments.json_output import read_json_iterations
from layoutrand.instruments.program_output import first_difference, read_iterations, with_last_words
from layoutrand.model import RUSAGE_METRICS, WALL_METRIC, Measurement
from layoutrand.suites.known import by_reading
from layoutrand.suites.verdict import HarnessOutput, Verdict


@dataclass(frozen=True)
class Judgement:
    """``status`` and ``reason`` as in `Execution`; measurements only where the status is "ok"."""

    status: str
    reason: str
    measurements: tuple[Measurement, ...]


def of_the_program(outcome: Outcome, command: Command, instrument: str, workplace: Workplace) -> Outcome:
    """How the program ended that was executed: perf, which started it, ends well also where a signal killed it."""
    if instrument != PERF or outcome.status != "ok":
        return outcome
    number = perf_stat.fatal_signal(workplace.stderr(), command.argv)
    if number is None:
        return outcome
    status, reason = limit_verdict(command.conditions, Ending("signal", f"killed by {signal_name(number)}", number))
    return replace(outcome, status=status, reason=reason, signal=number, returncode=None)


def judge(  # noqa: PLR0913 - what ended, what it was, and what is expected
    outcome: Outcome,
    benchmark: Benchmark,
    instrument: str,
    workplace: Workplace,
    *,
    reference: bytes | None,
    warmups: Mapping[str, InForce],
    given: Mapping[str, str] | None = None,
    hash_is_sha256: bool = False,
) -> Judgement:
    """Check one finished execution; ``reference`` is the expected standard output, or None for any.

    ``warmups`` says for each number that the program prints how many iterations must be exceeded.  A suite's tools are
    to have executed the artefacts ``given``, of these SHA-256; ``hash_is_sha256`` as in `HarnessOutput`.
    """
    verdict = None
    if benchmark.metric.suite is not None:  # read whatever became of it: the harness knows best why it failed
        ended = _ended(outcome, workplace)
        suite = by_reading(benchmark.metric.suite.kind)
        ended = suite.left_behind(ended, workplace.sandbox.bin, given or {})
        verdict = suite.judge(benchmark.metric.suite, replace(ended, hash_is_sha256=hash_is_sha256))
        if verdict.status != "ok":
            return Judgement(verdict.status, verdict.reason, ())
    if outcome.status != "ok":
        return Judgement(outcome.status, outcome.reason, ())
    needs_output = reference is not None or (instrument == NATIVE and benchmark.metric.numbers())
    output = workplace.stdout() if needs_output else b""
    if reference is not None and (difference := first_difference(reference, output)) is not None:
        return Judgement("wrong-output", f"{difference} (expect_stdout = {benchmark.expect_stdout!r})", ())
    try:
        if instrument == CACHEGRIND:
            return Judgement("ok", "", _simulated(workplace.profile(outcome.pid)))
        if instrument == PERF:
            return Judgement("ok", "", _counted(workplace.counts(), benchmark))
        printed = _printed(benchmark.metric, output, verdict, warmups)
        return Judgement("ok", "", (*_native(outcome, benchmark.metric), *printed))
    except NoMeasurement as error:
        return Judgement("no-measurement", str(error), ())


def in_its_words(judgement: Judgement, benchmark: Benchmark, instrument: str, workplace: Workplace) -> Judgement:
    """A failure with the last line that the program wrote about it; harnesses of suites were read for that already."""
    if judgement.status == "ok" or benchmark.metric.suite is not None:
        return judgement
    merged = benchmark.merge_output and instrument == NATIVE
    messages = workplace.end_of_output() if merged else workplace.end_of_messages()
    return replace(judgement, reason=with_last_words(judgement.reason, messages, merged=merged))


def _simulated(profile: str | None) -> tuple[Measurement, ...]:
    if profile is None:
        raise NoMeasurement(
            "cachegrind wrote no counts: valgrind follows no exec, so the benchmark's command must itself be the "
            "program to measure, not a script or a launcher such as env"
        )
    counts = parse_counts(profile)
    return tuple(Measurement(metric, "1", 0, count, warmup=False) for metric, count in counts.items())


def _counted(text: str | None, benchmark: Benchmark) -> tuple[Measurement, ...]:
    if text is None:
        raise NoMeasurement("perf stat wrote no counts")
    counts = perf_stat.parse_counts(text, benchmark.metric.counters)
    return tuple(Measurement(metric, unit, 0, count, warmup=False) for metric, (count, unit) in counts.items())


def _ended(outcome: Outcome, workplace: Workplace) -> HarnessOutput:
    output, messages = (data.decode("utf-8", "backslashreplace") for data in (workplace.stdout(), workplace.stderr()))
    return HarnessOutput(outcome.status, outcome.reason, outcome.returncode, output, messages, files={})


def _native(outcome: Outcome, metric: Metric) -> list[Measurement]:
    if metric.suite is not None and metric.suite.by_tools:
        return []
    measurements = [
        Measurement(name, RUSAGE_METRICS[name], 0, value, warmup=False) for name, value in outcome.rusage.items()
    ]
    if metric.wall:
        measurements.append(Measurement(WALL_METRIC, "s", 0, outcome.wall_s, warmup=False))
    return measurements


def _printed(
    metric: Metric, output: bytes, verdict: Verdict | None, warmups: Mapping[str, InForce]
) -> list[Measurement]:
    """The numbers in the output, in the units that they were printed in: what is recorded is what was printed.

    ``verdict`` has those of a suite's harness.
    """
    measurements: list[Measurement] = []
    for key, number in metric.numbers().items():
        if number.regex is None and number.pointer is None and verdict is not None:
            source, values = key, verdict.values
        elif number.regex is None:
            source = f"{key}.json"
            values = read_json_iterations(output, number.pointer or "", number.json_lines, key=source)
        else:
            source = f"{key}.regex"
            values = read_iterations(output, number.regex, key=source)
        warmup = warmups[number.name]
        if len(values) <= warmup.iterations:
            raise NoMeasurement(
                f"{source} found {len(values)} iterations, and all of them are warm-up "
                f"({warmup.setting} = {warmup.iterations}); "
                "with a smaller one `layoutrand run --retry-failed` executes it again"
            )
        measurements += [
            Measurement(number.name, number.unit, place, value, warmup=place < warmup.iterations)
            for place, value in enumerate(values)
        ]
    return measurements
