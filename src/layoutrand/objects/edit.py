"""Give every placeable section of an object a name and a symbol of its own.

Linkers order sections by name (GNU ld) or by symbol (lld), and neither is unique in real programs: two files have a
static ``helper``, one object has several ``.text.unlikely``.  Renaming section k of a capture to ``.text.lr.k`` and
adding the local symbol ``.lr.k`` at its start makes every order exact, and lets the order achieved be read off the
linked binary's symbol table.

Only names and the symbol table change; section contents and their file offsets stay where they were, new tables are
appended.  Inserting local symbols moves the global ones, so every table that refers to symbols by number is shifted:
relocations, COMDAT groups, extended section indices, LLVM's address-significance table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf
from layoutrand.objects.unique_names import symbol_name

_RELOCATION_SYMBOL_SHIFT = np.uint64(32)
_WORD = 8
_INFO = 8  # where in an entry the symbol and the type are
_RELOCATIONS = {elf.SHT_RELA: elf.RELA, elf.SHT_REL: elf.REL}  # LLVM's call graph profiles have the second kind
# Sections that name the symbol table but hold no symbol's number; call graph profiles name theirs by relocations.
_NO_SYMBOL_NUMBERS = frozenset({elf.SHT_GROUP, elf.SHT_SYMTAB_SHNDX, elf.SHT_LLVM_CALL_GRAPH_PROFILE})


@dataclass(frozen=True)
class Mark:
    """What a section gets: the symbol of its number in the capture, and a new name unless that is None."""

    index: int
    name: str | None = None


def edit(data: bytes, marks: Mapping[int, Mark], *, name: str) -> bytes:
    """The object with the marks at their sections (by section header index).

    ``name`` is for messages. Raises `FeatureUnsupported` for an object without a symbol table (it was stripped before
    the link), or with tables it does not know.
    """
    source = elf.read(data, name=name)
    if not marks:
        return data
    if source.symbol_table is None:
        raise FeatureUnsupported(f"{name}: the object has no symbol table (stripped before the link?)")
    writer = _Writer(source)
    places = np.array(sorted(marks), np.uint32)
    writer.add_symbols(places, [symbol_name(marks[place].index) for place in places.tolist()])
    new_names = {place: mark.name for place, mark in marks.items() if mark.name is not None}
    if new_names:
        writer.rename(new_names)
    return writer.finish()


class _Writer:
    """Edited copy of one object: tables replaced at the end of the file, the rest in place."""

    def __init__(self, source: elf.Elf) -> None:
        self.source = source
        self.sections = source.sections.copy()
        self.data = bytearray(source.data)

    def add_symbols(self, places: NDArray[np.uint32], names: list[str]) -> None:
        table = self.source.symbol_table
        assert table is not None
        first_global = int(self.sections[table]["info"])
        strings_index = int(self.sections[table]["link"])
        strings = self.source.content(strings_index)
        symbols = self.source.symbols
        if first_global > len(symbols):
            raise self.source.damaged("its table of symbols has fewer than are said to be local")
        new = np.zeros(len(places), elf.SYMBOL)
        encoded = [name.encode() + b"\0" for name in names]
        new["name"] = len(strings) + np.concatenate([[0], np.cumsum([len(e) for e in encoded])[:-1]])
        wide = places >= elf.SHN_LORESERVE
        new["shndx"] = np.where(wide, elf.SHN_XINDEX, places)
        self._replace(strings_index, strings + b"".join(encoded))
        self._replace(table, np.concatenate([symbols[:first_global], new, symbols[first_global:]]).tobytes())
        self.sections[table]["info"] = first_global + len(new)
        self._widen(places, wide, first_global)
        self._shift_references(table, first_global, len(new))

    def _widen(self, places: NDArray[np.uint32], wide: NDArray[np.bool_], first_global: int) -> None:
        extended = np.flatnonzero(self.sections["type"] == elf.SHT_SYMTAB_SHNDX)
        if not len(extended) and wide.any():
            raise FeatureUnsupported(
                f"{self.source.name}: more than 65,279 sections, but no table of extended section indices"
            )
        if len(extended):
            old = self.source.entries(int(extended[0]), np.dtype("<u4"))
            entries = np.where(wide, places, 0).astype("<u4")
            merged = np.concatenate([old[:first_global], entries, old[first_global:]])
            self._replace(int(extended[0]), merged.tobytes())

    def _shift_references(self, table: int, first_global: int, count: int) -> None:
        referring = np.flatnonzero(self.sections["link"] == table)
        for kind, entry in _RELOCATIONS.items():
            self._shift_relocations(referring[self.sections["type"][referring] == kind], entry, first_global, count)
        for index in referring[~np.isin(self.sections["type"][referring], list(_RELOCATIONS))].tolist():
            kind = int(self.sections[index]["type"])
            if kind == elf.SHT_GROUP and int(self.sections[index]["info"]) >= first_global:
                if int(self.sections[index]["info"]) >= len(self.source.symbols):
                    raise self.source.damaged("a group is named after a symbol that the file does not have")
                self.sections[index]["info"] += count
            elif kind == elf.SHT_LLVM_ADDRSIG:
                numbers = self._address_significant(index)
                shifted = [number + count if number >= first_global else number for number in numbers]
                self._replace(index, _write_uleb128(shifted))
            elif kind not in _NO_SYMBOL_NUMBERS:
                where = f"{self.source.name}: section {self.source.section_names[index]} of type {kind:#x}"
                raise FeatureUnsupported(f"{where} refers to symbols in a way that is not supported")

    def _shift_relocations(self, which: NDArray[np.intp], entry: np.dtype[Any], first_global: int, count: int) -> None:
        """Those of these sections, all at once: an object may have thousands of such sections with an entry or two."""
        begin, size = (self.source.sections[name][which].astype(np.int64) for name in ("offset", "size"))
        wrong = (size % entry.itemsize != 0) | (begin < 0) | (size < 0) | (begin > len(self.source.data) - size)
        if wrong.any():
            index = int(which[wrong][0])
            raise self.source.damaged(f"section {index} is no table of entries of {entry.itemsize} bytes")
        entries = size // entry.itemsize
        within = np.arange(int(entries.sum())) - np.repeat(np.cumsum(entries) - entries, entries)
        place = np.repeat(begin, entries) + within * entry.itemsize + _INFO
        words = np.ndarray((max(0, len(self.data) - _WORD + 1),), "<u8", self.data, strides=(1,))  # at any byte
        info = words[place]
        moved = (info >> _RELOCATION_SYMBOL_SHIFT) >= first_global
        words[place] = info + moved * (np.uint64(count) << _RELOCATION_SYMBOL_SHIFT)

    def _address_significant(self, index: int) -> list[int]:
        numbers = _read_uleb128(self.source.content(index))
        if numbers is None:
            raise self.source.damaged(f"section {index} holds numbers of more than 64 bits")
        return numbers

    def rename(self, names: Mapping[int, str]) -> None:
        table = self.source.names_index
        start, size = (int(self.sections[table][field]) for field in ("offset", "size"))
        strings = self.data[start : start + size]  # as edited: LLVM keeps symbols' and sections' names in one table
        for index, name in names.items():
            self.sections[index]["name"] = len(strings)
            strings += name.encode() + b"\0"
        self._replace(table, bytes(strings))

    def _replace(self, index: int, content: bytes) -> None:
        self.data += bytes(-len(self.data) % 8)
        self.sections[index]["offset"] = len(self.data)
        self.sections[index]["size"] = len(content)
        self.data += content

    def finish(self) -> bytes:
        self.data += bytes(-len(self.data) % 8)
        self.data[0x28:0x30] = len(self.data).to_bytes(8, "little")  # e_shoff of an Elf64_Ehdr
        self.data += self.sections.tobytes()
        return bytes(self.data)


_LONGEST_SHIFT = 70


def _read_uleb128(data: bytes) -> list[int] | None:
    """The numbers in LEB128; None where one is longer than any number of 64 bits."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _LONGEST_SHIFT:
            return None
        if not byte & 0x80:
            numbers.append(value)
            value, shift = 0, 0
    return numbers


def _write_uleb128(numbers: list[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        rest = number
        while rest >= 0x80:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)
