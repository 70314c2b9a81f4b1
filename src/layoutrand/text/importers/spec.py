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

from layoutrand.text.importers.rows import FailedRun, Imported, Row, parse_number, plain, unreadable

METRIC: Final = "reported_time"
_RSF_LINE: Final = re.compile(r"spec\.cpu20\d\d\.results\.(\d{3}_\w+?)\.(base|peak)\.(\d{3})\.(\w+): ?(.*)")
_ANY_RESULT: Final = re.compile(r"spec\.cpu20\d\d\.results\.")
_ANY_RSF: Final = re.compile(r"^spec\.cpu20\d\d\.", re.MULTILINE)
_ITERATION: Final = re.compile(r"iteration #(\d+)")
_SUCCESS: Final = "S"
_NOT_RUN: Final = "NR"
_STATUS: Final = {
    "CE": "compile error", "RE": "run-time error", "VE": "verification error: wrong output", "SE": "set-up error"
}  # fmt: skip


def recognise_rsf(text: str) -> bool:
    """Whether it is a SPEC CPU raw file."""
    return _ANY_RSF.search(text) is not None


def recognise_csv(text: str) -> bool:
    """Whether it is SPEC CPU's CSV."""
    return re.match(r"valid,", text) is not None and "Full Results Table" in text


def parse_rsf(text: str, source: str) -> Imported:
    """Rows of all results; raises `UnreadableResults`."""
    records: dict[tuple[str, str, str], dict[str, str]] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not _ANY_RESULT.match(line):
            continue
        match = _RSF_LINE.fullmatch(line)
        if match is None:
            expected = "spec.cpu20xx.results.BENCHMARK.TUNE.NNN.KEY: VALUE"
            raise unreadable(source, f"a result that is cut off or damaged; expected {expected}", line=number)
        benchmark, tune, index, key, value = match.groups()
        records.setdefault((benchmark, tune, index), {})[key] = value.strip()
    if not records:
        raise unreadable(source, "no results in this raw file (lines `spec.cpu20xx.results...`); nothing was run")
    rows: list[Row] = []
    failures: list[FailedRun] = []
    copied: set[str] = set()
    for (stem, tune, index), record in records.items():
        for key in ("valid", "reported_time"):
            if key not in record:
                raise unreadable(source, f"result {index} of {stem} ({tune}) has no {key!r}; is the file complete?")
        benchmark = plain(record.get("benchmark", stem.replace("_", ".", 1)))
        variant = "" if tune == "base" else tune
        if variant and record.get("basepeak") == "1":
            copied.add(benchmark)
        elif record["valid"] != _SUCCESS:
            failures.append(_failed(benchmark, record["valid"], _errors(record), int(index), variant))
        else:
            value = parse_number(record["reported_time"], source, f"reported_time {index} of {benchmark} ({tune})")
            fingerprint = record.get("exehash", "")
            rows.append(Row(benchmark, value, METRIC, "s", int(index), variant=variant, fingerprint=fingerprint))
    return Imported(tuple(rows), tuple(failures), _copies(copied))


def _errors(record: Mapping[str, str]) -> str:
    return "; ".join(record[key] for key in sorted(record) if re.fullmatch(r"errors\d+", key))


def _failed(benchmark: str, code: str, detail: str, index: int, variant: str) -> FailedRun:
    reason = f"SPEC status {plain(code)} ({_STATUS.get(code, 'not success')})"
    status = {"VE": "wrong-output", "RE": "exit"}.get(code, "start")
    return FailedRun(benchmark, status, f"{reason}: {plain(detail)}" if detail else reason, index, variant=variant)


def _copies(benchmarks: set[str]) -> tuple[str, ...]:
    if not benchmarks:
        return ()
    return (f"peak is a copy of base for {', '.join(sorted(benchmarks))} and was left out there",)


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
        if status == _SUCCESS:
            parse_number(time, source, f"{tune} run time", line=line)
        entries.append((int(match[1]) - 1, tune, status, time))


def _assemble(found: _Found, source: str) -> Imported:
    rows: list[Row] = []
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
                if status != _SUCCESS:
                    failures.append(_failed(benchmark, status, "", iteration, variant))
                else:
                    rows.append(Row(benchmark, float(time), METRIC, "s", iteration, variant=variant))
    if not rows and not failures:
        raise unreadable(source, "nothing was run: its table of results holds no time")
    return Imported(tuple(rows), tuple(failures), _copies(copied))
