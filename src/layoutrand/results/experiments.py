"""The results file: `.layoutrand/results.sqlite`, one transaction per execution, nothing ever overwritten.

SQLite in WAL mode with ``synchronous=FULL``: each commit is on the disk before the next process starts, so neither
``kill -9`` nor a power cut loses more than the execution in flight.  That costs 0.3 ms per execution on an SSD
(NORMAL: 0.06 ms, but a power cut could lose finished executions), against 5 ms that the harness may cost in all.

The schema carries a version; a file of another program or of a newer layoutrand is refused and left alone.
Queries that are put together (S608) take only names of columns from this module.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from layoutrand.errors import ResultsError
from layoutrand.host.attempts import Attempts
from layoutrand.model import BuildFailure, Context, Execution, Experiment, Measurement, Node, SlotKey
from layoutrand.results.rows import (
    EXECUTION_COLUMNS,
    SCHEMA_VERSION,
    SLOT_COLUMNS,
    built_of,
    built_text,
    clean,
    from_row,
    json_text,
    layout_of,
    slot_key,
    to_column,
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


class ResultsStore:
    """An open results file.  Every method raises `ResultsError` when the file cannot be read or written."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Take over an open connection; use `open_for_writing` or `open_for_reading`."""
        self._path = path
        self._connection = connection

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

    def close(self) -> None:
        """Close the file; what was recorded is already on the disk."""
        self._connection.close()

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
            sql.execute(
                "INSERT OR IGNORE INTO contexts (experiment_id, digest, created_at, version, config, config_digest, "
                "schedule_seed, host_facts, instruments, tools, captures, built) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (experiment_id, digest, time.time(), *values),
            )
            wanted = "SELECT id FROM contexts WHERE experiment_id = ? AND digest = ?"
            (context_id,) = sql.execute(wanted, (experiment_id, digest)).fetchone()
            sql.execute("UPDATE contexts SET used_at = ? WHERE id = ?", (time.time(), context_id))
        assert experiment_id is not None
        return experiment_id, int(context_id)

    def record(self, ids: tuple[int, int], execution: Execution) -> None:
        """Add one execution with its measurements, in one transaction that is on the disk when this returns."""
        row = (*ids, *(to_column(execution, column) for column in EXECUTION_COLUMNS))
        columns = ", ".join(("experiment_id", "context_id", *EXECUTION_COLUMNS))
        unique = ", ".join(("experiment_id", *SLOT_COLUMNS, "attempt"))
        with self._transaction() as sql:
            added = sql.execute(
                f"INSERT INTO executions ({columns}) VALUES ({','.join('?' * len(row))}) "  # noqa: S608
                f"ON CONFLICT ({unique}) DO NOTHING",
                row,
            )
            if added.rowcount == 0:
                slot = f"{execution.system}, {execution.benchmark}, layout {execution.layout}, round {execution.round}"
                raise ResultsError(
                    f"{self.path} has attempt {execution.attempt} of {slot} already; it was left as it is"
                )
            sql.executemany(
                "INSERT INTO measurements VALUES (?,?,?,?,?,?)",
                [(added.lastrowid, m.metric, m.unit, m.iteration, m.value, m.warmup) for m in execution.measurements],
            )

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
            sql.execute(
                "INSERT OR IGNORE INTO nodes VALUES (?,?,?,?,?)",
                (experiment_id, clean(node.name), digest, time.time(), facts),
            )

    def nodes(self, experiment: Experiment) -> list[Node]:
        """The nodes of the experiment by name; one whose facts have changed is there with each."""
        with self._translated():
            rows = self._connection.execute(
                "SELECT name, facts FROM nodes WHERE experiment_id = ? ORDER BY name, first_at",
                (self._experiment_id(experiment),),
            ).fetchall()
        return [Node(name, json.loads(facts)) for name, facts in rows]

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
                "INSERT OR REPLACE INTO build_failures VALUES (?,?,?,?,?,?,?)",
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

    def build_failures(self, experiment: Experiment, captures: Mapping[str, str]) -> list[BuildFailure]:
        """The failed binaries recorded for these systems' captures."""
        with self._translated():
            rows = self._connection.execute(
                "SELECT system, capture, artefact, layout, error, log FROM build_failures WHERE experiment_id = ?",
                (self._experiment_id(experiment),),
            ).fetchall()
        return [
            BuildFailure(system, artefact, layout_of(layout), error, Path(log) if log else None)
            for system, capture, artefact, layout, error, log in rows
            if captures.get(system) == capture
        ]

    def latest(self, experiment: Experiment) -> dict[SlotKey, Attempts]:
        """Slot -> what is recorded of its attempts, for all slots of the experiment."""
        columns = ", ".join(SLOT_COLUMNS)
        with self._translated():
            rows = self._connection.execute(
                f"SELECT {columns}, attempt, status, disturbances FROM executions "  # noqa: S608
                "WHERE experiment_id = ? ORDER BY attempt",
                (self._experiment_id(experiment),),
            ).fetchall()
        found: dict[SlotKey, Attempts] = {}
        for *slot, attempt, status, disturbances in rows:
            key = slot_key(slot)
            known = found.get(key, Attempts())
            found[key] = known.with_one(attempt, status, disturbed=bool(json.loads(disturbances)))
        return found

    def executions(self, experiment: Experiment) -> list[Execution]:
        """Every execution of the experiment in the order of recording, all attempts, with measurements."""
        experiment_id = self._experiment_id(experiment)
        measurements: dict[int, list[Measurement]] = {}
        with self._translated():
            for execution_id, metric, unit, iteration, value, warmup in self._connection.execute(
                "SELECT m.* FROM measurements m JOIN executions e ON e.id = m.execution_id WHERE e.experiment_id = ? "
                "ORDER BY m.execution_id, m.metric, m.iteration",
                (experiment_id,),
            ):
                measurement = Measurement(metric, unit, iteration, value, bool(warmup))
                measurements.setdefault(execution_id, []).append(measurement)
            rows = self._connection.execute(
                f"SELECT id, {', '.join(EXECUTION_COLUMNS)} FROM executions "  # noqa: S608
                "WHERE experiment_id = ? ORDER BY id",
                (experiment_id,),
            ).fetchall()
        return [from_row(row[1:], tuple(measurements.get(row[0], ()))) for row in rows]

    def experiments(self) -> list[tuple[Experiment, int]]:
        """Every experiment in the file with its number of executions, the one executed last at the end."""
        with self._translated():
            rows = self._connection.execute(
                "SELECT x.project, x.protocol, x.policy, x.randomise, x.host, x.hostname, count(e.id) "
                "FROM experiments x LEFT JOIN executions e ON e.experiment_id = x.id "
                "GROUP BY x.id ORDER BY max(e.id) NULLS FIRST"
            ).fetchall()
        return [(Experiment(*row[:6]), row[6]) for row in rows]

    def contexts(self, experiment: Experiment) -> list[Context]:
        """What was recorded beside the executions of the experiment, the oldest first."""
        with self._translated():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            built = "'[]'" if version < SCHEMA_VERSION else "built"
            rows = self._connection.execute(
                "SELECT version, config, config_digest, schedule_seed, host_facts, instruments, tools, captures, "  # noqa: S608
                f"{built} FROM contexts WHERE experiment_id = ? ORDER BY id",
                (self._experiment_id(experiment),),
            ).fetchall()
        return [
            Context(
                version=version,
                config=json.loads(config),
                config_digest=digest,
                schedule_seed=int(seed),
                host_facts=json.loads(host),
                instruments=json.loads(instruments),
                tools=json.loads(tools),
                captures=json.loads(captures),
                built=built_of(made),
            )
            for version, config, digest, seed, host, instruments, tools, captures, made in rows
        ]

    def current_captures(self, experiment: Experiment) -> dict[str, str]:
        """System -> the capture that the last call which had the system executed, or found executed."""
        with self._translated():
            rows = self._connection.execute(
                "SELECT captures FROM contexts WHERE experiment_id = ? ORDER BY used_at, id",
                (self._experiment_id(experiment),),
            ).fetchall()
        found: dict[str, str] = {}
        for (captures,) in rows:
            found |= json.loads(captures)
        return found

    def _experiment_id(self, experiment: Experiment) -> int | None:
        """None where nothing of the experiment is recorded; the host's name is for people and no part of the key."""
        with self._translated():
            row = self._connection.execute(
                "SELECT id FROM experiments WHERE project = ? AND protocol = ? AND policy = ? AND randomise = ? "
                "AND host = ?",
                (experiment.project, experiment.protocol, experiment.policy, experiment.randomise, experiment.host),
            ).fetchone()
        return None if row is None else int(row[0])

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

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise trouble(self.path, error) from error


def trouble(path: Path, error: sqlite3.Error) -> ResultsError:
    """What went wrong with the file, and what to do; SQLite's own words alone leave people helpless."""
    message = str(error)
    if "not a database" in message or "malformed" in message:
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
