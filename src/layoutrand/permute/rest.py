"""What stands in sections of data beside the pieces that an order places, by the linker's map.

Mergeable strings and constants, copies of libraries' variables, common ones: all behind the pieces, in one order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.skeleton import Numbers

# lld: "6980  6980  3e90  32 .rodata", and of what it has "6980  6980  80  4         file.o:(.rodata.f)"
_LLD: Final = re.compile(
    r"^ *([0-9a-f]{1,15}) +[0-9a-f]+ +([0-9a-f]{1,15}) +([0-9]{1,15}) (?: {8}(\S.*):\((.*)\)|(\S+))$", re.MULTILINE
)
# GNU ld: ".rodata  0x32000  0x3ca4", and of what it has " .rodata.f  0x32000  0x80 file.o"; a long name has a line.
_GNU: Final = re.compile(r"^( ?)([^\s(]+)\s+0x([0-9a-f]{1,16})\s+0x([0-9a-f]{1,15})(?: (.*))?$", re.MULTILINE)
_GNU_BEGIN: Final = "\nLinker script and memory map\n"
_FILL: Final = "*fill*"

Aligned = Callable[[str, str], int]
"""What a section is aligned to, by its file as a map has that and its name; 0 where that is not known."""


@dataclass(frozen=True)
class Rest:
    """One part: its output section, address and size, its alignment where that is known (else 0), and what is before.

    ``before`` is the address at which the part before it ends.
    """

    section: int
    address: int
    size: int
    align: int
    before: int


@dataclass(frozen=True)
class _Row:
    """One line of a map: of which output section it is, where, how large, and what it is aligned to, if known."""

    output: str
    address: int
    size: int
    align: int


def of_map(
    text: str,
    linker: str,
    binary: elf.Elf,
    homes: Sequence[int],
    pieces: tuple[Numbers, Numbers],
    aligned: Aligned = lambda _owner, _name: 0,
) -> tuple[Rest, ...]:
    """The parts of the ``homes``, by a map; ``pieces`` are the addresses of all pieces, and their sizes.

    Raises `NotPermuted` where a part stands before a piece, or the map has another form.
    """
    rows = _rows_of_lld(text) if linker == "lld" else _rows_of_gnu(text, aligned)
    placed = set(zip(*(each.tolist() for each in pieces), strict=True))
    found: list[Rest] = []
    for home in homes:
        name = binary.section_names[home]
        begin = int(binary.sections["addr"][home])
        end = begin + int(binary.sections["size"][home])
        here = (pieces[0] >= begin) & (pieces[0] < end)
        dot = int((pieces[0] + pieces[1])[here].max(initial=begin))
        for row in rows:
            if row.output != name or (row.address, row.size) in placed or (not row.size and row.address < dot):
                continue
            if row.address < dot or row.address + row.size > end:
                raise NotPermuted(f"something stands between the pieces of {name}")
            found.append(Rest(home, row.address, row.size, row.align, dot))
            dot = row.address + row.size
    return tuple(found)


def _rows_of_lld(text: str) -> list[_Row]:
    rows: list[_Row] = []
    output = ""
    for address, size, align, owner, _name, section in _LLD.findall(text):
        if section:
            output = section
        elif owner:
            rows.append(_Row(output, int(address, 16), int(size, 16), int(align)))
    return rows


def _rows_of_gnu(text: str, aligned: Aligned) -> list[_Row]:
    """What is there of each section: of what was merged with others less than the map says, or nothing."""
    lines = _GNU.findall(text.partition(_GNU_BEGIN)[2])
    rows: list[_Row] = []
    output, end = "", 0
    for at, (part, name, address, size, owner) in enumerate(lines):
        begin, said = int(address, 16), int(size, 16)
        if not part:
            output, end = name, begin + said
            continue
        if name == _FILL or not owner:
            continue
        behind = int(lines[at + 1][2], 16) if at + 1 < len(lines) and lines[at + 1][0] else end
        there = min(said, max(behind - begin, 0))
        if there or not said:
            rows.append(_Row(output, begin, there, aligned(owner, name)))
    return rows


def alignments(links: Sequence[tuple[Rest, ...]], binary: elf.Elf) -> tuple[list[int], list[int]]:
    """The least and the largest alignment that each part may have, by where it is in each of the ``links``.

    Raises `NotPermuted` where these do not have the same parts.
    """
    if len({tuple((each.section, each.size, each.align) for each in rest) for rest in links}) > 1:
        raise NotPermuted("another order has other parts in its data")
    least, most = [], []
    for parts in zip(*links, strict=True):
        known = parts[0].align
        most_of_all = int(binary.sections["align"][parts[0].section])
        every = [1 << power for power in range(most_of_all.bit_length())]
        steps = [step for step in every if all(elf.rounded(each.before, step) == each.address for each in parts)]
        steps = [known] if known in steps else steps
        if not steps:
            name = binary.section_names[parts[0].section]
            raise NotPermuted(f"what a part of {name} is aligned to is not understood")
        least.append(steps[0])
        most.append(steps[-1])
    return least, most
