"""Renaissance's ``--json`` and ``--csv``: one JVM per file, so one execution; each repetition is an iteration.

Neither marks warm-up.  The JSON says of each benchmark whether it ended well.  Beside ``duration_ns`` there may be
columns of plug-ins, which become further metrics; points in time (``uptime_ns``, ``vm_start...``) are no measurements.
"""

from __future__ import annotations

import csv
import io
from typing import Any, Final

from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber, json_number, member, refuse_impossible
from layoutrand.interop.interop_warnings import AbnormalTermination, UnmarkedWarmup
from layoutrand.text.foreign_fields import json_excerpt, parse_number, plain, unreadable
from layoutrand.warning import AnyWarning

DURATION: Final = "duration_ns"
_POINTS_IN_TIME: Final = ("uptime_ns", "vm_start_unix_ms", "vm_start_ns")


def recognise(document: Any) -> bool:
    """Whether a JSON document is of Renaissance."""
    return isinstance(document, dict) and "format_version" in document and isinstance(document.get("data"), dict)


def recognise_csv(text: str) -> bool:
    """Whether it is Renaissance's CSV."""
    header = text.split("\n", 1)[0].rstrip("\r").split(",")
    return "benchmark" in header and DURATION in header


def parse(document: Any, source: str) -> Imported:
    """Rows of all benchmarks; raises `UnreadableResults`."""
    data = member(document, "data", dict, source, "the document")
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    vm = _termination(document.get("environment"), "vm")
    for name, entry in data.items():
        where = f"data, {name!r}"
        results = member(entry, "results", list, source, where)
        ended = entry.get("termination", vm)
        if ended != "normal" or not results:
            reason = "no iteration was completed" if ended == "normal" else f"termination is {ended!r}, not 'normal'"
            failures.append(FailedRun(plain(name), "exit", reason))
            continue
        for iteration, result in enumerate(results):
            place = f"{where}, result {iteration}"
            member(result, DURATION, int, source, place)
            numbers = {key: value for key, value in result.items() if key not in _POINTS_IN_TIME}
            numbers = {DURATION: numbers.pop(DURATION)} | numbers
            rows += [
                _row(name, iteration, key, json_number(value, source, f"{place}, {key!r}"))
                for key, value in numbers.items()
            ]
    remarks: list[AnyWarning] = [UnmarkedWarmup()] if rows else []
    if vm != "normal":
        remarks.append(AbnormalTermination(vm))
    return Imported(tuple(rows), tuple(failures), tuple(remarks))


def _termination(environment: Any, key: str) -> str:
    """Files of old versions say nothing of it."""
    part = environment.get(key) if isinstance(environment, dict) else None
    return str(part.get("termination", "normal")) if isinstance(part, dict) else "normal"


def parse_csv(text: str, source: str) -> Imported:
    """Rows of all benchmarks; raises `UnreadableResults` with the line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = text.split("\n", 1)[0].rstrip("\r").split(",")
    for column in ("benchmark", DURATION):
        if column not in header:
            raise unreadable(source, f"no column {column!r} in the header {json_excerpt(header)}", line=1)
    metrics = [DURATION, *(c for c in header if c not in {"benchmark", DURATION, *_POINTS_IN_TIME})]
    counts: dict[str, int] = {}
    rows = []
    try:
        next(reader)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                message = f"{len(cells)} cells under {len(header)} columns; is the file complete?"
                raise unreadable(source, message, line=reader.line_num)
            record = dict(zip(header, cells, strict=True))
            name = record["benchmark"]
            iteration = counts.get(name, 0)
            counts[name] = iteration + 1
            line = reader.line_num
            for metric in metrics:
                row = _row(name, iteration, metric, parse_number(record[metric], source, metric, line=line))
                refuse_impossible(row.value, row.unit, row.metric, source, metric, line=line)
                rows.append(row)
    except csv.Error as error:
        raise unreadable(source, f"no CSV ({error})", line=reader.line_num) from error
    if not rows:
        raise unreadable(source, "holds no iteration below its header")
    return Imported(tuple(rows), remarks=(UnmarkedWarmup(),))


def _row(benchmark: str, iteration: int, column: str, value: float) -> ImportedNumber:
    if column.endswith("_ns"):
        return ImportedNumber(
            plain(benchmark), value / 10**9, plain(column.removesuffix("_ns")) + "_s", "s", 0, iteration
        )
    return ImportedNumber(plain(benchmark), value, plain(column), "", 0, iteration)
