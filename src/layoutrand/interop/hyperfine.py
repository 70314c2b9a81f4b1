"""hyperfine's ``--export-json``: the wall time of every run of each command.

A run is an execution, and all runs of a command are of one binary.  Warm-up runs are not in the file.  User and system
time are there as means only, and are not taken.
"""

from __future__ import annotations

from typing import Any

from layoutrand.interop.imported import FailedRun, Imported, ImportedNumber, json_number, member, once
from layoutrand.model import WALL_METRIC
from layoutrand.text.foreign_fields import plain, unreadable


def recognise(document: Any) -> bool:
    """Whether a JSON document is of hyperfine."""
    results = document.get("results") if isinstance(document, dict) else None
    return (
        isinstance(results, list)
        and bool(results)
        and all(isinstance(result, dict) and "command" in result for result in results)
    )


def parse(document: Any, source: str) -> Imported:
    """Rows of all commands, each a benchmark; raises `UnreadableResults`."""
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    seen: set[str] = set()
    for place, result in enumerate(member(document, "results", list, source, "the document")):
        where = f"result {place}"
        name = plain(member(result, "command", str, source, where))
        once(name, seen, source, "hyperfine's -n gives each command a name")
        seen.add(name)
        times = member(result, "times", list, source, where)
        if not times:
            raise unreadable(source, f"{where} ({name}) has no times")
        codes = _beside(result, "exit_codes", len(times), source, where) or [0] * len(times)
        memory = _beside(result, "memory_usage_byte", len(times), source, where)
        for run, (time, code) in enumerate(zip(times, codes, strict=True)):
            if code != 0:
                reason = "ended by a signal" if code is None else f"exit status {code}"
                failures.append(FailedRun(name, "signal" if code is None else "exit", reason, run))
                continue
            value = json_number(time, source, f"{where}, time {run}")
            rows.append(ImportedNumber(name, value, WALL_METRIC, "s", run))
            if memory:
                size = json_number(memory[run], source, f"{where}, memory_usage_byte {run}")
                rows.append(ImportedNumber(name, size, "max_rss_bytes", "B", run))
    return Imported(tuple(rows), tuple(failures))


def _beside(result: Any, key: str, count: int, source: str, where: str) -> list[Any]:
    """An array with one entry for each run, or none at all in files of old versions."""
    values = result.get(key)
    if values is None:
        return []
    if not isinstance(values, list) or len(values) != count:
        raise unreadable(source, f"{where}, {key!r} does not have one entry for each of {count} times")
    return values
