"""Executions as they lie in the results file, with their measurements: each compared with its seal, none believed.

Where pages of the file are damaged, rows are asked for in ever smaller ranges, so that all but those on such a page are
read.  Queries that are put together (S608) take only names of columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from layoutrand.results.damage import OTHER_CONTENT, OTHER_MEASUREMENTS, DamagedRow
from layoutrand.results.rows import EXECUTION_COLUMNS, SEALED_FROM, present_columns
from layoutrand.results.seals import MEASURED, SEALED, seal_of, seal_of_measurements

_UNREADABLE: Final = "the part of the file that it is in cannot be read"
_LAST: Final = (
    "SELECT max(id) FROM executions",
    "SELECT max(id) FROM executions INDEXED BY sqlite_autoindex_executions_1",
    "SELECT max(execution_id) FROM measurements",
)
_BEYOND: Final = 2**64  # every number
_LONGEST: Final = 80  # characters of a damaged value in a message
_FIRST: Final = SEALED["executions"].index(EXECUTION_COLUMNS[0])
_AT_ONCE: Final = 256
_ALL: Final = (0, 2**63 - 1)

TEXT: Final = partial(str, encoding="utf-8", errors="surrogateescape")
"""How text is read: bytes that are no UTF-8 are damage, too, and must not end the reading of all rows."""


class RecordedRow(NamedTuple):
    """An execution as it is recorded: ``values`` of `EXECUTION_COLUMNS`, ``measured`` rows of metric to warmup.

    ``damage`` is why it is not to be used, or "".
    """

    id: int
    values: Sequence[Any]
    measured: Sequence[Sequence[Any]]
    damage: str

    def damaged(self, reason: str) -> DamagedRow:
        """The row as one that is damaged."""
        named = dict(zip(EXECUTION_COLUMNS, self.values, strict=False))
        what = "{system}, {benchmark}, layout {layout}, round {round}, attempt {attempt}" if named else ""
        return DamagedRow("executions", f"id {self.id}", shortened(what.format(**named)), reason)


def shortened(text: str) -> str:
    """A value for a message."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite found a page that is none."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT


def recorded_rows(sql: sqlite3.Connection, experiment_id: int | None, *, version: int) -> Iterator[RecordedRow]:
    """The executions of the experiment (None: of all), in the order of recording; raises `sqlite3.Error`.

    ``version`` is that of the file's schema.
    """

    def between(first: int, last: int, text: Callable[[bytes], str] = TEXT) -> Iterator[RecordedRow]:
        return _between(sql, experiment_id, (first, last), text, version=version)

    before, last = _ALL
    try:
        try:
            for row in between(before, last, str):  # which SQLite's module does by itself, in a fraction of the time
                before = row.id + 1
                yield row
        except sqlite3.OperationalError as error:
            if not _is_no_text(error):
                raise
            for row in between(before, last):
                before = row.id + 1
                yield row
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        yield from _salvaged(between, before, _last(sql, error))


def _is_no_text(error: sqlite3.Error) -> bool:
    """Whether it is Python that could not read the bytes of a column as text; what SQLite raises has a code."""
    return getattr(error, "sqlite_errorcode", None) is None


def _between(
    sql: sqlite3.Connection,
    experiment_id: int | None,
    ids: tuple[int, int],
    text: Callable[[bytes], str],
    *,
    version: int,
) -> Iterator[RecordedRow]:
    """Some after the other, so that no more of the file need be in memory than its reader keeps.

    No index is used for the experiment: rows found by that would have to be sorted, all of them.
    """
    wanted = "" if experiment_id is None else " AND e.experiment_id = ?"
    values = ids if experiment_id is None else (*ids, experiment_id)
    joined = "" if experiment_id is None else "CROSS JOIN executions e NOT INDEXED ON e.id = m.execution_id"
    measured = groupby(
        _fetched(
            sql.execute(
                f"SELECT m.execution_id, {', '.join(f'm.{name}' for name in MEASURED)} FROM measurements m {joined} "  # noqa: S608
                f"WHERE m.execution_id BETWEEN ? AND ?{wanted} ORDER BY m.execution_id, m.metric, m.iteration",
                values,
            ),
            text,
        ),
        key=itemgetter(0),
    )
    *columns, measured_seal = present_columns("executions", SEALED["executions"], version)
    columns += [measured_seal, "seal"] if version >= SEALED_FROM else ["NULL", "NULL"]
    rows = sql.execute(
        f"SELECT {', '.join(columns)} FROM executions e NOT INDEXED WHERE id BETWEEN ? AND ?{wanted} ORDER BY id",  # noqa: S608
        values,
    )
    of: int = -1
    own: list[Sequence[Any]] = []
    for row in _fetched(rows, text):
        while of < row[0]:  # measurements of executions that are not there are passed over
            of, several = next(measured, (_BEYOND, iter(())))
            own = [each[1:] for each in several]
        yield _compared(row, own if of == row[0] else [])


def _fetched(rows: sqlite3.Cursor, text: Callable[[bytes], str]) -> Iterator[Sequence[Any]]:
    """The rows, their text read by ``text``."""
    sql = rows.connection
    while True:
        usual = sql.text_factory
        sql.text_factory = text
        try:
            some = rows.fetchmany(_AT_ONCE)
        finally:
            sql.text_factory = usual
        if not some:
            return
        yield from some


def _compared(row: Sequence[Any], measured: Sequence[Sequence[Any]]) -> RecordedRow:
    execution_id, seal_of_measured, seal = row[0], row[-2], row[-1]
    damage = ""
    if seal is not None:
        if seal != seal_of("executions", row[:-1]):
            damage = OTHER_CONTENT
        elif seal_of_measured != seal_of_measurements(execution_id, measured):
            damage = OTHER_MEASUREMENTS
    return RecordedRow(execution_id, row[_FIRST:-2], measured, damage)


def _last(sql: sqlite3.Connection, error: sqlite3.DatabaseError) -> int:
    """The number of the last execution, from the first of three places that can be read; raises ``error``."""
    for query in _LAST:
        try:
            (last,) = sql.execute(query).fetchone()
        except sqlite3.DatabaseError:
            continue
        if last is not None:
            return int(last)
    raise error


def _salvaged(between: Callable[[int, int], Iterator[RecordedRow]], first: int, last: int) -> Iterator[RecordedRow]:
    """What can be read of a range; of what cannot be, the number."""
    if first > last:
        return
    try:
        found = list(between(first, last))
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        if first == last:
            yield RecordedRow(first, (), (), _UNREADABLE)
            return
        middle = (first + last) // 2
        yield from _salvaged(between, first, middle)
        yield from _salvaged(between, middle + 1, last)
    else:
        yield from found
