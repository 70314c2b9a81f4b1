"""Where everything in a linked file goes when its code, or whatever else is placed, has another size.

What a linker does then is known for two of them.  GNU ld gives code pages of its own, so that what follows is moved by
whole pages.  lld lets the file go on without a gap, and so moves what follows to the address that fits its place in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.skeleton import PADDING, PF_X, PT_GNU_RELRO, PT_LOAD, SECTIONS_AT, Skeleton

_COMMON_PAGE: Final = 4096
_WORD: Final = 8


@dataclass(frozen=True)
class Content:
    """How much pieces take of a section, and what its end may be aligned to: one of the ``tails``."""

    size: int
    tails: tuple[int, ...]


def resized(old: Skeleton, contents: Mapping[int, Content]) -> Skeleton:
    """The tables of a file whose homes have these contents.

    Raises `NotPermuted` where what follows them is not understood.
    """
    sections = old.sections.copy()
    moved = _Moved(old, sections, contents)
    moved.size(old.homes[0])
    if old.linker == "lld":
        sections_at = moved.by_lld()
    else:
        sections_at = moved.by_gnu() if old.homes == (old.code,) else moved.all_by_gnu()
    header = old.header[: SECTIONS_AT.start] + sections_at.to_bytes(8, "little") + old.header[SECTIONS_AT.stop :]
    found = Skeleton(header, old.segments.copy(), sections, old.names, old.code, old.homes, old.linker)
    _stretch(old, found)
    return found


@dataclass
class _Moved:
    """Placing what follows the first home, in tables that are changed."""

    old: Skeleton
    sections: NDArray[np.void]
    contents: Mapping[int, Content]

    def _behind(self) -> Iterator[int]:
        yield from range(self.old.homes[0] + 1, len(self.sections))

    def size(self, number: int) -> int:
        """The size of a section that has its address."""
        if (content := self.contents.get(number)) is not None:
            begin = int(self.sections["addr"][number])
            ends = {elf.rounded(begin + content.size, step) for step in content.tails}
            if len(ends) > 1:
                what = "its code" if number == self.old.code else self.old.names[number]
                raise NotPermuted(f"what the end of {what} is aligned to cannot be told")
            self.sections["size"][number] = ends.pop() - begin
        return int(self.sections["size"][number])

    def by_gnu(self) -> int:
        """Place as GNU ld does; where the sections' table is then."""
        old, sections = self.old, self.sections
        row = old.segment_of(old.code)
        if row < 0:
            raise NotPermuted("its code lies in no loaded segment")
        page = int(old.segments[row]["align"])
        code = sections[old.code]
        dot = int(code["addr"]) + int(code["size"])
        inside = [number for number in self._behind() if number in old.covered[row]]
        for number in inside:
            at = elf.rounded(dot, int(sections["align"][number]))
            sections["addr"][number] = at
            sections["offset"][number] = int(code["offset"]) + at - int(code["addr"])
            dot = at + int(sections["size"][number])
        old_end = int(old.ends[inside[-1] if inside else old.code])
        following = [number for number in self._behind() if number not in inside]
        first = next((number for number in following if old.loaded[number]), None)
        own_pages = first is None or int(old.sections["addr"][first]) == elf.rounded(old_end, page)
        if not own_pages:
            return self.all_by_gnu()  # -z noseparate-code
        shift = elf.rounded(dot, page) - elf.rounded(old_end, page) if own_pages else 0
        for number in following:
            for name in ("offset", "addr") if old.loaded[number] else ("offset",):
                sections[name][number] = int(sections[name][number]) + shift  # to lower places, too
        return old.sections_at + shift

    def all_by_gnu(self) -> int:
        """Place as GNU ld does where data is placed, too, and so the end of what is made read-only moves."""
        old, sections = self.old, self.sections
        begins = old.begins_segment()
        first = old.homes[0]
        dot = int(sections["addr"][first]) + int(sections["size"][first])
        place = int(sections["offset"][first]) + int(sections["size"][first])
        protected, slack = self._protected()
        numbers = [number for number in self._behind() if old.loaded[number]]
        for at, number in enumerate(numbers):
            begun = begins.get(number)
            if number == protected[0]:
                dot = self._begin_of_protected(numbers[at:], protected, slack, dot)
            elif begun is not None and number not in protected:
                dot = elf.rounded(dot, int(old.segments[begun]["align"]))
            elif number == protected[-1] + 1:
                dot = self._end_of_protected(dot, slack)
            dot, where = self._placed(number, dot)
            stored = int(sections["type"][number]) != elf.SHT_NOBITS
            if begun is not None or number == protected[0]:
                place += (where - place) % _COMMON_PAGE
                first = number
            elif stored:
                place = int(sections["offset"][first]) + where - int(sections["addr"][first])
            sections["offset"][number] = place
            place += int(sections["size"][number]) if stored else 0
        for number in self._behind():
            if not old.loaded[number]:
                place = elf.rounded(place, int(sections["align"][number]))
                sections["offset"][number] = place
                place += int(old.stored[number])
        return elf.rounded(place, _WORD)

    def _placed(self, number: int, dot: int) -> tuple[int, int]:
        """Give a section the next address; where the next one may begin, and that."""
        at = elf.rounded(dot, int(self.sections["align"][number]))
        self.sections["addr"][number] = at
        return (at if self.old.beside[number] else at + self.size(number)), at  # zeroes of each thread are aligned, too

    def _protected(self) -> tuple[list[int], int]:
        """The sections that are made read-only after the start, and by how much the next one is, too."""
        old = self.old
        row = np.flatnonzero(old.segments["type"] == PT_GNU_RELRO)
        if not len(row):
            raise NotPermuted("where its data begins is not understood (-z norelro)")
        covered = [number for number in old.covered[int(row[0])] if not old.beside[number]]
        begin = int(old.segments["vaddr"][row[0]])
        end = begin + int(old.segments["memsz"][row[0]])
        among = list(range(covered[0], covered[-1] + 1)) if covered else []
        if not covered or end % _COMMON_PAGE or covered != [number for number in among if not old.beside[number]]:
            raise NotPermuted("what of its data is made read-only is not understood")
        while old.beside[among[0] - 1] and int(old.sections["addr"][among[0] - 1]) >= begin:
            among.insert(0, among[0] - 1)  # zeroes of each thread alone begin it
        covered = among
        following = covered[-1] + 1
        if following >= len(old.sections) or not old.loaded[following]:
            return covered, 0
        return covered, max(end - int(old.sections["addr"][following]), 0)

    def _begin_of_protected(self, numbers: list[int], protected: list[int], slack: int, dot: int) -> int:
        """Where these sections begin, so that they end with a page: lang_size_relro_segment of GNU ld."""
        lowest = elf.rounded(dot, _COMMON_PAGE)
        dot = lowest + dot % _COMMON_PAGE
        ends = dot
        for number in protected:
            ends, _ = self._placed(number, ends)
        wanted = elf.rounded(ends + slack, _COMMON_PAGE) - slack
        for number in reversed(protected):
            begin = int(self.sections["addr"][number])
            end = begin if self.old.beside[number] else begin + self.size(number)
            step = max(int(self.sections["align"][number]), 1)
            wanted = (begin + wanted - end) // step * step
        if wanted < dot or max(int(self.sections["align"][number]) for number in numbers) > _COMMON_PAGE:
            raise NotPermuted("where its data begins is not understood")
        return wanted - _COMMON_PAGE if wanted - _COMMON_PAGE >= lowest else wanted

    @staticmethod
    def _end_of_protected(dot: int, slack: int) -> int:
        return elf.rounded(dot + slack, _COMMON_PAGE) - slack

    def by_lld(self) -> int:
        """Place as lld does; where the sections' table is then."""
        old, sections = self.old, self.sections
        begins = old.begins_segment()
        first = old.homes[0]
        dot = int(sections["addr"][first]) + int(sections["size"][first])
        place = int(sections["offset"][first]) + int(sections["size"][first])
        last_code, code_page = self._last_code_of_lld()
        storage = next(iter(np.flatnonzero(sections["flags"] & elf.SHF_TLS != 0).tolist()), -1)
        if first == last_code:
            place = elf.rounded(place, code_page)
        for number in self._behind():
            row = sections[number]
            align, stored = int(row["align"]), int(row["type"]) != elf.SHT_NOBITS
            if not old.loaded[number]:
                place = elf.rounded(place, align)
                sections["offset"][number] = place
                place += int(row["size"]) if stored else 0
                continue
            begun = begins.get(number)
            if begun is not None:
                page = int(old.segments[begun]["align"])
                into = 0 if begun in old.on_own_pages else dot % page
                at = elf.rounded(elf.rounded(dot, page) + into, align)
                place += (at - place) % page
                first = number
            else:
                at = elf.rounded(dot, align)
                if stored:
                    place = int(sections["offset"][first]) + at - int(sections["addr"][first])
                elif number == storage:
                    place = elf.rounded(place, align)
            sections["addr"][number] = at
            sections["offset"][number] = place
            if old.names[number] == PADDING:
                # What follows has the next page's address at the same place of the page.
                sections["size"][number] = elf.rounded(at, _COMMON_PAGE) - at
                continue
            size = self.size(number)
            if not (int(row["flags"]) & elf.SHF_TLS and not stored):
                dot = at + size
            place += size if stored else 0
            if number == last_code:
                place = elf.rounded(place, code_page)
        return elf.rounded(place, _WORD)

    def _last_code_of_lld(self) -> tuple[int, int]:
        """The last section of code, where lld fills the rest of its page, and that page's size; else -1.

        What has no place in a segment follows in the file behind that page: zeroes of each thread with no content
        ahead of them, and what is not loaded.
        """
        old = self.old
        rows = np.flatnonzero((old.segments["type"] == PT_LOAD) & (old.segments["flags"] & PF_X != 0)).tolist()
        if not old.on_own_pages or not rows or not old.covered[rows[-1]]:
            return -1, 1
        return old.covered[rows[-1]][-1], int(old.segments["align"][rows[-1]])


def _stretch(old: Skeleton, new: Skeleton) -> None:
    """Give the new file's segments the places of their sections."""
    for number, row in enumerate(old.segments):
        covered = old.covered[number]
        if not covered:
            continue
        first, last = covered[0], covered[-1]
        if int(row["vaddr"]) == int(old.sections["addr"][first]):
            for name, of in (("vaddr", "addr"), ("paddr", "addr"), ("offset", "offset")):
                new.segments[name][number] = (
                    int(row[name]) + int(new.sections[of][first]) - int(old.sections[of][first])
                )
        in_memory, in_file = (_extent(each, covered) for each in (new, old))
        new.segments["memsz"][number] = int(row["memsz"]) + in_memory[0] - in_file[0]
        new.segments["filesz"][number] = int(row["filesz"]) + in_memory[1] - in_file[1]
        if int(row["type"]) == PT_GNU_RELRO and old.linker == "gnu":
            following = last + 1  # the begin of that is in it, too
            dot, size = int(new.ends[last]), 0
            if following < len(old.sections) and old.loaded[following]:
                dot = int(new.sections["addr"][following])
                size = max(int(row["vaddr"]) + int(row["memsz"]) - int(old.sections["addr"][following]), 0)
            end = elf.rounded(dot + size, _COMMON_PAGE)
            for name in ("memsz", "filesz"):
                new.segments[name][number] = end - int(new.segments["vaddr"][number])
        rest = int(row["memsz"]) - (int(old.ends[last]) - int(row["vaddr"]))
        if int(row["type"]) == PT_GNU_RELRO and rest and old.linker == "lld":
            end = int(new.segments["vaddr"][number]) + _extent(new, covered)[0]
            new.segments["memsz"][number] = elf.rounded(end, _COMMON_PAGE) - int(new.segments["vaddr"][number])


def _extent(of: Skeleton, covered: list[int]) -> tuple[int, int]:
    """From the first section's beginning to the last one's end, in memory and in the file."""
    first, last = covered[0], covered[-1]
    stored = [number for number in covered if of.stored[number]]
    end = int(of.sections["offset"][stored[-1]]) + int(of.stored[stored[-1]]) if stored else 0
    return int(of.ends[last]) - int(of.sections["addr"][first]), end - int(of.sections["offset"][first]) if end else 0
