"""Recorded results in the formats of others: CSV, JSON, the Go benchmark format, pyperf's JSON.

CSV and JSON hold everything and are read back by ``--import`` as they were.  The other two have no place for binaries:
in Go's format each binary is one line with its mean, because its readers take lines for independent samples; in
pyperf's an execution is a run, and the seed stands in its metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from layoutrand.errors import UsageError
from layoutrand.instruments.known import is_elapsed
from layoutrand.interop.imported import Imported, ImportedNumber
from layoutrand.interop.pyperf import SEED_KEY
from layoutrand.interop.table import COLUMNS, SCHEMA
from layoutrand.interop.table_kinds import OK
from layoutrand.model import IDENTITY, STOCK
from layoutrand.text import csv_cells
from layoutrand.text.csv_cells import cell

FORMATS: Final = ("csv", "json", "benchstat", "pyperf", "bencher", "codspeed", "otava-csv", "otava-json")
_PYPERF_UNITS: Final = {"s": "second", "B": "byte"}


def records(content: Imported) -> list[dict[str, Any]]:
    """All rows and failed executions under the columns of `layoutrand.interop.table`."""
    rows = [
        {
            "system": row.system,
            "benchmark": row.benchmark,
            "seed": row.binary,
            "execution": row.execution,
            "iteration": row.iteration,
            "value": row.value,
            "metric": row.metric,
            "unit": row.unit,
            "warmup": row.warmup,
            "better": row.better,
            "instrument": row.instrument,
            "status": OK,
            "reason": "",
            "node": row.node,
            "output_sha256": row.output_sha256,
            "program_sha256": row.program_sha256,
            "round": row.round,
            "started_at": row.started_at,
            "disturbances": _names(row.disturbances),
        }
        for row in content.rows
    ]
    failed = [
        {
            "system": one.system,
            "benchmark": one.benchmark,
            "seed": one.binary,
            "execution": one.execution,
            "iteration": 0,
            "value": None,
            "metric": "",
            "unit": "",
            "warmup": False,
            "better": "less",
            "instrument": one.instrument,
            "status": one.status,
            "reason": one.reason,
            "node": one.node,
            "output_sha256": one.output_sha256,
            "program_sha256": one.program_sha256,
            "round": one.round,
            "started_at": one.started_at,
            "disturbances": _names(one.disturbances),
        }
        for one in content.failures
    ]
    return [*rows, *failed]


def _names(disturbances: Sequence[str] | None) -> str:
    return " ".join(disturbances or ())


def as_csv(content: Imported, *, raw: bool = False) -> str:
    """A header and one line for each number, all its digits; ``raw`` as in `layoutrand.text.csv_cells`."""
    return csv_cells.table(
        [COLUMNS, *([_cell(record[column], raw=raw) for column in COLUMNS] for record in records(content))]
    )


def _cell(value: Any, *, raw: bool) -> str:
    return str(int(value)) if isinstance(value, bool) else cell(value, raw=raw)


def as_json(content: Imported, facts: Mapping[str, Any]) -> str:
    """``layoutrand/export/1``: ``facts`` about the whole, and ``rows``."""
    return json.dumps({"schema": SCHEMA, **facts, "rows": records(content)}, indent=1, allow_nan=False) + "\n"


def _ambiguous(rows: Iterable[ImportedNumber]) -> frozenset[str]:
    """Metrics that several instruments measure: instructions that are counted, and instructions that are simulated."""
    instruments: dict[str, set[str]] = {}
    for row in rows:
        instruments.setdefault(row.metric, set()).add(row.instrument)
    return frozenset(metric for metric, names in instruments.items() if len(names) > 1)


def as_benchstat(rows: Sequence[ImportedNumber], facts: Mapping[str, str]) -> str:
    """Go's benchmark format, for benchstat: systems are told apart by the configuration key ``system``."""
    ambiguous = _ambiguous(rows)
    binaries: dict[str, dict[tuple[str, str], dict[str, dict[int, list[float]]]]] = {}
    directions: dict[str, str] = {}
    for row in rows:
        if row.warmup or row.binary in {STOCK, IDENTITY}:
            continue
        unit = f"{row.instrument}-{_go_unit(row)}" if row.metric in ambiguous else _go_unit(row)
        directions[unit] = {"more": "higher", "less": "lower"}[row.better]
        binary = binaries.setdefault(row.system, {}).setdefault((row.benchmark, row.binary), {})
        binary.setdefault(unit, {}).setdefault(row.execution, []).append(row.value)
    lines = [f"{key}: {value}" for key, value in facts.items()]
    lines += [f"Unit {unit} better={better}" for unit, better in directions.items() if better == "higher"]
    for system, table in binaries.items():
        lines += ["", f"system: {system}"]
        for (benchmark, _), metrics in table.items():
            pairs = " ".join(f"{_mean(map(_mean, runs.values()))!r} {unit}" for unit, runs in metrics.items())
            count = max(sum(map(len, runs.values())) for runs in metrics.values())
            lines.append(f"{_go_name(benchmark)} {count} {pairs}")
    return "\n".join(lines) + "\n"


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _go_name(benchmark: str) -> str:
    """``fib`` is BenchmarkFib; what would end the name or begin a part of it is an underscore."""
    name = re.sub(r"[\s/]", "_", benchmark)
    return "Benchmark" + (name[0].upper() if name[0].isalpha() else f"_{name[0]}") + name[1:]


def _go_unit(row: ImportedNumber) -> str:
    name = re.sub(r"\s", "_", row.metric)
    if row.unit == "s":
        return "sec/op" if is_elapsed(row.metric) else f"{name.removesuffix('_s')}-sec/op"
    return f"{name.removesuffix('_bytes')}-bytes/op" if row.unit == "B" else name


def as_pyperf(rows: Sequence[ImportedNumber]) -> str:
    """pyperf's JSON of one system; raises `UsageError` for several, and for what pyperf cannot hold."""
    systems = list(dict.fromkeys(row.system for row in rows))
    if len(systems) > 1:
        raise UsageError(f"pyperf tells systems apart by files: choose one of {', '.join(systems)} with --system")
    ambiguous = _ambiguous(rows)
    benchmarks: dict[tuple[str, str], dict[tuple[str, int], list[ImportedNumber]]] = {}
    for row in rows:
        if row.binary not in {STOCK, IDENTITY}:
            metric = f"{row.metric} ({row.instrument})" if row.metric in ambiguous else row.metric
            runs = benchmarks.setdefault((row.benchmark, metric), {})
            runs.setdefault((row.binary, row.execution), []).append(row)
    several = len({benchmark for benchmark, _ in benchmarks}) < len(benchmarks)
    document = [
        {
            "metadata": {
                "name": f"{benchmark}, {metric}" if several else benchmark,
                "unit": _PYPERF_UNITS.get(next(iter(runs.values()))[0].unit, "integer"),
            },
            "runs": [_pyperf_run(run) for run in runs.values()],
        }
        for (benchmark, metric), runs in benchmarks.items()
    ]
    return json.dumps({"version": "1.0", "benchmarks": document}, allow_nan=False) + "\n"


def _pyperf_run(run: Sequence[ImportedNumber]) -> dict[str, Any]:
    for row in run:
        if row.unit not in _PYPERF_UNITS and not row.value.is_integer():
            raise UsageError(
                f"{row.benchmark}: pyperf holds seconds, bytes and whole numbers; {row.metric} is {row.value!r} "
                f"{row.unit}; --metric chooses another, and csv and json hold everything"
            )
        if row.value <= 0 and not row.warmup:
            raise UsageError(f"{row.benchmark}: pyperf holds values above 0; {row.metric} is {row.value!r}")
    integer = run[0].unit not in _PYPERF_UNITS
    values = [int(row.value) if integer else row.value for row in run if not row.warmup]
    found: dict[str, Any] = {"metadata": {SEED_KEY: run[0].binary}}
    if values:
        found["values"] = values
    if warmups := [[1, row.value] for row in run if row.warmup]:
        found["warmups"] = warmups
    return found
