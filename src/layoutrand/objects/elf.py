"""ELF files as numpy tables.

Sections, symbols and relocations are viewed through numpy, because a captured HotSpot has 45,000 sections and one
Python object for each would cost more than its link.
Only 64-bit little-endian files are read; others raise `FeatureUnsupported`, and so does each part of a damaged file
when it is looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects.declared_sizes import refuse_giants

SHT_NULL: Final = 0
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_DYNAMIC: Final = 6
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHT_DYNSYM: Final = 11
SHT_GROUP: Final = 17
SHT_SYMTAB_SHNDX: Final = 18
SHT_RELR: Final = 19
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
SHN_ABS: Final = 0xFFF1
SHN_XINDEX: Final = 0xFFFF
GRP_COMDAT: Final = 1
GROUP_FLAGS: Final = 4
"""Bytes at the beginning of a group that say what it is."""

STB_LOCAL: Final = 0
STT_NOTYPE: Final = 0
STT_OBJECT: Final = 1
STT_FUNC: Final = 2
STT_SECTION: Final = 3
STT_FILE: Final = 4
STT_TLS: Final = 6

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
DYNAMIC = np.dtype([("tag", "<i8"), ("value", "<u8")])

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_ELF64_LITTLE_ENDIAN = b"\x02\x01"
_MACHINES: Final = {3: "EM_386", 62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV"}
_UP_TO_MACHINE: Final = 20
_FLAGS: Final = slice(48, 52)
PROCESSORS: Final = {
    3: "x86 with 32 bits (-m32)",
    62: "x86-64",
    8: "MIPS",
    20: "PowerPC with 32 bits",
    21: "PowerPC with 64 bits",
    22: "s390x",
    40: "Arm with 32 bits",
    183: "AArch64 (arm64)",
    243: "RISC-V (64 bits)",
    258: "LoongArch",
}
"""As the list of e_machine in the System V ABI has them."""

_NARROW: Final = {
    62: "x32, which is x86-64 with addresses of 32 bits",
    183: "AArch64 with addresses of 32 bits",
    243: "RISC-V with 32 bits",
}
_UNAME: Final = {"x86_64": 62, "aarch64": 183, "riscv64": 243}
"""In the words of ``uname -m``."""

_KINDS: Final = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN"}

ADDRESSES: Final = np.uint64(1 << 47)
"""A program's on x86-64."""

Table = NDArray[np.void]


def one_table(tables: Sequence[memoryview]) -> Table:
    """All relocations of what `Elf.relocation_bytes` gave, one table after the other, to be changed at will."""
    return np.frombuffer(bytearray().join(tables), RELA)


@dataclass(frozen=True)
class Elf:
    """One ELF file: its ``data``, the header fields that locate the tables, and its ``name`` for messages."""

    data: bytes
    machine: str
    kind: str
    section_offset: int
    section_count: int
    names_index: int
    name: str

    @property
    def flags(self) -> int:
        """What the header says of the processor beside its name."""
        return int.from_bytes(self.data[_FLAGS], "little")

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
        """Symbols, dtype `SYMBOL`, shape (symbols,), whose names lie in their table; empty for a stripped file."""
        if self.symbol_table is None:
            return np.empty(0, SYMBOL)
        found = self.entries(self.symbol_table, SYMBOL)
        names = self.view(int(self.sections[self.symbol_table]["link"]))
        if len(found) and (int(found["name"].max()) >= len(names) or names[-1]):
            raise self.damaged("the name of a symbol lies outside its string table")
        return found

    @cached_property
    def symbol_sections(self) -> NDArray[np.uint32]:
        """Section index of each symbol, extended indices resolved, shape (symbols,).

        What is no section of the file is one of the reserved numbers from `SHN_LORESERVE` on.
        """
        shndx = self.symbols["shndx"].astype(np.uint32)
        lost = (shndx >= self.section_count) & (shndx < SHN_LORESERVE)
        extended = np.flatnonzero(self.sections["type"] == SHT_SYMTAB_SHNDX)
        if len(extended) and len(shndx):
            wide = self.entries(int(extended[0]), np.dtype("<u4"))
            if len(wide) < len(shndx):
                raise self.damaged("the table of extended section indices is cut short")
            is_wide = shndx == SHN_XINDEX
            shndx = np.where(is_wide, wide[: len(shndx)], shndx).astype(np.uint32)
            lost |= is_wide & (shndx >= self.section_count)
        if lost.any():
            raise self.damaged("a symbol lies in a section that the file does not have")
        return shndx

    def content(self, index: int) -> bytes:
        """Bytes of one section; empty for NOBITS."""
        return bytes(self.view(index))

    def view(self, index: int) -> memoryview:
        """As `content`, without a copy."""
        if index >= self.section_count:
            raise self.damaged(f"it refers to section {index} and has {self.section_count}")
        start, size = self._spans[index]
        return memoryview(self.data)[start : start + size]

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """Where in the file each section begins, and how many bytes it has there: none of NOBITS."""
        size = np.where(self.sections["type"] == SHT_NOBITS, np.uint64(0), self.sections["size"])
        return list(zip(self.sections["offset"].tolist(), size.tolist(), strict=True))

    def entries(self, index: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """What one section is a table of, shape (entries,); raises `FeatureUnsupported` for one that is cut short."""
        return np.frombuffer(self._bytes_of_entries(index, kind), kind)

    def _bytes_of_entries(self, index: int, kind: np.dtype[Any]) -> memoryview:
        content = self.view(index)
        if len(content) % kind.itemsize:
            raise self.damaged(f"section {index} is no table of entries of {kind.itemsize} bytes")
        return content

    def damaged(self, what: str) -> FeatureUnsupported:
        """The error that says so."""
        return FeatureUnsupported(f"{self.name}: a damaged ELF file: {what}".removeprefix(": "))

    def strings(self, table: int, offsets: NDArray[np.uint32]) -> list[str]:
        """NUL-terminated strings at the offsets into the string table in section ``table``.

        Raises `FeatureUnsupported` for an offset outside the table.
        """
        text = self.content(table) if len(offsets) else b""
        try:
            return [text[at : text.index(b"\0", at)].decode("utf-8", "surrogateescape") for at in offsets.tolist()]
        except ValueError as error:
            raise self.damaged("a name lies outside its string table") from error

    def symbol_names(self, which: NDArray[np.intp]) -> list[str]:
        """Names of the symbols with the indices ``which``."""
        if self.symbol_table is None:
            return []
        return self.strings(int(self.sections[self.symbol_table]["link"]), self.symbols["name"][which])

    def source_name(self) -> str:
        """The first STT_FILE symbol's name (what the compiler was given), or ""."""
        files = np.flatnonzero((self.symbols["info"] & 0xF) == STT_FILE)
        return self.symbol_names(files[:1])[0] if len(files) else ""

    def source_names(self) -> list[str]:
        """The names of all STT_FILE symbols, each once: an object that is linked of others has several."""
        files = np.flatnonzero((self.symbols["info"] & 0xF) == STT_FILE)
        return list(dict.fromkeys(self.symbol_names(files)))

    def compilers(self) -> str:
        """What its compilers call themselves (``.comment``), a line each; "" where it does not say."""
        found = [self.content(n) for n, name in enumerate(self.section_names) if name == ".comment"]
        return b"\n".join(found).replace(b"\0", b"\n").decode("ascii", "replace").strip()

    def relocations(self, target: int) -> Table:
        """RELA entries that apply to section ``target``, dtype `RELA`; empty where there are none."""
        return np.frombuffer(self.relocation_bytes(target), RELA)

    def relocation_bytes(self, target: int) -> memoryview:
        """The bytes of `relocations`, for who wants those of many sections: to make a table of each takes longest."""
        found = self._relocation_sections.get(target)
        return memoryview(b"") if found is None else self._bytes_of_entries(found, RELA)

    def references(self, target: int) -> Table:
        """As `relocations`, and all of them to symbols that the file has."""
        found = self.relocations(target)
        if self._is_beyond(found):
            raise self.damaged(f"a relocation of section {target} is to a symbol that the file does not have")
        return found

    def references_of(self, targets: Sequence[int]) -> tuple[Table, list[int]]:
        """As `references` of several sections, one after the other, and how many each has."""
        tables = [self.relocation_bytes(target) for target in targets]
        found = one_table(tables)
        if self._is_beyond(found):
            for target in targets:
                self.references(target)
        return found, [len(table) // RELA.itemsize for table in tables]

    def _is_beyond(self, relocations: Table) -> bool:
        """Whether one of them is to a symbol that the file does not have."""
        return len(relocations) > 0 and int(relocations["info"].max()) >> 32 >= len(self.symbols)

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
            words = self.entries(index, np.dtype("<u4"))
            if len(words) and int(words[0]) & GRP_COMDAT:
                name = self._signature(int(self.sections[index]["info"]))
                signatures.update(dict.fromkeys(words[1:].tolist(), name))
        return signatures

    def _signature(self, symbol: int) -> str:
        if symbol >= len(self.symbols):
            raise self.damaged("a group is named after a symbol that the file does not have")
        name = self.symbol_names(np.array([symbol]))[0]
        if not name and int(self.symbols[symbol]["info"]) & 0xF == STT_SECTION:
            home = int(self.symbol_sections[symbol])  # section symbols go by their section's name
            return self.section_names[home] if home < self.section_count else ""
        return name


def relocation_types(relocations: Table) -> NDArray[np.int64]:
    """The type of each entry of a table of relocations."""
    return (relocations["info"] & np.uint64(0xFFFFFFFF)).astype(np.int64)


def relocation_symbols(relocations: Table) -> NDArray[np.int64]:
    """The number of the symbol of each entry of a table of relocations."""
    return (relocations["info"] >> np.uint64(32)).astype(np.int64)


def rounded(value: int, step: int) -> int:
    """An address rounded up to a multiple of an alignment, of which 0 and 1 are none."""
    return -(-value // step) * step if step > 1 else value


def is_elf(data: bytes) -> bool:
    """Whether the bytes begin as an ELF file does."""
    return data[:4] == b"\x7fELF"


def machine_words(data: bytes) -> str:
    """The processor that an ELF file is for, in words; "" for what is no ELF file."""
    if not is_elf(data) or len(data) < _UP_TO_MACHINE:
        return ""
    wide, little = data[4] == 2, data[5] == 1
    machine = int.from_bytes(data[_UP_TO_MACHINE - 2 : _UP_TO_MACHINE], "little" if little else "big")
    if not wide and machine in _NARROW:
        return _NARROW[machine]
    words = PROCESSORS.get(machine, f"a processor of number {machine} ({64 if wide else 32} bits)")
    return words if little or machine not in _UNAME.values() else f"{words}, big-endian"


def words_of(uname: str) -> str:
    """As `machine_words` calls the machine of that name; the name itself for one that cannot be done."""
    return PROCESSORS[_UNAME[uname]] if uname in _UNAME else uname


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
    machine_name, kind_name = _MACHINES.get(machine, f"machine {machine}"), _KINDS.get(kind, f"type {kind}")
    found = Elf(data, machine_name, kind_name, offset, count, names_index, name)
    stored = found.sections[(found.sections["type"] != SHT_NOBITS) & (found.sections["type"] != SHT_NULL)]
    room = np.uint64(len(data)) - np.minimum(stored["size"], np.uint64(len(data)))  # unsigned: must not wrap around
    if ((stored["size"] > len(data)) | (stored["offset"] > room)).any():
        raise FeatureUnsupported(f"{name}: a section lies outside the file; it is truncated")
    refuse_giants(data, stored, name=name)
    loaded = found.sections[(found.sections["flags"] & SHF_ALLOC) != 0]
    if (loaded["size"] > ADDRESSES).any() or (loaded["align"] & (loaded["align"] - np.uint64(1))).any():
        raise found.damaged("a section is larger than the address space, or aligned to what is no power of two")
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
