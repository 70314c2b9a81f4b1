"""`layoutrand results verify`: every page, every row, its seal, its values and what it refers to."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.results.damage import DamagedRow
from layoutrand.results.file import open_for_reading
from layoutrand.results.recorded_results import RecordedResults
from layoutrand.results.whole_file import check

_TABLES: Final = ("experiments", "contexts", "executions", "measurements", "build_failures", "nodes")
_ORPHANS: Final = "SELECT DISTINCT execution_id FROM measurements WHERE execution_id NOT IN (SELECT id FROM executions)"


@dataclass(frozen=True)
class VerifiedResults:
    """What a results file holds: rows by table (None for one that cannot be read), and those that are damaged.

    ``sealed`` is whether rows have checksums; a file of an earlier layoutrand gets them when something is recorded.
    """

    rows: dict[str, int | None]
    damaged: tuple[DamagedRow, ...]
    sealed: bool


def verify(path: Path) -> VerifiedResults:
    """Look at all of a results file without changing it; raises `ResultsError` where it cannot be opened at all."""
    with open_for_reading(path) as store:
        store.read_all()
        return store.looking(lambda sql: _verified(store, sql))


def _verified(store: RecordedResults, sql: sqlite3.Connection) -> VerifiedResults:
    found = {(row.table, row.key): row for row in store.damaged}
    for line in check(sql, "integrity_check"):
        row = DamagedRow("pages of the file", line, "", "damaged")
        found.setdefault(("pages of the file", line), row)
    for row in _referring_to_nothing(sql):
        found.setdefault((row.table, row.key), row)
    return VerifiedResults({table: _count(sql, table) for table in _TABLES}, tuple(found.values()), store.is_sealed)


def _referring_to_nothing(sql: sqlite3.Connection) -> list[DamagedRow]:
    """Rows of which what they belong to is gone."""
    try:
        parents = sql.execute("PRAGMA foreign_key_check").fetchall()
        orphans = sql.execute(_ORPHANS).fetchall()
    except sqlite3.DatabaseError:  # a page that cannot be read, which is told as such
        return []
    rows = {(table, row_id): parent for table, row_id, parent, _ in parents if table != "measurements"}
    return [
        *(
            DamagedRow(
                table, f"id {row_id}" if row_id is not None else "a row", "", f"what it belongs to ({parent}) is gone"
            )
            for (table, row_id), parent in rows.items()
        ),
        *(DamagedRow("measurements", f"of execution {each}", "", "there is no such execution") for (each,) in orphans),
    ]


def _count(sql: sqlite3.Connection, table: str) -> int | None:
    try:
        (count,) = sql.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - one of `_TABLES`
    except sqlite3.DatabaseError:
        return None
    return int(count)
