"""Reading the results file: what of it is as it was recorded, and which rows are not, which are left out and named.

Queries that are put together (S608) take only names of columns and tables from this package.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

from layoutrand.errors import ResultsError
from layoutrand.host.attempts import DAMAGED, Attempts
from layoutrand.model import BuildFailure, Context, Execution, Experiment, Node, SlotKey
from layoutrand.results import row_values
from layoutrand.results.damage import OTHER_CONTENT, DamagedRow
from layoutrand.results.recorded_rows import TEXT, RecordedRow, is_damage, recorded_rows, shortened
from layoutrand.results.row_values import CONTEXT_COLUMNS, StrangeValue
from layoutrand.results.rows import EXECUTION_COLUMNS, SEALED_FROM, SLOT_COLUMNS, present_columns
from layoutrand.results.seals import KEYS, SEALED, seal_of

_AT_ONCE: Final = 256  # rows that are read together
SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises: the second where its message quotes a damaged schema, which is no UTF-8."""

T = TypeVar("T")


class RecordedResults:
    """What an open results file holds.  Every method raises `ResultsError` when the file cannot be read."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        disorder: Sequence[str] = (),
        sealed_now: int = 0,
        *,
        is_updated: bool = False,
    ) -> None:
        """Take over an open connection; use `open_for_writing` or `open_for_reading`.

        ``disorder`` is what is wrong with the file's pages; ``sealed_now`` rows had no seals before it was opened,
        and where it ``is_updated`` it was one of an earlier layoutrand, none of which reads it any more.
        """
        self._path = path
        self._connection = connection
        self.sealed_now, self.is_updated = sealed_now, is_updated
        self._damage = {("pages", line): DamagedRow("pages of the file", line, "", "damaged") for line in disorder}
        connection.text_factory = TEXT

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close the file."""
        self.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def damaged(self) -> tuple[DamagedRow, ...]:
        """The rows that were asked for so far and left out, since they are not what was recorded."""
        return tuple(self._damage.values())

    def close(self) -> None:
        """Close the file; what was recorded is already on the disk."""
        self._connection.close()

    def nodes(self, experiment: Experiment) -> list[Node]:
        """The nodes of the experiment by name; one whose facts have changed is there with each."""
        rows = self._sealed_rows("nodes", experiment, "name, first_at")
        return [node for node in (self._read("nodes", row, _node) for row in rows) if node is not None]

    def build_failures(self, experiment: Experiment, captures: Mapping[str, str]) -> list[BuildFailure]:
        """The failed binaries recorded for these systems' captures."""
        rows = self._sealed_rows("build_failures", experiment, "system, capture, artefact, layout")
        mine = [row for row in rows if captures.get(row[1]) == row[2]]
        found = [self._read("build_failures", row, _build_failure) for row in mine]
        return [failure for failure in found if failure is not None]

    def latest(self, experiment: Experiment) -> dict[SlotKey, Attempts]:
        """Slot -> what is recorded of its attempts, for all slots of the experiment.

        An attempt whose row is damaged was made, and has the status `DAMAGED`.
        """
        attempts: dict[SlotKey, list[_Attempt]] = {}
        rows = list(self._recorded(experiment))
        made_again = _made_again(rows)
        for row in rows:
            value = dict(zip(EXECUTION_COLUMNS, row.values, strict=False))
            try:
                key = row_values.slot_of([value[name] for name in SLOT_COLUMNS])
                if row.damage:
                    value |= {"disturbances": "[]", "started_at": 0.0}
                attempt, status, disturbed, began_at = row_values.attempt_of(
                    *(value[column] for column in ("attempt", "status", "disturbances", "started_at"))
                )
            except (StrangeValue, KeyError) as error:
                self._leave_out(row.damaged(row.damage or str(error)))
                continue
            if row.damage and row.id not in made_again:
                self._leave_out(row.damaged(row.damage))
            intact = not row.damage
            last = _Attempt(attempt, intact, status if intact else DAMAGED, disturbed, began_at)
            attempts.setdefault(key, []).append(last)
        return {key: _attempts(known) for key, known in attempts.items()}

    def executions(self, experiment: Experiment) -> list[Execution]:
        """Every execution of the experiment in the order of recording, all attempts, with measurements."""
        found, damaged = self._intact(self._recorded(experiment))
        made_again = _made_again(list(self._recorded(experiment))) if any(row.values for row in damaged) else set()
        for row in damaged:
            if row.id not in made_again:
                self._leave_out(row.damaged(row.damage))
        return found

    def _intact(self, rows: Iterable[RecordedRow]) -> tuple[list[Execution], list[RecordedRow]]:
        """The executions that are as they were recorded, and rows that are not; what no layoutrand writes is noted."""
        found, damaged = list[Execution](), list[RecordedRow]()
        left = iter(rows)
        while some := list(islice(left, _AT_ONCE)):
            damaged += [row for row in some if row.damage]
            intact = [row for row in some if not row.damage]
            try:
                found += _executions(intact)
            except StrangeValue:
                for row in intact:  # which it is, one after the other tells
                    try:
                        found += _executions([row])
                    except StrangeValue as error:
                        self._leave_out(row.damaged(str(error)))
        return found, damaged

    def experiments(self) -> list[tuple[Experiment, int]]:
        """Every experiment in the file with its number of executions, the one executed last at the end."""
        with self._translated():
            try:
                counts = self._counts("")
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                counts = self._counts("NOT INDEXED")
            rows = self._rows("experiments", "1", (), "id")
        found = []
        for row in sorted(rows, key=lambda row: counts.get(row[0], (0, 0))[1]):
            experiment = self._read("experiments", row, _experiment)
            if experiment is not None:
                found.append((experiment, counts.get(row[0], (0, 0))[0]))
        return found

    def counts(self, experiment: Experiment) -> dict[tuple[str, str], int]:
        """(system, benchmark) -> number of executions in the experiment, all attempts."""
        query = (
            "SELECT system, benchmark, count(*) FROM executions WHERE experiment_id = ? "
            "AND typeof(system) = 'text' AND typeof(benchmark) = 'text' GROUP BY system, benchmark"
        )
        with self._translated():
            rows = self._connection.execute(query, (self._experiment_id(experiment),))
            return {(system, benchmark): count for system, benchmark, count in rows}

    def contexts(self, experiment: Experiment) -> list[Context]:
        """What was recorded beside the executions of the experiment, the oldest first."""
        rows = self._sealed_rows("contexts", experiment, "id")
        return [context for context in (self._read("contexts", row, _context) for row in rows) if context is not None]

    def current_captures(self, experiment: Experiment) -> dict[str, str]:
        """System -> the capture that the last call which had the system executed, or found executed."""
        found: dict[str, str] = {}
        for row in self._sealed_rows("contexts", experiment, "used_at, id"):
            context = self._read("contexts", row, _context)
            found |= {} if context is None else context.captures
        return found

    def read_all(self) -> None:
        """Read every row of every experiment, so that `damaged` has all that are."""
        with self._translated():
            tables = ("contexts", "nodes", "build_failures")
            rows = {table: self._rows(table, "1", (), ", ".join(KEYS[table])) for table in tables}
        self.experiments()
        with self._translated():
            _, damaged = self._intact(recorded_rows(self._connection, None, version=self._version))
        for execution in damaged:
            self._leave_out(execution.damaged(execution.damage))
        for row in rows["contexts"]:
            self._read("contexts", row, _context)
        for row in rows["nodes"]:
            self._read("nodes", row, _node)
        for row in rows["build_failures"]:
            self._read("build_failures", row, _build_failure)

    def looking(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """What ``look`` finds in the open file."""
        with self._translated():
            return look(self._connection)

    @property
    def is_sealed(self) -> bool:
        """Whether rows have seals: a file of an earlier layoutrand has none."""
        return self._version >= SEALED_FROM

    @cached_property
    def _version(self) -> int:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        return int(version)

    def _counts(self, how: str) -> dict[Any, tuple[int, int]]:
        """Id of an experiment -> number and last id of its executions."""
        query = f"SELECT experiment_id, count(*), max(id) FROM executions {how} GROUP BY experiment_id"  # noqa: S608
        return {each: (count, last) for each, count, last in self._connection.execute(query)}

    def _recorded(self, experiment: Experiment) -> Iterator[RecordedRow]:
        experiment_id = self._experiment_id(experiment)
        if experiment_id is not None:
            with self._translated():
                yield from recorded_rows(self._connection, experiment_id, version=self._version)

    def _sealed_rows(self, table: str, experiment: Experiment, order: str) -> list[tuple[Any, ...]]:
        """The rows of the experiment in the order, with the columns of `SEALED` and the seal."""
        with self._translated():
            return self._rows(table, "experiment_id = ?", (self._experiment_id(experiment),), order)

    def _rows(self, table: str, where: str, values: Sequence[Any], order: str) -> list[tuple[Any, ...]]:
        columns = present_columns(table, SEALED[table], self._version)
        columns.append("seal" if self.is_sealed else "NULL")
        query = f"SELECT {', '.join(columns)} FROM {table} WHERE {where} ORDER BY {order}"  # noqa: S608
        return self._connection.execute(query, values).fetchall()

    def _is_sealed(self, table: str, row_id: int | None) -> bool:
        (row,) = self._rows(table, "id = ?", (row_id,), "id")
        return bool(row[-1] == seal_of(table, row[:-1]))

    def _read(self, table: str, row: tuple[Any, ...], reading: Callable[[tuple[Any, ...]], T]) -> T | None:
        """What the row says; None, and it is noted as damaged, where it is not what was recorded."""
        *values, seal = row
        reason = OTHER_CONTENT
        if seal is None or seal == seal_of(table, values):
            try:
                return reading(tuple(values))
            except StrangeValue as error:
                reason = str(error)
        named = dict(zip(SEALED[table], values, strict=True))
        key = ", ".join(f"{column} {named[column]}" for column in KEYS[table])
        self._leave_out(DamagedRow(table, shortened(key), "", reason))
        return None

    def _leave_out(self, row: DamagedRow) -> None:
        self._damage.setdefault((row.table, row.key), row)

    def _experiment_id(self, experiment: Experiment) -> int | None:
        """None where nothing of the experiment is recorded; the host's name is for people and no part of the key."""
        with self._translated():
            row = self._connection.execute(
                "SELECT id FROM experiments NOT INDEXED WHERE project = ? AND protocol = ? AND policy = ? "
                "AND randomise = ? AND host = ?",
                (experiment.project, experiment.protocol, experiment.policy, experiment.randomise, experiment.host),
            ).fetchone()
        return None if row is None else int(row[0])

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except SQLITE_ERRORS as error:
            raise trouble(self.path, error) from error


def _made_again(rows: Sequence[RecordedRow]) -> set[int]:
    """Ids of damaged rows whose slot was executed again since: nothing is lost with them, and that was said then."""
    damaged = [row for row in rows if row.damage and row.values]
    if not damaged:
        return set()
    slot, attempt = slice(len(SLOT_COLUMNS)), len(SLOT_COLUMNS)  # as `EXECUTION_COLUMNS` begin
    made = {(*row.values[slot], row.values[attempt]) for row in rows if not row.damage}
    return {row.id for row in damaged if (*row.values[slot], _next(row.values[attempt])) in made}


def _next(attempt: Any) -> int | None:
    return attempt + 1 if type(attempt) is int else None


class _Attempt(NamedTuple):
    number: int
    intact: bool
    status: str
    disturbed: bool
    began_at: float


def _attempts(known: Sequence[_Attempt]) -> Attempts:
    """What is known of a slot from its attempts."""
    found = Attempts()
    for each in sorted(known, key=lambda each: (each.number, each.intact)):
        found = found.with_one(each.number, each.status, disturbed=each.disturbed, began_at=each.began_at)
    return found


def _executions(rows: Sequence[RecordedRow]) -> list[Execution]:
    return row_values.executions_of([row.values for row in rows], [row.measured for row in rows])


def _experiment(row: Sequence[Any]) -> Experiment:
    _, project, protocol, *rest = row
    if type(protocol) is not int:
        raise StrangeValue("protocol is no whole number")
    project, *rest = row_values.texts(("project", "policy", "randomise", "host", "hostname"), (project, *rest))
    return Experiment(project, protocol, *rest)


def _context(row: Sequence[Any]) -> Context:
    value = dict(zip(SEALED["contexts"], row, strict=True))
    return row_values.context_of([value[column] for column in CONTEXT_COLUMNS])


def _node(row: Sequence[Any]) -> Node:
    return row_values.node_of(row[1], row[4])


def _build_failure(row: Sequence[Any]) -> BuildFailure:
    _, system, _, artefact, layout, error, log = row
    named = row_values.texts(("system", "artefact", "error", "log"), (system, artefact, error, log or ""))
    return BuildFailure(named[0], named[1], row_values.layout_named(layout), named[2], Path(log) if log else None)


def trouble(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> ResultsError:
    """What went wrong with the file, and what to do; SQLite's own words alone leave people helpless."""
    is_schema = isinstance(error, UnicodeDecodeError)
    message = "its tables are described by what is no text" if is_schema else str(error)
    if is_schema or "not a database" in message or "malformed" in message:
        advice = (
            "The file is damaged. Nothing was changed. Try `sqlite3 FILE .recover` to save what it holds, or move it "
            "(and its -wal and -shm neighbours) away, and run again"
        )
    elif "full" in message:
        advice = "The disk is full. All finished executions are recorded; free some space and run again"
    elif "readonly" in message or "unable to open" in message:
        advice = "layoutrand must be able to write this file and its directory; check owner and permissions"
    elif "locked" in message:
        advice = "Another program holds the file; close it and run the same command again"
    else:
        advice = "All finished executions are recorded; run the same command again once this is mended"
    return ResultsError(f"cannot use the results file {path}: {message}.\n{advice}.")
