"""SPEC CPU's raw file (RSF) and CSV: one row per benchmark, tune and iteration; a SPEC iteration is an execution.

The RSF is the better one: full list of errors, and from CPU2017 on the hash of the executable, which tells binaries
apart.  Base is the system that the file is named for, peak a system of its own (``NAME-peak``).  Where peak is a copy
of base (``basepeak``) it is left out, or every time would count twice.

For a speed metric the value is ``reported_time``.  For a rate it is the throughput, copies / ``reported_time``: SPEC's
rate but for the reference time, which is the same for all.  The time alone would call more copies slower.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber, refuse_impossible
from layoutrand.interop.interop_warnings import CopiedPeak
from layoutrand.text.foreign_fields import parse_number, plain, unreadable
from layoutrand.text.spec_rsf import SUCCESS, RsfResult, failure_of, input_size, number_at_once, rsf_results

METRIC: Final = "reported_time"
THROUGHPUT: Final = "throughput"
_ANY_RSF: Final = re.compile(r"^spec\.cpu20\d\d\.", re.MULTILINE)
_MACHINE: Final = re.compile(r"^spec\.cpu20\d\d\.((?:hw|sw)_\w+):[ \t]*([^\r\n]*)", re.MULTILINE)
_LOGGED: Final = re.compile(
    r"^(?:run(?:cpu|spec) v\d+ started at |Success: (?:\d+x\d{3}\.\w+ ?)+\r?$| +format: raw -> |"
    r"The log for this run is in .*\bCPU20\d\d\.\d+\.log)",
    re.MULTILINE,
)
_RAW: Final = re.compile(r"^ +format: raw -> (.+?\.rsf)(?=,|\s*$)", re.MULTILINE)
_ITERATION: Final = re.compile(r"iteration #([0-9]{1,9})(?![0-9])")
_SIZE: Final = re.compile(r"(?:\w+\()?(\w+)\)? iteration #", re.ASCII)
_NOT_RUN: Final = "NR"


def recognise_rsf(text: str) -> bool:
    """Whether it is a SPEC CPU raw file."""
    return "spec.cpu20" in text and _ANY_RSF.search(text) is not None


def recognise_csv(text: str) -> bool:
    """Whether it is SPEC CPU's CSV."""
    return re.match(r"valid,", text) is not None and "Full Results Table" in text


def log_words(text: str) -> str:
    """What to import in place of what SPEC's tools print or log; empty where it is nothing of theirs."""
    if _LOGGED.search(text) is None:
        return ""
    made = list(dict.fromkeys(plain(path) for path in _RAW.findall(text)))
    if not made:
        return (
            "is what SPEC's tools print or log, and names no raw file, as where they only build; the files ending in "
            ".rsf and .csv that they write for executions can be imported"
        )
    return f"is what SPEC's tools print or log; the raw file that it names can be imported: {', '.join(made)}"


def parse_rsf(text: str, source: str) -> Imported:
    """Rows of all results; raises `UnreadableResults`."""
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    copied: set[str] = set()
    machine = sorted(_MACHINE.findall(text))
    for result in rsf_results(text, source):
        variant = "" if result.tune == "base" else result.tune
        if result.is_copy:
            copied.add(result.benchmark)
        elif result.reported_s is None:
            failures.append(spec_failure(result.benchmark, result.valid, result.errors, result.index, variant))
        else:
            what = f"reported_time {result.index} of {result.benchmark} ({result.tune})"
            row = spec_row(result.benchmark, result.reported_s, result.copies, result.index, source, what)
            known = replace(row, fingerprint=result.exehash, workload=result.size, threads=result.threads)
            rows.append(replace(known, variant=variant, program_sha256=_program(result, machine)))
    return Imported(tuple(rows), tuple(failures), copies_left_out(copied))


def _program(result: RsfResult, machine: Sequence[tuple[str, str]]) -> str:
    """What tells systems that are one program; empty where SPEC recorded no hash of the executable.

    The same executable in other numbers of copies or threads, by way of ``submit``, or on what the file describes as
    another machine, is measured because that differs: what is found there is no noise.
    """
    if not result.exehash:
        return ""
    executed = (result.exehash, result.copies, result.threads, result.is_submitted, machine)
    return hashlib.sha256(repr(executed).encode("utf-8", "surrogateescape")).hexdigest()


def spec_row(
    benchmark: str, seconds: float, copies: int | None, execution: int, source: str, what: str, line: int | None = None
) -> ImportedNumber:
    """A time, or with ``copies`` the throughput; raises `UnreadableResults` for a time that cannot be."""
    refuse_impossible(seconds, "s", METRIC, source, what, line=line)
    if copies is None:
        return ImportedNumber(benchmark, seconds, METRIC, "s", execution)
    rate = copies / seconds
    return ImportedNumber(benchmark, rate, THROUGHPUT, "copies/s", execution, better="more", copies=copies)


def spec_failure(benchmark: str, code: str, detail: str, index: int, variant: str) -> FailedRun:
    """A failure by SPEC's status of it, ``code``, and what it says beside."""
    status, reason = failure_of(code, detail)
    return FailedRun(benchmark, status, reason, index, variant=variant)


def copies_left_out(benchmarks: set[str]) -> tuple[CopiedPeak, ...]:
    """What is to be known of benchmarks whose peak is a copy of base."""
    return (CopiedPeak(tuple(sorted(benchmarks))),) if benchmarks else ()


def parse_csv(text: str, source: str) -> Imported:
    """Rows of the table of all results; raises `UnreadableResults` with the line.

    Benchmarks that were not run (NR) were not asked for, and are no failures.
    """
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if line.strip().strip('"') == "Full Results Table"), None)
    if start is None:
        raise unreadable(source, 'no "Full Results Table"; is this a CSV of SPEC CPU 2006 or later, and complete?')
    header: list[str] = []
    found: _Found = {}
    for line, cells in _cells(lines, start + 1, source):
        if not cells:
            if found:
                break
        elif not header:
            header = [cell.removeprefix("Est. ") for cell in cells]
            for column in ("Benchmark", "Base Run Time", "Base Status"):
                if column not in header:
                    raise unreadable(source, f"no column {column!r} in the table's header", line=line)
        else:
            if len(cells) > len(header):
                raise unreadable(source, f"{len(cells)} cells under {len(header)} columns", line=line)
            if len(cells) <= header.index("Benchmark"):
                raise unreadable(source, "no cell in column 'Benchmark'; is the line complete?", line=line)
            _take(dict(zip(header, cells, strict=False)), found, source, line)
    else:
        raise unreadable(source, "ends within the table of results; is the file complete?", line=len(lines))
    return _assemble(found, source)


def _cells(lines: Sequence[str], start: int, source: str) -> Iterator[tuple[int, list[str]]]:
    """(Line, cells) of the lines from ``start`` on."""
    reader = csv.reader(line.rstrip("\r") for line in lines[start:])
    try:
        for cells in reader:
            yield start + reader.line_num, cells
    except csv.Error as error:
        raise unreadable(source, f"no CSV ({error})", line=start + reader.line_num) from error


@dataclass(frozen=True)
class _Entry:
    """One iteration of one tune; ``seconds`` None where ``status`` is not success."""

    iteration: int
    tune: str
    status: str
    size: str
    copies: int | None
    threads: int | None
    seconds: float | None


_Found = dict[str, list[_Entry]]


def _take(record: Mapping[str, str], found: _Found, source: str, line: int) -> None:
    """Add what the line has of base and of peak."""
    entries = found.setdefault(plain(record["Benchmark"]), [])
    description = record.get("Description", "")
    match = _ITERATION.search(description)
    told = _SIZE.match(description)
    size = "" if told is None else input_size(told[1])
    for tune in ("base", "peak"):
        status = record.get(f"{tune.capitalize()} Status", "")
        time = record.get(f"{tune.capitalize()} Run Time", "")
        if status in {"", _NOT_RUN} and not time:
            continue
        if match is None:
            raise unreadable(source, "no 'iteration #N' in the description; is the line complete?", line=line)
        copies = threads = seconds = None
        if status == SUCCESS:
            what = f"{tune} run time"
            seconds = parse_number(time, source, what, line=line)
            refuse_impossible(seconds, "s", METRIC, source, what, line=line)
            if (number := record.get(f"{tune.capitalize()} # Copies")) is not None:
                copies = number_at_once(number, source, f"{tune} # copies", line=line)
            if number := record.get(f"{tune.capitalize()} # Threads"):
                threads = number_at_once(number, source, f"{tune} # threads", line=line)
        entries.append(_Entry(int(match[1]) - 1, tune, status, size, copies, threads, seconds))


def _assemble(found: _Found, source: str) -> Imported:
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    copied: set[str] = set()
    for benchmark, entries in found.items():
        tunes = {tune: [replace(e, tune="") for e in entries if e.tune == tune] for tune in ("base", "peak")}
        # Two measurements are never equal to the microsecond; two failures have nothing to be equal in.
        if tunes["base"] == tunes["peak"] and any(entry.seconds is not None for entry in tunes["base"]):
            copied.add(benchmark)
            tunes["peak"] = []
        for tune, runs in tunes.items():
            variant = "" if tune == "base" else tune
            for run in runs:
                if run.seconds is None:
                    failures.append(spec_failure(benchmark, run.status, "", run.iteration, variant))
                    continue
                row = spec_row(benchmark, run.seconds, run.copies, run.iteration, source, f"{tune} run time")
                rows.append(replace(row, variant=variant, workload=run.size, threads=run.threads))
    if not rows and not failures:
        raise unreadable(source, "nothing was run: its table of results holds no time")
    return Imported(tuple(rows), tuple(failures), copies_left_out(copied))
