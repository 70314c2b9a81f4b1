"""The tables of a linked file: header, segments, sections, and what of them lies in which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf

Numbers = NDArray[np.int64]

SEGMENT: Final = np.dtype(
    [
        ("type", "<u4"),
        ("flags", "<u4"),
        ("offset", "<u8"),
        ("vaddr", "<u8"),
        ("paddr", "<u8"),
        ("filesz", "<u8"),
        ("memsz", "<u8"),
        ("align", "<u8"),
    ]
)
HEADER: Final = 64
"""Bytes of an ELF file's header."""

PF_X: Final = 1
PT_LOAD: Final = 1
PT_TLS: Final = 7
PT_GNU_RELRO: Final = 0x6474E552
_ENTRY: Final = slice(24, 32)
_SEGMENTS_AT: Final = slice(32, 40)
SECTIONS_AT: Final = slice(40, 48)
_SEGMENT_COUNT: Final = slice(56, 58)
PADDING: Final = ".relro_padding"
"""What lld, from version 18 on, fills the last page with that is made read-only after the start."""


@dataclass(frozen=True)
class Skeleton:
    """The tables of one file: its ``header``, ``segments`` and ``sections``, and the number of the one with the code.

    ``names`` are the sections' names, ``homes`` the numbers of those that pieces are placed in, that with the code
    among them.  ``linker`` is who places what follows them.
    """

    header: bytes
    segments: NDArray[np.void]
    sections: NDArray[np.void]
    names: tuple[str, ...]
    code: int
    homes: tuple[int, ...]
    linker: str

    @property
    def entry(self) -> int:
        """The address at which it is entered."""
        return int.from_bytes(self.header[_ENTRY], "little")

    @property
    def segments_at(self) -> int:
        """Where in the file the segments' table is."""
        return int.from_bytes(self.header[_SEGMENTS_AT], "little")

    @property
    def sections_at(self) -> int:
        """Where in the file the sections' table is."""
        return int.from_bytes(self.header[SECTIONS_AT], "little")

    @property
    def size(self) -> int:
        """Bytes of the whole file, which ends with the sections' table."""
        return self.sections_at + self.sections.nbytes

    @cached_property
    def loaded(self) -> NDArray[np.bool_]:
        """Which sections have an address."""
        return np.asarray(self.sections["flags"] & elf.SHF_ALLOC != 0, np.bool_)

    @cached_property
    def stored(self) -> Numbers:
        """How many bytes of each section are in the file."""
        nothing = np.isin(self.sections["type"], (elf.SHT_NOBITS, elf.SHT_NULL))
        return np.where(nothing, 0, self.sections["size"].astype(np.int64))

    @cached_property
    def ends(self) -> Numbers:
        """The address behind each section."""
        return np.asarray(self.sections["addr"].astype(np.int64) + self.sections["size"].astype(np.int64))

    def segment_of(self, section: int) -> int:
        """The loaded segment that a section lies in, or -1."""
        return next((number for number in self._loads if section in self.covered[number]), -1)

    @cached_property
    def _loads(self) -> list[int]:
        return np.flatnonzero(self.segments["type"] == PT_LOAD).tolist()

    @cached_property
    def covered(self) -> list[list[int]]:
        """The sections of each segment, in order."""
        found = []
        addresses, sizes = (self.sections[name].astype(np.int64) for name in ("addr", "size"))
        for row in self.segments:
            begin, end = int(row["vaddr"]), int(row["vaddr"]) + int(row["memsz"])
            inside = self.loaded & (addresses >= begin) & (addresses + sizes <= end) & (sizes > 0)
            threads = self.sections["flags"] & elf.SHF_TLS != 0
            inside &= threads if int(row["type"]) == PT_TLS else ~self.beside  # zeroes of threads are where others lie
            numbers = np.flatnonzero(inside).tolist() if end > begin else []
            if int(row["type"]) == PT_LOAD and self.linker == "lld":
                numbers = self._with_empty(numbers, begin)
            found.append(numbers)
        return found

    def _with_empty(self, numbers: list[int], begin: int) -> list[int]:
        """And before them what has no content: lld begins segments with it, too, if --gc-sections leaves it first."""
        while numbers and self._is_empty_at(numbers[0] - 1, begin):
            numbers = [numbers[0] - 1, *numbers]
        return numbers

    def _is_empty_at(self, section: int, address: int) -> bool:
        row = self.sections[section]
        is_there = bool(self.loaded[section]) and not self.beside[section] and self.names[section] != PADDING
        return is_there and int(row["size"]) == 0 and int(row["addr"]) == address

    @cached_property
    def beside(self) -> NDArray[np.bool_]:
        """Zeroes of each thread, which take no room where they stand."""
        tls = self.sections["flags"] & elf.SHF_TLS != 0
        return np.asarray(tls & (self.sections["type"] == elf.SHT_NOBITS), np.bool_)

    @cached_property
    def on_own_pages(self) -> frozenset[int]:
        """Which of lld's segments begin a page, by where they begin: none, those of code and behind it, or all.

        ``-z separate-code`` says which.  The others begin in the next page, so far into it as the segment ahead ends
        in its own, so that the file has no gap.  Where that fits both, as by chance it may, they have no pages of
        their own: what is wrong then is found when links are compared.
        """
        if self.linker != "lld":
            return frozenset()
        sections, begins = self.sections, self.begins_segment()
        usual, own, of_code = set(), set(), set()
        ahead = -1
        for number in np.flatnonzero(self.loaded & ~self.beside).tolist():
            begun = begins.get(number)
            if begun is not None and ahead >= 0:
                dot, page = int(self.ends[ahead]), int(self.segments["align"][begun])
                align, address = (int(sections[name][number]) for name in ("align", "addr"))
                next_page = elf.rounded(dot, page)
                if address == elf.rounded(next_page + dot % page, align):
                    usual.add(begun)
                if address == elf.rounded(next_page, align):
                    own.add(begun)
                if (int(sections["flags"][ahead]) ^ int(sections["flags"][number])) & elf.SHF_EXECINSTR:
                    of_code.add(begun)
            if self.names[number] != PADDING:
                ahead = number
        every = usual | own
        if every <= usual or not of_code <= own:
            return frozenset()
        return frozenset(of_code if every - of_code <= usual else own)

    def begins_segment(self) -> dict[int, int]:
        """First section -> loaded segment, for all but the segment that the file's header is in."""
        return {
            self.covered[number][0]: number
            for number in self._loads
            if self.covered[number] and int(self.segments[number]["offset"]) != 0
        }


def of_file(binary: elf.Elf, code: int, homes: tuple[int, ...], linker: str) -> Skeleton:
    """The tables of a file; raises `NotPermuted` for one that does not end with its sections' table."""
    header = binary.data[:HEADER]
    at, count = (int.from_bytes(header[where], "little") for where in (_SEGMENTS_AT, _SEGMENT_COUNT))
    if at + count * SEGMENT.itemsize > len(binary.data):
        raise NotPermuted("its segments' table lies outside the file")
    segments = np.frombuffer(binary.data, SEGMENT, count, at)
    names = tuple(binary.section_names)
    found = Skeleton(header, segments, binary.sections, names, code, homes, linker)
    if found.size != len(binary.data):
        raise NotPermuted("its file does not end with the table of sections")
    return found
