"""Which functions differ between two captures: by their contents, whatever file or place they are in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.capture.collect import TEMPORARY
from layoutrand.capture.objects import OURS
from layoutrand.link.codecheck import placed_addresses
from layoutrand.model import Section
from layoutrand.objects import archive, elf
from layoutrand.objects.kinds import CODE_KINDS, PLAIN, is_code, is_function_section
from layoutrand.objects.section_contents import section_contents
from layoutrand.text.mangled import mangled

_Key = tuple[str, str, str, int]
"""Object, section, COMDAT group and occurrence: what a section is called in both captures."""

_MOST_READABLE: Final = 100
_SKIPPED: Final = elf.SHF_EXECINSTR


@dataclass(frozen=True)
class ChangedFunction:
    """A function, or the code of an object that is not told apart by functions, and its bytes before and after.

    ``before`` is None for one that was added, ``after`` for one that was removed; ``readable`` is what its programming
    language calls the symbol ``name``, "" where that is not known.
    """

    name: str
    before: int | None
    after: int | None
    readable: str = ""

    @property
    def shown(self) -> str:
        """The name for people."""
        return self.readable or self.name


@dataclass(frozen=True)
class FunctionChanges:
    """How the code of one artefact differs between two captures, largest changes first in each list.

    ``unchanged`` counts the functions that both have, with equal content; ``data`` names the objects whose constants or
    variables differ, and ``system`` the files of the system (start files, libraries) that do.
    """

    artefact: str
    differ: tuple[ChangedFunction, ...]
    added: tuple[ChangedFunction, ...]
    removed: tuple[ChangedFunction, ...]
    unchanged: int
    data: tuple[str, ...]
    system: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it differs."""
        return not (self.differ or self.added or self.removed or self.data or self.system)


def named_readably(
    changes: Sequence[FunctionChanges], readable: Callable[[Sequence[str]], Mapping[str, str]]
) -> list[FunctionChanges]:
    """The same, in which the first functions of each list, which people are shown, have names for people.

    ``readable`` maps symbols (`mangled`) to what their programming language calls them.
    """
    lists = [functions for each in changes for functions in (each.differ, each.added, each.removed)]
    symbols = mangled(f.name for functions in lists for f in functions[:_MOST_READABLE])
    known = readable(list(dict.fromkeys(symbols)))

    def named(functions: Sequence[ChangedFunction]) -> tuple[ChangedFunction, ...]:
        return tuple(replace(each, readable=known.get(each.name, "")) for each in functions)

    return [
        replace(each, differ=named(each.differ), added=named(each.added), removed=named(each.removed))
        for each in changes
    ]


def function_changes(folders: tuple[Path, Path], captures: tuple[Capture, Capture]) -> list[FunctionChanges]:
    """What differs, for each artefact that both captures have; ``folders`` are where the two lie in the cache.

    An object that is the same file in both is not looked into.
    """
    names = [link.artefact for link in captures[0].links]
    found = []
    for number, link in enumerate(captures[1].links):
        if link.artefact not in names:
            continue
        other = names.index(link.artefact)
        sides = _Side(folders[0] / str(other), captures[0].links[other]), _Side(folders[1] / str(number), link)
        found.append(_compared(*sides))
    return found


@dataclass(frozen=True)
class _Side:
    """One captured link, and its directory in the cache."""

    folder: Path
    link: CapturedLink

    def differing(self, other: _Side) -> list[str]:
        """Files that the other has not, or with another content."""
        return [name for name, digest in self.link.files.items() if other.link.files.get(name) != digest]


@dataclass
class _Contents:
    """Section -> digest, of code that differs in some way; object -> digest of its data."""

    code: dict[_Key, bytes]
    data: dict[str, bytes]


def _compared(old: _Side, new: _Side) -> FunctionChanges:
    files = old.differing(new), new.differing(old)
    before, after = _contents(old, files[0]), _contents(new, files[1])
    tables = _by_key(old.link.sections), _by_key(new.link.sections)
    keys = _functions(tables[0]), _functions(tables[1])
    alike = {
        key
        for key in keys[0].keys() & keys[1].keys()
        if before.code.get(key) == after.code.get(key) and (key in before.code) == (key in after.code)
    }
    left = {key: tables[0][key] for key in keys[0] if key not in alike}
    right = {key: tables[1][key] for key in keys[1] if key not in alike}
    moved = _moved(left, right, before, after)
    sizes = _sizes(left, set(moved)), _sizes(right, set(moved.values()))
    changed = [ChangedFunction(name, sizes[0].get(name), sizes[1].get(name)) for name in {**sizes[0], **sizes[1]}]
    changed.sort(key=lambda each: (-abs((each.after or 0) - (each.before or 0)), each.name))
    objects = before.data.keys() | after.data.keys()
    differing = {name for name in objects if before.data.get(name, b"") != after.data.get(name, b"")}
    return FunctionChanges(
        artefact=new.link.artefact,
        differ=tuple(each for each in changed if each.before is not None and each.after is not None),
        added=tuple(each for each in changed if each.before is None),
        removed=tuple(each for each in changed if each.after is None),
        unchanged=len({_name(tables[0][key]) for key in (*alike, *moved)} - sizes[0].keys() - sizes[1].keys()),
        data=tuple(sorted(differing)),
        system=tuple(sorted(name for name in {*files[0], *files[1]} if not _is_ours(name))),
    )


def _is_ours(file: str) -> bool:
    return file.startswith(OURS)


def _by_key(sections: Sequence[Section]) -> dict[_Key, Section]:
    return {(each.object, each.name, each.group, each.occurrence): each for each in sections}


def _functions(table: Mapping[_Key, Section]) -> dict[_Key, Section]:
    return {key: each for key, each in table.items() if is_code(each.kind) and not each.pinned}


def _moved(
    left: Mapping[_Key, Section], right: Mapping[_Key, Section], before: _Contents, after: _Contents
) -> dict[_Key, _Key]:
    """Functions that are in another object by now, and are the same."""
    places: dict[tuple[str, bytes], list[_Key]] = {}
    for key, section in right.items():
        if key not in left and key in after.code:
            places.setdefault((section.name, after.code[key]), []).append(key)
    found = {}
    for key, section in left.items():
        if key not in right and key in before.code and (there := places.get((section.name, before.code[key]))):
            found[key] = there.pop()
    return found


def _sizes(sections: Mapping[_Key, Section], without: set[_Key]) -> dict[str, int]:
    """Name -> bytes, with what the compiler split off from a function, such as its cold part, counted to it."""
    found: dict[str, int] = {}
    for key, section in sections.items():
        if key not in without:
            found[_name(section)] = found.get(_name(section), 0) + section.size
    return found


def _name(section: Section) -> str:
    """The function's name; of code that is not told apart by functions the object's."""
    if not is_function_section(section.name):
        return f"code of {section.object}"
    rest = section.name.removeprefix(".text.")
    for prefix in sorted(CODE_KINDS - {PLAIN}):
        rest = rest.removeprefix(f"{prefix}.")
    return rest.removesuffix(".cold") or section.name


def _contents(side: _Side, files: Sequence[str]) -> _Contents:
    """What the named files hold."""
    found = _Contents({}, {})
    sections = side.link.sections
    for file in files:
        if not _is_ours(file):
            continue
        where = "edited" if file in side.link.edited else "root"
        for display, source in _objects(side.folder / where / file, file):
            numbers, _, homes = placed_addresses(source)
            marks = dict(zip(homes.tolist(), numbers.tolist(), strict=True))
            names = {header: sections[number].name for header, number in marks.items()}
            code = {header: number for header, number in marks.items() if is_code(sections[number].kind)}
            for header, digest in section_contents(source, code, names).items():
                section = sections[code[header]]
                found.code[section.object, section.name, section.group, section.occurrence] = digest
            # Several objects may be of sources of one name.
            found.data[display] = found.data.get(display, b"") + _data(source, names)
    return found


def _objects(path: Path, file: str) -> Iterator[tuple[str, elf.Elf]]:
    """The objects in a captured file, with names for people.

    A temporary one, of a compiler that links at once, is called as its source: its own name is a number, which is
    another one where a source comes or goes.
    """
    data = path.read_bytes()
    short = file.removeprefix("_build/")
    parts = [(short, data)]
    if archive.is_archive(data):
        parts = [(f"{short}({each.name})", each.content) for each in archive.read(data, name=file).members]
    for name, content in parts:
        if elf.is_elf(content):
            source = elf.read(content, name=name)
            if source.kind == "ET_REL" and source.symbol_table is not None:
                yield (source.source_name() if file.startswith(TEMPORARY) else "") or name, source


def _data(source: elf.Elf, names: Mapping[int, str]) -> bytes:
    """A digest of the constants and variables of an object, in whatever order they stand; b"" where it has none."""
    flags = source.sections["flags"]
    loaded = np.flatnonzero(((flags & elf.SHF_ALLOC) != 0) & ((flags & _SKIPPED) == 0) & (source.sections["size"] > 0))
    wanted = [
        header
        for header in loaded.tolist()
        if not source.section_names[header].startswith((".eh_frame", ".note", ".gcc_except_table"))
    ]
    rows = section_contents(source, wanted, names)
    if not rows:
        return b""
    called = {header: names.get(header, source.section_names[header]) for header in rows}
    digest = hashlib.blake2b(digest_size=16)
    for name, content in sorted((called[header], rows[header]) for header in rows):
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0" + content)
    return digest.digest()
