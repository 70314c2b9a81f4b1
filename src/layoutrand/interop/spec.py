"""SPEC CPU's raw file (RSF) and CSV: one row per benchmark, tune and iteration; a SPEC iteration is an execution.

The RSF is the better one: full list of errors, and from CPU2017 on the hash of the executable, which tells binaries
apart.  Base is the system that the file is named for, peak a system of its own (``NAME-peak``).  Where peak is a copy
of base (``basepeak``) it is left out, or every time would count twice.  Times are ``reported_time``; ratios are SPEC's.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber, refuse_impossible
from layoutrand.interop.interop_warnings import CopiedPeak
from layoutrand.text.foreign_fields import parse_number, plain, unreadable
from layoutrand.text.spec_rsf import SUCCESS, failure_of, rsf_results

METRIC: Final = "reported_time"
_ANY_RSF: Final = re.compile(r"^spec\.cpu20\d\d\.", re.MULTILINE)
_ITERATION: Final = re.compile(r"iteration #([0-9]{1,9})(?![0-9])")
_NOT_RUN: Final = "NR"


def recognise_rsf(text: str) -> bool:
    """Whether it is a SPEC CPU raw file."""
    return _ANY_RSF.search(text) is not None


def recognise_csv(text: str) -> bool:
    """Whether it is SPEC CPU's CSV."""
    return re.match(r"valid,", text) is not None and "Full Results Table" in text


def parse_rsf(text: str, source: str) -> Imported:
    """Rows of all results; raises `UnreadableResults`."""
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    copied: set[str] = set()
    for result in rsf_results(text, source):
        variant = "" if result.tune == "base" else result.tune
        if result.is_copy:
            copied.add(result.benchmark)
        elif result.reported_s is None:
            failures.append(_failed(result.benchmark, result.valid, result.errors, result.index, variant))
        else:
            rows.append(
                ImportedNumber(
                    result.benchmark,
                    result.reported_s,
                    METRIC,
                    "s",
                    result.index,
                    variant=variant,
                    fingerprint=result.exehash,
                )
            )
    return Imported(tuple(rows), tuple(failures), _copies(copied))


def _failed(benchmark: str, code: str, detail: str, index: int, variant: str) -> FailedRun:
    status, reason = failure_of(code, detail)
    return FailedRun(benchmark, status, reason, index, variant=variant)


def _copies(benchmarks: set[str]) -> tuple[CopiedPeak, ...]:
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


_Found = dict[str, list[tuple[int, str, str, str]]]


def _take(record: Mapping[str, str], found: _Found, source: str, line: int) -> None:
    """Add (iteration, tune, status, time) of the line's base and peak."""
    entries = found.setdefault(plain(record["Benchmark"]), [])
    match = _ITERATION.search(record.get("Description", ""))
    for tune in ("base", "peak"):
        status = record.get(f"{tune.capitalize()} Status", "")
        time = record.get(f"{tune.capitalize()} Run Time", "")
        if status in {"", _NOT_RUN} and not time:
            continue
        if match is None:
            raise unreadable(source, "no 'iteration #N' in the description; is the line complete?", line=line)
        if status == SUCCESS:
            what = f"{tune} run time"
            refuse_impossible(parse_number(time, source, what, line=line), "s", METRIC, source, what, line=line)
        entries.append((int(match[1]) - 1, tune, status, time))


def _assemble(found: _Found, source: str) -> Imported:
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    copied: set[str] = set()
    for benchmark, entries in found.items():
        times = {t: [(i, status, time) for i, tune, status, time in entries if tune == t] for t in ("base", "peak")}
        if times["base"] and times["base"] == times["peak"]:
            copied.add(benchmark)
            times["peak"] = []
        for tune, runs in times.items():
            variant = "" if tune == "base" else tune
            for iteration, status, time in runs:
                if status != SUCCESS:
                    failures.append(_failed(benchmark, status, "", iteration, variant))
                else:
                    rows.append(ImportedNumber(benchmark, float(time), METRIC, "s", iteration, variant=variant))
    if not rows and not failures:
        raise unreadable(source, "nothing was run: its table of results holds no time")
    return Imported(tuple(rows), tuple(failures), _copies(copied))
