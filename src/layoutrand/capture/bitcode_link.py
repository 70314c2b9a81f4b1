"""A recorded link of clang's bitcode by lld, made fit to be replayed; `layoutrand.capture.bitcode` says how."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layoutrand.capture import bitcode
from layoutrand.capture.bitcode import BitcodeMember, Module, Planner, Stub
from layoutrand.capture.native_code import Replay
from layoutrand.capture.records import LinkRecord
from layoutrand.errors import FeatureUnsupported
from layoutrand.link import lto
from layoutrand.linkers import linkline
from layoutrand.linkers.linkline import Word
from layoutrand.objects import archive, elf
from layoutrand.platform.disk import cache_errors
from layoutrand.platform.process import Runner, find_tool

_OBJECT_PATH = ("lto-obj-path", "plugin-opt")
_FAT = "fat-lto-objects"
DEFINED_FIRST = 15
"""The first major version of lld that meets the symbols that a module defines before the others."""


@dataclass(frozen=True)
class _Part:
    """A piece of bitcode in the link: the file, the number and name of the archive member, and the bitcode."""

    path: str
    member: int | None
    display: str
    data: bytes


@dataclass(frozen=True)
class Reader:
    """How to get at files and their symbols.

    ``content`` gives what is at an absolute path (thin archives made whole), None for nothing; ``name`` is what a
    capture calls the path; ``nm`` lists the symbols of bitcode; ``defined_first`` as in `bitcode.Planner`.
    """

    content: Callable[[str], bytes | None]
    name: Callable[[str], str]
    nm: Path
    runner: Runner
    defined_first: bool


def find_nm(compiler: Path, given: Path | None) -> Path:
    """llvm-nm of the compiler's version: the toolchain's own, else the one that is found beside the compiler."""
    if given is not None and "llvm" in given.name:
        return given
    suffix = compiler.name.removeprefix("clang")
    beside = os.pathsep.join([str(compiler.resolve().parent), os.environ.get("PATH", os.defpath)])
    names = [f"llvm-nm{suffix}", "llvm-nm"]
    names.sort(key=lambda name: shutil.which(name, path=beside) is None)
    return find_tool(names, path=beside, purpose="the lister of bitcode's symbols")


def with_stubs(record: LinkRecord, line: Sequence[Word], native: lto.Native, reader: Reader) -> Replay:
    """The recorded line with stubs in place of bitcode, and the native objects behind everything else."""
    if any(word.option in _OBJECT_PATH and "obj-path" in word.before + word.text for word in line):
        raise FeatureUnsupported(
            f"{record.output()} is linked with --lto-obj-path, which the capture of link-time optimisation needs for "
            "itself"
        )
    kept = record.inputs()

    def content(path: str) -> bytes | None:
        return kept[path] if path in kept else reader.content(path)

    words = [_as_file(word, line, record.cwd, content) for word in linkline.replayable(line, keep_symbols=False)]
    fat = any(word.option == _FAT for word in words)
    words = [word for word in words if word.option != _FAT]
    extracted = [tuple(_absolute_member(name, record.cwd) for name in row) for row in native.extracted]
    link = _Link(record, [(row[0], row[1]) for row in extracted], words, content)
    parts = [part for path in link.contents for part in _parts(path, link.contents[path], fat=fat)]
    linked = [part for part in parts if link.uses(part)]
    listed = zip(linked, _symbols(record, linked, reader), strict=True)
    modules = [Module(_module_name(part, reader), bitcode.read_symbols(listing)) for part, listing in listed]
    objects = [elf.read(data, name="a native object") for data in native.objects]
    plain = set(link.plain_symbols(parts))
    planner = Planner(modules, objects, plain, defined_first=reader.defined_first)
    numbers = {(part.path, part.member): number for number, part in enumerate(linked)}
    stubs = {where: planner.stub(number) for where, number in numbers.items()}
    files = link.replaced(parts, stubs, objects[0])
    named: dict[str, str] = {}
    new_words: list[Word] = []
    folder = record.path / "lto"

    def add(name: str, data: bytes) -> Word:
        path = str(folder / name)
        files[path], named[path] = data, f"{lto.FOLDER}/{name}"
        return Word("input", "", "", False, path)

    ahead = {
        path: add(f"archive{number:05d}.o", bitcode.write_stub(stub, objects[0]))
        for number, (path, stub) in enumerate(link.ahead_of_archives(planner, modules, numbers).items())
    }
    for word in words:
        path = record.absolute(word.text)
        new_words += [ahead.pop(path), word] if word.kind == "input" and path in ahead else [word]
    for number, source in enumerate(objects):
        new_words.append(add(f"asking{number:05d}.o", bitcode.write_stub(bitcode.asking(source), source)))
        new_words.append(add(f"{number:05d}.o", bitcode.without_comdats(source, plain)))
    _write({path: files[path] for path in named})
    return Replay(
        line=tuple(new_words),
        kept=kept | files,
        names=named,
        division=native.partitioning,
        natives={name: files[path] for path, name in named.items() if name in native.files()},
        owners=bitcode.owners(modules),
    )


class _Link:
    """The files of a link: ``contents`` by absolute path, and which archive members it used."""

    def __init__(
        self,
        record: LinkRecord,
        extracted: Sequence[tuple[str, str]],
        words: Sequence[Word],
        content: Callable[[str], bytes | None],
    ) -> None:
        """Read every file that is named, and archives found by ``-l`` of which members were used."""
        paths = dict.fromkeys(record.absolute(word.text) for word in words if word.kind == "input")
        paths |= dict.fromkeys(name.rpartition("(")[0] for _, name in extracted)
        self.contents = {path: data for path in paths if (data := content(path)) is not None}
        self._extracted = extracted
        self._used = {name for _, name in extracted}
        self._whole = set(_whole_archives(words, record.cwd))

    def uses(self, part: _Part) -> bool:
        """Whether the part is an object of the line or a member that was used."""
        return part.member is None or part.display in self._used or part.path in self._whole

    def plain_symbols(self, parts: Sequence[_Part]) -> Iterator[str]:
        """Global symbols of the objects with machine code that the link used, archive members among them."""
        ours = {(part.path, part.member) for part in parts}
        for path, data in self.contents.items():
            for number, display, part in _inside(path, data):
                if (path, number) in ours or not elf.is_elf(part) or (number is not None and display not in self._used):
                    continue
                source = elf.read(part, name=display)
                if source.kind == "ET_REL":
                    yield from bitcode.global_names(source)

    def replaced(
        self, parts: Sequence[_Part], stubs: Mapping[tuple[str, int | None], Stub], like: elf.Elf
    ) -> dict[str, bytes]:
        """The files that hold bitcode, with stubs in its place; members that were not used become empty."""
        files: dict[str, bytes] = {}
        members: dict[str, dict[int, bytes]] = {}
        for part in parts:
            text = bitcode.write_stub(stubs.get((part.path, part.member), Stub(())), like)
            if part.member is None:
                files[part.path] = text
            else:
                members.setdefault(part.path, {})[part.member] = text
        for path, changed in members.items():
            files[path] = archive.write(archive.read(self.contents[path], name=path), changed)
        return files

    def ahead_of_archives(
        self, planner: Planner, modules: Sequence[Module], numbers: Mapping[tuple[str, int | None], int]
    ) -> dict[str, Stub]:
        """What stands ahead of each archive of which members with bitcode were pulled in."""
        made = {}
        pulled = bitcode.extractions(self._extracted)
        for path in dict.fromkeys(path for path, member in numbers if member is not None and path not in self._whole):
            members = []
            for place, display, part in _inside(path, self.contents[path]):
                number = numbers.get((path, place))
                offers: tuple[str, ...] = ()
                if number is not None:
                    offers = tuple(symbol.name for symbol in modules[number].symbols if symbol.defined)
                elif display in self._used and elf.is_elf(part):
                    offers = tuple(bitcode.global_names(elf.read(part, name=display), defined=True))
                members.append(BitcodeMember(display, offers, number))
            made[path] = planner.ahead(members, pulled)
        return made


def _whole_archives(words: Sequence[Word], cwd: str) -> Iterator[str]:
    """Inputs that stand where archives are taken whole."""
    whole = False
    saved: list[bool] = []
    for word in words:
        if word.option in ("whole-archive", "no-whole-archive"):
            whole = word.option == "whole-archive"
        elif word.option == "push-state":
            saved.append(whole)
        elif word.option == "pop-state" and saved:
            whole = saved.pop()
        elif word.kind == "input" and whole:
            yield linkline.absolute(word.text, cwd)


def _as_file(word: Word, line: Sequence[Word], cwd: str, content: Callable[[str], bytes | None]) -> Word:
    """A library that is found to be an archive with bitcode becomes an input named by its path; others stay.

    Found like lld does: the first of the directories that has it, shared before static.
    """
    if word.kind != "library" or word.text.startswith(":"):
        return word
    for directory in (each.text for each in line if each.kind == "directory" and each.option != "rpath-link"):
        path = linkline.absolute(f"{directory}/lib{word.text}", cwd)
        data = content(f"{path}.a")
        if os.path.exists(f"{path}.so") and not _only_static(word, line):
            return word
        if data is not None:
            named = replace(word, kind="input", option="", before="", joined=False, text=f"{path}.a")
            return named if any(_parts(path, data, fat=False)) else word
    return word


def _only_static(word: Word, line: Sequence[Word]) -> bool:
    static = False
    for each in line:
        if each is word:
            return static
        if each.option in ("Bstatic", "static", "dn", "non_shared"):
            static = True
        elif each.option in ("Bdynamic", "dy", "call_shared"):
            static = False
    return static


def _inside(path: str, data: bytes) -> Iterator[tuple[int | None, str, bytes]]:
    """The members of an archive, or the file itself: number, name and content."""
    if not archive.is_archive(data):
        yield None, path, data
        return
    for number, member in enumerate(archive.read(data, name=path).members):
        yield number, f"{path}({member.name})", member.content


def _parts(path: str, data: bytes, *, fat: bool) -> Iterator[_Part]:
    """The pieces of bitcode in a file; with ``fat`` also those beside machine code."""
    for number, display, part in _inside(path, data):
        code = part if bitcode.is_bitcode(part) else bitcode.fat_part(part) if fat else None
        if code is not None:
            yield _Part(path, number, display, code)


def _symbols(record: LinkRecord, parts: Sequence[_Part], reader: Reader) -> list[str]:
    """What llvm-nm prints of each piece."""
    folder = record.path / "lto"
    files = [folder / f"{number:05d}.bc" for number in range(len(parts))]
    _write({str(path): part.data for path, part in zip(files, parts, strict=True)})
    listings = []
    env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    for path, part in zip(files, parts, strict=True):
        done = reader.runner.run([str(reader.nm), "--no-sort", str(path)], cwd=folder, env=env)
        if done.returncode != 0:
            raise FeatureUnsupported(f"{reader.nm} cannot read the bitcode in {part.display}: {done.text().strip()}")
        listings.append(done.stdout.decode("utf-8", "surrogateescape"))
    return listings


def _module_name(part: _Part, reader: Reader) -> str:
    member = part.display.removeprefix(part.path)
    return reader.name(part.path).removeprefix("_build/") + member


def _absolute_member(display: str, cwd: str) -> str:
    path, bracket, member = display.rpartition("(")
    return linkline.absolute(path, cwd) + bracket + member if bracket else linkline.absolute(display, cwd)


def _write(files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        with cache_errors("write", Path(path)):
            Path(path).write_bytes(data)
