"""ELF files as numpy tables.

Sections, symbols and relocations are viewed through numpy, because a captured HotSpot has 45,000 sections and one
Python object for each would cost more than its link.
Only 64-bit little-endian files are read; others raise `FeatureUnsupported`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.declared_sizes import refuse_giants

SHT_NULL: Final = 0
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHT_GROUP: Final = 17
SHT_SYMTAB_SHNDX: Final = 18
SHT_LLVM_ADDRSIG: Final = 0x6FFF4C03
SHT_LLVM_CALL_GRAPH_PROFILE: Final = 0x6FFF4C09
SHF_WRITE: Final = 1
SHF_ALLOC: Final = 2
SHF_EXECINSTR: Final = 4
SHF_MERGE: Final = 0x10
SHF_LINK_ORDER: Final = 0x80
SHF_GROUP: Final = 0x200
SHF_TLS: Final = 0x400
SHN_UNDEF: Final = 0
SHN_LORESERVE: Final = 0xFF00
SHN_XINDEX: Final = 0xFFFF
GRP_COMDAT: Final = 1
STT_OBJECT: Final = 1
STT_FUNC: Final = 2
STT_SECTION: Final = 3
STT_FILE: Final = 4

SECTION = np.dtype(
    [
        ("name", "<u4"),
        ("type", "<u4"),
        ("flags", "<u8"),
        ("addr", "<u8"),
        ("offset", "<u8"),
        ("size", "<u8"),
        ("link", "<u4"),
        ("info", "<u4"),
        ("align", "<u8"),
        ("entsize", "<u8"),
    ]
)
SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("shndx", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
REL = np.dtype([("offset", "<u8"), ("info", "<u8")])
RELA = np.dtype([("offset", "<u8"), ("info", "<u8"), ("addend", "<i8")])

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_ELF64_LITTLE_ENDIAN = b"\x02\x01"
_MACHINES: Final = {3: "EM_386", 62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV"}
_KINDS: Final = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN"}

Table = NDArray[np.void]


@dataclass(frozen=True)
class Elf:
    """One ELF file: its ``data`` and the header fields that locate the tables."""

    data: bytes
    machine: str
    kind: str
    section_offset: int
    section_count: int
    names_index: int

    @cached_property
    def sections(self) -> Table:
        """Section headers, dtype `SECTION`, shape (sections,)."""
        return np.frombuffer(self.data, SECTION, self.section_count, self.section_offset)

    @cached_property
    def section_names(self) -> list[str]:
        """Names of all sections in order; bytes that are not UTF-8 survive as surrogate escapes."""
        return self.strings(self.names_index, self.sections["name"])

    @cached_property
    def symbol_table(self) -> int | None:
        """Index of the SHT_SYMTAB section, or None for a stripped file."""
        found = np.flatnonzero(self.sections["type"] == SHT_SYMTAB)
        return int(found[0]) if len(found) else None

    @cached_property
    def symbols(self) -> Table:
        """Symbols, dtype `SYMBOL`, shape (symbols,); empty for a stripped file."""
        if self.symbol_table is None:
            return np.empty(0, SYMBOL)
        return np.frombuffer(self.content(self.symbol_table), SYMBOL)

    @cached_property
    def symbol_sections(self) -> NDArray[np.uint32]:
        """Section index of each symbol, extended indices resolved, shape (symbols,)."""
        shndx = self.symbols["shndx"].astype(np.uint32)
        extended = np.flatnonzero(self.sections["type"] == SHT_SYMTAB_SHNDX)
        if len(extended):
            wide = np.frombuffer(self.content(int(extended[0])), "<u4")
            shndx = np.where(shndx == SHN_XINDEX, wide[: len(shndx)], shndx).astype(np.uint32)
        return shndx

    def content(self, index: int) -> bytes:
        """Bytes of one section; empty for NOBITS."""
        return bytes(self.view(index))

    def view(self, index: int) -> memoryview:
        """As `content`, without a copy."""
        section = self.sections[index]
        if section["type"] == SHT_NOBITS:
            return memoryview(b"")
        start = int(section["offset"])
        return memoryview(self.data)[start : start + int(section["size"])]

    def strings(self, table: int, offsets: NDArray[np.uint32]) -> list[str]:
        """NUL-terminated strings at the offsets into the string table in section ``table``.

        Raises `FeatureUnsupported` for an offset outside the table.
        """
        try:
            text = self.content(table) if len(offsets) else b""
            return [text[at : text.index(b"\0", at)].decode("utf-8", "surrogateescape") for at in offsets.tolist()]
        except (ValueError, IndexError) as error:
            raise FeatureUnsupported("a damaged ELF file: a name lies outside its string table") from error

    def symbol_names(self, which: NDArray[np.intp]) -> list[str]:
        """Names of the symbols with the indices ``which``."""
        if self.symbol_table is None:
            return []
        return self.strings(int(self.sections[self.symbol_table]["link"]), self.symbols["name"][which])

    def source_name(self) -> str:
        """The first STT_FILE symbol's name (what the compiler was given), or ""."""
        files = np.flatnonzero((self.symbols["info"] & 0xF) == STT_FILE)
        return self.symbol_names(files[:1])[0] if len(files) else ""

    def relocations(self, target: int) -> Table:
        """RELA entries that apply to section ``target``, dtype `RELA`; empty where there are none."""
        found = self._relocation_sections.get(target)
        return np.frombuffer(self.content(found), RELA) if found is not None else np.empty(0, RELA)

    @cached_property
    def _relocation_sections(self) -> dict[int, int]:
        which = np.flatnonzero(self.sections["type"] == SHT_RELA)
        return dict(zip(self.sections["info"][which].tolist(), which.tolist(), strict=True))

    def group_signatures(self) -> dict[int, str]:
        """COMDAT signature of each section that is a member of a COMDAT group.

        Groups of other kinds are left out: they tie sections of one object together, and their signatures may repeat.
        """
        signatures: dict[int, str] = {}
        for index in np.flatnonzero(self.sections["type"] == SHT_GROUP).tolist():
            words = np.frombuffer(self.content(index), "<u4")
            if len(words) and int(words[0]) & GRP_COMDAT:
                name = self._signature(int(self.sections[index]["info"]))
                signatures.update(dict.fromkeys(words[1:].tolist(), name))
        return signatures

    def _signature(self, symbol: int) -> str:
        name = self.symbol_names(np.array([symbol]))[0]
        if not name and int(self.symbols[symbol]["info"]) & 0xF == STT_SECTION:
            return self.section_names[int(self.symbol_sections[symbol])]  # section symbols go by their section's name
        return name


def is_elf(data: bytes) -> bool:
    """Whether the bytes begin as an ELF file does."""
    return data[:4] == b"\x7fELF"


def read(data: bytes, *, name: str) -> Elf:
    """Open the ELF file ``data``; ``name`` is for messages. Raises `FeatureUnsupported` for what cannot be read."""
    if not is_elf(data) or len(data) < _HEADER.size:
        raise FeatureUnsupported(f"{name}: not an ELF file, or cut short")
    ident, kind, machine, _, _, _, offset, _, _, _, _, entry_size, count, names_index = _HEADER.unpack_from(data)
    if ident[4:6] != _ELF64_LITTLE_ENDIAN:
        raise FeatureUnsupported(f"{name}: only 64-bit little-endian ELF files are supported")
    if offset and entry_size != SECTION.itemsize:
        raise FeatureUnsupported(f"{name}: section headers of {entry_size} bytes, which no ELF64 file has")
    if offset and offset + max(count, 1) * SECTION.itemsize > len(data):
        raise FeatureUnsupported(f"{name}: the section headers lie outside the file; it is truncated")
    if offset and count == 0:  # too many for a field of the header: the first section's header holds the number
        count = int(np.frombuffer(data, SECTION, 1, offset)["size"][0])
    if offset and names_index == SHN_XINDEX:
        names_index = int(np.frombuffer(data, SECTION, 1, offset)["link"][0])
    if not offset:
        count = 0
    if offset + count * SECTION.itemsize > len(data) or (count and names_index >= count):
        raise FeatureUnsupported(f"{name}: the section headers lie outside the file; it is truncated")
    found = Elf(
        data, _MACHINES.get(machine, f"machine {machine}"), _KINDS.get(kind, f"type {kind}"), offset, count, names_index
    )
    stored = found.sections[(found.sections["type"] != SHT_NOBITS) & (found.sections["type"] != SHT_NULL)]
    room = np.uint64(len(data)) - np.minimum(stored["size"], np.uint64(len(data)))  # unsigned: must not wrap around
    if ((stored["size"] > len(data)) | (stored["offset"] > room)).any():
        raise FeatureUnsupported(f"{name}: a section lies outside the file; it is truncated")
    refuse_giants(data, stored, name=name)
    return found


def loaded_content(elf: Elf, *, skip: frozenset[str]) -> list[tuple[str, int, int, bytes]]:
    """Name, address, size and bytes of every allocated section, in file order, except those named in ``skip``.

    Two files with equal values behave alike once loaded, whatever their symbol tables say. A list, because names of
    output sections may repeat.
    """
    wanted = np.flatnonzero((elf.sections["flags"] & SHF_ALLOC) != 0).tolist()
    return [
        (
            elf.section_names[index],
            int(elf.sections[index]["addr"]),
            int(elf.sections[index]["size"]),
            elf.content(index),
        )
        for index in wanted
        if elf.section_names[index] not in skip
    ]
