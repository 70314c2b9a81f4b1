"""Write the binary of another layout from what was learned of a program: no linker takes part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute import build_id
from layoutrand.permute.anchors import Geometry
from layoutrand.permute.fields import apply, words
from layoutrand.permute.learned import LearnedTable
from layoutrand.permute.skeleton import SECTIONS_AT, Numbers, Skeleton

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


def written(table: LearnedTable, order: Sequence[int], gaps: Sequence[int] = ()) -> bytes:
    """The file with its pieces in that order, and so many bytes free before each.

    Raises `NotPermuted` where this order takes what is not understood.
    """
    try:
        return _written(table, order, gaps)
    except (ValueError, IndexError, OverflowError) as error:
        raise NotPermuted(f"what was learned of it is damaged: {error}") from error


def _written(table: LearnedTable, order: Sequence[int], gaps: Sequence[int]) -> bytes:
    identity = table.skeleton
    pieces, end, code = _code_places(table, order, gaps)
    new = identity.with_code(end - int(identity.sections["addr"][table.code]))
    if new.size > len(table.image) + end - int(identity.sections["addr"][table.code]) + _MORE:
        raise NotPermuted("its file would become larger than all that is in it")
    shift = Geometry(new, pieces).addresses - table.geometry.addresses
    image = bytearray(table.image)
    apply(image, table.fields, shift)
    out = bytearray(new.size)
    _put_sections(table, new, image, out)
    _put_code(table, image, out, new, code, order)
    _put_symbols(table, new, image, out, order)
    _put_unwinding(table, new, image, out)
    _put_tables(new, image, out)
    build_id.put(table.build_id, out, new)
    return bytes(out)


def _code_places(
    table: LearnedTable, order: Sequence[int], gaps: Sequence[int]
) -> tuple[Numbers, int, list[tuple[int, int]]]:
    """The address of each piece, where the code ends, and in order the bytes to fill before each: gap and alignment."""
    size, align = table.pieces.size.tolist(), table.pieces.align.tolist()
    address = [0] * len(size)
    dot = int(table.skeleton.sections["addr"][table.code])
    fill: list[tuple[int, int]] = []
    for slot, number in enumerate(order):
        gap = gaps[slot] if gaps else 0
        step = align[number]
        at = -(-(dot + gap) // step) * step if step > 1 else dot + gap
        fill.append((gap, at - dot - gap))
        address[number] = at
        dot = at + size[number]
    ends = {elf.rounded(dot, step) for step in table.tails}
    if len(ends) > 1:
        raise NotPermuted("what the end of its code is aligned to cannot be told")
    return np.array(address, np.int64), ends.pop(), fill


def _put_sections(table: LearnedTable, new: Skeleton, image: bytearray, out: bytearray) -> None:
    old, view = table.skeleton, memoryview(image)
    places = zip(old.sections["offset"].tolist(), new.sections["offset"].tolist(), old.stored.tolist(), strict=True)
    for number, (before, after, size) in enumerate(places):
        if size and number != table.code:
            out[after : after + size] = view[before : before + size]


def _put_code(
    table: LearnedTable,
    image: bytearray,
    out: bytearray,
    new: Skeleton,
    fill: Sequence[tuple[int, int]],
    order: Sequence[int],
) -> None:
    place, end_size = (int(new.sections[name][table.code]) for name in ("offset", "size"))
    row = table.skeleton.sections[table.code]
    shift = int(row["offset"]) - int(row["addr"])
    begin = (table.pieces.address + shift).tolist()
    end = (table.pieces.address + table.pieces.size + shift).tolist()
    view = memoryview(image)
    parts: list[bytes | memoryview] = []
    for number, (gap, aligning) in zip(order, fill, strict=True):
        if gap:
            parts.append(filling(table.linker, gap))
        if aligning:
            parts.append(filling(table.linker, aligning))
        parts.append(view[begin[number] : end[number]])
    content = b"".join(parts)
    rest = end_size - len(content)
    content += filling(table.linker, rest)
    out[place : place + len(content)] = content


def _put_symbols(table: LearnedTable, new: Skeleton, image: bytearray, out: bytearray, order: Sequence[int]) -> None:
    """Symbols and names in the order of the code, where the linker has them so."""
    if table.groups is None or table.names is None:
        return
    number = table.binary.symbol_table
    assert number is not None
    old_place, count = int(table.skeleton.sections["offset"][number]), len(table.binary.symbols)
    rows = table.groups.rows(np.array(order, np.int64), count)
    if len(rows) != count:
        raise NotPermuted("what was learned of it is damaged (its groups of symbols)")
    symbols = np.frombuffer(image, elf.SYMBOL, count, old_place)[rows].copy()
    link = int(table.skeleton.sections["link"][number])
    text, name = table.names.written(table.binary.content(link), rows, table.binary.symbols["name"].astype(np.int64))
    symbols["name"] = name
    if len(text) != int(new.sections["size"][link]):
        raise NotPermuted("its names are not understood")
    for which, content in ((number, symbols.tobytes()), (link, text)):
        begin = int(new.sections["offset"][which])
        out[begin : begin + len(content)] = content


def _put_unwinding(table: LearnedTable, new: Skeleton, image: bytearray, out: bytearray) -> None:
    known = table.unwinding
    if known is None:
        return
    frames = new.sections[known.frames]
    field = known.field - int(table.skeleton.sections["offset"][known.frames]) + int(frames["addr"])
    begin = words(image, known.field, wide=False) + field
    header = new.sections[known.header]
    content = known.written(begin, int(header["addr"]), int(frames["addr"]))
    end = int(header["offset"]) + int(header["size"])
    out[end - len(content) : end] = content


def _put_tables(new: Skeleton, image: bytearray, out: bytearray) -> None:
    header = bytearray(image[: len(new.header)])
    header[SECTIONS_AT] = new.header[SECTIONS_AT]
    out[: len(header)] = header
    for place, rows in ((new.segments_at, new.segments), (new.sections_at, new.sections)):
        out[place : place + rows.nbytes] = rows.tobytes()
