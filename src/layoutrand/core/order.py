"""Layouts: a factor and a seed decide the order of a capture's sections.

Identity order is the order in which the linker itself placed the sections of the instrumented build.  Every seeded
order is a permutation of the places ("slots") that sections hold there:

- pinned sections (start files, system libraries) keep their slot;
- with classes kept apart, the class found in each slot stays: unlikely, exit, startup, hot and plain code are each
  permuted among the slots of their own class, whether the linker groups classes (GNU ld) or mixes them (lld);
- ``function-order`` permutes all sections of a class; ``function-order-in-module`` those of one object;
  ``module-order`` keeps the sections of an object together and in order, and orders the objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Final

from layoutrand.core.keyed import keyed_order
from layoutrand.model import IDENTITY, Layout, LayoutName, Section

PLAIN: Final = "text"
_PREFIXES: Final = ("unlikely", "exit", "startup", "hot")


def classify(section_name: str) -> str:
    """The class of an executable section by its name, as GNU ld's default script sees it.

    One of the prefixes, or plain "text". Functions that are *named* hot or x_unlikely fall into those classes too,
    because the linker cannot tell them apart either.
    """
    rest = section_name.removeprefix(".text.")
    if rest == section_name:
        return PLAIN
    if rest.endswith("_unlikely"):  # part of the script's first pattern, so it wins over the other prefixes
        return "unlikely"
    return next((prefix for prefix in _PREFIXES if rest == prefix or rest.startswith(prefix + ".")), PLAIN)


def is_function_section(section_name: str) -> bool:
    """Whether the section is one function's own, by its name: neither .text nor the common section of a class."""
    rest = section_name.removeprefix(".text.").rstrip(".")
    return section_name.startswith(".text.") and rest not in ("", *_PREFIXES)


def identity_bytes(section: Section) -> bytes:
    """What a section is called in every system and on every machine, for the keyed hash.

    A COMDAT section is known by its group's signature, because which object contributes it depends on flags and link
    order; any other by its object relative to the build root, its name and its occurrence.  The object's archive is
    part of its name.  No absolute path enters.
    """
    owner = ("group", section.group) if section.group else ("object", section.object)
    parts = (*owner, section.name, str(section.occurrence))
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def draw(
    sections: Sequence[Section], identity: Sequence[int], *, name: LayoutName, factors: tuple[str, ...], classes: str
) -> Layout:
    """The layout called ``name`` of the sections, whose identity order is ``identity`` (indices, slot by slot).

    ``classes`` is "keep" or "mix". The layout of "identity" is identity order itself; "stock" has no layout.
    """
    order = list(identity)
    if name != IDENTITY:
        assert isinstance(name, int)
        for factor in sorted(factors):  # "function-order-in-module" before "module-order": inside first, then groups
            order = _FACTORS[factor](sections, order, name, classes == "keep")
    return Layout(name, factors, classes, tuple(order))


def _function_order(sections: Sequence[Section], order: list[int], seed: int, keep: bool) -> list[int]:
    return _permute(sections, order, [_kind(sections[i], keep) for i in order], seed, "function-order")


def _in_module(sections: Sequence[Section], order: list[int], seed: int, keep: bool) -> list[int]:
    groups = [(sections[i].object, _kind(sections[i], keep)) for i in order]
    return _permute(sections, order, groups, seed, "function-order-in-module")


def _permute(
    sections: Sequence[Section], order: list[int], groups: Sequence[Hashable], seed: int, stream: str
) -> list[int]:
    """Each group's sections in hashed order, dealt to the slots the group holds."""
    slots: dict[Hashable, list[int]] = {}
    for slot, group in enumerate(groups):
        if not sections[order[slot]].pinned:
            slots.setdefault(group, []).append(slot)
    result = list(order)
    for places in slots.values():
        members = [order[slot] for slot in places]
        hashed = keyed_order(seed, stream, [identity_bytes(sections[i]) for i in members])
        for place, which in zip(places, hashed, strict=True):
            result[place] = members[which]
    return result


def _module_order(sections: Sequence[Section], order: list[int], seed: int, keep: bool) -> list[int]:
    """Objects in hashed order; inside a run of slots of one region an object's sections stay in order.

    A region is a stretch in which the linker left the sections of different objects side by side: a class where the
    linker groups classes. Where it does not (or with classes mixed) there is one region, and objects move whole.
    """
    modules = sorted({sections[i].object for i in order if not sections[i].pinned})
    ranks = keyed_order(seed, "module-order", [m.encode("utf-8", "surrogateescape") for m in modules])
    rank = {modules[which]: place for place, which in enumerate(ranks)}
    regions = _regions([_kind(sections[i], keep) for i in order])
    result = list(order)
    for region in set(regions):
        places = [s for s in range(len(order)) if regions[s] == region and not sections[order[s]].pinned]
        members = sorted((order[s] for s in places), key=lambda i: rank[sections[i].object])  # a stable sort
        for place, member in zip(places, members, strict=True):
            result[place] = member
    return result


def _regions(kinds: Sequence[str]) -> list[str]:
    """The class of each slot if every class is contiguous (the linker groups them), else one region for all."""
    changes = sum(a != b for a, b in pairwise(kinds))
    return list(kinds) if changes < max(1, len(set(kinds))) else [PLAIN] * len(kinds)


def _kind(section: Section, keep: bool) -> str:
    return section.kind if keep else PLAIN


_FACTORS: Final = {
    "function-order": _function_order,
    "function-order-in-module": _in_module,
    "module-order": _module_order,
}
