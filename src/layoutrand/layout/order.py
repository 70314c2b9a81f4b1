"""Layouts: a factor and a seed decide the order of a capture's sections.

Identity order is the order in which the linker itself placed the sections of the instrumented build.  Every seeded
order is a permutation of the places ("slots") that sections hold there:

- pinned sections (start files, system libraries) keep their slot;
- with classes kept apart, the class found in each slot stays: unlikely, exit, startup, hot and plain code are each
  permuted among the slots of their own class, whether the linker groups classes (GNU ld) or mixes them (lld);
- ``function-order`` permutes all code sections of a class; ``function-order-in-module`` those of one object;
  ``module-order`` keeps the sections of an object together and in order, and orders the objects;
- ``block-order`` permutes the sections that one function consists of, where a compiler gives each basic block its own;
  where there are such, the other factors keep those of a function beside each other;
- ``data-order`` permutes read-only data, relocated read-only data, data and bss, each by itself;
- ``padding`` adds a gap before each placed function;
- ``text-offset`` adds one before the first of them alone: a multiple of 64 bytes below a page, and of pages below
  2 MiB, so that all code that can move lies elsewhere as a whole.

Each factor draws from a stream of its own, so adding one does not change what the others do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import UsageError
from layoutrand.layout.factors import MODULE_ORDER, PADDING, TEXT_OFFSET
from layoutrand.layout.groups import GROUPS, OF_FUNCTIONS, OUTSIDE, function_of, identity_bytes, slots_of_regions
from layoutrand.layout.keyed import keyed_order, keyed_permutation, keyed_uniform
from layoutrand.model import IDENTITY, Layout, LayoutName, Section
from layoutrand.objects.kinds import is_code

_LINE: Final = 64
_PAGE: Final = 4096
_HUGE_PAGE: Final = 2 << 20


def draw(
    sections: Sequence[Section],
    identity: Sequence[int],
    *,
    name: LayoutName,
    factors: tuple[str, ...],
    classes: str,
    padding: int = 0,
    whole: bool = False,
) -> Layout:
    """The layout called ``name`` of the sections, whose identity order is ``identity`` (indices, slot by slot).

    ``classes`` is "keep" or "mix"; ``padding`` is the largest gap in bytes for the factor of that name, without which
    it has no meaning. With ``whole``, sections of one name in one object are the blocks of a function, which stay
    beside each other. The layout of "identity" is identity order itself; "stock" has no layout.
    """
    order = list(identity)
    if name == IDENTITY:
        return Layout(name, factors, classes, tuple(order), ())
    assert isinstance(name, int)
    for factor in sorted({*GROUPS, MODULE_ORDER} & set(factors)):  # function-order-in-module before module-order
        if factor == MODULE_ORDER:
            order = _module_order(sections, order, name, classes == "keep")
        elif whole and factor in OF_FUNCTIONS:
            order = _permute_whole(sections, order, name, factor, keep=classes == "keep")
        else:
            order = _permute(sections, order, name, factor, keep=classes == "keep")
    return Layout(name, factors, classes, tuple(order), _gaps(sections, order, name, padding, factors))


def _gaps(
    sections: Sequence[Section], order: Sequence[int], seed: int, padding: int, factors: Sequence[str]
) -> tuple[int, ...]:
    """Bytes to leave free before the section in each slot, of both factors together; () without them."""
    if not {PADDING, TEXT_OFFSET} & set(factors):
        return ()
    free = [is_code(sections[i].kind) and not sections[i].pinned for i in order]
    gaps = [0] * len(order)
    if PADDING in factors:
        if padding < 1:
            raise UsageError("padding: the largest gap must be at least one byte (layout.padding_bytes)")
        names = _names(sections)
        gaps = [
            keyed_uniform(seed, PADDING, names[i], padding + 1) if may else 0
            for i, may in zip(order, free, strict=True)
        ]
    if TEXT_OFFSET in factors and True in free:
        gaps[free.index(True)] += _offset(seed)
    return tuple(gaps)


def _offset(seed: int) -> int:
    """How far the code as a whole is moved: its line within a page, and its page within a huge page."""
    line = keyed_uniform(seed, TEXT_OFFSET, b"line", _PAGE // _LINE)
    page = keyed_uniform(seed, TEXT_OFFSET, b"page", _HUGE_PAGE // _PAGE)
    return line * _LINE + page * _PAGE


def _permute(sections: Sequence[Section], order: list[int], seed: int, stream: str, *, keep: bool) -> list[int]:
    """Each group's sections in hashed order, put into the slots the group holds."""
    result = np.array(order)
    for places in _places(sections, order, GROUPS[stream](keep), (stream, keep)):
        result[places.slots] = places.members[keyed_permutation(seed, stream, places.names)]
    drawn: list[int] = result.tolist()
    return drawn


def _permute_whole(sections: Sequence[Section], order: list[int], seed: int, stream: str, *, keep: bool) -> list[int]:
    """As `_permute`, but functions are what is in hashed order; the blocks of each follow each other as before."""
    result = np.array(order)
    for places in _places(sections, order, GROUPS[stream](keep), (stream, keep)):
        functions: dict[tuple[str, str, str], list[int]] = {}
        for member in places.members.tolist():
            functions.setdefault(function_of(sections[member]), []).append(member)
        blocks = list(functions.values())
        names = [
            identity_bytes(replace(sections[members[0]], name=name, occurrence=0))
            for (_, _, name), members in functions.items()
        ]
        drawn = [member for number in keyed_order(seed, stream, names) for member in blocks[number]]
        result[places.slots] = drawn
    whole: list[int] = result.tolist()
    return whole


@dataclass(frozen=True)
class _Places:
    """The slots of one group, and in the order of the slots the sections there and what these are called."""

    slots: NDArray[np.int64]
    members: NDArray[np.int64]
    names: list[bytes]


@dataclass
class _Known:
    """What does not depend on the seed, of the sections asked for last: a capture is drawn from many times."""

    sections: Sequence[Section]
    names: list[bytes]
    places: dict[Hashable, tuple[list[int], list[_Places]]]


_latest = _Known((), [], {})


def _known(sections: Sequence[Section]) -> _Known:
    global _latest  # noqa: PLW0603 - replaced as a whole, so threads see one value or the other
    known = _latest
    if known.sections is not sections:
        _latest = known = _Known(sections, [identity_bytes(section) for section in sections], {})
    return known


def _names(sections: Sequence[Section]) -> list[bytes]:
    """What each section is called."""
    return _known(sections).names


def _places(
    sections: Sequence[Section], order: list[int], group: Callable[[Section], Hashable], key: Hashable
) -> list[_Places]:
    """The places of each group, ``key`` naming what ``group`` is; remembered where the order is the same again."""
    known, names = _known(sections).places, _names(sections)
    before, found = known.get(key, ([], []))
    if before == order:
        return found
    slots: dict[Hashable, list[int]] = {}
    for slot, index in enumerate(order):
        section = sections[index]
        if not section.pinned and (of := group(section)) is not OUTSIDE:
            slots.setdefault(of, []).append(slot)
    members = [[order[slot] for slot in group_slots] for group_slots in slots.values()]
    found = [
        _Places(np.array(where), np.array(who), [names[i] for i in who])
        for where, who in zip(slots.values(), members, strict=True)
    ]
    known[key] = (order, found)
    return found


def _module_order(sections: Sequence[Section], order: list[int], seed: int, keep: bool) -> list[int]:
    """Objects in hashed order; inside a run of slots of one region an object's sections stay in order.

    A region is a stretch in which the linker left the sections of different objects side by side: a class where the
    linker groups classes. Where it does not (or with classes mixed) there is one region, and objects move whole.
    """
    code = [slot for slot, i in enumerate(order) if is_code(sections[i].kind)]
    modules = sorted({sections[order[slot]].object for slot in code if not sections[order[slot]].pinned})
    ranks = keyed_order(seed, MODULE_ORDER, [m.encode("utf-8", "surrogateescape") for m in modules])
    rank = {modules[which]: place for place, which in enumerate(ranks)}
    result = list(order)
    for places in slots_of_regions(sections, order, keep):
        members = sorted((order[s] for s in places), key=lambda i: rank[sections[i].object])  # a stable sort
        for place, member in zip(places, members, strict=True):
            result[place] = member
    return result
