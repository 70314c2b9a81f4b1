"""Reconciled layouts: what several systems share lies at the same offset of the same stretch in all of them.

A *side* is one of the systems; a *stretch* is what all code takes up, or data of one kind (`layoutrand.objects.kinds`):
no linker puts parts of one stretch into two output sections.  In each stretch come first the sections that are
unchanged on all sides, in one order, which the factors draw from the seed over the first side's identity order; then
those that all sides have with other contents, which begin at the same places, since each is given the room of the
largest; then what a side has alone.  A stretch is as long on all sides and in all seeds: as long as any can be.

Nothing here knows where stretches begin: that is up to linkers, and measured (`layoutrand.link.reconcile`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.layout.groups import identity_bytes
from layoutrand.layout.order import draw
from layoutrand.model import Layout, LayoutName, Section
from layoutrand.objects import elf
from layoutrand.objects.fillers import filler
from layoutrand.objects.kinds import PLAIN, is_code

_TELLING: Final = 16
"""Bytes that a section has at the least that is known by its contents alone, whatever its name and object are."""


@dataclass(frozen=True)
class Side:
    """One system's sections, their identity order, and of each a digest of all that it holds, addresses aside."""

    sections: Sequence[Section]
    identity: Sequence[int]
    contents: Sequence[bytes]

    def what(self, number: int) -> Hashable:
        """All that must be equal in an unchanged section."""
        section = self.sections[number]
        return section.kind, section.size, max(1, section.align), section.pinned, self.contents[number]


@dataclass(frozen=True)
class Pairs:
    """Sections that all sides have: rows of their numbers, one for each side, in the first side's identity order."""

    unchanged: tuple[tuple[int, ...], ...]
    changed: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Rules:
    """What decides an order besides the seed, as in `layoutrand.layout.order.draw`."""

    factors: tuple[str, ...]
    classes: str
    padding: int


@dataclass(frozen=True)
class Room:
    """How many bytes a stretch has on every side, and the alignment at which it begins."""

    size: int
    align: int


@dataclass(frozen=True)
class Adjustment:
    """Bytes that one side's stretch has before and behind itself, because other parts of the file are smaller there."""

    head: int = 0
    tail: int = 0


Stretch = list[tuple[int, int]]
"""Sections of one side in one stretch: number, and offset from where the stretch begins; ascending."""

_Key = Callable[[Side, int], Hashable]
"""What tells a section of a side from its others; None for nothing."""


def pair(sides: Sequence[Side]) -> Pairs:
    """Which sections of the sides are each other: by object and name; else by name and contents; else by contents."""
    first = sides[0]
    partners = [_partners(first, other) for other in sides[1:]]
    rows = [(n, *(known[n] for known in partners)) for n in first.identity if all(n in known for known in partners)]
    same = [len({side.what(n) for side, n in zip(sides, row, strict=True)}) == 1 for row in rows]
    return Pairs(
        tuple(row for row, equal in zip(rows, same, strict=True) if equal),
        tuple(row for row, equal in zip(rows, same, strict=True) if not equal),
    )


def arrange(sides: Sequence[Side], pairs: Pairs, name: LayoutName, rules: Rules) -> list[dict[str, Stretch]]:
    """Of each side every stretch, by its kind, in the layout called ``name``, whose order "identity" does not draw."""
    stretches: list[dict[str, Stretch]] = [{} for _ in sides]
    ends: list[dict[str, int]] = [{} for _ in sides]
    rows = {row[0]: row for row in (*pairs.unchanged, *pairs.changed)}
    for shared in (pairs.unchanged, pairs.changed):
        for first, gap in _drawn(sides[0], {row[0] for row in shared}, name, rules):
            _put_pair(sides, rows[first], gap, stretches, ends)
    for number, side in enumerate(sides):
        own = set(side.identity) - {row[number] for row in rows.values()}
        for section, gap in _drawn(side, own, name, rules):
            of = stretch_of(side.sections[section].kind)
            _put(side, section, ends[number].get(of, 0) + gap, stretches[number], ends[number])
    return stretches


def rooms(sides: Sequence[Side], pairs: Pairs, padding: int) -> dict[str, Room]:
    """The room of every stretch: no order of the sections, with gaps of at most ``padding``, needs more on any side."""
    items: list[dict[str, list[tuple[int, int, int]]]] = []
    for number, side in enumerate(sides):
        largest = {
            row[number]: (
                max(other.sections[n].size for other, n in zip(sides, row, strict=True)),
                max(other.sections[n].align for other, n in zip(sides, row, strict=True)),
            )
            for row in pairs.changed
        }
        mine: dict[str, list[tuple[int, int, int]]] = {}
        for n in side.identity:
            section = side.sections[n]
            size, align = largest.get(n, (section.size, section.align))
            gap = padding if is_code(section.kind) else 0
            mine.setdefault(stretch_of(section.kind), []).append((gap, size, max(1, align)))
        items.append(mine)
    found = {}
    for of in dict.fromkeys(of for mine in items for of in mine):
        align = max(align for mine in items for _, _, align in mine.get(of, []))
        found[of] = Room(elf.rounded(max(_most(mine.get(of, [])) for mine in items), align), align)
    return found


def requested(
    side: Side,
    stretches: Mapping[str, Stretch],
    room: Mapping[str, Room],
    adjustments: Mapping[str, Adjustment],
    layout: tuple[LayoutName, Rules],
) -> tuple[Layout, list[Section]]:
    """What to ask a linker for, and the fillers in it, whose numbers follow those of the side's sections.

    A filler stands before each stretch, where something is to begin later than it would, and behind it.
    """
    order: list[int] = []
    fillers: list[Section] = []

    def fill(kind: str, size: int, align: int = 1) -> None:
        if size:
            fillers.append(filler(len(side.sections) + len(fillers), kind, size, align))
            order.append(fillers[-1].index)

    stretches_here = dict.fromkeys(stretch_of(side.sections[n].kind) for n in side.identity)
    for of in stretches_here:
        fill(of, room[of].align + adjustments[of].head, room[of].align)
        end = 0
        for number, offset in stretches[of]:
            section = side.sections[number]
            if elf.rounded(end, section.align) != offset:
                fill(of, offset - end)
            order.append(number)
            end = offset + section.size
        fill(of, room[of].size - end + adjustments[of].tail)
    name, rules = layout
    return Layout(name, rules.factors, rules.classes, tuple(order), ()), fillers


def _partners(first: Side, other: Side) -> dict[int, int]:
    """Numbers of the first side's sections -> those of the other's."""
    found: dict[int, int] = {}
    named = {identity_bytes(other.sections[n]): n for n in other.identity}
    for n in first.identity:
        match = named.get(identity_bytes(first.sections[n]))
        if match is not None and _interchangeable(first.sections[n], other.sections[match]):
            found[n] = match
    _pair_moved(first, other, found, lambda side, n: (side.sections[n].name, side.what(n)))
    _pair_moved(first, other, found, _by_contents)
    return found


def _interchangeable(one: Section, other: Section) -> bool:
    return one.pinned == other.pinned and stretch_of(one.kind) == stretch_of(other.kind)


def _by_contents(side: Side, number: int) -> Hashable:
    section = side.sections[number]
    return side.what(number) if section.size >= _TELLING and section.kind != "bss" else None


def _pair_moved(first: Side, other: Side, found: dict[int, int], key: _Key) -> None:
    """Also those that are told by ``key`` alone, of which each side has one: their object is another, or their name."""
    taken = set(found.values())
    ours = _once(first, [n for n in first.identity if n not in found], key)
    theirs = _once(other, [n for n in other.identity if n not in taken], key)
    found.update({n: theirs[what] for what, n in ours.items() if what in theirs})


def _once(side: Side, numbers: Sequence[int], key: _Key) -> dict[Hashable, int]:
    told = [(key(side, n), n) for n in numbers]
    count = Counter(what for what, _ in told)
    return {what: n for what, n in told if what is not None and count[what] == 1}


def _drawn(side: Side, members: Collection[int], name: LayoutName, rules: Rules) -> list[tuple[int, int]]:
    """These sections of the side in the layout's order, each with the gap before it."""
    known = [n for n in side.identity if n in members]
    drawn = draw(side.sections, known, name=name, factors=rules.factors, classes=rules.classes, padding=rules.padding)
    return list(zip(drawn.order, drawn.gaps or [0] * len(drawn.order), strict=True))


def _put(side: Side, number: int, lowest: int, stretches: dict[str, Stretch], ends: dict[str, int]) -> None:
    """The section at the first offset from ``lowest`` on that its alignment allows."""
    section = side.sections[number]
    of = stretch_of(section.kind)
    offset = elf.rounded(lowest, section.align)
    stretches.setdefault(of, []).append((number, offset))
    ends[of] = offset + section.size


def _put_pair(
    sides: Sequence[Side],
    row: tuple[int, ...],
    gap: int,
    stretches: Sequence[dict[str, Stretch]],
    ends: Sequence[dict[str, int]],
) -> None:
    """The sections of a row at one offset on all sides: behind the side that has come farthest."""
    own = [side.sections[n] for side, n in zip(sides, row, strict=True)]
    of = stretch_of(own[0].kind)
    begin = elf.rounded(max(end.get(of, 0) for end in ends) + gap, max(section.align for section in own))
    for side, n, stretch, end in zip(sides, row, stretches, ends, strict=True):
        _put(side, n, begin, stretch, end)


def _most(items: Sequence[tuple[int, int, int]]) -> int:
    """Bytes that sections (largest gap, size, alignment) need at most, in whatever order.

    Rounded up to any power of two a, the end of what has been placed grows by at most the gap and the size of what
    comes next, each rounded up, and by what its alignment is larger than a. That holds for every a; the least of these
    sums is taken.
    """
    powers = [1 << bit for bit in range(max((align for _, _, align in items), default=1).bit_length())]
    return min(
        sum(elf.rounded(gap, a) + elf.rounded(size, a) + max(0, align - a) for gap, size, align in items)
        for a in powers
    )


def stretch_of(kind: str) -> str:
    """The stretch that sections of the kind are in, as the kind of its fillers."""
    return PLAIN if is_code(kind) else kind
