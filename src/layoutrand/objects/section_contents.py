"""What each section of an object holds, as a digest that no address and no neighbour enters.

Two compilations of one function give objects in which its bytes are the same, but what it refers to may lie elsewhere:
a string behind others in the same section, a variable behind another one.  So a reference counts as what it means: a
name, or the string or constant itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf
from layoutrand.objects.known import processor, processors

_SHF_STRINGS: Final = 0x20
_NAMED: Final = frozenset({elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_FUNC})
_FIELD: Final = 4

_NUMBER: Final = re.compile(r"\.\d+$")
"""What compilers put behind names of their own making, by a count over the whole file: ``CSWTCH.12``."""


def section_contents(source: elf.Elf, wanted: Iterable[int], names: Mapping[int, str]) -> dict[int, bytes]:
    """Header index -> digest of each of the ``wanted`` sections: its bytes, and what its relocations refer to.

    ``names`` maps header indices to what the sections are called where that is not what the object says.  A reference
    into a section of data without a name there, as to a table that a ``switch`` jumps by, counts as one to that
    section: where in it is not told apart.
    """
    references = _References(source, names)
    found = {}
    for header in wanted:
        digest = hashlib.blake2b(digest_size=16)
        section = source.sections[header]
        digest.update(f"{int(section['size'])} {int(section['align'])} {int(section['flags'])}\n".encode())
        table = source.references(header)
        digest.update(_without_fields(source, header, table))
        for row in np.sort(table, order="offset"):
            info = int(row["info"])
            meant = references.meaning(info >> 32, info & 0xFFFFFFFF, int(row["addend"]))
            digest.update(f"\n{int(row['offset'])} {info & 0xFFFFFFFF} ".encode())
            digest.update(meant)
        found[header] = digest.digest()
    return found


def _without_fields(source: elf.Elf, header: int, table: NDArray[np.void]) -> bytes:
    """The bytes of the section, those that relocations write set to 0."""
    content = np.frombuffer(source.content(header), np.uint8)
    if not len(table) or not len(content):
        return content.tobytes()
    try:
        fields, _ = processor(source.machine, "").written(table, content, where="")
    except FeatureUnsupported:  # an unknown kind of relocation: its bytes are in the object as the compiler left them
        return content.tobytes()
    return (content & ~fields).tobytes()


class _References:
    """What the symbols of an object mean, whatever their numbers."""

    def __init__(self, source: elf.Elf, names: Mapping[int, str]) -> None:
        self._source = source
        self._symbols = source.symbols
        self._homes = source.symbol_sections
        self._names = source.symbol_names(np.arange(len(self._symbols)))
        self._sections = {**dict(enumerate(source.section_names)), **names}
        self._inside: dict[int, list[tuple[int, int, str]]] = {}
        known = processors().get(source.machine)
        self._from_behind = known.from_behind if known else frozenset()

    def meaning(self, symbol: int, kind: int, addend: int) -> bytes:
        """What a relocation refers to."""
        row, home = self._symbols[symbol], int(self._homes[symbol])
        name, is_local = self._names[symbol], int(row["info"]) >> 4 == elf.STB_LOCAL
        if not is_local or home == elf.SHN_UNDEF or home >= len(self._source.sections):
            return f"{name} {addend}".encode("utf-8", "surrogateescape")
        if int(row["info"]) & 0xF != elf.STT_SECTION and not name.startswith(".L"):  # as new assemblers have it
            return self._own(home, int(row["value"]), int(row["size"]), name, addend)
        offset = int(row["value"]) + addend + (_FIELD if kind in self._from_behind else 0)
        return self._at(home, offset)

    def _at(self, home: int, offset: int) -> bytes:
        """A place of a section: the constant there, the name that covers it, or the section alone."""
        section = self._source.sections[home]
        flags = int(section["flags"])
        content = self._source.view(home)
        if flags & elf.SHF_MERGE and 0 <= offset < len(content):
            if flags & _SHF_STRINGS:
                rest = bytes(content[offset:])
                return b"string " + rest[: rest.find(b"\0") + 1]
            size = int(section["entsize"]) or 1
            return b"constant " + bytes(content[offset : offset + size])
        for begin, size, name in self._covering(home):
            if begin <= offset < begin + max(size, 1):
                return self._own(home, begin, size, name, offset - begin)
        if flags & elf.SHF_EXECINSTR:
            return f"{self._sections[home]} {offset}".encode("utf-8", "surrogateescape")
        return self._sections[home].encode("utf-8", "surrogateescape")

    def _own(self, home: int, begin: int, size: int, name: str, offset: int) -> bytes:
        """A place in a function or variable of this object: its name without a number, and what it holds for ever."""
        is_fixed = not int(self._source.sections[home]["flags"]) & (elf.SHF_WRITE | elf.SHF_EXECINSTR)
        constant = bytes(self._source.view(home)[begin : begin + size]) if is_fixed else b""
        return f"{_NUMBER.sub('', name)} {offset} ".encode("utf-8", "surrogateescape") + constant

    def _covering(self, home: int) -> list[tuple[int, int, str]]:
        """(Offset, size, name) of what has a name in the section."""
        if home not in self._inside:
            rows = [
                (int(row["value"]), int(row["size"]), self._names[place])
                for place, row in ((place, self._symbols[place]) for place in np.flatnonzero(self._homes == home))
                if int(row["info"]) & 0xF in _NAMED and self._names[place] and self._names[place][0] != "."
            ]
            self._inside[home] = sorted(rows)
        return self._inside[home]
