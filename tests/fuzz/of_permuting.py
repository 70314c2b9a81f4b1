"""What layouts are written from: what was learned of a program, and the files that it is learned from."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.target import Target
from layoutrand.objects import elf
from layoutrand.permute import relr, rest
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


def _map(data: bytes, _: Path) -> None:
    identity = program()[1]
    home = [identity.binary.section_names.index(".rodata")]
    none = np.empty(0, np.int64)
    for linker in ("lld", "gnu"):
        rest.of_map(data.decode("utf-8", "surrogateescape"), linker, identity.binary, home, (none, none))


def _maps() -> tuple[bytes, ...]:
    binary = program()[1].binary
    row = binary.sections[binary.section_names.index(".rodata")]
    begin, size = f"{int(row['addr']):x}", f"{int(row['size']):x}"
    lld = f"{begin} {begin} {size} 8 .rodata\n{begin} {begin} 8 4         <internal>:(.rodata)\n"
    gnu = f"\nLinker script and memory map\n.rodata 0x{begin} 0x{size}\n .rodata.a\n 0x{begin} 0x4 a.o\n"
    return lld.encode(), f"{gnu} *fill* 0x{int(row['addr']) + 4:x} 0x4\n".encode()


def _packed(data: bytes, _: Path) -> None:
    relr.unpacked(data)


TARGETS = (
    Target("packed relocations", _packed, lambda: (relr.packed(np.arange(0x1000, 0x9000, 88)),), "bytes"),
    Target("map of a linker", _map, _maps, "text"),
    Target("what was learned of a program", _table, tables, "bytes", cost=4),
    Target("program to learn", _linked, lambda: (program()[1].binary.data,), "bytes", cost=20),
    Target("program with relocations", _emitted, lambda: (program()[2].data,), "bytes", cost=20),
)
