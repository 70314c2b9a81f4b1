"""Prove that a linked binary is the identity binary with its sections in the order asked for, and nothing else.

Four facts, read off the binary and never off what the linker was told:

1. the unique symbols stand in the order asked for (`placed_order`);
2. every section's bytes equal identity's outside the fields of its relocations, hence the same instructions,
   addresses aside (`changed`);
3. every function has the same size and lies at the same offset of the same section (`functions`);
4. every other loaded output section has the size it has in identity (`other_sizes`).

No disassembler is needed, and nothing that a disassembler would gloss over is skipped: padding inside a section and
constants between functions are compared too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutrand.core import elf
from layoutrand.core.objedit import DIGITS, SYMBOL_PREFIX
from layoutrand.core.relocations import written_bytes
from layoutrand.errors import FeatureUnsupported, LayoutNotApplied

_GAP = 64
_DECIMAL = np.frombuffer(b"0123456789", np.uint8)


def placed_addresses(binary: elf.Elf) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Capture index, address and output section of every section that carries a unique symbol, each shape (n,)."""
    table = binary.symbol_table
    if table is None:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    text = np.frombuffer(binary.content(int(binary.sections[table]["link"])) + bytes(32), np.uint8)
    at = binary.symbols["name"].astype(np.int64)
    prefix = np.frombuffer(SYMBOL_PREFIX.encode(), np.uint8)
    matches = np.ones(len(at), bool)
    for step, byte in enumerate(prefix):
        matches &= text[at + step] == byte
    which = np.flatnonzero(matches)
    tail = text[at[which][:, None] + len(prefix) + np.arange(DIGITS + 1)]  # the digits and the NUL after them
    ours = np.isin(tail[:, :DIGITS], _DECIMAL).all(axis=1) & (tail[:, DIGITS] == 0)  # the program may have a ".lr.x"
    which, digits = which[ours], (tail[ours, :DIGITS] - ord("0")).astype(np.int64)
    return (
        digits @ 10 ** np.arange(DIGITS - 1, -1, -1),
        binary.symbols["value"][which].astype(np.int64),
        binary.symbol_sections[which].astype(np.int64),
    )


def placed_order(number: NDArray[np.int64], address: NDArray[np.int64]) -> NDArray[np.int64]:
    """Capture indices by ascending address."""
    return number[np.argsort(address, kind="stable")]


@dataclass(frozen=True)
class Masks:
    """Per section, concatenated: ``start`` and ``size`` (shape (n,)), and masks over all their bytes.

    ``fixed`` marks bytes that no link may write differently from another link, ``input_fixed`` those that must even
    equal the input object's (relaxable opcodes excepted); ``content`` is the input's bytes.
    """

    start: NDArray[np.int64]
    size: NDArray[np.int64]
    content: NDArray[np.uint8]
    fixed: NDArray[np.bool_]
    input_fixed: NDArray[np.bool_]


def masks(inputs: Sequence[tuple[elf.Elf, int, str]]) -> Masks:
    """Masks of the sections ``(object, section header index, name for messages)`` in capture order.

    Raises `FeatureUnsupported` for another machine's code and for relocations that are not known.
    """
    for source, _, where in inputs:
        if source.machine != "EM_X86_64":
            raise FeatureUnsupported(f"{where}: code for {source.machine} cannot be verified, only x86-64 can")
    contents = [np.frombuffer(source.content(index), np.uint8) for source, index, _ in inputs]
    tables = [source.relocations(index) for source, index, _ in inputs]
    size = np.array([len(content) for content in contents], np.int64)
    # All sections at once, side by side with gaps that no field reaches across: a large program has 45,000 of them.
    begin = np.cumsum(size + _GAP) - size
    content = np.zeros(int(size.sum()) + (len(size) + 1) * _GAP, np.uint8)
    real = np.zeros(len(content), bool)
    for at, part in zip(begin.tolist(), contents, strict=True):
        content[at : at + len(part)] = part
        real[at : at + len(part)] = True
    merged = np.concatenate([*tables, np.empty(0, elf.RELA)])
    owner = np.repeat(np.arange(len(size)), [len(table) for table in tables])
    if (merged["offset"] > size[owner].astype(np.uint64)).any():
        _blame(inputs)
    merged["offset"] += begin[owner].astype(np.uint64)
    try:
        fields, relaxed = written_bytes(merged, content, where="")
    except FeatureUnsupported:
        _blame(inputs)
        raise
    start = np.cumsum(size) - size
    return Masks(start, size, content[real], ~fields[real], ~relaxed[real])


def _blame(inputs: Sequence[tuple[elf.Elf, int, str]]) -> None:
    """Raise the error again with the name of the section that causes it."""
    for source, index, where in inputs:
        written_bytes(source.relocations(index), np.frombuffer(source.content(index), np.uint8), where=where)


def section_bytes(
    binary: elf.Elf, number: NDArray[np.int64], address: NDArray[np.int64], size: NDArray[np.int64], output: int
) -> NDArray[np.uint8]:
    """The sections' bytes as linked, concatenated in capture order; ``output`` is their output section's index.

    Raises `LayoutNotApplied` unless every section is there, once, and inside that output section.
    """
    if len(number) != len(size) or not np.array_equal(np.sort(number), np.arange(len(size))):
        found = len(np.unique(number))
        raise LayoutNotApplied(f"{len(size)} sections were to be placed, the binary has {found} of them")
    begin = int(binary.sections[output]["addr"])
    end = begin + int(binary.sections[output]["size"])
    outside = np.flatnonzero((address < begin) | (address + size[number] > end))
    if len(outside):
        raise LayoutNotApplied(f"{len(outside)} sections lie outside {binary.section_names[output]}")
    base = int(binary.sections[output]["addr"]) - int(binary.sections[output]["offset"])
    data = np.frombuffer(binary.data, np.uint8)
    by_number = np.empty(len(size), np.int64)
    by_number[number] = address - base
    ends = by_number + size
    parts = [data[a:b] for a, b in zip(by_number.tolist(), ends.tolist(), strict=True)]
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)


def changed(reference: NDArray[np.uint8], linked: NDArray[np.uint8], fixed: NDArray[np.bool_]) -> int | None:
    """The first position at which a fixed byte differs, or None; the three share one shape."""
    different = np.flatnonzero((reference != linked) & fixed)
    return int(different[0]) if len(different) else None


def functions(
    binary: elf.Elf, number: NDArray[np.int64], address: NDArray[np.int64], size: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows (section, offset in it, size), sorted, of every function symbol inside a placed section; shape (m, 3)."""
    symbols = binary.symbols[(binary.symbols["info"] & 0xF) == elf.STT_FUNC]
    order = np.argsort(address, kind="stable")
    begins = address[order]
    value = symbols["value"].astype(np.int64)
    slot = np.searchsorted(begins, value, side="right") - 1
    inside = slot >= 0
    owner = number[order][np.maximum(slot, 0)]
    offset = value - begins[np.maximum(slot, 0)]
    inside &= offset < size[owner]
    rows = np.stack([owner, offset, symbols["size"].astype(np.int64)], axis=1)[inside]
    ordered: NDArray[np.int64] = rows[np.lexsort(rows.T[::-1])]
    return ordered


def other_sizes(binary: elf.Elf, output: int) -> dict[str, int]:
    """Size of every allocated output section but the one that holds the placed code; equal names are added up."""
    sizes: dict[str, int] = {}
    for index in np.flatnonzero((binary.sections["flags"] & elf.SHF_ALLOC) != 0).tolist():
        name = binary.section_names[index]
        if index != output and name != ".relro_padding":  # lld fills up to a page boundary
            sizes[name] = sizes.get(name, 0) + int(binary.sections[index]["size"])
    return sizes
