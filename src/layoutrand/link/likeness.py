"""What each section of a captured link holds, addresses aside: a digest that is equal where the contents are.

Two sections are alike if their bytes are, and if each relocation writes the address of the same thing at the same
place.  A thing is a symbol that other objects can see, by its name; a place in another section of the object, by that
section's name; a string or constant that linkers merge, by its value.  So neither numbers of sections and symbols nor
what else an object holds make a difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.link.codecheck import placed_addresses
from layoutrand.objects import archive, elf
from layoutrand.objects.known import processor
from layoutrand.platform.disk import cache_errors

_STRINGS: Final = 0x20  # SHF_STRINGS
_LOCAL: Final = 0
_TYPE_MASK: Final = np.uint64(0xFFFFFFFF)


def contents(link: CapturedLink, base: Path) -> tuple[bytes, ...]:
    """Digests of all sections of the link, by number; ``base`` is the artefact's directory in the capture."""
    found = [b""] * len(link.sections)
    for name in link.edited:
        path = base / "edited" / name
        with cache_errors("read", path):
            data = path.read_bytes()
        for source in _objects(data, name):
            for number, digest in _digests(source, link):
                found[number] = digest
    return tuple(found)


def _objects(data: bytes, name: str) -> Iterator[elf.Elf]:
    parts = [data]
    if archive.is_archive(data):
        parts = [member.content for member in archive.read(data, name=name).members]
    for part in parts:
        if elf.is_elf(part):
            yield elf.read(part, name=name)


def _digests(source: elf.Elf, link: CapturedLink) -> Iterator[tuple[int, bytes]]:
    """Number and digest of each section of the object that is placed."""
    numbers, _, headers = placed_addresses(source)
    if not len(numbers):
        return
    places = _Places(source, dict(zip(headers.tolist(), numbers.tolist(), strict=True)), link)
    for number, header in zip(numbers.tolist(), headers.tolist(), strict=True):
        hasher = hashlib.sha256(source.content(header))
        for entry in source.references(header):
            kind = int(entry["info"] & _TYPE_MASK)
            meant, addend = places.meant(int(entry["info"]) >> 32, kind, int(entry["addend"]))
            hasher.update(repr((int(entry["offset"]), kind, meant, addend)).encode("utf-8", "surrogateescape"))
        yield number, hasher.digest()


class _Places:
    """What the symbols of one object stand for, in words that do not depend on its numbers."""

    def __init__(self, source: elf.Elf, marked: dict[int, int], link: CapturedLink) -> None:
        self.source, self.marked, self.link = source, marked, link
        symbols = source.symbols
        self.names = source.symbol_names(np.arange(len(symbols)))
        self.values = symbols["value"].tolist()
        self.infos = symbols["info"].tolist()
        self.homes = source.symbol_sections.tolist()
        self.flags = source.sections["flags"].tolist()
        self.known: dict[int, bytes] = {}
        self.from_behind = processor(source.machine, source.name).from_behind

    def meant(self, symbol: int, kind: int, addend: int) -> tuple[tuple[str | int | bytes, ...], int]:
        """What the symbol is, and the addend as far as it does not tell that."""
        home = self.homes[symbol]
        if self.infos[symbol] >> 4 != _LOCAL or home == elf.SHN_UNDEF or home >= len(self.flags):
            return ("symbol", self.names[symbol]), addend
        value = self.values[symbol]
        if self.infos[symbol] & 0xF == elf.STT_SECTION:  # where in the section is in the addend
            behind = 4 if kind in self.from_behind else 0
            value, addend = value + addend + behind, -behind
        if self.flags[home] & elf.SHF_MERGE:
            return ("constant", self._constant(home, value)), addend
        return ("place", *self._section(home), value), addend

    def _section(self, header: int) -> tuple[str | int, ...]:
        if header in self.marked:
            section = self.link.sections[self.marked[header]]
            return section.group, section.name, section.occurrence
        return ("", self.source.section_names[header])

    def _constant(self, header: int, at: int) -> bytes:
        """The string or constant at that offset."""
        size = max(1, int(self.source.sections["entsize"][header]))
        content = self.source.content(header) if header not in self.known else self.known[header]
        self.known[header] = content
        if not self.flags[header] & _STRINGS:
            return content[at : at + size]
        if size == 1:
            return content[at : content.find(b"\0", at)]
        end = next((e for e in range(at, len(content), size) if not any(content[e : e + size])), len(content))
        return content[at:end]
