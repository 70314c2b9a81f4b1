"""Executions that came home: read from the staging directory, checked, in the order of their attempts."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from layoutrand.capture.origin import Say
from layoutrand.cluster.returned import Shelf
from layoutrand.cluster.task import read_record, record_key
from layoutrand.errors import BundleError, DamagedRecord
from layoutrand.execute.experiment import slot_key
from layoutrand.host.facts import processor
from layoutrand.model import Execution, SlotKey


@dataclass(frozen=True)
class Arrival:
    """One record: its ``name`` on the shelf, the execution, the facts of its node, and output by file name."""

    name: str
    key: SlotKey
    execution: Execution
    facts: Mapping[str, Any]
    output: Mapping[str, bytes]


def take_records(shelf: Shelf, seen: Container[str], say: Say) -> Iterator[Arrival]:
    """The records that are on the shelf and were not ``seen``; damaged ones are dropped, which ``say`` tells.

    They come in the order in which they began, but never an attempt before an earlier one: nodes' clocks may differ.
    One that cannot be read at the moment stays where it is.
    """
    arrivals = [take_record(shelf, name, say) for name in shelf.names() if name not in seen]
    found = [arrival for arrival in arrivals if arrival is not None]
    began: dict[SlotKey, float] = {}
    rows = []
    for arrival in sorted(found, key=lambda each: each.execution.attempt):
        at = max(arrival.execution.started_at, began.get(arrival.key, arrival.execution.started_at))
        began[arrival.key] = at
        rows.append((at, arrival.execution.attempt, arrival))
    for _, _, arrival in sorted(rows, key=lambda row: row[:2]):
        yield arrival


def take_record(shelf: Shelf, name: str, say: Say) -> Arrival | None:
    """The record of that name, if there is one that can be read; a damaged one is dropped."""
    try:
        return _read(shelf, name)
    except BundleError as error:
        say(str(error))
        if isinstance(error, DamagedRecord):
            shelf.drop(name)
        return None


def _read(shelf: Shelf, name: str) -> Arrival | None:
    record = shelf.get(name)
    if record is None:  # dropped by somebody meanwhile
        return None
    try:
        execution, facts, output = read_record(record)
        key = slot_key(execution)
        own = record_key(key, execution.attempt)
        float(execution.started_at), processor(facts)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedRecord(
            f"{shelf.path(name)} is no record of an execution: {error!r}; it is executed again"
        ) from error
    if own != name:
        raise DamagedRecord(f"{shelf.path(name)} is the record of another execution; it is executed again")
    return Arrival(name, key, execution, facts, output)
