"""The tables of the results file, executions as rows of them, and as JSON in which they travel from a node."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from layoutrand.model import BuiltFrom, Execution, Measurement, SlotKey

SCHEMA_VERSION: Final = 6
READABLE: Final = (3, 4, 5, 6)
"""Versions that are read: 3 lacks ``contexts.built``, 4 all seals, 5 ``executions.output_sha256``; what a file lacks is
added where it is written to."""

SEALED_FROM: Final = 5
UPDATES: Final = {
    4: ("ALTER TABLE contexts ADD COLUMN built TEXT NOT NULL DEFAULT '[]'",),
    5: (
        "ALTER TABLE executions ADD COLUMN measured TEXT NOT NULL DEFAULT ''",
        *(
            f"ALTER TABLE {table} ADD COLUMN seal TEXT NOT NULL DEFAULT ''"
            for table in ("experiments", "contexts", "executions", "build_failures", "nodes")
        ),
    ),
    6: ("ALTER TABLE executions ADD COLUMN output_sha256 TEXT NOT NULL DEFAULT ''",),
}
"""Version -> what makes a file of the version before one of it; seals are filled in where there were none."""

ADDED: Final = {"contexts": {"built": (4, "'[]'")}, "executions": {"output_sha256": (6, "''")}}
"""Table -> column -> the version since which it is there, and what files of earlier ones are read as if they had."""

APPLICATION_ID: Final = 0x4C526E64  # "LRnd"; also what file(1) shows
BUSY_S: Final = 30.0

SCHEMA: Final = """
CREATE TABLE experiments (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, protocol INTEGER NOT NULL, policy TEXT NOT NULL,
    randomise TEXT NOT NULL, host TEXT NOT NULL, hostname TEXT NOT NULL,
    seal TEXT NOT NULL DEFAULT '', UNIQUE (project, protocol, policy, randomise, host));
CREATE TABLE contexts (
    id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiments (id), digest TEXT NOT NULL,
    created_at REAL NOT NULL, version TEXT NOT NULL, config TEXT NOT NULL, config_digest TEXT NOT NULL,
    schedule_seed TEXT NOT NULL, host_facts TEXT NOT NULL, instruments TEXT NOT NULL,
    tools TEXT NOT NULL DEFAULT '{}', captures TEXT NOT NULL DEFAULT '{}', used_at REAL NOT NULL DEFAULT 0,
    built TEXT NOT NULL DEFAULT '[]', seal TEXT NOT NULL DEFAULT '', UNIQUE (experiment_id, digest));
CREATE TABLE executions (
    id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiments (id),
    context_id INTEGER NOT NULL REFERENCES contexts (id),
    system TEXT NOT NULL, benchmark TEXT NOT NULL, definition TEXT NOT NULL, capture TEXT NOT NULL,
    layout TEXT NOT NULL, binary_sha256 TEXT NOT NULL, instrument TEXT NOT NULL, round TEXT NOT NULL,
    repetition INTEGER NOT NULL, attempt INTEGER NOT NULL, schedule_order INTEGER NOT NULL,
    status TEXT NOT NULL, reason TEXT NOT NULL, returncode INTEGER, signal INTEGER,
    started_at REAL NOT NULL, wall_s REAL NOT NULL, rusage TEXT NOT NULL, env_size INTEGER, argv TEXT NOT NULL,
    log TEXT NOT NULL, conditions TEXT NOT NULL, host_state TEXT NOT NULL, disturbances TEXT NOT NULL,
    node TEXT NOT NULL DEFAULT '', output_sha256 TEXT NOT NULL DEFAULT '',
    measured TEXT NOT NULL DEFAULT '', seal TEXT NOT NULL DEFAULT '',
    UNIQUE (experiment_id, system, benchmark, definition, capture, layout, binary_sha256, instrument, round,
            repetition, attempt));
CREATE TABLE measurements (
    execution_id INTEGER NOT NULL REFERENCES executions (id), metric TEXT NOT NULL, unit TEXT NOT NULL,
    iteration INTEGER NOT NULL, value REAL NOT NULL, warmup INTEGER NOT NULL,
    PRIMARY KEY (execution_id, metric, iteration)) WITHOUT ROWID;
CREATE TABLE build_failures (
    experiment_id INTEGER NOT NULL REFERENCES experiments (id), system TEXT NOT NULL, capture TEXT NOT NULL,
    artefact TEXT NOT NULL, layout TEXT NOT NULL, error TEXT NOT NULL, log TEXT,
    seal TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (experiment_id, system, capture, artefact, layout)) WITHOUT ROWID;
CREATE TABLE nodes (
    experiment_id INTEGER NOT NULL REFERENCES experiments (id), name TEXT NOT NULL, digest TEXT NOT NULL,
    first_at REAL NOT NULL, facts TEXT NOT NULL, seal TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (experiment_id, name, digest)) WITHOUT ROWID;
"""

SLOT_COLUMNS: Final = (
    "system",
    "benchmark",
    "definition",
    "capture",
    "layout",
    "binary_sha256",
    "instrument",
    "round",
    "repetition",
)
EXECUTION_COLUMNS: Final = (
    *SLOT_COLUMNS,
    "attempt",
    "schedule_order",
    "status",
    "reason",
    "returncode",
    "signal",
    "started_at",
    "wall_s",
    "rusage",
    "env_size",
    "argv",
    "log",
    "conditions",
    "host_state",
    "disturbances",
    "node",
    "output_sha256",
)


_AS_TEXT: Final = frozenset({"layout", "round"})
_AS_JSON: Final = frozenset({"rusage", "argv", "conditions", "host_state", "disturbances"})
_DIGEST: Final = re.compile("(?:[0-9a-f]{64})?")
_encoded: Final = json.JSONEncoder(sort_keys=True).encode


def to_column(execution: Execution, column: str) -> Any:
    """The value of a column, as SQLite keeps it."""
    if column == "schedule_order":
        return execution.order
    value = getattr(execution, column)
    if column in _AS_TEXT:
        return str(value)  # seeds go up to 2^64-1, SQLite's integers to 2^63-1
    if column in _AS_JSON:
        return json_text(value)
    return clean(value) if isinstance(value, str) else value


def is_digest_or_empty(text: str) -> bool:
    """Whether ``output_sha256`` can be this: a SHA-256, or nothing where it is not known."""
    return _DIGEST.fullmatch(text) is not None


def present_columns(table: str, columns: Sequence[str], version: int) -> list[str]:
    """What to ask a file of this version for, to get these columns: itself, or a value for one that it lacks."""
    added = ADDED.get(table, {})
    return [added[each][1] if each in added and version < added[each][0] else each for each in columns]


def json_text(value: Any) -> str:
    """One JSON text for equal values."""
    return _encoded(dict(value) if isinstance(value, Mapping) else value)


def clean(text: str) -> str:
    """Bytes of file names that are not UTF-8 arrive as lone surrogates, which SQLite's text cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def to_json(execution: Execution) -> dict[str, Any]:
    """The execution as JSON values."""
    values = {field.name: getattr(execution, field.name) for field in fields(execution)}
    values["measurements"] = [[m.metric, m.unit, m.iteration, m.value, m.warmup] for m in execution.measurements]
    for name in ("rusage", "conditions", "host_state"):
        values[name] = dict(values[name])
    values["argv"], values["disturbances"] = list(execution.argv), list(execution.disturbances)
    return values


def from_json(values: Mapping[str, Any]) -> Execution:
    """The execution that `to_json` gave; raises `TypeError` or `KeyError` for anything else."""
    changed = {
        "argv": tuple(values["argv"]),
        "disturbances": tuple(values["disturbances"]),
        "measurements": tuple(Measurement(*row) for row in values["measurements"]),
    }
    return Execution(**{**values, **changed})


def slot_json(key: SlotKey) -> dict[str, Any]:
    """The slot as JSON values, for a name that follows from it."""
    return dict(vars(key))


def built_text(built: Sequence[BuiltFrom]) -> str:
    """What captures were built from, as one JSON text for equal values."""
    return json.dumps([{**vars(each), "made_from": dict(each.made_from)} for each in built], sort_keys=True)
