"""pytest-benchmark's ``--benchmark-json``: one process, each test a benchmark with a value for each of its rounds.

Rounds are in the file only where ``--benchmark-save-data`` was given; without them it has no more than their mean.
"""

from __future__ import annotations

from typing import Any

from layoutrand.interop.imported import Imported, ImportedNumber, json_number, member, once
from layoutrand.text.foreign_fields import plain, unreadable


def recognise(document: Any) -> bool:
    """Whether a JSON document is of pytest-benchmark."""
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    return (
        isinstance(benchmarks, list)
        and bool(benchmarks)
        and all(isinstance(each, dict) and "stats" in each and "fullname" in each for each in benchmarks)
    )


def parse(document: Any, source: str) -> Imported:
    """Rows of all tests; raises `UnreadableResults`."""
    rows: list[ImportedNumber] = []
    seen: set[str] = set()
    for place, benchmark in enumerate(member(document, "benchmarks", list, source, "the document")):
        where = f"benchmark {place}"
        name = plain(member(benchmark, "fullname", str, source, where))
        once(name, seen, source, "split the file, one for each system")
        seen.add(name)
        stats = member(benchmark, "stats", dict, source, where)
        data = member(stats, "data", list, source, f"{where}, stats") if stats.get("data") else [stats.get("mean")]
        for iteration, raw in enumerate(data):
            value = json_number(raw, source, f"{where}, stats, value {iteration}")
            rows.append(ImportedNumber(name, value, "time_s", "s", 0, iteration))
    if not rows:
        raise unreadable(source, "holds no benchmark of pytest-benchmark")
    return Imported(tuple(rows))
