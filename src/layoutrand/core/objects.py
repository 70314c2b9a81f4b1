"""The objects of a captured link: which executable sections they hold, and copies in which each can be placed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from layoutrand.core import archive, elf, objedit
from layoutrand.core.order import classify
from layoutrand.errors import FeatureUnsupported
from layoutrand.model import Section

OURS = ("_build/", "_temp/")
"""Where a capture keeps what the build made; everything else belongs to the system and is pinned."""

_SHT_PROGBITS = 1
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


@dataclass(frozen=True)
class Object:
    """One relocatable object of a link: the captured ``file``, the ``member`` number in it (or None), its ELF."""

    file: str
    member: int | None
    name: str
    ours: bool
    elf: elf.Elf


@dataclass(frozen=True)
class Candidate:
    """An executable section that may turn up in the output: where it is, and its description."""

    object: int
    header: int
    section: Section


def objects(files: Mapping[str, bytes], pulled: Collection[str]) -> list[Object]:
    """Every relocatable object among the captured files, in their order.

    ``pulled`` names the archive members (``path(member)``) that the link used; of archives that belong to the
    system only those are taken. Raises `FeatureUnsupported` for LTO objects, which hold no code to place.
    """
    found: list[Object] = []
    names: dict[str, int] = {}
    for path, data in files.items():
        ours = path.startswith(OURS)
        for member, display, content in _relocatable(path, data):
            if member is not None and not ours and display not in pulled:
                continue
            if content[:4] in _BITCODE:
                raise FeatureUnsupported(_lto_message(display))
            source = elf.read(content, name=display)
            if source.kind != "ET_REL":
                continue
            _refuse_lto(source, display)
            name = f"temp({source.source_name() or '?'})" if path.startswith("_temp/") else display
            name = name.removeprefix("_build/")
            count = names.get(name, 0)
            names[name] = count + 1
            found.append(Object(path, member, f"{name}:{count}" if count else name, ours, source))
    return found


def _relocatable(path: str, data: bytes) -> Iterator[tuple[int | None, str, bytes]]:
    """Member number, name and content of what may hold code in a captured file: ELF or LLVM's bitcode."""
    parts: list[tuple[int | None, str, bytes]] = [(None, path, data)]
    if archive.is_archive(data):
        parts = [(n, f"{path}({m.name})", m.content) for n, m in enumerate(archive.read(data, name=path).members)]
    yield from (part for part in parts if elf.is_elf(part[2]) or part[2][:4] in _BITCODE)


def _refuse_lto(source: elf.Elf, name: str) -> None:
    if any(section.startswith(".gnu.lto_") for section in source.section_names):
        raise FeatureUnsupported(_lto_message(name))


def _lto_message(name: str) -> str:
    return (
        f"{name.removeprefix('_build/')} holds link-time optimisation code: its functions do not exist before the "
        "link, so this toolchain cannot place them. Build without -flto"
    )


def candidates(found: list[Object]) -> list[Candidate]:
    """The executable sections named .text or .text.* that hold code, numbered in link order."""
    result: list[Candidate] = []
    for number, item in enumerate(found):
        sections = item.elf.sections
        wanted = elf.SHF_ALLOC | elf.SHF_EXECINSTR
        which = np.flatnonzero(
            (sections["type"] == _SHT_PROGBITS) & ((sections["flags"] & wanted) == wanted) & (sections["size"] > 0)
        )
        signatures = item.elf.group_signatures() if len(which) else {}
        seen: dict[tuple[str, str], int] = {}
        for header in which.tolist():
            name = item.elf.section_names[header]
            if name != ".text" and not name.startswith(".text."):
                continue
            group = signatures.get(header, "")
            occurrence = seen.get((name, group), 0)  # in its group: what else the object holds must not matter to it
            seen[name, group] = occurrence + 1
            described = Section(
                index=len(result), object=item.name, name=name, occurrence=occurrence,
                group=group, kind=classify(name), size=int(sections[header]["size"]),
                align=int(sections[header]["align"]), pinned=not item.ours,
            )  # fmt: skip
            result.append(Candidate(number, header, described))
    return result


def renumber(found: list[Candidate], live: Collection[int]) -> list[Candidate]:
    """The candidates whose index is ``live``, numbered anew from 0."""
    kept = [candidate for candidate in found if candidate.section.index in live]
    return [replace(item, section=replace(item.section, index=index)) for index, item in enumerate(kept)]


def edited_files(
    files: Mapping[str, bytes], found: list[Object], chosen: list[Candidate], *, rename: bool
) -> dict[str, bytes]:
    """The captured files that change when the chosen sections get their unique symbols (and names)."""
    numbers: dict[int, dict[int, int]] = {}
    for candidate in chosen:
        numbers.setdefault(candidate.object, {})[candidate.header] = candidate.section.index
    changed: dict[str, bytes] = {}
    members: dict[str, dict[int, bytes]] = {}
    for number, places in numbers.items():
        item = found[number]
        content = objedit.edit(item.elf.data, places, rename=rename, name=item.name)
        if item.member is None:
            changed[item.file] = content
        else:
            members.setdefault(item.file, {})[item.member] = content
    for path, contents in members.items():
        changed[path] = archive.write(archive.read(files[path], name=path), contents)
    return changed


def lumped(found: list[Object], chosen: list[Candidate]) -> list[str]:
    """Objects of the build whose plain .text holds several functions: compiled without section flags."""
    names = []
    for candidate in chosen:
        item = found[candidate.object]
        if candidate.section.name != ".text" or not item.ours:
            continue
        symbols = item.elf.symbols
        inside = (item.elf.symbol_sections == candidate.header) & ((symbols["info"] & 0xF) == elf.STT_FUNC)
        if int(inside.sum()) > 1:
            names.append(item.name)
    return names
