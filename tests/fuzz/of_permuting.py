"""What layouts are written from: what was learned of a program, and the files that it is learned from."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.target import Target, tree_of
from layoutrand.cache import packing
from layoutrand.cache.contents import content_of
from layoutrand.cache.learned_program import image_path, learned_digest, table_path
from layoutrand.cache.linked_check import verify
from layoutrand.cache.sealed_records import sealed, unsealed
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import entries
from layoutrand.cache.written_order import WrittenOrder
from layoutrand.model import Stored
from layoutrand.objects import elf
from layoutrand.permute import relr, rest
from layoutrand.permute.learn import learn
from layoutrand.permute.learned import FORMAT, LearnedTable
from layoutrand.permute.write import written
from layoutrand.platform.disk import sha256_bytes
from overwrite import overwrite
from permutekit import learnable


@cache
def program() -> Any:
    """The links of a small program."""
    with tempfile.TemporaryDirectory() as folder:
        return learnable(Path(folder))[:4]


@cache
def table() -> LearnedTable:
    """What is learned of it."""
    return learn(*program())


@cache
def kept_table() -> bytes:
    """What is kept of that beside the image."""
    return table().stored()


def _capture(store: Cache) -> str:
    """The cache with what was learned beside a capture, and the digest of that."""
    image = image_path(store.capture_path("c" * 64), 0, FORMAT)
    image.parent.mkdir(parents=True, exist_ok=True)
    overwrite(image, table().image)
    overwrite(table_path(image), kept_table())
    return learned_digest(kept_table(), table().image)


def _table(data: bytes, _: Path) -> None:
    _written(LearnedTable.of_stored(data, table().image))


def _image(data: bytes, _: Path) -> None:
    """The data as the file that all others are made of."""
    _written(LearnedTable.of_stored(kept_table(), data))


def _written(learned: LearnedTable | None) -> None:
    if learned is not None:
        written(learned, list(reversed(range(len(learned.pieces)))))


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


def orders() -> tuple[bytes, ...]:
    """Orders with gaps and without, as they are kept."""
    count = len(table().pieces)
    orders = (WrittenOrder("", range(count)), WrittenOrder("", range(count), [3] * count))
    return tuple(json.dumps(unsealed(order.stored())).encode() for order in orders)


def _order(data: bytes, place: Path) -> None:
    """The data as the order that a binary is written in, with a seal that fits."""
    if not isinstance(tree := tree_of(data), dict):
        return
    learned = _capture(store := Cache(place / "cache"))
    overwrite(place / "prog.order", sealed({**tree, "learned": learned}))
    content_of(Stored(place / "prog.order", image_path(store.capture_path("c" * 64), 0, FORMAT)))


def record() -> dict[str, Any]:
    """What the cache says of a binary that is kept as an order."""
    return {
        "key": "b" * 64,
        "sha256": sha256_bytes(written(table(), range(len(table().pieces)))),
        "artefact": "prog",
        "layout": 3,
        "facts": {"capture": "c" * 64, "artefact": "prog", "layout": 3},
        "order": {"capture": "c" * 64, "image": f"0/learned-{FORMAT}.image"},
    }


def _kept_as_order(data: bytes, place: Path) -> None:
    """The data as the record of a binary that is kept as an order, with a seal that fits."""
    if not isinstance(tree := tree_of(data), dict):
        return
    store = Cache(place / "cache")
    digest = _capture(store)
    (folder := store.root / "binaries" / ("b" * 64)).mkdir(parents=True, exist_ok=True)
    overwrite(folder / "prog.order", WrittenOrder(digest, range(len(table().pieces))).stored())
    overwrite(folder / "meta.json", sealed(tree))
    if (found := store.load_binary("b" * 64, "prog")) is not None:
        assert sha256_bytes(content_of(found.stored)) == found.meta["sha256"]
    entries(store)
    verify(store)
    packing.keep_whole(store)


TARGETS = (
    Target("packed relocations", _packed, lambda: (relr.packed(np.arange(0x1000, 0x9000, 88)),), "bytes"),
    Target("map of a linker", _map, _maps, "text"),
    Target("what was learned of a program", _table, lambda: (kept_table(),), "bytes", cost=4),
    Target("image of a program", _image, lambda: (table().image,), "bytes", cost=4),
    Target("order of a binary", _order, orders, "json", cost=4),
    Target("binary kept as an order", _kept_as_order, lambda: (json.dumps(record()).encode(),), "json", cost=10),
    Target("program to learn", _linked, lambda: (program()[1].binary.data,), "bytes", cost=20),
    Target("program with relocations", _emitted, lambda: (program()[2].data,), "bytes", cost=20),
)
