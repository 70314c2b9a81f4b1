"""The objects of a captured link: which placeable sections they hold, and copies in which each can be placed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from layoutrand.capture.bitcode import is_bitcode
from layoutrand.capture.capture_warnings import CodeThatStays
from layoutrand.config.layout_policy import Archives
from layoutrand.errors import FeatureUnsupported
from layoutrand.link import lto
from layoutrand.linkers.user_script import NOTHING, Reserved
from layoutrand.model import Section
from layoutrand.objects import archive, edit, elf
from layoutrand.objects.kinds import is_code
from layoutrand.objects.known import processors
from layoutrand.objects.placeable import code_kind, data_kind
from layoutrand.objects.unique_names import section_name

OURS = ("_build/", "_temp/")
"""Where a capture keeps what the build made; everything else belongs to the system and is pinned."""

_WORTH_TELLING = 0.01
"""What share of the code must stay where it is to be told of."""

_C_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NO_UNITS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Object:
    """One relocatable object of a link: the captured ``file``, the ``member`` number in it (or None), its ELF.

    ``member_name`` is what the archive calls it, "" for a file of its own.
    """

    file: str
    member: int | None
    name: str
    ours: bool
    elf: elf.Elf
    member_name: str = ""


@dataclass(frozen=True)
class Candidate:
    """A placeable section that may turn up in the output: where it is, and its description."""

    object: int
    header: int
    section: Section


def objects(
    files: Mapping[str, bytes], pulled: Collection[str], units: Mapping[str, str] = _NO_UNITS, *, claims: bool = False
) -> list[Object]:
    """Every relocatable object among the captured files, in their order.

    ``pulled`` names the archive members (``path(member)``) that the link used; of archives that belong to the
    system only those are taken. ``units`` names the native objects of link-time optimisation: with any, the
    intermediate code they were made of is left out. Raises `FeatureUnsupported` for intermediate code where there are
    none and it matters: it is alone in its object, or the linker ``claims`` it, plugin at hand.
    """
    found: list[Object] = []
    names: dict[str, int] = {}
    for path, data in files.items():
        ours = path.startswith(OURS)
        if not ours and archive.is_archive(data) and not any(name.startswith(f"{path}(") for name in pulled):
            continue  # the C library's archives are large
        for member, display, content in _relocatable(path, data):
            if member is not None and not ours and display not in pulled:
                continue
            if is_bitcode(content):
                if member is not None and display not in pulled:
                    continue
                raise FeatureUnsupported(_claims_message(display.removeprefix("_build/")))
            source = elf.read(content, name=display)
            if source.kind != "ET_REL":
                continue
            if lto.is_intermediate(source):
                if units or (member is not None and display not in pulled):
                    continue
                if claims or lto.is_slim(source):
                    name = display.removeprefix("_build/")
                    raise FeatureUnsupported(_claims_message(name) if claims else slim_message(name))
            if path in units:  # all of one name count as one object
                found.append(Object(path, member, units[path], ours, source))
                continue
            name = f"temp({source.source_name() or '?'})" if path.startswith("_temp/") else display
            name = name.removeprefix("_build/")
            count = names.get(name, 0)
            names[name] = count + 1
            inside = "" if member is None else display[len(path) + 1 : -1]
            found.append(Object(path, member, f"{name}:{count}" if count else name, ours, source, inside))
    return found


def _relocatable(path: str, data: bytes) -> Iterator[tuple[int | None, str, bytes]]:
    """Member number, name and content of what may hold code in a captured file: ELF or LLVM's bitcode."""
    parts: list[tuple[int | None, str, bytes]] = [(None, path, data)]
    if archive.is_archive(data):
        parts = [(n, f"{path}({m.name})", m.content) for n, m in enumerate(archive.read(data, name=path).members)]
    yield from (part for part in parts if elf.is_elf(part[2]) or is_bitcode(part[2]))


def _claims_message(name: str) -> str:
    return (
        f"{name} holds link-time optimisation code, but what the link made of it was not seen, so its functions "
        "cannot be placed. Link through $CC or $CXX with the compiler that made it, and with lld if that is clang"
    )


def slim_message(name: str) -> str:
    """What to do about an object of gcc's that lld, say, cannot read."""
    return (
        f"{name} holds gcc's link-time optimisation code only, and this linker has no plugin that understands it. "
        "Choose toolchain gcc-lto, gcc, gcc-gold or gcc-mold, or compile with -ffat-lto-objects"
    )


def candidates(
    found: list[Object], *, data: bool = False, reserved: Reserved = NOTHING, archives: Archives = "built"
) -> list[Candidate]:
    """The code sections that can be placed, with ``data`` those of data too, numbered in link order.

    What a linker script names itself is ``reserved``: it is left alone. With ``archives`` "all" members of the system's
    archives may move as what was built may.
    """
    result: list[Candidate] = []
    seen: dict[tuple[str, str, str], int] = {}
    for number, item in enumerate(found):
        places = _placeable(item.elf, data=data)
        signatures = item.elf.group_signatures() if places else {}
        of = processors().get(item.elf.machine)
        size, align = (item.elf.sections[column].tolist() for column in ("size", "align"))
        for header, kind in places.items():
            name = item.elf.section_names[header]
            if not item.ours and of is not None and of.is_cut(item.elf.relocations(header)):
                continue  # the system's start files, which nobody here can compile again
            if reserved.pairs and reserved.holds(item.file, item.member_name, name):
                continue
            group = signatures.get(header, "")
            # Counted within its group: what else the object holds must not matter to it.
            key = (item.name, name, group)
            seen[key] = seen.get(key, -1) + 1
            described = Section(
                index=len(result),
                object=item.name,
                name=name,
                occurrence=seen[key],
                group=group,
                kind=kind,
                size=size[header],
                align=align[header],
                pinned=not item.ours and (archives != "all" or item.member is None),
            )
            result.append(Candidate(number, header, described))
    return result


def _placeable(source: elf.Elf, *, data: bool) -> dict[int, str]:
    """Header index and kind of each section that can be placed and holds anything."""
    sections = source.sections
    found: dict[int, str] = {}
    loaded = np.flatnonzero(((sections["flags"] & elf.SHF_ALLOC) != 0) & (sections["size"] > 0))
    columns = (column.tolist() for column in (loaded, sections["type"][loaded], sections["flags"][loaded]))
    for header, type_, flags in zip(*columns, strict=True):
        name = source.section_names[header]
        kind = code_kind(name, type_, flags)
        if kind is None and data:
            kind = data_kind(name, type_, flags)
        if kind is not None:
            found[header] = kind
    return found


def linker_sets(found: list[Object]) -> list[str]:
    """Sections of the build that C code can walk through (``__start_X`` ... ``__stop_X``) and that come in pieces.

    The order of the pieces means something to such code.
    """
    pieces: Counter[str] = Counter()
    for item in found:
        if item.ours:
            loaded = ((item.elf.sections["flags"] & elf.SHF_ALLOC) != 0) & (item.elf.sections["size"] > 0)
            pieces.update(item.elf.section_names[header] for header in np.flatnonzero(loaded).tolist())
    return sorted(name for name, count in pieces.items() if count > 1 and _C_NAME.fullmatch(name))


def renumber(found: list[Candidate], live: Collection[int]) -> list[Candidate]:
    """The candidates whose index is ``live``, numbered anew from 0."""
    kept = [candidate for candidate in found if candidate.section.index in live]
    return [
        item if item.section.index == index else replace(item, section=replace(item.section, index=index))
        for index, item in enumerate(kept)
    ]


def pinned_by_symbols(found: list[Object], chosen: list[Candidate], names: Collection[str]) -> list[Candidate]:
    """The candidates, pinned where a symbol in their section has one of the ``names``."""
    holding: set[tuple[int, int]] = set()
    for number in {candidate.object for candidate in chosen}:
        source = found[number].elf
        defined = np.flatnonzero(source.symbol_sections > 0)
        for row, name in zip(defined.tolist(), source.symbol_names(defined), strict=True):
            if name in names:
                holding.add((number, int(source.symbol_sections[row])))
    return [
        replace(each, section=replace(each.section, pinned=True)) if (each.object, each.header) in holding else each
        for each in chosen
    ]


def edited_files(
    files: Mapping[str, bytes], found: list[Object], chosen: list[Candidate], *, rename: bool
) -> Iterator[tuple[str, bytes]]:
    """The captured files that change when the chosen sections get their unique symbols (and names), one by one."""
    marks: dict[int, dict[int, edit.Mark]] = {}
    for candidate in chosen:
        section = candidate.section
        new_name = section_name(section.index, section.kind) if rename else None
        marks.setdefault(candidate.object, {})[candidate.header] = edit.Mark(section.index, new_name)
    members: dict[str, dict[int, bytes]] = {}
    for number, places in marks.items():
        item = found[number]
        content = edit.edit(item.elf.data, places, name=item.name)
        if item.member is None:
            yield item.file, content
        else:
            members.setdefault(item.file, {})[item.member] = content
    for path, contents in members.items():
        yield path, archive.write(archive.read(files[path], name=path), contents)


def staying(found: list[Object], chosen: list[Candidate]) -> CodeThatStays | None:
    """How much of the code is pinned in archives, and in which; None if so little that nobody need know."""
    code = [candidate for candidate in chosen if is_code(candidate.section.kind)]
    total = sum(candidate.section.size for candidate in code)
    sizes: Counter[str] = Counter()
    for candidate in code:
        item = found[candidate.object]
        if candidate.section.pinned and item.member is not None:
            sizes[item.file.rpartition("/")[2]] += candidate.section.size
    if sizes.total() < total * _WORTH_TELLING or not sizes:
        return None
    return CodeThatStays(sizes.total(), total, tuple(name for name, _ in sizes.most_common(3)))


def lumped(found: list[Object], chosen: list[Candidate]) -> list[str]:
    """Objects of the build whose plain .text holds several functions: compiled without section flags."""
    names = []
    for candidate in chosen:
        item = found[candidate.object]
        if candidate.section.name != ".text" or not item.ours:
            continue
        symbols = item.elf.symbols
        kind, binding = symbols["info"] & 0xF, symbols["info"] >> 4
        # Assembler may give its functions no type; what is local and has none is a label within one.
        functions = (kind == elf.STT_FUNC) | ((kind == elf.STT_NOTYPE) & (binding != elf.STB_LOCAL))
        functions &= symbols["value"] < candidate.section.size  # a label at the end, from which sizes are computed
        inside = np.flatnonzero((item.elf.symbol_sections == candidate.header) & functions)
        if len(np.unique(symbols["value"][inside])) > 1:  # and not one function with several names
            names.append(_told(item, inside[:1]))
    return names


def _told(item: Object, symbol: NDArray[np.intp]) -> str:
    """Its name; of an object of the driver's that names no source also what is in it."""
    if item.elf.source_name() or not item.file.startswith("_temp/"):
        return item.name
    return f"{item.name} with {item.elf.symbol_names(symbol)[0]}"
