"""Which sections may change places with each other, by the factor; `layoutrand.layout.order` draws how they do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from layoutrand.layout.factors import (
    BLOCK_ORDER,
    DATA_ORDER,
    FUNCTION_ORDER,
    FUNCTION_ORDER_IN_MODULE,
    LINKER_SHUFFLE,
    MODULE_ORDER,
    PADDING,
    TEXT_OFFSET,
)
from layoutrand.model import Section
from layoutrand.objects.kinds import PLAIN, family, is_code

_CATCHING: Final = ".text.eh."
OUTSIDE: Final = None
"""The group of a slot that a factor leaves alone."""

Group = Callable[[Section], Hashable]
"""What sections have in common that change places; `OUTSIDE` for those that do not."""


def identity_bytes(section: Section) -> bytes:
    """What a section is called in every system and on every machine, for the keyed hash.

    A COMDAT section is known by its group's signature, because which object contributes it depends on flags and link
    order; any other by its object relative to the build root, its name and its occurrence.  The object's archive is
    part of its name.  No absolute path enters.
    """
    owner = ("group", section.group) if section.group else ("object", section.object)
    parts = (*owner, section.name, str(section.occurrence))
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def may_differ(
    sections: Sequence[Section],
    identity: Sequence[int],
    *,
    factors: Sequence[str],
    classes: str,
    whole: bool = False,
) -> bool:
    """Whether some seed's layout is another than identity's, by these factors; of `LINK_ORDER` this knows nothing.

    ``whole`` is as in `draw`. A gap gives a layout of its own to anything that it may stand before. The linker's own
    shuffle keeps to output sections.
    """
    keep = classes == "keep"
    movable = [section for section in sections if not section.pinned]
    if {PADDING, TEXT_OFFSET} & set(factors) and any(is_code(section.kind) for section in movable):
        return True
    if LINKER_SHUFFLE in factors and len({family(s.kind) for s in movable}) < len(movable):
        return True
    if MODULE_ORDER in factors and any(
        len({sections[identity[slot]].object for slot in slots}) > 1
        for slots in slots_of_regions(sections, identity, keep)
    ):
        return True
    for factor in GROUPS.keys() & set(factors):
        called = function_of if whole and factor in OF_FUNCTIONS else identity_bytes
        if _holds_two(sections, identity, GROUPS[factor](keep), called):
            return True
    return False


MANY: Final = 100_000
"""Layouts beyond which nobody asks how many there are."""


def count_layouts(
    sections: Sequence[Section],
    identity: Sequence[int],
    *,
    factors: Sequence[str],
    classes: str,
    whole: bool = False,
) -> int | None:
    """How many layouts seeds can give at most, by these factors; None where they are more than `MANY`, or not counted.

    They are counted where sections change places and nothing else is drawn: gaps, modules and the linker's own order
    are not.  ``whole`` is as in `draw`.
    """
    if not set(factors) <= GROUPS.keys():
        return None
    found = 1
    for factor in factors:
        group = GROUPS[factor](classes == "keep")
        called = function_of if whole and factor in OF_FUNCTIONS else identity_bytes
        members: dict[Hashable, set[Hashable]] = {}
        for section in (sections[index] for index in identity):
            if not section.pinned and (of := group(section)) is not OUTSIDE:
                members.setdefault(of, set()).add(called(section))
        for names in members.values():
            for number in range(2, len(names) + 1):
                found *= number
                if found > MANY:
                    return None
    return found


def _holds_two(
    sections: Sequence[Section], identity: Sequence[int], group: Group, called: Callable[[Section], Hashable]
) -> bool:
    """Whether some group holds two that are not called alike; looks no further than the first such two."""
    first: dict[Hashable, Hashable] = {}
    for index in identity:
        section = sections[index]
        if not section.pinned and (of := group(section)) is not OUTSIDE:
            name = called(section)
            if first.setdefault(of, name) != name:
                return True
    return False


def _by_class(keep: bool) -> Group:
    return lambda section: _class(section, keep) if is_code(section.kind) else OUTSIDE


def _by_object_and_class(keep: bool) -> Group:
    return lambda section: (section.object, _class(section, keep)) if is_code(section.kind) else OUTSIDE


def _by_function_and_class(keep: bool) -> Group:
    """Blocks of one function are sections of one name in one object, or in one COMDAT group."""
    return lambda section: (*function_of(section), _class(section, keep)) if is_code(section.kind) else OUTSIDE


def function_of(section: Section) -> tuple[str, str, str]:
    """What all blocks of a function have in common; those that catch exceptions are in a section of another name."""
    name = section.name
    if name.startswith(_CATCHING):
        name = f".text.{name.removeprefix(_CATCHING)}"
    return (section.group, "" if section.group else section.object, name)


def _by_kind_of_data(_keep: bool) -> Group:
    """Kinds of data never mix, whatever the classes of code do: linkers keep them apart for a reason each."""
    return lambda section: OUTSIDE if is_code(section.kind) else section.kind


GROUPS: Final[Mapping[str, Callable[[bool], Group]]] = {
    BLOCK_ORDER: _by_function_and_class,
    DATA_ORDER: _by_kind_of_data,
    FUNCTION_ORDER: _by_class,
    FUNCTION_ORDER_IN_MODULE: _by_object_and_class,
}
"""Which sections change places with each other, by the factor; the rest it leaves alone."""

OF_FUNCTIONS: Final = frozenset({FUNCTION_ORDER, FUNCTION_ORDER_IN_MODULE})


def slots_of_regions(sections: Sequence[Section], order: Sequence[int], keep: bool) -> list[list[int]]:
    """The slots of each region that sections may leave."""
    code = [slot for slot, i in enumerate(order) if is_code(sections[i].kind)]
    regions = _regions([_class(sections[order[slot]], keep) for slot in code])
    found: dict[str, list[int]] = {}
    for slot, region in zip(code, regions, strict=True):
        if not sections[order[slot]].pinned:
            found.setdefault(region, []).append(slot)
    return list(found.values())


def _regions(kinds: Sequence[str]) -> list[str]:
    """The class of each slot if every class is contiguous (the linker groups them), else one region for all."""
    changes = sum(a != b for a, b in pairwise(kinds))
    return list(kinds) if changes < max(1, len(set(kinds))) else [PLAIN] * len(kinds)


def _class(section: Section, keep: bool) -> str:
    return section.kind if keep else PLAIN
