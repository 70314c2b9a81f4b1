"""Executions that nodes have returned: read from the shared directory, checked, in the order of their attempts."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.capture.origin import Say
from layoutrand.cluster.measuring_task import read_record, record_key
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.errors import BundleError, DamagedRecord
from layoutrand.execute.experiment import slot_key
from layoutrand.host.facts import processor
from layoutrand.model import IDENTITY, STOCK, Execution, Measurement, SlotKey
from layoutrand.results.rows import is_digest_or_empty


@dataclass(frozen=True)
class ReturnedExecution:
    """One record: its ``name`` below the run, the execution, the facts of its node, and output by file name."""

    name: str
    key: SlotKey
    execution: Execution
    facts: Mapping[str, Any]
    output: Mapping[str, bytes]


def take_records(records: ReturnedRecords, seen: Container[str], say: Say) -> Iterator[ReturnedExecution]:
    """The records that are there and were not ``seen``; damaged ones are dropped, which ``say`` tells.

    They come in the order in which they began, but never an attempt before an earlier one: nodes' clocks may differ.
    One that cannot be read at the moment stays where it is.
    """
    all_returned = [take_record(records, name, say) for name in records.names() if name not in seen]
    found = [returned for returned in all_returned if returned is not None]
    began: dict[SlotKey, float] = {}
    rows = []
    for returned in sorted(found, key=lambda each: each.execution.attempt):
        at = max(returned.execution.started_at, began.get(returned.key, returned.execution.started_at))
        began[returned.key] = at
        rows.append((at, returned.execution.attempt, returned))
    for _, _, returned in sorted(rows, key=lambda row: row[:2]):
        yield returned


def take_record(records: ReturnedRecords, name: str, say: Say) -> ReturnedExecution | None:
    """The record of that name, if there is one that can be read; a damaged one is dropped."""
    try:
        return _read(records, name)
    except BundleError as error:
        say(str(error))
        if isinstance(error, DamagedRecord):
            records.drop(name)
        return None


def _read(records: ReturnedRecords, name: str) -> ReturnedExecution | None:
    record = records.get(name)
    if record is None:  # dropped by somebody meanwhile
        return None
    try:
        execution, facts, output = read_record(record)
        _check_types(execution)
        key = slot_key(execution)
        own = record_key(key, execution.attempt)
        float(execution.started_at), processor(facts)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise DamagedRecord(
            f"{records.path(name)} is no record of an execution: {error!r}; it is executed again"
        ) from error
    if own != name:
        raise DamagedRecord(f"{records.path(name)} is the record of another execution; it is executed again")
    return ReturnedExecution(name, key, execution, facts, output)


_TEXTS: Final = (
    "system",
    "benchmark",
    "definition",
    "instrument",
    "binary_sha256",
    "capture",
    "status",
    "reason",
    "log",
    "node",
)
_COUNTS: Final = ("repetition", "attempt", "order")
_PERHAPS_COUNTS: Final = ("returncode", "signal", "env_size")
_TIMES: Final = ("started_at", "wall_s")
_LARGEST_COUNT: Final = 1 << 63  # of what a column of the results file holds


def _check_types(execution: Execution) -> None:
    """Raise `TypeError` for a field that is nothing which the results file could hold: JSON has no types of ours."""
    right = {
        **{name: isinstance(getattr(execution, name), str) for name in _TEXTS},
        **{name: _is_count(getattr(execution, name)) for name in _COUNTS},
        **{name: getattr(execution, name) is None or _is_count(getattr(execution, name)) for name in _PERHAPS_COUNTS},
        **{name: _is_number(getattr(execution, name)) for name in _TIMES},
        "layout": execution.layout in {STOCK, IDENTITY} or _is_whole(execution.layout),
        "round": _is_whole(execution.round),
        "output_sha256": isinstance(execution.output_sha256, str) and is_digest_or_empty(execution.output_sha256),
        "argv": all(isinstance(word, str) for word in execution.argv),
        "disturbances": all(isinstance(name, str) for name in execution.disturbances),
        "rusage": isinstance(execution.rusage, dict) and all(map(_is_number, execution.rusage.values())),
        "conditions": isinstance(execution.conditions, dict),
        "host_state": isinstance(execution.host_state, dict),
        "measurements": all(map(_is_measurement, execution.measurements)),
    }
    if wrong := [name for name, is_right in right.items() if not is_right]:
        raise TypeError(f"{', '.join(wrong)} cannot be what an execution has")


def _is_measurement(value: Measurement) -> bool:
    named = isinstance(value.metric, str) and isinstance(value.unit, str)
    return named and _is_count(value.iteration) and _is_number(value.value) and isinstance(value.warmup, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_COUNT


def _is_number(value: object) -> bool:
    return isinstance(value, float) or _is_count(value)
