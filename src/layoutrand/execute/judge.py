"""Whether an execution counts, and what it measured: process status first, then its answer, then its numbers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from signal import SIGILL
from typing import Final

from layoutrand.config.conditions import Ending, limit_verdict
from layoutrand.config.config import Benchmark
from layoutrand.config.readings import NUMBERS, HarnessReading
from layoutrand.config.warmup_choices import InForce
from layoutrand.errors import NoMeasurement, NothingMatched, UnusableFile
from layoutrand.execute.measure import Command, Outcome, signal_name
from layoutrand.execute.program_guard import Alteration
from layoutrand.execute.workplace import Workplace
from layoutrand.harnesses.harness import Case, Harness, LeftByHarness
from layoutrand.harnesses.known import harness_named
from layoutrand.instruments.instrument import EndedExecution
from layoutrand.instruments.known import instrument, reads_output, simulated
from layoutrand.instruments.program_output import first_difference, with_last_words
from layoutrand.model import Measurement
from layoutrand.suites.known import by_reading
from layoutrand.suites.suite import HarnessOutput
from layoutrand.text.foreign_fields import plain


@dataclass(frozen=True)
class Judgement:
    """``status`` and ``reason`` as in `Execution`; measurements only where the status is "ok".

    ``failed_cases`` says why a harness has no numbers of these cases, though it has of others, and ``is_of_output``
    that it is in what the program printed that nothing was found.
    """

    status: str
    reason: str
    measurements: tuple[Measurement, ...]
    failed_cases: Mapping[str, str] = field(default_factory=dict)
    is_of_output: bool = False


_UNKNOWN_TO_IT: Final = (
    ", as where a simulated processor does not know an instruction that this one has: "
    "without -march=native it may be counted"
)


def of_the_program(outcome: Outcome, command: Command, name: str, workplace: Workplace) -> Outcome:
    """How the program ended that was executed under the instrument of that name, which may end well where it failed."""
    if outcome.returncode and (gave_up := instrument(name).why_it_gave_up(workplace.all_written)):
        return replace(outcome, status="no-measurement", reason=gave_up)
    if outcome.status == "signal" and outcome.signal == SIGILL and name in simulated():
        return replace(outcome, reason=f"{outcome.reason}{_UNKNOWN_TO_IT}")
    if outcome.status != "ok":
        return outcome
    number = instrument(name).fatal_signal(workplace.stderr, command.argv)
    if number is None:
        return outcome
    status, reason = limit_verdict(command.conditions, Ending("signal", f"killed by {signal_name(number)}", number))
    return replace(outcome, status=status, reason=reason, signal=number, returncode=None)


def judge(  # noqa: PLR0913 - what ended, what it was, and what is expected
    outcome: Outcome,
    benchmark: Benchmark,
    name: str,
    workplace: Workplace,
    *,
    argv: Sequence[str] = (),
    reference: bytes | None,
    warmups: Mapping[str, InForce],
    given: Mapping[str, str] | None = None,
    hash_is_sha256: bool = False,
) -> Judgement:
    """Check one finished execution under the instrument of that name.

    ``argv`` are the words that started it.  ``reference`` is the expected standard output, or None for any.
    ``warmups`` says for each number that the program prints how many iterations must be exceeded.  A suite's tools are
    to have executed the artefacts ``given``, of these SHA-256; ``hash_is_sha256`` as in `HarnessOutput`.
    """
    try:
        numbers, cases = None, tuple[Case, ...]()
        if benchmark.metric.by_case:
            if outcome.status == "ok":
                cases = _cases(benchmark, workplace, argv)
        elif benchmark.metric.suite is not None:  # read whatever became of it: the harness knows best why it failed
            ended = _ended(outcome, workplace)
            suite = by_reading(benchmark.metric.suite.kind)
            ended = suite.left_behind(ended, workplace.sandbox.bin, given or {})
            verdict = suite.judge(benchmark.metric.suite, replace(ended, hash_is_sha256=hash_is_sha256))
            if verdict.status != "ok":
                return Judgement(verdict.status, verdict.reason, ())
            numbers = {NUMBERS[benchmark.metric.suite.kind][0]: verdict.values, **verdict.further}
        if outcome.status != "ok":
            return Judgement(outcome.status, outcome.reason, ())
        output = cache(workplace.stdout)
        if reference is not None and (difference := first_difference(reference, output())) is not None:
            return Judgement("wrong-output", f"{difference} (expect_stdout = {benchmark.expect_stdout!r})", ())
        ended_well = EndedExecution(
            benchmark.metric,
            outcome.pid,
            outcome.wall_s,
            outcome.rusage,
            output=output,
            messages=workplace.stderr,
            written=workplace.written,
            harness=numbers,
            warmups=warmups,
            cases=cases,
        )
        failed = {case.name: case.failure for case in cases if case.failure}
        return Judgement("ok", "", instrument(name).measurements(ended_well), failed)
    except UnusableFile as error:
        return Judgement("no-measurement", f"what the execution left cannot be read: {error}", ())
    except NothingMatched as error:
        return Judgement("no-measurement", str(error), (), is_of_output=True)
    except NoMeasurement as error:
        return Judgement("no-measurement", str(error), ())


def altered(alteration: Alteration) -> Judgement:
    """Of an execution during which files of the program were changed: nothing that it printed counts."""
    return Judgement("altered", str(alteration), ())


def not_moved(why: str) -> Judgement:
    """Of an execution whose memory does not lie where it was to."""
    return Judgement("not-moved", why, ())


def in_its_words(
    judgement: Judgement, benchmark: Benchmark, name: str, workplace: Workplace, *, argv: Sequence[str] = ()
) -> Judgement:
    """A failure with the last line that the program wrote about it; harnesses of suites were read for that already.

    ``argv`` are the words that started it.
    """
    if judgement.status == "ok" or (benchmark.metric.suite is not None and not benchmark.metric.by_case):
        return judgement
    merged = benchmark.merge_output and reads_output(name)
    messages = workplace.end_of_output() if merged else workplace.end_of_messages()
    # Some say there why they end; and where a pattern finds nothing, what it was looked for in tells more.
    is_silent = judgement.status == "exit" and not messages.strip()
    if not merged and (is_silent or judgement.is_of_output) and workplace.end_of_output().strip():
        merged, messages = True, workplace.end_of_output()
    reason = judgement.reason + _added_words(judgement, benchmark, workplace, argv)
    return replace(judgement, reason=with_last_words(reason, messages, merged=merged))


def _added_words(judgement: Judgement, benchmark: Benchmark, workplace: Workplace, argv: Sequence[str]) -> str:
    """Which words of its harness stood behind the command of a program that ended with a failure and reported no case.

    They are not the user's, who has executed the program without them, and one that counts its words refuses them.
    """
    reading = benchmark.metric.suite
    if judgement.status != "exit" or not isinstance(reading, HarnessReading):
        return ""
    harness = harness_named(reading.harness)
    words = harness.words(reading)
    if not words or _has_cases(harness, left_by(harness, workplace, argv)):
        return ""
    return f", executed with {shlex.join(words)} behind its command (harness = {harness.name!r})"


def _has_cases(harness: Harness, left: LeftByHarness) -> bool:
    try:
        return bool(harness.read(left))
    except NoMeasurement:
        return False


def left_by(harness: Harness, workplace: Workplace, argv: Sequence[str] = ()) -> LeftByHarness:
    """What the last execution, which ``argv`` started, left for its harness to read."""
    output, messages = (data.decode("utf-8", "backslashreplace") for data in (workplace.stdout(), workplace.stderr()))
    named = [pattern for patterns in harness.placed.values() for pattern in patterns]
    return LeftByHarness(output, messages, workplace.left_behind(harness.files, temporary=named), tuple(argv))


def _cases(benchmark: Benchmark, workplace: Workplace, argv: Sequence[str]) -> tuple[Case, ...]:
    """What the harness reported; raises `NoMeasurement` where that is nothing of any case."""
    reading = benchmark.metric.suite
    harness = harness_named(reading.harness if isinstance(reading, HarnessReading) else "")
    cases = harness.read(left_by(harness, workplace, argv))
    if not cases:
        raise NoMeasurement(f"{harness.name} reported no case")
    if all(case.failure for case in cases):
        raise NoMeasurement(f"no case has numbers; {cases[0].name}: {cases[0].failure}")
    return tuple(replace(case, name=plain(case.name) or "unnamed", failure=plain(case.failure)) for case in cases)


def _ended(outcome: Outcome, workplace: Workplace) -> HarnessOutput:
    output, messages = (data.decode("utf-8", "backslashreplace") for data in (workplace.stdout(), workplace.stderr()))
    return HarnessOutput(outcome.status, outcome.reason, outcome.returncode, output, messages, files={})
