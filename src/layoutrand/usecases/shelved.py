"""Executions that came home: read from the staging directory, checked, in the order of their attempts."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from layoutrand.errors import BundleError
from layoutrand.model import Execution, SlotKey
from layoutrand.usecases.bout import read_record, record_key
from layoutrand.usecases.experiment import slot_key
from layoutrand.usecases.origin import Say
from layoutrand.world.shelf import Shelf


@dataclass(frozen=True)
class Arrival:
    """One record: its ``name`` on the shelf, the execution, the facts of its node, and output by file name."""

    name: str
    key: SlotKey
    execution: Execution
    facts: Mapping[str, Any]
    output: Mapping[str, bytes]


def take_records(shelf: Shelf, seen: Container[str], say: Say) -> Iterator[Arrival]:
    """The records that are on the shelf and were not ``seen``; damaged ones are dropped, which ``say`` tells."""
    found = []
    for name in shelf.names():
        if name in seen:
            continue
        try:
            arrival = _read(shelf, name)
        except BundleError as error:
            say(str(error))
            shelf.drop(name)
            continue
        if arrival is not None:
            found.append(arrival)
    yield from sorted(found, key=lambda each: (each.execution.started_at, each.execution.attempt))


def _read(shelf: Shelf, name: str) -> Arrival | None:
    record = shelf.get(name)
    if record is None:  # dropped by somebody meanwhile
        return None
    try:
        execution, facts, output = read_record(record)
        key = slot_key(execution)
        own = record_key(key, execution.attempt)
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(
            f"{shelf.path(name)} is no record of an execution: {error!r}; it is executed again"
        ) from error
    if own != name:
        raise BundleError(f"{shelf.path(name)} is the record of another execution; it is executed again")
    return Arrival(name, key, execution, facts, output)
