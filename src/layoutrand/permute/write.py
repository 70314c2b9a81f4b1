"""Write the binary of another layout from what was learned of a program: no linker takes part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

import numpy as np

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute import build_id
from layoutrand.permute.anchors import Geometry
from layoutrand.permute.fields import apply, words
from layoutrand.permute.learned import LearnedTable
from layoutrand.permute.linker_made import by_place
from layoutrand.permute.skeleton import Content, Skeleton

_MORE: Final = 1 << 26
"""Bytes: what a file may grow beside its code."""

_TRAP: Final = b"\xcc"
# What GNU ld (bfd_arch_i386_fill) puts between pieces of code: the longest, and at the end one that fits the rest.
_NOPS: Final = (
    b"",
    b"\x90",
    b"\x66\x90",
    b"\x0f\x1f\x00",
    b"\x0f\x1f\x40\x00",
    b"\x0f\x1f\x44\x00\x00",
    b"\x66\x0f\x1f\x44\x00\x00",
    b"\x0f\x1f\x80\x00\x00\x00\x00",
    b"\x0f\x1f\x84\x00\x00\x00\x00\x00",
    b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
    b"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00",
)


@lru_cache(maxsize=256)
def filling(linker: str, size: int) -> bytes:
    """What the linker fills room for alignment with."""
    if linker == "lld":
        return _TRAP * size
    longest = len(_NOPS) - 1
    return _NOPS[longest] * (size // longest) + _NOPS[size % longest]


def written(
    table: LearnedTable, order: Sequence[int], gaps: Sequence[int] = (), *, into: bytearray | None = None
) -> bytearray:
    """The file with its pieces in that order, and so many bytes free before each.

    If ``into`` has its size it is written there: memory that a process has is filled in a fraction of the time that
    the kernel takes to give it as much anew. Raises `NotPermuted` where this order takes what is not understood.
    """
    try:
        return _written(table, order, gaps, into)
    except (ValueError, IndexError, OverflowError) as error:
        raise NotPermuted(f"what was learned of it does not fit an order: {error}") from error


def _written(table: LearnedTable, order: Sequence[int], gaps: Sequence[int], into: bytearray | None) -> bytearray:
    old = table.skeleton
    homes = [
        _home(table, home, numbers, free)
        for home, (numbers, free) in zip(table.homes, _by_home(table, order, gaps), strict=True)
    ]
    sizes = {home.number: Content(home.size, tails) for home, tails in zip(homes, table.tails, strict=True)}
    grown = sum(max(home.size - int(old.sections["size"][home.number]), 0) for home in homes if old.stored[home.number])
    new = old.with_contents(sizes)
    if new.size > len(table.image) + grown + _MORE:
        raise NotPermuted("its file would become larger than all that is in it")
    pieces = np.empty(len(table.pieces), np.int64)
    for home in homes:
        pieces[home.pieces] = int(new.sections["addr"][home.number]) + np.array(home.offset, np.int64)
    layout = Geometry(new, pieces)
    shift = layout.addresses - table.geometry.addresses
    out = _room(new.size, into)
    out[: len(new.header)] = new.header
    _put_sections(table, new, out)
    for home in homes:
        if old.stored[home.number]:
            _put_home(table, home, out, new)
    apply(out, table.ready, shift, layout.places(table.pieces.section) - table.geometry.places(table.pieces.section))
    _put_symbols(table, new, out, order)
    _put_relocations(table, new, out)
    if table.packed is not None:
        at, size = (int(new.sections[name][table.packed.section]) for name in ("offset", "size"))
        out[at : at + size] = table.packed.written(shift, size)
    _put_unwinding(table, new, out)
    _put_tables(new, out)
    build_id.put(table.build_id, out, new)
    return out


def _room(size: int, into: bytearray | None) -> bytearray:
    """So many zeroes."""
    if into is None or len(into) != size:
        return bytearray(size)
    np.frombuffer(into, np.uint8).fill(0)
    return into


@dataclass(frozen=True)
class _Home:
    """A section that pieces are placed in: these, each so far from its begin, with bytes to fill before it.

    Those are what the ``gaps`` have ([] for none), and behind that what the alignment takes (``pads``).
    """

    number: int
    pieces: list[int]
    offset: list[int]
    gaps: list[int]
    pads: list[int]
    size: int


def _by_home(table: LearnedTable, order: Sequence[int], gaps: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The pieces of each home in their order, and the gaps before them ([] for none)."""
    behind = range(table.placed, len(table.pieces))
    if len(order) != table.placed:
        raise NotPermuted("the order has other pieces than were learned")
    placed = np.array([*order, *behind], np.int64)
    free = np.array([*gaps, *(0 for _ in behind)], np.int64) if gaps else None
    section = table.pieces.section[placed]
    for home in table.homes:
        here = section == home
        yield placed[here].tolist(), [] if free is None else free[here].tolist()


def _home(table: LearnedTable, number: int, pieces: list[int], gaps: list[int]) -> _Home:
    """Where pieces are in their section, which begins at a multiple of what any of them is aligned to."""
    size, align, most = table.lists
    dot = 0
    offset: list[int] = []
    pads: list[int] = []
    for piece, gap in zip(pieces, gaps or [0] * len(pieces), strict=True):
        free = dot + gap
        step = align[piece]
        at = -(-free // step) * step if step > 1 else free
        if most[piece] != step and at != elf.rounded(free, most[piece]):
            raise NotPermuted(f"what a part of {table.skeleton.names[number]} is aligned to cannot be told")
        pads.append(at - free)
        offset.append(at)
        dot = at + size[piece]
    return _Home(number, pieces, offset, gaps, pads, dot)


def _put_sections(table: LearnedTable, new: Skeleton, out: bytearray) -> None:
    old, view = table.skeleton, memoryview(table.image)
    places = zip(old.sections["offset"].tolist(), new.sections["offset"].tolist(), old.stored.tolist(), strict=True)
    for number, (before, after, size) in enumerate(places):
        if size and number not in table.homes:
            out[after : after + size] = view[before : before + size]


def _put_home(table: LearnedTable, home: _Home, out: bytearray, new: Skeleton) -> None:
    begin, end = table.spans
    view = memoryview(table.image)
    code = int(new.sections["flags"][home.number]) & elf.SHF_EXECINSTR
    fill = filling if code else _zeroes
    filled = {size: fill(table.linker, size) for size in {*home.pads, *home.gaps}}
    before = [filled[pad] for pad in home.pads]
    if home.gaps:
        before = [filled[gap] + pad for gap, pad in zip(home.gaps, before, strict=True)]
    own = [view[begin[piece] : end[piece]] for piece in home.pieces]
    content = b"".join(chain.from_iterable(zip(before, own, strict=True)))
    place, size = (int(new.sections[name][home.number]) for name in ("offset", "size"))
    out[place : place + len(content)] = content
    out[place + len(content) : place + size] = fill(table.linker, size - len(content))


def _zeroes(_linker: str, size: int) -> bytes:
    return bytes(size)


def _put_relocations(table: LearnedTable, new: Skeleton, out: bytearray) -> None:
    """The dynamic linker's relocations by the places that they are for, where these may change their order."""
    for number in table.by_place:
        at, size = int(new.sections["offset"][number]), int(table.skeleton.stored[number])
        rows = np.frombuffer(out, elf.RELA, size // elf.RELA.itemsize, at)
        content = rows[by_place(rows, table.linker)].tobytes()
        out[at : at + len(content)] = content


def _put_symbols(table: LearnedTable, new: Skeleton, out: bytearray, order: Sequence[int]) -> None:
    """Symbols and names in the order of the code, where the linker has them so."""
    if table.groups is None or table.names is None:
        return
    number = table.binary.symbol_table
    assert number is not None
    count = len(table.binary.symbols)
    rows = table.groups.rows(np.array(order, np.int64), count)
    if len(rows) != count:
        raise NotPermuted("what was learned of it is damaged (its groups of symbols)")
    symbols = np.frombuffer(out, elf.SYMBOL, count, int(new.sections["offset"][number]))[rows]
    link = int(table.skeleton.sections["link"][number])
    text, symbols["name"] = table.names.written(table.name_text, rows, table.name_places)
    if len(text) != int(new.sections["size"][link]):
        raise NotPermuted("its names are not understood")
    for which, content in ((number, symbols.tobytes()), (link, text)):
        begin = int(new.sections["offset"][which])
        out[begin : begin + len(content)] = content


def _put_unwinding(table: LearnedTable, new: Skeleton, out: bytearray) -> None:
    known = table.unwinding
    if known is None:
        return
    frames = new.sections[known.frames]
    place = known.field + (int(frames["offset"]) - int(table.skeleton.sections["offset"][known.frames]))
    begin = words(out, place, wide=False) + place + (int(frames["addr"]) - int(frames["offset"]))
    header = new.sections[known.header]
    content = known.written(begin, int(header["addr"]), int(frames["addr"]))
    end = int(header["offset"]) + int(header["size"])
    out[end - len(content) : end] = content


def _put_tables(new: Skeleton, out: bytearray) -> None:
    for place, rows in ((new.segments_at, new.segments), (new.sections_at, new.sections)):
        out[place : place + rows.nbytes] = rows.tobytes()
