"""One layout with one function or variable moved: all else lies where it lies, whatever the offset, as is proved.

Around it a hole is made that has room for every offset of one period.  Two fillers (`objects.fillers`) share with it
what the hole is long: one before it, which decides where it begins, one behind it.  What stands before the hole lies
as in the base layout; what stands behind it lies a whole number of pages further on, in every offset alike, so that its
place within lines and pages, and its sets in a cache, are those of the base layout, too.

Nothing of this is believed: `proof` reads it off the symbols and section headers of the binaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.errors import FeatureUnsupported, LayoutNotApplied
from layoutrand.layout.factors import LINK_ORDER, LINKER_SHUFFLE, PADDING, TEXT_OFFSET
from layoutrand.link import codecheck
from layoutrand.link.code import Code
from layoutrand.link.linked import Linked
from layoutrand.link.relink import link_layout, verify, with_fillers
from layoutrand.linkers.known import linker
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import Layout, Section
from layoutrand.objects import elf
from layoutrand.objects.fillers import filler
from layoutrand.platform.process import Runner

PAGE: Final = 4096


@dataclass(frozen=True)
class Hole:
    """Where one section may lie, in addresses.

    The first filler begins at ``begin``, where the section lies in the base layout; with offset 0 it lies at
    ``window``, a multiple of the ``period``; and what stands behind it begins at ``end``, which is ``shift`` bytes
    further on than in the base layout.
    """

    section: int
    period: int
    begin: int
    window: int
    end: int
    shift: int


@dataclass(frozen=True)
class Move:
    """The base ``layout`` with the hole's section at that offset."""

    layout: Layout
    hole: Hole
    offset: int


@dataclass(frozen=True)
class Stillness:
    """What was read off all binaries of one hole: so many symbols and loaded sections lie alike in all of them.

    ``as_in_base`` of the symbols lie where the base layout has them, ``pages_on`` a whole number of pages further on.
    """

    symbols: int
    sections: int
    as_in_base: int
    pages_on: int


def require_exact(link: CapturedLink, layout: Layout) -> None:
    """Raise `FeatureUnsupported` where nothing can be put to an address of its own in this layout."""
    if linker(link.linker).own_objects:
        raise FeatureUnsupported(f"{link.artefact}: {link.linker} places all itself, so nothing can be moved alone")
    for factor, why in (
        (LINKER_SHUFFLE, "the linker chooses an order by itself"),
        (LINK_ORDER, "whole objects are moved"),
    ):
        if factor in layout.factors:
            raise FeatureUnsupported(f"{link.artefact}: with {factor!r} {why}, so nothing can be moved alone")
    if layout.gaps:
        gaps = ", ".join(factor for factor in (PADDING, TEXT_OFFSET) if factor in layout.factors)
        raise FeatureUnsupported(
            f"{link.artefact}: layout {layout.name} has gaps of its own (by {gaps}); --base identity has none"
        )


def make_hole(base: elf.Elf, link: CapturedLink, code: Code, section: int, period: int) -> Hole:
    """The hole around the section in the binary of the base layout."""
    where = codecheck.placed(base, codecheck.placed_addresses(base), code.size)
    begin, size = int(where.address[section]), int(code.size[section])
    same = where.output == where.output[section]
    behind = where.address[same & (where.address >= begin + size) & (np.arange(len(code.size)) != section)]
    following = int(behind.min()) if len(behind) else begin + size
    window = elf.rounded(begin + 1, period)  # neither filler is ever empty: a linker might leave it out
    shift = elf.rounded(window + period + size + 1 - following, _page(link))
    return Hole(section, period, begin, window, following + shift, shift)


def link_moved(
    runner: Runner, ld: Tool, link: CapturedLink, base: Path, move: Move, *, scratch: Path, threads: int = 0
) -> tuple[elf.Elf, float, Path]:
    """Link it in ``scratch``; takes, gives and raises what `link_layout` does."""
    hole = move.hole
    section = link.sections[hole.section]
    count = len(link.sections)
    at = hole.window + move.offset
    fillers = [
        filler(count, section.kind, at - hole.begin, section.align),
        filler(count + 1, section.kind, hole.end - at - section.size),
    ]
    order = list(move.layout.order)
    slot = order.index(hole.section)
    order[slot : slot + 1] = [count, hole.section, count + 1]
    wider = with_fillers(link, fillers, scratch)
    wanted = replace(move.layout, order=tuple(order))
    return link_layout(runner, ld, wider, base, wanted, scratch=scratch, threads=threads)


def verify_moved(
    binary: elf.Elf, link: CapturedLink, move: Move, code: Code, seconds: float, *, ld_version: str
) -> Linked:
    """Check the binary as any other, and that the section lies at the offset; raises as `verify` does."""
    hole = move.hole
    linked = verify(binary, link, move.layout, code, seconds, ld_version=ld_version)
    at = _place(binary, hole.section, len(link.sections))
    if at != hole.window + move.offset:
        section = link.sections[hole.section]
        raise LayoutNotApplied(
            f"{section.name} of {section.object} was to begin at {hole.window + move.offset:#x}, and begins at {at:#x}"
        )
    return linked


def proof(base: elf.Elf, made: Sequence[elf.Elf], link: CapturedLink, hole: Hole) -> Stillness:
    """That nothing but the section moves between the binaries ``made``, one or more of them.

    Raises `LayoutNotApplied`, naming the first thing that lies elsewhere.
    """
    count = len(link.sections)
    size = link.sections[hole.section].size
    tables = [_Places.of(each, _place(each, hole.section, count), size) for each in made]
    first = tables[0]
    for other, binary in zip(tables[1:], made[1:], strict=True):
        _require_same(first, other, binary.name)
    own = _Places.of(base, _place(base, hole.section, count), size)
    here, pages = _beside_base(own, first, base)
    return Stillness(len(first.names), len(first.sections), here, pages)


@dataclass(frozen=True)
class _Places:
    """Every symbol's name, section, size and address, and every loaded section's name, address and size.

    Symbols in the section that is moved have their distance from its beginning in place of their address; ``inside``
    marks them.  Symbols are sorted by name, then by place.
    """

    names: list[str]
    rows: NDArray[np.int64]
    inside: NDArray[np.bool_]
    sections: list[tuple[str, int, int]]

    @classmethod
    def of(cls, binary: elf.Elf, begin: int, size: int) -> _Places:
        symbols, owner = binary.symbols, binary.symbol_sections.astype(np.int64)
        value = symbols["value"].astype(np.int64)
        loaded = np.flatnonzero(binary.sections["flags"] & elf.SHF_ALLOC)
        which = np.flatnonzero(np.isin(owner, loaded))
        texts = binary.symbol_names(which)
        value, owner = value[which], owner[which]
        holder = next(
            (
                number
                for number in loaded.tolist()
                if 0 <= begin - int(binary.sections["addr"][number]) < int(binary.sections["size"][number])
            ),
            -1,
        )
        # The filler behind it holds a byte at the least, so what lies at the section's end is a mark of its end.
        inside = (owner == holder) & (value >= begin) & (value <= begin + size)
        rows = np.stack([owner, symbols["size"].astype(np.int64)[which], np.where(inside, value - begin, value)], 1)
        order = sorted(range(len(which)), key=lambda n: (texts[n], bool(inside[n]), *rows[n].tolist()))
        headers = [
            (binary.section_names[n], int(binary.sections["addr"][n]), int(binary.sections["size"][n]))
            for n in loaded.tolist()
        ]
        return cls([texts[n] for n in order], rows[order], inside[order], headers)


def _require_same(first: _Places, other: _Places, name: str) -> None:
    for one, another in zip(first.sections, other.sections, strict=False):
        if one != another:
            raise LayoutNotApplied(
                f"{name}: output section {another[0]} is at {another[1]:#x} with {another[2]:,} bytes, and at another "
                f"offset at {one[1]:#x} with {one[2]:,}: more than that one was moved"
            )
    if len(first.sections) != len(other.sections) or first.names != other.names:
        raise LayoutNotApplied(f"{name}: it has other symbols or sections than the same layout with another offset")
    differ = np.flatnonzero((first.rows != other.rows).any(axis=1) | (first.inside != other.inside))
    if len(differ):
        number = int(differ[0])
        raise LayoutNotApplied(
            f"{name}: {first.names[number]} lies at {int(other.rows[number, 2]):#x}, and with another offset at "
            f"{int(first.rows[number, 2]):#x}: more than that one was moved ({len(differ)} symbols)"
        )


def _beside_base(base: _Places, made: _Places, binary: elf.Elf) -> tuple[int, int]:
    """How many symbols of the base lie where they lay, and how many a whole number of pages further on."""
    places = {name: made.rows[number, 2] for number, name in enumerate(made.names) if not made.inside[number]}
    counts: dict[str, int] = {}
    for name in made.names:
        counts[name] = counts.get(name, 0) + 1
    here = pages = 0
    for number, name in enumerate(base.names):
        if base.inside[number] or counts.get(name) != 1 or name not in places:
            continue
        moved = int(places[name]) - int(base.rows[number, 2])
        if moved % PAGE:
            raise LayoutNotApplied(
                f"{binary.name}: {name} is moved by {moved} bytes against the base layout, which is no whole number of "
                "pages"
            )
        here, pages = here + (moved == 0), pages + (moved != 0)
    return here, pages


def _page(link: CapturedLink) -> int:
    """Bytes that anything may be moved by, and keep its place within pages and its alignment."""
    return max([PAGE, *(each.align for each in link.sections)])


def _place(binary: elf.Elf, section: int, count: int) -> int:
    number, address, _ = codecheck.of_capture(codecheck.placed_addresses(binary), count)
    found = address[number == section]
    if len(found) != 1:
        raise LayoutNotApplied(f"{binary.name}: what is moved is not in it")
    return int(found[0])


def movable(section: Section, period: int) -> str:
    """Why no other offset within the period is possible for the section; "" if there is one."""
    if section.align < period:
        return ""
    return f"it is aligned to {section.align} bytes, so modulo {period} it has one place alone"
