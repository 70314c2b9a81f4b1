"""Text of programs on huge pages (``run.hugepages = "text"``): which programs can have it, and what proves it.

Linux gives huge pages to anonymous memory that asks for them, and to files only where file system and kernel happen to
(large folios; CONFIG_READ_ONLY_THP_FOR_FS), which nobody can ask for.  So the object that is loaded before the program
(`layoutrand.execute.memory_placement`) copies text to anonymous memory, which comes to lie at the same addresses.  A
huge page holds nothing else then, so text must have its huge pages to itself: that is for the linker to arrange.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from layoutrand.cache.contents import content_of, is_there
from layoutrand.config.config import Benchmark, Config
from layoutrand.errors import FeatureUnsupported, NoMeasurement
from layoutrand.host.huge_pages import huge_page_bytes, no_huge_pages
from layoutrand.model import Binary, Stored
from layoutrand.platform.regular_file import ANY, open_regular
from layoutrand.text.foreign_fields import plain

SETTING: Final = 'run.hugepages = "text"'

_HEADER: Final = struct.Struct("<16sH14xQ14xHH")  # what it is, its kind, where its segments are described, and how many
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_ELF64: Final = b"\x7fELF\x02\x01"
_LOAD, _INTERP = 1, 3
_EXECUTED, _WRITTEN = 1, 2
_ET_DYN: Final = 3
_MOST_SEGMENTS: Final = 1 << 10
_LINE: Final = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) \S+ \S+ \S+ \S+ *(.*)")
_HUGE: Final = re.compile(rb"AnonHugePages: *([0-9]{1,15}) kB")
_STEPS: Final = {
    "1": "something else lies within its huge pages",
    "2": "there was no room for a copy of it",
    "3": "the kernel knows no huge pages (madvise)",
    "4": "copied text may not be executed here (mprotect)",
    "5": "a copy of it could not be put into its place (mremap)",
    "6": "the program has more mapped text than is looked after",
}


@dataclass(frozen=True)
class Segments:
    """What of a file is mapped: pairs of first address and end, of text and of all else; and what kind of file it is.

    ``alignment`` is the largest that a segment asks for; a ``library`` is one that names no loader, and is moved as
    a whole to where that alignment lets it.
    """

    text: tuple[tuple[int, int], ...]
    other: tuple[tuple[int, int], ...]
    alignment: int
    library: bool
    movable: bool

    def obstacle(self, page: int) -> str:
        """Why its text cannot have huge pages of that many bytes to itself, or ""."""
        if not self.text:
            return "has no text that can be read and executed, and not written"
        if self.movable and self.alignment % page:
            return f"may lie anywhere, at no multiple of {page >> 20} MiB"
        for low, high in self.text:
            if any(begin < high // -page * -page and low // page * page < end for begin, end in self.other):
                return "has something else within the huge pages of its text"
        return ""


def read_segments(path: Path, page: int = os.sysconf("SC_PAGESIZE")) -> Segments | None:
    """What a program or library of 64 bits is mapped as; None for anything else, and where its tables are damaged."""
    with open_regular(path, largest=ANY) as file:
        return _segments(file, os.fstat(file.fileno()).st_size, page)


def _segments(file: BinaryIO, ends: int, page: int = os.sysconf("SC_PAGESIZE")) -> Segments | None:
    """The same of an open file that has so many bytes."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_ELF64):
        return None
    _, kind, at, size, count = _HEADER.unpack(header)
    if size != _SEGMENT.size or count > _MOST_SEGMENTS or at + size * count > ends:
        return None
    file.seek(at)
    table = file.read(size * count)
    if len(table) < size * count:  # somebody cut it off meanwhile
        return None
    rows = list(_SEGMENT.iter_unpack(table))
    loads = [row for row in rows if row[0] == _LOAD and row[6]]
    pages = [(row[1], (row[3] // page * page, (row[3] + row[6]) // -page * -page)) for row in loads]
    return Segments(
        text=tuple(place for rights, place in pages if rights & (_EXECUTED | _WRITTEN) == _EXECUTED),
        other=tuple(place for rights, place in pages if rights & (_EXECUTED | _WRITTEN) != _EXECUTED),
        alignment=max((row[7] for row in loads), default=0),
        library=not any(row[0] == _INTERP for row in rows),
        movable=kind == _ET_DYN,
    )


def check_text_pages(config: Config, benchmarks: Iterable[Benchmark], binaries: Sequence[Binary]) -> None:
    """Raise `FeatureUnsupported` where text would not come to lie on huge pages, as far as that is known before.

    Each binary of a program that is started is looked at, and each library beside it.
    """
    if config.run.hugepages != "text":
        return
    why, mend = no_huge_pages()
    page = huge_page_bytes()
    if why or page is None:
        raise FeatureUnsupported(f"{SETTING}: {why}; {mend}")
    by_artefact: dict[str, list[Binary]] = {}
    for binary in binaries:
        by_artefact.setdefault(binary.artefact, []).append(binary)
    for benchmark in benchmarks:
        if not any("{artefact}" in word for word in benchmark.command):
            raise FeatureUnsupported(
                f"benchmark {benchmark.name!r}: {SETTING} is for the text of what is built, and the command does not "
                "say by {artefact} what that is"
            )
        started = benchmark.artefact or next(iter(config.build.artefacts), "")
        for name in dict.fromkeys([started, *benchmark.needs(config.build)]):
            for binary in by_artefact.get(name, []):
                found = _segments_if_there(binary.stored)
                if found is None or (name != started and not found.library):
                    continue
                if problem := found.obstacle(page):
                    raise FeatureUnsupported(
                        f"benchmark {benchmark.name!r}: {SETTING} takes text that has its pages of {page >> 20} MiB "
                        f"to itself, and {name} of {binary.system} in layout {binary.layout} {problem}. Link it with "
                        f"-Wl,-z,max-page-size={page}: ldflags of the system, or of the build"
                    )


def _segments_if_there(stored: Stored) -> Segments | None:
    if not is_there(stored):  # which is told elsewhere
        return None
    if stored.base is None:
        return read_segments(stored.path)
    data = content_of(stored)
    return _segments(BytesIO(data), len(data))


@dataclass(frozen=True)
class TextMoved:
    """What one process said of the text of programs that it had mapped.

    ``texts`` has step that failed ("0" for none), begin, end and path of each; ``huge`` begin, end, and bytes in huge
    pages of what lies there by now.
    """

    texts: tuple[tuple[str, int, int, str], ...] = ()
    huge: tuple[tuple[int, int, int], ...] = ()

    def unproved(self) -> str:
        """What of it is not shown to lie on huge pages, or ""."""
        for step, begin, end, path in self.texts:
            name = PurePosixPath(path).name
            if step != "0":
                return f"text of {name} was not moved to huge pages: {_STEPS[step]}"
            lies = [(low, high, size) for low, high, size in self.huge if low <= begin and end <= high]
            if not lies or lies[0][2] != lies[0][1] - lies[0][0]:
                size = lies[0][2] if lies else 0
                return (
                    f"text of {name} lies on {size >> 10} KiB of huge pages, which are too few: the kernel had no more "
                    "(`layoutrand doctor` says what helps)"
                )
        return ""

    def names(self) -> Iterator[str]:
        """Paths of what had text."""
        return (path for _, _, _, path in self.texts)

    def sizes(self) -> Mapping[str, int]:
        """Bytes in huge pages, by the name of the file whose text lies there."""
        return {
            PurePosixPath(path).name: size
            for _, begin, end, path in self.texts
            for low, high, size in self.huge
            if low <= begin and end <= high
        }


def read_text_moved(texts: bytes, huge: bytes) -> TextMoved:
    """The two parts of a process's record that are about text; raises `NoMeasurement` for anything else."""
    moved = [(line[:1].decode("ascii", "replace"), _LINE.fullmatch(line[1:])) for line in texts.splitlines()]
    if any(step not in {"0", *_STEPS} or found is None for step, found in moved):
        raise NoMeasurement("a record has something else where mapped text should be")
    places: list[tuple[int, int, int]] = []
    for line in huge.splitlines():
        if line.startswith(b"m") and (found := _LINE.fullmatch(line[1:])):
            places.append((int(found[1], 16), int(found[2], 16), 0))
        elif line.startswith(b"h") and (size := _HUGE.fullmatch(line[1:])) and places:
            places[-1] = (*places[-1][:2], int(size[1]) << 10)
        else:
            raise NoMeasurement("a record has something else where huge pages should be")
    return TextMoved(
        tuple(
            (step, int(found[1], 16), int(found[2], 16), plain(found[3].decode("utf-8", "backslashreplace")))
            for step, found in moved
            if found
        ),
        tuple(places),
    )
