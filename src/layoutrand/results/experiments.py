"""The results file: `.layoutrand/results.sqlite`, one transaction per execution, nothing ever overwritten.

SQLite in WAL mode with ``synchronous=FULL``: each commit is on the disk before the next process starts, so neither
``kill -9`` nor a power cut loses more than the execution in flight.  That costs 0.3 ms per execution on an SSD
(NORMAL: 0.06 ms, but a power cut could lose finished executions), against 5 ms that the harness may cost in all.

Each row has a seal (`seals.py`), which is compared when it is read (`recorded_results.py`).  The schema carries a
version; a file of another program or of a newer layoutrand is refused and left alone.
Queries that are put together (S608) take only names of columns from this module.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from layoutrand.errors import ResultsError
from layoutrand.host.attempts import Attempts
from layoutrand.model import BuildFailure, Context, Execution, Experiment, Node, SlotKey
from layoutrand.results.recorded_results import RecordedResults, trouble
from layoutrand.results.row_values import CONTEXT_COLUMNS
from layoutrand.results.rows import (
    EXECUTION_COLUMNS,
    SLOT_COLUMNS,
    built_text,
    clean,
    json_text,
    to_column,
)
from layoutrand.results.seals import seal_execution, seal_rows

# A context that is there and damaged is made whole: its digest is that of what is given.
_NEW_CONTEXT: Final = (
    f"INSERT INTO contexts (experiment_id, digest, created_at, {', '.join(CONTEXT_COLUMNS)}) "  # noqa: S608
    f"VALUES (?,?,?,{','.join('?' * len(CONTEXT_COLUMNS))}) ON CONFLICT (experiment_id, digest) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in CONTEXT_COLUMNS)
)

_NEW_EXECUTION: Final = (
    f"INSERT INTO executions (experiment_id, context_id, {', '.join(EXECUTION_COLUMNS)}) "  # noqa: S608
    f"VALUES (?,?,{','.join('?' * len(EXECUTION_COLUMNS))}) "
    f"ON CONFLICT (experiment_id, {', '.join(SLOT_COLUMNS)}, attempt) DO NOTHING"
)


class Records(Protocol):
    """Where executions are recorded: the results file, or whatever stands for it on a node."""

    @property
    def path(self) -> Path:
        """The file, which need not exist; a lock lies beside it."""

    def begin(self, experiment: Experiment, context: Context) -> tuple[int, int]:
        """See `ResultsStore.begin`."""

    def record(self, ids: tuple[int, int], execution: Execution) -> None:
        """See `ResultsStore.record`."""

    def replace_build_failures(
        self, experiment_id: int, captures: Mapping[str, str], failures: Sequence[BuildFailure]
    ) -> None:
        """See `ResultsStore.replace_build_failures`."""

    def latest(self, experiment: Experiment) -> dict[SlotKey, Attempts]:
        """See `ResultsStore.latest`."""

    def executions(self, experiment: Experiment) -> list[Execution]:
        """See `ResultsStore.executions`."""


class ResultsStore(RecordedResults):
    """An open results file.  Every method raises `ResultsError` when the file cannot be read or written."""

    def copy_to(self, other: sqlite3.Connection) -> None:
        """Copy everything, as it is at one moment, to another connection."""
        try:
            self._connection.backup(other)
        except sqlite3.Error as error:
            raise trouble(self._path, error) from error

    def begin(self, experiment: Experiment, context: Context) -> tuple[int, int]:
        """The ids of the experiment and the context, recorded first where they are new."""
        fields = tuple(vars(experiment).values())
        values = (
            context.version,
            json_text(context.config),
            context.config_digest,
            str(context.schedule_seed),
            json_text(context.host_facts),
            json_text(context.instruments),
            json_text(context.tools),
            json_text(context.captures),
            built_text(context.built),
        )
        digest = hashlib.sha256("\0".join(values).encode()).hexdigest()
        with self._transaction() as sql:
            columns = ", ".join(vars(experiment))
            sql.execute(f"INSERT OR IGNORE INTO experiments ({columns}) VALUES (?,?,?,?,?,?)", fields)  # noqa: S608
            experiment_id = self._experiment_id(experiment)
            if not self._is_sealed("experiments", experiment_id):  # new, or its host's name is damaged
                sql.execute("UPDATE experiments SET hostname = ? WHERE id = ?", (experiment.hostname, experiment_id))
                seal_rows(sql, "experiments", "id = ?", (experiment_id,))
            sql.execute(_NEW_CONTEXT, (experiment_id, digest, time.time(), *values))
            wanted = "SELECT id FROM contexts WHERE experiment_id = ? AND digest = ?"
            (context_id,) = sql.execute(wanted, (experiment_id, digest)).fetchone()
            sql.execute("UPDATE contexts SET used_at = ? WHERE id = ?", (time.time(), context_id))
            seal_rows(sql, "contexts", "id = ?", (context_id,))
        assert experiment_id is not None
        return experiment_id, int(context_id)

    def record(self, ids: tuple[int, int], execution: Execution) -> None:
        """Add one execution with its measurements, in one transaction that is on the disk when this returns."""
        row = (*ids, *(to_column(execution, column) for column in EXECUTION_COLUMNS))
        with self._transaction() as sql:
            added = sql.execute(_NEW_EXECUTION, row)
            if added.rowcount == 0:
                slot = f"{execution.system}, {execution.benchmark}, layout {execution.layout}, round {execution.round}"
                raise ResultsError(
                    f"{self.path} has attempt {execution.attempt} of {slot} already; it was left as it is"
                )
            sql.executemany(
                "INSERT INTO measurements VALUES (?,?,?,?,?,?)",
                [(added.lastrowid, m.metric, m.unit, m.iteration, m.value, m.warmup) for m in execution.measurements],
            )
            seal_execution(sql, int(added.lastrowid or 0))

    def status(self, experiment_id: int, execution: Execution) -> str | None:
        """The status that is recorded of the attempt which the execution is, or None if there is none."""
        wanted = (*SLOT_COLUMNS, "attempt")
        conditions = " AND ".join(f"{column} = ?" for column in ("experiment_id", *wanted))
        with self._translated():
            row = self._connection.execute(
                f"SELECT status FROM executions WHERE {conditions}",  # noqa: S608
                (experiment_id, *(to_column(execution, column) for column in wanted)),
            ).fetchone()
        return None if row is None else str(row[0])

    def record_node(self, experiment_id: int, node: Node) -> None:
        """Keep what is known of a node; again where its facts have changed."""
        facts = json_text(node.facts)
        digest = hashlib.sha256(facts.encode()).hexdigest()
        with self._transaction() as sql:
            name = clean(node.name)
            sql.execute(
                "INSERT INTO nodes (experiment_id, name, digest, first_at, facts) VALUES (?,?,?,?,?) "
                "ON CONFLICT (experiment_id, name, digest) DO UPDATE SET facts = excluded.facts",
                (experiment_id, name, digest, time.time(), facts),
            )
            seal_rows(sql, "nodes", "experiment_id = ? AND name = ? AND digest = ?", (experiment_id, name, digest))

    def replace_build_failures(
        self, experiment_id: int, captures: Mapping[str, str], failures: Sequence[BuildFailure]
    ) -> None:
        """Make ``failures`` the ones recorded for these systems' captures (system -> capture id)."""
        with self._transaction() as sql:
            for system, capture in captures.items():
                sql.execute(
                    "DELETE FROM build_failures WHERE experiment_id = ? AND system = ? AND capture = ?",
                    (experiment_id, system, capture),
                )
            sql.executemany(
                "INSERT OR REPLACE INTO build_failures (experiment_id, system, capture, artefact, layout, error, log) "
                "VALUES (?,?,?,?,?,?,?)",
                [
                    (
                        experiment_id,
                        f.system,
                        captures.get(f.system, ""),
                        f.artefact,
                        str(f.layout),
                        clean(f.error),
                        None if f.log is None else clean(str(f.log)),
                    )
                    for f in failures
                ],
            )
            for system, capture in {(f.system, captures.get(f.system, "")): None for f in failures}:
                of_system = "experiment_id = ? AND system = ? AND capture = ?"
                seal_rows(sql, "build_failures", of_system, (experiment_id, system, capture))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:  # also for Ctrl-C: all of it or nothing
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
