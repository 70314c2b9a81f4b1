"""An object file of our own whose sections only take up room, so that what stands behind them lies where it is to lie.

A filler is a section like those that are placed: it has a mark and a name of its own (`layoutrand.objects.edit`), and
linkers put it into an order like any other.  So a gap, or an output section of a certain size, can be asked of every
linker that takes an order.  Nothing refers to a filler but the first one that has contents (of code, where there is
such), by relocations that write nothing; with its root (`roots`) wanted on the link line, a linker that leaves out
unused sections keeps them all.  Where none has contents, as in bss, each is a root by itself.

The object says what every object of a build says, or the program would change: that its stack need not be executable,
and all features of the processor that a program has only if each of its objects has them.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from layoutrand.model import Section
from layoutrand.objects import elf
from layoutrand.objects.kinds import family, is_code
from layoutrand.objects.processor import Processor
from layoutrand.objects.unique_names import section_name, symbol_name

_ROOT: Final = ".lr.fillers"
"""The global symbol of a root. It is hidden, so that no program or library shows it."""

_FILE: Final = "layoutrand"  # what the object's source is called: else some linkers name the object's own path
_SHT_NOTE: Final = 7
_HIDDEN: Final = 2
_GLOBAL: Final = 1 << 4
_NO_RELOCATION: Final = 0  # on every processor
_ENTRY: Final = 64  # of the header, and of a section's
_MOST: Final = elf.SHN_LORESERVE - 16
"""How many fillers an object can have: section numbers beyond would need a table of their own."""


def filler(number: int, kind: str, size: int, align: int = 1) -> Section:
    """A filler of ``size`` bytes among sections of that kind; its ``number`` follows those of a capture."""
    return Section(number, "", section_name(number, kind), 0, "", kind, size, align, pinned=True)


def fits(count: int) -> bool:
    """Whether an object can have so many fillers."""
    return count <= _MOST


def filler_object(fillers: Sequence[Section], processor: Processor, flags: int = 0) -> bytes:
    """A relocatable file with these sections; one of them at least must hold a byte.

    ``flags`` are ``e_flags`` of the build's objects, which on some processors must be the same in all of a program.
    """
    wanted = _roots(fillers)
    assert fits(len(fillers))
    image = _Image()
    sizes: Counter[tuple[str, int]] = Counter()
    for section in fillers:
        sizes[family(section.kind), section.size] += 1
        image.add(
            section_name(section.index, section.kind),
            _content(section, sizes[family(section.kind), section.size], processor.filling),
            type_=elf.SHT_NOBITS if section.kind == "bss" else elf.SHT_PROGBITS,
            flags=_flags(section.kind),
            align=max(1, section.align),
            size=section.size,
        )
    image.add(".note.GNU-stack", b"", type_=elf.SHT_PROGBITS, flags=0, align=1)
    if processor.features:
        image.add(".note.gnu.property", processor.features, type_=_SHT_NOTE, flags=elf.SHF_ALLOC, align=8)
    names = [symbol_name(section.index) for section in fillers]
    strings, symbols = _symbols(names, wanted)
    first_global = len(names) + 2
    table = image.add(".symtab", symbols, type_=elf.SHT_SYMTAB, flags=0, align=8, entry=24, info=first_global)
    image.link(table, image.add(".strtab", strings, type_=elf.SHT_STRTAB, flags=0, align=1))
    if fillers[wanted[0] - 1].kind != "bss":
        kept = np.zeros(len(names), elf.RELA)
        kept["info"] = np.arange(2, first_global, dtype=np.uint64) << np.uint64(32) | np.uint64(_NO_RELOCATION)
        relocations = image.add(
            ".rela.lr", kept.tobytes(), type_=elf.SHT_RELA, flags=0, align=8, entry=24, info=wanted[0]
        )
        image.link(relocations, table)
    return image.finish(processor.number, flags)


def roots(fillers: Sequence[Section]) -> list[str]:
    """The symbols that are wanted of an object with these fillers, so that all of them stay."""
    return _names_of_roots(len(_roots(fillers)))


def _names_of_roots(count: int) -> list[str]:
    return [_ROOT, *(f"{_ROOT}.{number}" for number in range(1, count))]


def _roots(fillers: Sequence[Section]) -> list[int]:
    """The numbers, from 1 on, of the fillers that are wanted themselves."""
    held = [number for number, section in enumerate(fillers, 1) if section.size and section.kind != "bss"]
    code = [number for number in held if is_code(fillers[number - 1].kind)]
    return (code or held)[:1] or list(range(1, len(fillers) + 1))


def _flags(kind: str) -> int:
    if is_code(kind):
        return elf.SHF_ALLOC | elf.SHF_EXECINSTR
    return elf.SHF_ALLOC if kind == "rodata" else elf.SHF_ALLOC | elf.SHF_WRITE


def _content(section: Section, count: int, filling: bytes) -> bytes:
    """Bytes that no other filler of the same size has, while there are such: linkers may fold what is equal."""
    if section.kind == "bss":
        return b""
    own = (count % (1 << (8 * min(section.size, 4)))).to_bytes(min(section.size, 4), "little")
    return (own + filling * section.size)[: section.size]


def _symbols(names: Sequence[str], wanted: Sequence[int]) -> tuple[bytes, bytes]:
    """The table of strings, and that of symbols: none, the file, the marks, and the roots in those sections."""
    encoded = [name.encode() + b"\0" for name in (_FILE, *names, *_names_of_roots(len(wanted)))]
    table = np.zeros(len(encoded) + 1, elf.SYMBOL)
    table["name"][1:] = 1 + np.cumsum([0, *(len(each) for each in encoded[:-1])])
    table["shndx"][1:] = [elf.SHN_ABS, *range(1, len(names) + 1), *wanted]
    table["info"][1] = elf.STT_FILE
    table["info"][-len(wanted) :], table["other"][-len(wanted) :] = _GLOBAL, _HIDDEN
    return b"\0" + b"".join(encoded), table.tobytes()


class _Image:
    """A relocatable file that grows by sections; their headers, and names, come last."""

    def __init__(self) -> None:
        self.data = bytearray(_ENTRY)
        self.names = bytearray(b"\0")
        self.headers: list[list[int]] = [[0] * 10]

    def add(  # noqa: PLR0913 - the fields of a section's header
        self,
        name: str,
        content: bytes,
        *,
        type_: int,
        flags: int,
        align: int,
        size: int | None = None,
        entry: int = 0,
        info: int = 0,
    ) -> int:
        """Its number; ``size`` where it is not that of the content."""
        self.data += bytes(-len(self.data) % align) if content else b""
        own = len(content) if size is None else size
        self.headers.append([len(self.names), type_, flags, 0, len(self.data), own, 0, info, align, entry])
        self.names += name.encode() + b"\0"
        self.data += content
        return len(self.headers) - 1

    def link(self, number: int, other: int) -> None:
        """Have a section name another one in its header."""
        self.headers[number][6] = other

    def finish(self, machine: int, flags: int) -> bytes:
        """The whole file."""
        strings = self.add(".shstrtab", b"", type_=elf.SHT_STRTAB, flags=0, align=1)
        self.headers[strings][5] = len(self.names)
        self.data += self.names
        self.data += bytes(-len(self.data) % 8)
        header = struct.pack(
            "<16s2HI3QI6H",
            b"\x7fELF\x02\x01\x01",
            1,  # ET_REL
            machine,
            1,
            0,
            0,
            len(self.data),
            flags,
            _ENTRY,
            0,
            0,
            _ENTRY,
            len(self.headers),
            strings,
        )
        self.data[:_ENTRY] = header
        self.data += np.array([tuple(row) for row in self.headers], elf.SECTION).tobytes()
        return bytes(self.data)
