"""SPEC CPU's raw file (RSF): one result per benchmark, tune and iteration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from layoutrand.text.digits import whole_number
from layoutrand.text.foreign_fields import parse_number, plain, unreadable

_LINE: Final = re.compile(r"spec\.cpu20\d\d\.results\.(\d{3}_\w+?)\.(base|peak)\.(\d{3})\.(\w+): ?(.*)")
_ANY_RESULT: Final = re.compile(r"spec\.cpu20\d\d\.results\.")
_SIZE: Final = re.compile(r"^spec\.cpu20\d\d\.size: ?(\w+)[ \t\r]*$", re.MULTILINE)
_MOST: Final = 10**6
SUCCESS: Final = "S"
"""What SPEC calls success."""

_STATUS: Final = {
    "CE": "compile error",
    "RE": "run-time error",
    "VE": "verification error: wrong output",
    "SE": "set-up error",
}


@dataclass(frozen=True)
class RsfResult:
    """What SPEC says of one iteration of a benchmark.

    ``reported_s`` is None where ``valid``, SPEC's status, is not success; ``errors`` are its words then.  ``is_copy``
    says that it is peak, and a copy of base; ``exehash`` is "" where SPEC records none.  ``size`` is that of the input
    as `input_size` has it, "" where the file is silent; ``copies`` is how many ran at once, None for a speed metric;
    ``threads`` is how many SPEC gave to one copy, None where the file is silent, as before CPU2017; ``is_submitted``
    says that the configuration's ``submit`` started it.
    """

    benchmark: str
    tune: str
    index: int
    valid: str
    reported_s: float | None
    errors: str
    exehash: str
    is_copy: bool
    size: str
    copies: int | None
    threads: int | None
    is_submitted: bool = False


def rsf_results(text: str, source: str) -> list[RsfResult]:
    """All results; raises `UnreadableResults`."""
    records: dict[tuple[str, str, str], dict[str, str]] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not _ANY_RESULT.match(line):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            expected = "spec.cpu20xx.results.BENCHMARK.TUNE.NNN.KEY: VALUE"
            raise unreadable(source, f"a result that is cut off or damaged; expected {expected}", line=number)
        benchmark, tune, index, key, value = match.groups()
        records.setdefault((benchmark, tune, index), {})[key] = value.strip()
    if not records:
        raise unreadable(source, "no results in this raw file (lines `spec.cpu20xx.results...`); nothing was run")
    told = _SIZE.search(text)
    size = "" if told is None else input_size(told[1])
    return [_result(record, *names, size, source) for names, record in records.items()]


def input_size(told: str) -> str:
    """The size of an input by one of SPEC's names for it: CPU2017 has two for ref.

    >>> input_size("refrate"), input_size("test")
    ('ref', 'test')
    """
    return "ref" if told in {"refrate", "refspeed"} else told


def number_at_once(told: str, source: str, what: str, *, line: int | None = None) -> int:
    """How many copies of the program ran at once, or threads of one; raises `UnreadableResults`."""
    number = whole_number(told, _MOST) if told.isascii() and told.isdigit() else None
    if not number:
        raise unreadable(source, f"{what} is {told!r}; expected a number from 1 to {_MOST:,}", line=line)
    return number


def _result(record: Mapping[str, str], stem: str, tune: str, index: str, size: str, source: str) -> RsfResult:
    for key in ("valid", "reported_time"):
        if key not in record:
            raise unreadable(source, f"result {index} of {stem} ({tune}) has no {key!r}; is the file complete?")
    benchmark = plain(record.get("benchmark", stem.replace("_", ".", 1)))
    copied = tune != "base" and record.get("basepeak") == "1"
    seconds = None
    if record["valid"] == SUCCESS and not copied:
        seconds = parse_number(record["reported_time"], source, f"reported_time {index} of {benchmark} ({tune})")
    errors = "; ".join(record[key] for key in sorted(record) if re.fullmatch(r"errors\d+", key))
    copies = threads = None
    if seconds is not None and record.get("threads"):
        what = f"the number of threads of result {index} of {benchmark} ({tune})"
        threads = number_at_once(record["threads"], source, what)
    if seconds is not None and (record.get("runmode") == "rate" or record.get("rate") == "1"):
        told = record.get("copies", record.get("clcopies", ""))
        copies = number_at_once(told, source, f"the number of copies of result {index} of {benchmark} ({tune})")
    return RsfResult(
        benchmark=benchmark,
        tune=tune,
        index=int(index),
        valid=record["valid"],
        reported_s=seconds,
        errors=errors,
        exehash=record.get("exehash", ""),
        is_copy=copied,
        size=size,
        copies=copies,
        threads=threads,
        is_submitted=record.get("submit") == "1",
    )


def failure_of(code: str, detail: str) -> tuple[str, str]:
    """(Status of an execution, reason) for a status of SPEC that is not success, and what it says beside."""
    reason = f"SPEC status {plain(code)} ({_STATUS.get(code, 'not success')})"
    status = {"VE": "wrong-output", "RE": "exit"}.get(code, "start")
    return status, f"{reason}: {plain(detail)}" if detail else reason
