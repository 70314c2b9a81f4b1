"""A linker order as a remedy: hot functions together at the start of the code, by a file for the user's own build.

What a build's own file puts there stays in every layout: with GNU ld since a linker script names it, with lld since the
system says so (``ordered``).  So layouts of such a system are of all other functions.  That these move none of the
group is read off every binary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.cache.contents import content_of
from layoutrand.cache.store import Cache
from layoutrand.config.toolchain import Toolchain
from layoutrand.errors import FeatureUnsupported
from layoutrand.explain.remedies import LinkerOrder, Remedy, ordered_first
from layoutrand.explain.suspects import Explanation, addresses
from layoutrand.linkers import linkline
from layoutrand.linkers.known import linker
from layoutrand.linkers.linker import OrderedFunction
from layoutrand.model import IDENTITY, Binary
from layoutrand.objects import elf
from layoutrand.objects.kinds import is_function_section
from layoutrand.platform.disk import sha256_bytes
from layoutrand.platform.foreign import write_text

FOLDER: Final = ".layoutrand"
_GLOBAL: Final = 1


def order_remedy(explanation: Explanation, toolchain: Toolchain, project: Path, cache: Cache) -> Remedy:
    """The remedy, for which a file is written below the project's directory, named after what it says.

    Raises `FeatureUnsupported` where the build's linker takes no such file, or has been given one already.
    """
    link = explanation.subject.link
    if toolchain.tools.cargo:
        raise FeatureUnsupported("it is for builds of C, C++ and Fortran")
    if link.users_script or linkline.ordering_files(linkline.words(link.argv)):
        raise FeatureUnsupported(f"the link of {link.artefact} has an order of its own")
    found = _functions(explanation, link, cache)
    if not found:
        raise FeatureUnsupported("no hot function has a section and a symbol of its own")
    asked = linker(link.linker).order_for_a_build([function for _, function in found])
    if asked is None:
        raise FeatureUnsupported(f"{link.linker} takes no file by which functions come ahead of all others")
    data = asked.text.encode("utf-8", "surrogateescape")
    # Flags are part of a build's key, and files that they name are not: another order has another name.
    path = project.resolve() / FOLDER / f"order-{sha256_bytes(data)[:12]}.txt"
    if "," in str(path):
        raise FeatureUnsupported(f"{path} has a comma, at which compilers divide -Wl,")
    path.parent.mkdir(exist_ok=True)
    write_text(path, asked.text)
    return ordered_first(
        LinkerOrder(
            file=str(path),
            shown=f"{FOLDER}/{path.name}",
            names=tuple(name for name, _ in found),
            symbols=tuple(function.symbol for _, function in found),
            told=tuple(asked.arguments),
            keep=linker(link.linker).orders_symbols,
            lto=bool(link.lto),
        )
    )


def _functions(explanation: Explanation, link: CapturedLink, cache: Cache) -> list[tuple[str, OrderedFunction]]:
    """The hot functions that have sections of their own, hottest first, with their names for people."""
    identity = explanation.subject.identity
    place = addresses(cache, identity, link)
    symbols = _symbols(identity)
    found: dict[OrderedFunction, str] = {}
    for hot in explanation.hotness.functions:
        section = link.sections[hot.section]
        named = [each for each in symbols if each.begin == int(place[hot.section])]
        if section.pinned or not is_function_section(section.name) or not named:
            continue
        function = OrderedFunction(section.name, max(named, key=lambda each: (each.is_global, each.name)).name)
        found.setdefault(function, hot.name)
    return [(name, function) for function, name in found.items()]


@dataclass(frozen=True)
class _Symbol:
    """A function's symbol in a program."""

    name: str
    begin: int
    end: int
    is_global: bool


def _symbols(binary: Binary) -> list[_Symbol]:
    file = elf.read(content_of(binary.stored), name=str(binary.path))
    table = file.symbols
    which = np.flatnonzero(((table["info"] & 0xF) == elf.STT_FUNC) & (file.symbol_sections > 0))
    rows = table[which]
    ends = rows["value"] + rows["size"]
    return [
        _Symbol(name, begin, end, is_global)
        for name, begin, end, is_global in zip(
            file.symbol_names(which),
            rows["value"].tolist(),
            ends.tolist(),
            ((rows["info"] >> 4) >= _GLOBAL).tolist(),
            strict=True,
        )
    ]


def not_in_order(order: LinkerOrder, binaries: Sequence[Binary]) -> str:
    """Why the group is not together, in its order, and at the same addresses in all binaries; "" where it is."""
    tables = {each.layout: _symbols(each) for each in binaries}
    identity = tables[IDENTITY]
    groups = {name: _group(order, table) for name, table in tables.items()}
    own = groups[IDENTITY]
    if missing := [name for name in order.symbols if name not in own]:
        return f"{missing[0]}, which it is to put in order, is not there with it"
    firsts = [own[name][0] for name in order.symbols]
    if firsts != sorted(firsts):
        return "the link does not put its functions in that order"
    members = {at for places in own.values() for at in places}
    inside = [(each.begin, each.end) for each in identity if each.begin in members]
    begin, end = min(members), max(members)
    for each in identity:
        if begin < each.begin < end and not any(low <= each.begin < high for low, high in inside):
            return f"{each.name} lies among its functions"
    for layout, group in groups.items():
        if moved := [name for name in order.symbols if group.get(name) != own[name]]:
            return f"other functions displace those that it puts in order: {moved[0]} lies elsewhere in layout {layout}"
    return ""


def _group(order: LinkerOrder, table: Sequence[_Symbol]) -> dict[str, list[int]]:
    """Addresses of each of its symbols, of which there may be several of one name."""
    wanted = frozenset(order.symbols)
    found: dict[str, list[int]] = {}
    for each in table:
        if each.name in wanted:
            found.setdefault(each.name, []).append(each.begin)
    return {name: sorted(places) for name, places in found.items()}
