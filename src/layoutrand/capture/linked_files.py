"""What a build linked: the programs and shared libraries of its recorded links, as the build left them."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

from layoutrand.capture.cargo_messages import CargoExecutable, without_hash
from layoutrand.capture.records import LinkRecord
from layoutrand.config.toolchain import Toolchain
from layoutrand.errors import FeatureUnsupported
from layoutrand.linkers import linkline
from layoutrand.linkers.toolbox import builds_for, declared, shipped
from layoutrand.linkers.trials import is_of_a_trial
from layoutrand.objects import dynamic, elf
from layoutrand.objects.dynamic import Dynamic
from layoutrand.objects.known import processors
from layoutrand.platform.disk import cache_errors
from layoutrand.platform.regular_file import PROGRAM, beginning, content_of_regular
from layoutrand.text.name_lists import MOST_NAMED, joined_names

_ENOUGH_TO_TELL: Final = 64
_SEARCHED: Final = frozenset({"L", "library-path"})
_STATIC: Final = frozenset({"static", "Bstatic", "dn", "non_shared"})
_SHARED: Final = frozenset({"Bdynamic", "dy", "call_shared"})


@dataclass(frozen=True)
class LinkedFile:
    """A program or library that a recorded link made: its path in the tree, its linker, its bytes.

    ``needs`` are the paths of libraries of the same build that it loads, each by the name that it asks for.
    ``kind`` is what cargo calls it ("bin", "example", "bench", "test"), "" for what cargo said nothing of.
    ``is_unasked`` is said of a library that no other file of the build names: a plugin, or one for others to use.
    """

    path: str
    is_program: bool
    linker: str
    size: int
    needs: tuple[str, ...] = ()
    kind: str = ""
    is_unasked: bool = False


def linked_files(
    records: Sequence[LinkRecord], tree: Path, executables: Sequence[CargoExecutable] = ()
) -> list[LinkedFile]:
    """What recorded links made and the build left in its tree, in the order of the links; a file that is there once.

    Those of cargo's ``executables`` have the paths that cargo gives them.
    """
    known = {inside: each for each in executables if (inside := linkline.inside(each.path, str(tree))) is not None}
    linkers: dict[str, str] = {}
    for record in records:
        path = _where(record.output(), tree)
        if path is not None and not is_of_a_trial(record.output(), str(tree)):
            linkers.pop(path, None)  # what was linked again counts as it was linked last
            linkers[path] = record.linker
    parts: dict[str, tuple[bool, int, Dynamic]] = {}
    for path in linkers:
        data = content_of_regular(tree / path, largest=PROGRAM)
        with_kind = _is_program(data, path)
        if with_kind is not None:
            parts[path] = (with_kind, len(data), dynamic.read(data))
    for path in [path for path in known if path not in parts and is_elf_file(tree / path)]:
        origin = _copied(path, known[path].name, linkers, tree)
        if origin is not None:
            parts[path] = parts.pop(origin)
            linkers[path] = linkers[origin]
    libraries = {path: found for path, (is_program, _, found) in parts.items() if not is_program}
    asked = {name for _, _, found in parts.values() for name in found.needed}
    return [
        LinkedFile(
            path,
            is_program,
            linkers[path],
            size,
            tuple(_needs(found, libraries, tree)),
            known[path].kind if path in known else "",
            is_unasked=not is_program and (found.soname or posixpath.basename(path)) not in asked,
        )
        for path, (is_program, size, found) in parts.items()
    ]


def compilers_of(programs: Iterable[elf.Elf]) -> str:
    """What compilers call themselves in what they made, all together; "" where one of the files does not say."""
    told = [program.compilers() for program in programs]
    return "\n".join(told) if all(told) else ""


def compilers_of_files(paths: Iterable[Path]) -> str:
    """`compilers_of` programs and libraries; "" where one of them is none that is understood."""
    try:
        return compilers_of(elf.read(content_of_regular(path, largest=PROGRAM), name=path.name) for path in paths)
    except FeatureUnsupported:
        return ""


def give_names(artefacts: Sequence[str], executables: Sequence[CargoExecutable], tree: Path) -> None:
    """Make each artefact that cargo made under another hash, and under no other name, a hard link of that file.

    So ``target/release/deps/NAME`` is the benchmark NAME, with whatever flags it was built. Where several are of that
    name, it is not to be told which.
    """
    made = {inside for each in executables if (inside := linkline.inside(each.path, str(tree))) is not None}
    for artefact in artefacts:
        plain = without_hash(artefact)
        found = [path for path in made if without_hash(path) == plain]
        there = tree / artefact
        if artefact in made or len(found) != 1 or (artefact != plain and there.exists()):
            continue
        with cache_errors("write", there):
            there.unlink(missing_ok=True)  # of an earlier build in this place
            os.link(tree / found[0], there)


def _copied(path: str, name: str, linked: Iterable[str], tree: Path) -> str | None:
    """Which linked file cargo has copied to the path; only those of the target's name may have been."""
    stem = re.compile(rf"{re.escape(name.replace('-', '_'))}(?:-[0-9a-f]+)?")
    content = content_of_regular(tree / path, largest=PROGRAM)
    for origin in linked:
        called = posixpath.basename(origin).replace("-", "_", name.count("-"))
        if stem.fullmatch(called) and content_of_regular(tree / origin, largest=PROGRAM) == content:
            return origin
    return None


def left_in(outputs: Sequence[str], tree: Path) -> list[str]:
    """Paths in the tree of those outputs of links that are there, trials of configure steps left out."""
    there = [_where(output, tree) for output in outputs if not is_of_a_trial(output, str(tree))]
    return list(dict.fromkeys(path for path in there if path is not None and is_elf_file(tree / path)))


def linked_with(records: Iterable[LinkRecord], library: str, tree: Path) -> list[str]:
    """What links of the build made with this static library, by their command lines; paths as `left_in` has them."""
    wanted = os.path.realpath(tree / library)
    return left_in([record.output() for record in records if wanted in _archives(record)], tree)


def _archives(record: LinkRecord) -> Iterator[str]:
    """The files that a link line names, and what its ``-l`` stand for now, where they were static or found no other."""
    line = record.words()
    folders = [record.absolute(word.text) for word in line if word.option in _SEARCHED]
    is_static = False
    for word in line:
        if word.option in _STATIC or word.option in _SHARED:
            is_static = word.option in _STATIC
        elif word.kind == "input":
            yield os.path.realpath(record.absolute(word.text))
        elif word.kind == "library":
            names = [f"lib{word.text}.a"] if is_static else [f"lib{word.text}.so", f"lib{word.text}.a"]
            names = [word.text[1:]] if word.text.startswith(":") else names
            places = (posixpath.join(folder, name) for folder in folders for name in names)
            yield from (os.path.realpath(place) for place in itertools.islice(filter(os.path.exists, places), 1))


def likeliest_first(paths: Sequence[str], name: str) -> list[str]:
    """The paths, those first whose names are most like one that was not found; as they are where all are told.

    >>> likeliest_first(["src/ls", "src/sort", *(f"src/other{n}" for n in range(20))], "src/sortt")[0]
    'src/sort'
    """
    if len(paths) <= MOST_NAMED:
        return list(paths)
    wanted = posixpath.basename(name)
    return sorted(paths, key=lambda path: -SequenceMatcher(None, wanted, posixpath.basename(path)).ratio())


def of_another_machine(artefact: str, data: bytes, toolchain: Toolchain) -> str:
    """That the file, which begins with ``data``, is for another machine than the toolchain builds for; "" if not so."""
    machine, wanted = elf.machine_words(data), elf.words_of(builds_for(toolchain))
    if machine in ("", wanted):
        return ""
    cross = [each for each in (declared(name, Path()) for name in shipped()) if each.machine is not None]
    able = [each.name for each in cross if elf.words_of(builds_for(each)) == machine]
    if machine == elf.words_of(os.uname().machine):
        able = ["gcc", "clang", *able]
    if not able:
        known = sorted(each.words for each in processors().values())
        return f"{artefact} is for {machine}: layoutrand places and verifies code of {joined_names(known)} alone"
    return (
        f"{artefact} is for {machine}, and toolchain {toolchain.name!r} builds for {wanted}: does the build use the "
        f"compiler that it is to use ($CC)? For {machine} there are toolchains {', '.join(able)}"
    )


def first_bytes(path: Path) -> bytes:
    """As much of a file as tells what it is, see `beginning`."""
    return beginning(path, _ENOUGH_TO_TELL)


def is_elf_file(path: Path) -> bool:
    """Whether there is a regular file that begins as an ELF file does."""
    return elf.is_elf(first_bytes(path))


def _where(output: str, tree: Path) -> str | None:
    """The path in the tree by which the build's user knows an output; None for what is gone or elsewhere.

    Cargo links below ``deps``, and gives the file its name by a hard link in a directory above.
    """
    inside = linkline.inside(output, str(tree))
    try:
        info = os.lstat(output)
    except OSError:
        return None
    if inside is None or not stat.S_ISREG(info.st_mode):
        return None
    if info.st_nlink > 1:
        folder = posixpath.dirname(inside)
        while folder:
            folder = posixpath.dirname(folder)
            with os.scandir(tree / folder) as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False) and entry.inode() == info.st_ino:
                        return posixpath.join(folder, entry.name)
    return inside


def _is_program(data: bytes, path: str) -> bool | None:
    """Whether it is started and not loaded; None for what is neither, such as an object file."""
    try:
        found = elf.read(data, name=path)
        if found.kind == "ET_EXEC":
            return True
        if found.kind != "ET_DYN":
            return None
        if ".interp" in found.section_names and ".so" not in posixpath.basename(path):
            return True
    except FeatureUnsupported:  # of another machine, or 32 bits
        return None
    return not dynamic.read(data).soname and ".so" not in posixpath.basename(path)


def _needs(of: Dynamic, libraries: Mapping[str, Dynamic], tree: Path) -> Iterator[str]:
    for name, made in dynamic.unlisted(of, [], libraries):
        if path := by_name(name, made, tree):
            yield path


def by_name(name: str, made: str, tree: Path) -> str | None:
    """Where in ``tree`` the library that was linked as ``made`` is called ``name``, as programs ask for it.

    That is beside it for most; some builds keep such links in a directory of their own, as that of nettle does in .lib.
    """
    beside = posixpath.join(posixpath.dirname(made), name)
    if (tree / beside).exists():
        return beside
    library = os.path.realpath(tree / made)
    for directory, below, files in os.walk(tree):
        below.sort()
        path = os.path.join(directory, name)
        if name in files and os.path.realpath(path) == library:
            return os.path.relpath(path, tree)
    return None
