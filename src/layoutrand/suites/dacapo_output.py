"""What a DaCapo harness printed: whether the execution counts, and how long each iteration took.

The lines, exit statuses and their meaning are those of the harnesses 2006-10-MR2, 9.12-bach, 9.12-MR1 and 23.11-chopin
with its maintenance releases, and of ScalaBench, which is built on 9.12.  An exit status of 0 proves little: it is also
that of a benchmark that never converged, of one that was not executed for its number of threads, and of one whose
validation failed but was ignored.  So every iteration that was asked for must have begun and ended well, in order.

Only iterations are counted: "processed N requests in M msec" is a line of the same look, and no iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.config.readings import DacapoReading
from layoutrand.errors import NoMeasurement
from layoutrand.suites.dacapo_callback import NANOSECONDS_WORDS
from layoutrand.suites.dacapo_latency import of_requests
from layoutrand.suites.dacapo_messages import explanation
from layoutrand.suites.suite import HarnessOutput, Verdict
from layoutrand.text.digits import whole_number
from layoutrand.text.document import cut

# Not anchored at the start: the benchmark may have written the beginning of a line just before.
_LINE: Final = re.compile(
    r"===== DaCapo (?:(?P<version>\S+) )?(?P<benchmark>[A-Za-z][\w-]*) (?:"
    r"starting(?P<begun_warmup> warmup(?: (?P<begun>\d+))?)?"
    r"|completed warmup(?: (?P<ended>\d+))? in (?P<warmup_ms>\d+) msec"
    r"|PASSED in (?P<ms>\d+) msec"
    r"|(?P<failed>FAILED)(?P<failed_warmup> warmup)?"
    r") =====\s*$",
    re.ASCII,
)
_NANOSECONDS: Final = re.compile(rf"{re.escape(NANOSECONDS_WORDS)}(\d+) nsec =====\s*$", re.MULTILINE | re.ASCII)
_NUMBERS: Final = ("begun", "ended", "ms", "warmup_ms")
_MOST: Final = 10**12
"""Milliseconds, or iterations: thirty years."""

_LONGEST: Final = 200
_INVALID: Final = re.compile(r"^Validation FAILED for ", re.MULTILINE)
_NO_CONVERGENCE: Final = re.compile(r"^Benchmark failed to converge\.\s*$", re.MULTILINE)


@dataclass(frozen=True)
class _Event:
    """One line of the harness: ``kind`` is "begun", "passed", "failed", or "garbled" where a number in it is none.

    ``number`` is None where none is printed.
    """

    kind: str
    warmup: bool
    number: int | None
    ms: int | None
    version: str
    benchmark: str
    line: str


def judge(reading: DacapoReading, ended: HarnessOutput) -> Verdict:
    """Seconds of every iteration of an execution that counts, or why it does not count.

    A status other than "ok" and "exit" stays as it is; its reason then tells how far the harness had come.
    """
    text = ended.output + ended.messages
    events = list(_events(text))
    if ended.status == "start":
        return Verdict(ended.status, ended.reason, ())
    if ended.status not in {"ok", "exit"}:
        return Verdict(ended.status, f"{ended.reason}; it happened {_place(events, reading)}", ())
    if (foreign := next((event for event in events if event.benchmark != reading.benchmark), None)) is not None:
        return Verdict(
            "wrong-output", f"{reading.benchmark!r} was to be executed, and the output has {foreign.line!r}", ()
        )
    failures = sum(event.kind == "failed" for event in events)
    if failures or _INVALID.search(text):
        return Verdict("wrong-output", _invalid(text, failures, events, ended.returncode), ())
    if ended.status == "exit":
        return Verdict("exit", _exited(text, ended.reason, events, reading), ())
    if (garbled := next((event for event in events if event.kind == "garbled"), None)) is not None:
        return Verdict("no-measurement", f"the harness printed a number that is none: {garbled.line!r}", ())
    if (wrong := _unfit(text, events, reading)) is not None:
        return Verdict("no-measurement", wrong, ())
    seconds = tuple(event.ms / 1000 for event in events if event.ms is not None)
    try:
        if reading.nanoseconds:
            seconds = _of_the_callback(text, len(seconds))
        latencies = of_requests(text, reading.latency, len(seconds))
    except NoMeasurement as error:
        return Verdict("no-measurement", str(error), ())
    wanted = slice(None) if reading.iterations is not None else slice(-1, None)
    return Verdict("ok", "", seconds[wanted], {name: values[wanted] for name, values in latencies.items()})


def _of_the_callback(text: str, iterations: int) -> tuple[float, ...]:
    """Seconds of each iteration as our callback tells them; raises `NoMeasurement` where it does not tell each."""
    told = [whole_number(digits, _MOST * 10**6) for digits in _NANOSECONDS.findall(text)]
    nanoseconds = [number for number in told if number is not None]
    if len(nanoseconds) != len(told) or len(told) != iterations:
        raise NoMeasurement(
            f"the callback that takes nanoseconds told of {len(nanoseconds)} iterations, the harness of {iterations}; "
            "without suite.nanoseconds the harness's milliseconds are read"
        )
    return tuple(number / 1e9 for number in nanoseconds)


def _events(text: str) -> Iterator[_Event]:
    for line in text.splitlines():
        match = _LINE.search(line)
        if match is None:
            continue
        found = match.groupdict()
        where = (found["version"] or "", found["benchmark"], cut(match.group(0).strip(), _LONGEST))
        numbers = {name: whole_number(found[name], _MOST) for name in _NUMBERS if found[name] is not None}
        if None in numbers.values():
            yield _Event("garbled", False, None, None, *where)
        elif found["failed"]:
            yield _Event("failed", found["failed_warmup"] is not None, None, None, *where)
        elif "ms" in numbers:
            yield _Event("passed", False, None, numbers["ms"], *where)
        elif "warmup_ms" in numbers:
            yield _Event("passed", True, numbers.get("ended"), numbers["warmup_ms"], *where)
        else:
            yield _Event("begun", found["begun_warmup"] is not None, numbers.get("begun"), None, *where)


def _unfit(text: str, events: Sequence[_Event], reading: DacapoReading) -> str | None:
    """Why an output with the exit status 0 is not that of a whole execution; None where it is."""
    if _NO_CONVERGENCE.search(text):
        count = sum(event.kind == "passed" for event in events)
        return (
            f"the benchmark did not converge within {count} iterations, so DaCapo measured none; raise "
            "--max-iterations or --variance (2006: -max_iterations, -variance) in suite.options, or give "
            "suite.iterations in place of suite.converge"
        )
    known = explanation(text)
    if not events:
        return known or "the output has no line of the DaCapo harness: nothing was executed, or another program was"
    deviation = _first_deviation(events, reading)
    return f"{deviation}; {known}" if deviation and known else deviation


def _first_deviation(events: Sequence[_Event], reading: DacapoReading) -> str | None:
    """The first line that is not as it must be, in words; None where the lines are those of a whole execution."""
    versions = sorted({event.version or "none" for event in events})
    if len(versions) > 1:
        return f"the output is of several harnesses (versions {', '.join(versions)})"
    total = reading.iterations
    if total is None:  # as many warm-ups as it took to converge, and the measured iteration
        total = sum(event.kind == "begun" and event.warmup for event in events) + 1
    numbered = any(event.number is not None for event in events)
    wanted = [
        (kind, place < total, place if numbered and place < total else None)
        for place in range(1, total + 1)
        for kind in ("begun", "passed")
    ]
    for event, expected in zip(events, wanted, strict=False):
        if (event.kind, event.warmup, event.number) != expected:
            return f"a line of the harness is missing or out of order: expected {_words(*expected)}, got {event.line!r}"
    if len(events) > len(wanted):
        return f"the harness went on after the {total} iterations that were asked for: {events[len(wanted)].line!r}"
    if len(events) < len(wanted):
        return f"the output is incomplete: it ends before {_words(*wanted[len(events)])}, of {total} iterations"
    return None


def _words(kind: str, warmup: bool, number: int | None) -> str:
    what = f"warm-up{'' if number is None else f' {number}'}" if warmup else "the measured iteration"
    return f"the {'start' if kind == 'begun' else 'end'} of {what}"


def _place(events: Sequence[_Event], reading: DacapoReading) -> str:
    """Where in its work the harness was last seen."""
    if not events:
        return "before the first iteration"
    begun = sum(event.kind == "begun" for event in events)
    of_all = "" if reading.iterations is None else f" of {reading.iterations}"
    return f"{'in' if events[-1].kind == 'begun' else 'after'} iteration {begun}{of_all}"


def _exited(text: str, reason: str, events: Sequence[_Event], reading: DacapoReading) -> str:
    known = explanation(text) or "the harness gives no reason; -v (2006: -debug) in suite.options may tell more"
    return f"{reason} {_place(events, reading)}: {known}"


def _invalid(text: str, failures: int, events: Sequence[_Event], returncode: int | None) -> str:
    """Why the benchmark's own validation failed; the harness names file and digests before each FAILED line."""
    begun = max(sum(event.kind == "begun" for event in events), failures)
    why = explanation(text) or "the harness does not say why"
    return f"DaCapo's validation failed in {failures} of {begun} iterations (exit status {returncode}): {why}"
