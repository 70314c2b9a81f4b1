"""Write the binary of another layout from what was learned of a program: no linker takes part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from typing import Final

import numpy as np

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute import build_id
from layoutrand.permute.anchors import Geometry
from layoutrand.permute.fields import apply, words
from layoutrand.permute.learned import LearnedTable
from layoutrand.permute.linker_made import by_place
from layoutrand.permute.placing import places, rounded
from layoutrand.permute.resized import Content, resized
from layoutrand.permute.skeleton import PF_X, PT_LOAD, PT_TLS, Numbers, Skeleton

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
    table: LearnedTable, order: Sequence[int] | Numbers, gaps: Sequence[int] = (), *, into: bytearray | None = None
) -> bytearray:
    """The file with its pieces in that order, and so many bytes free before each.

    If ``into`` has its size it is written there: memory that a process has is filled in a fraction of the time that
    the kernel takes to give it as much anew. Raises `NotPermuted` where this order takes what is not understood.
    """
    try:
        return _written(table, order, gaps, into)
    except (ValueError, IndexError, OverflowError) as error:
        raise NotPermuted(f"what was learned of it does not fit an order: {error}") from error


def _written(
    table: LearnedTable, order: Sequence[int] | Numbers, gaps: Sequence[int], into: bytearray | None
) -> bytearray:
    old = table.skeleton
    homes = [
        _home(table, home, numbers, free)
        for home, (numbers, free) in zip(table.homes, _by_home(table, order, gaps), strict=True)
    ]
    sizes = {home.number: Content(home.size, tails) for home, tails in zip(homes, table.tails, strict=True)}
    grown = sum(max(home.size - int(old.sections["size"][home.number]), 0) for home in homes if old.stored[home.number])
    new = resized(old, sizes)
    if new.size > len(table.image) + grown + _MORE:
        raise NotPermuted("its file would become larger than all that is in it")
    if table.by_storage:
        insist_on_storage(old, new)
    pieces = np.empty(len(table.pieces), np.int64)
    for home in homes:
        pieces[home.pieces] = int(new.sections["addr"][home.number]) + home.offset
    layout = Geometry(new, pieces)
    shift = layout.addresses - table.geometry.addresses
    if any(shift[one] != shift[other] for one, other in table.alike):
        raise NotPermuted(
            "whether something lies at the end of a section, or where the next one may begin, cannot be told"
        )
    out = _room(new.size, into)
    out[: len(new.header)] = new.header
    _put_traps(old, new, out)
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
    """A section that pieces are placed in: these, each so far from its begin, with bytes to fill before it; shape (k,).

    Those are what the ``gaps`` have (None for none), and behind that what the alignment takes (``pads``).
    """

    number: int
    pieces: Numbers
    offset: Numbers
    gaps: Numbers | None
    pads: Numbers
    size: int


def _by_home(
    table: LearnedTable, order: Sequence[int] | Numbers, gaps: Sequence[int]
) -> Iterator[tuple[Numbers, Numbers | None]]:
    """The pieces of each home in their order, and the gaps before them (None for none)."""
    if len(order) != table.placed:
        raise NotPermuted("the order has other pieces than were learned")
    behind = np.arange(table.placed, len(table.pieces))
    placed = np.concatenate([np.array(order, np.int64), behind])
    free = np.concatenate([np.array(gaps, np.int64), np.zeros_like(behind)]) if gaps else None
    section = table.pieces.section[placed]
    for home in table.homes:
        here = section == home
        yield placed[here], None if free is None else free[here]


def _home(table: LearnedTable, number: int, pieces: Numbers, gaps: Numbers | None) -> _Home:
    """Where pieces are in their section, which begins at a multiple of what any of them is aligned to."""
    size, step, most = (of[pieces] for of in (table.pieces.size, table.pieces.align, table.pieces.most))
    offset, whole = places(size, step, gaps)
    free = np.append(0, (offset + size)[:-1]) if len(pieces) else offset
    if gaps is not None:
        free = free + gaps
    if ((most != step) & (offset != rounded(free, most))).any():
        raise NotPermuted(f"what a part of {table.skeleton.names[number]} is aligned to cannot be told")
    return _Home(number, pieces, offset, gaps, offset - free, whole)


def insist_on_storage(old: Skeleton, new: Skeleton) -> None:
    """Raise `NotPermuted` where the storage of threads is elsewhere, or of another size."""
    if _storage(new) != _storage(old):
        raise NotPermuted("an order moves the storage of its threads, from whose end it counts to what is undefined")


def _storage(tables: Skeleton) -> list[tuple[int, int]]:
    """Where the storage of threads begins, and how large it is."""
    return [(int(row["vaddr"]), int(row["memsz"])) for row in tables.segments if int(row["type"]) == PT_TLS]


def _put_traps(old: Skeleton, new: Skeleton, out: bytearray) -> None:
    """The rest of the last page of code, where lld gives that pages of its own."""
    for row in new.segments if old.on_own_pages else ():
        if int(row["type"]) == PT_LOAD and int(row["flags"]) & PF_X:
            end = int(row["offset"]) + int(row["filesz"])
            behind = min(int(elf.rounded(end, int(row["align"]))), len(out))
            out[end:behind] = _TRAP * (behind - end)


def _put_sections(table: LearnedTable, new: Skeleton, out: bytearray) -> None:
    old, view = table.skeleton, memoryview(table.image)
    places = zip(old.sections["offset"].tolist(), new.sections["offset"].tolist(), old.stored.tolist(), strict=True)
    for number, (before, after, size) in enumerate(places):
        if size and number not in table.homes:
            out[after : after + size] = view[before : before + size]


def _put_home(table: LearnedTable, home: _Home, out: bytearray, new: Skeleton) -> None:
    code = int(new.sections["flags"][home.number]) & elf.SHF_EXECINSTR
    fill = filling if code else _zeroes
    pads = home.pads.tolist()
    gaps = [] if home.gaps is None else home.gaps.tolist()
    filled = {size: fill(table.linker, size) for size in {*pads, *gaps}}
    before = map(filled.__getitem__, pads)
    if gaps:
        before = map(add, map(filled.__getitem__, gaps), before)
    parts = [b""] * (2 * len(pads))
    parts[::2] = before
    parts[1::2] = map(table.contents.__getitem__, home.pieces.tolist())
    content = b"".join(parts)
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


def _put_symbols(table: LearnedTable, new: Skeleton, out: bytearray, order: Sequence[int] | Numbers) -> None:
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
