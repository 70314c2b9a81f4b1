"""What layouts are written from: what was learned of a program, and the files that it is learned from."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.target import Target
from layoutrand.objects import elf
from layoutrand.permute.learn import learn
from layoutrand.permute.learned import LearnedTable
from layoutrand.permute.write import written
from permutekit import learnable


@cache
def program() -> Any:
    """The links of a small program."""
    with tempfile.TemporaryDirectory() as folder:
        return learnable(Path(folder))[:4]


@cache
def tables() -> tuple[bytes, ...]:
    """What is learned of it."""
    return (learn(*program()).stored(),)


def _table(data: bytes, _: Path) -> None:
    table = LearnedTable.of_stored(data)
    if table is not None:
        written(table, list(reversed(range(len(table.pieces)))))


def _linked(data: bytes, _: Path) -> None:
    facts, identity, emitted, probes = program()
    learn(facts, replace(identity, binary=elf.read(data, name="prog")), emitted, probes)


def _emitted(data: bytes, _: Path) -> None:
    facts, identity, _emitted, probes = program()
    learn(facts, identity, elf.read(data, name="prog"), probes)


TARGETS = (
    Target("what was learned of a program", _table, tables, "bytes", cost=4),
    Target("program to learn", _linked, lambda: (program()[1].binary.data,), "bytes", cost=20),
    Target("program with relocations", _emitted, lambda: (program()[2].data,), "bytes", cost=20),
)
