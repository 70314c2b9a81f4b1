"""pyperf's JSON: runs of worker processes, each with values and warm-ups.

A run is an execution, its values are iterations, its warm-ups stand before them and are flagged.  A run without values
calibrated the number of loops and is all warm-up.  pyperf knows nothing of binaries; what ``layoutrand export`` writes
has each run's seed in its metadata.
"""

from __future__ import annotations

from typing import Any, Final

from layoutrand.interop.imported import Imported, ImportedNumber, json_number, member, once
from layoutrand.text.foreign_fields import json_excerpt, plain, unreadable

SEED_KEY: Final = "layoutrand_seed"
_UNITS: Final = {"second": ("time_s", "s"), "byte": ("memory_bytes", "B"), "integer": ("value", "1")}


def recognise(document: Any) -> bool:
    """Whether a JSON document is of pyperf."""
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    return (
        isinstance(benchmarks, list)
        and bool(benchmarks)
        and all(isinstance(benchmark, dict) and "runs" in benchmark for benchmark in benchmarks)
    )


def parse(document: Any, source: str) -> Imported:
    """Rows of all benchmarks; raises `UnreadableResults`."""
    version = member(document, "version", str, source, "the document")
    if version != "1.0":
        raise unreadable(source, f"version {version!r} of pyperf's format; expected '1.0'")
    common = _metadata(document, source, "the document")
    rows: list[ImportedNumber] = []
    seen: set[str] = set()
    for place, benchmark in enumerate(member(document, "benchmarks", list, source, "the document")):
        where = f"benchmark {place}"
        runs = member(benchmark, "runs", list, source, where)
        first = _metadata(runs[0], source, f"{where}, run 0") if runs else {}
        metadata = {**common, **first, **_metadata(benchmark, source, where)}
        name = plain(member(metadata, "name", str, source, f"{where}, its metadata"))
        once(name, seen, source, "names must differ")
        seen.add(name)
        unit = metadata.get("unit", "second")
        if not isinstance(unit, str) or unit not in _UNITS:
            raise unreadable(source, f"{where}: unit {json_excerpt(unit)}; expected one of {', '.join(_UNITS)}")
        for number, run in enumerate(runs):
            rows += _run_rows(run, number, name, unit, source, f"{where}, run {number}")
    return Imported(tuple(rows))


def _metadata(part: Any, source: str, where: str) -> dict[str, Any]:
    """What is said of the document, of a benchmark or of a run; nothing need be."""
    if isinstance(part, dict) and not part.get("metadata"):
        return {}
    found: dict[str, Any] = member(part, "metadata", dict, source, where)
    return found


def _run_rows(run: Any, number: int, name: str, unit: str, source: str, where: str) -> list[ImportedNumber]:
    metadata = _metadata(run, source, where)
    metric, base = _UNITS[unit]
    warmups = run.get("warmups") or []
    values = run.get("values") or []
    if not isinstance(warmups, list) or not isinstance(values, list) or not (warmups or values):
        raise unreadable(source, f"{where} has neither values nor warmups that are arrays")
    seed = plain(str(metadata.get(SEED_KEY, "")))
    rows = []
    for iteration, pair in enumerate(warmups):
        if not isinstance(pair, list) or len(pair) != 2:
            raise unreadable(source, f"{where}, warmup {iteration} is {json_excerpt(pair)}; expected [loops, value]")
        value = json_number(pair[1], source, f"{where}, warmup {iteration}")
        rows.append(ImportedNumber(name, value, metric, base, number, iteration, binary=seed, warmup=True))
    for iteration, raw in enumerate(values):
        value = json_number(raw, source, f"{where}, value {iteration}")
        rows.append(ImportedNumber(name, value, metric, base, number, len(warmups) + iteration, binary=seed))
    return rows
