"""Checksums in the results file: each row is sealed over its columns, and an execution over its measurements too.

A seal is a BLAKE2b of the values as the file gives them back, of no key: it is against disks, transports and other
programs, and not against somebody who means to deceive.  Measurements are sealed together, so that one that is gone
is missed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from layoutrand.results.rows import EXECUTION_COLUMNS

SEALED: Final = {
    "experiments": ("id", "project", "protocol", "policy", "randomise", "host", "hostname"),
    "contexts": (
        *("id", "experiment_id", "digest", "created_at", "version", "config", "config_digest", "schedule_seed"),
        *("host_facts", "instruments", "tools", "captures", "used_at", "built"),
    ),
    "executions": ("id", "experiment_id", "context_id", *EXECUTION_COLUMNS, "measured"),
    "build_failures": ("experiment_id", "system", "capture", "artefact", "layout", "error", "log"),
    "nodes": ("experiment_id", "name", "digest", "first_at", "facts"),
}
"""Table -> the columns that its seals are over, in this order."""

KEYS: Final = {
    "experiments": ("id",),
    "contexts": ("id",),
    "executions": ("id",),
    "build_failures": ("experiment_id", "system", "capture", "artefact", "layout"),
    "nodes": ("experiment_id", "name", "digest"),
}
"""Table -> the columns that name a row of it."""

_PRINTED: Final = SEALED["executions"].index("output_sha256")
MEASURED: Final = ("metric", "unit", "iteration", "value", "warmup")
_MEASURED_IN: Final = (
    f"SELECT {', '.join(MEASURED)} FROM measurements WHERE execution_id = ? ORDER BY metric, iteration"  # noqa: S608
)
_EXECUTION: Final = f"SELECT {', '.join(SEALED['executions'])} FROM executions WHERE id = ?"  # noqa: S608
_SEAL_EXECUTION: Final = "UPDATE executions SET measured = ?, seal = ? WHERE id = ?"
_text = json.JSONEncoder(separators=(",", ":"), default=lambda blob: ["bytes", blob.hex()]).encode


def seal_of(table: str, values: Sequence[Any]) -> str:
    """The seal of a row of the table with these values of its `SEALED` columns: 32 hexadecimal digits.

    An execution of which it is not known what it printed has the seal that it had before there was such a column: files
    of earlier versions get the column without being sealed anew, which would make a damaged row look whole.
    """
    if table == "executions" and values[_PRINTED] == "":
        return _digest([table, *values[:_PRINTED], *values[_PRINTED + 1 :]])
    return _digest([table, *values])


def seal_of_measurements(execution_id: int, rows: Sequence[Sequence[Any]]) -> str:
    """The seal of an execution's measurements: their `MEASURED` columns, by metric and iteration."""
    return _digest(["measurements", execution_id, *rows])


def _digest(values: list[Any]) -> str:
    return hashlib.blake2b(_text(values).encode("ascii"), digest_size=16).hexdigest()


def seal_execution(sql: sqlite3.Connection, execution_id: int) -> None:
    """What `seal_rows` does to one row of the executions, of which one is recorded after each: in one change of it."""
    measured = seal_of_measurements(execution_id, sql.execute(_MEASURED_IN, (execution_id,)).fetchall())
    row = sql.execute(_EXECUTION, (execution_id,)).fetchone()
    sql.execute(_SEAL_EXECUTION, (measured, seal_of("executions", (*row[:-1], measured)), execution_id))


def seal_rows(sql: sqlite3.Connection, table: str, where: str = "1", values: Sequence[Any] = ()) -> int:
    """Seal the rows of the table as they are now, those that the condition chooses; how many there were."""
    if table == "executions":
        _seal_measurements(sql, where, values)
    columns, keys = SEALED[table], KEYS[table]
    places = [columns.index(key) for key in keys]
    rows = sql.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE {where}", values)  # noqa: S608
    return _update(sql, table, "seal", ((seal_of(table, row), *(row[at] for at in places)) for row in rows.fetchall()))


def _seal_measurements(sql: sqlite3.Connection, where: str, values: Sequence[Any]) -> None:
    ids = [row[0] for row in sql.execute(f"SELECT id FROM executions WHERE {where}", values)]  # noqa: S608
    sealed = ((seal_of_measurements(each, sql.execute(_MEASURED_IN, (each,)).fetchall()), each) for each in ids)
    _update(sql, "executions", "measured", sealed)


def _update(sql: sqlite3.Connection, table: str, column: str, sealed: Iterable[Sequence[Any]]) -> int:
    named = " AND ".join(f"{key} IS ?" for key in KEYS[table])
    count = 0
    for row in sealed:
        sql.execute(f"UPDATE {table} SET {column} = ? WHERE {named}", row)  # noqa: S608
        count += 1
    return count
