"""Places in programs that are known by their symbols: what is where, and which of one is which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.objects import elf

TEXT: Final = ".text"
TABLES: Final = ".gopclntab"

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Program:
    """A linked program: where its functions are, and its loaded sections."""

    file: elf.Elf

    @cached_property
    def text(self) -> int:
        """Index of the code section; raises `FeatureUnsupported` for a program that has none or several."""
        found = [index for index, name in enumerate(self.file.section_names) if name == TEXT]
        if len(found) != 1 or self.file.machine != "EM_X86_64":
            raise FeatureUnsupported(f"{self.file.name}: not a program for x86-64 with one section {TEXT}")
        return found[0]

    @property
    def begin(self) -> int:
        """Address of the code."""
        return int(self.file.sections["addr"][self.text])

    @cached_property
    def functions(self) -> dict[str, tuple[int, int]]:
        """Address and size of each function by its name, in the order of the addresses.

        What a C compiler made of one object is one, since it stays together; a name that is there again has a number.
        Raises `FeatureUnsupported` where there is none, two overlap, or one is not within the code.
        """
        table = self.file.symbols
        of_code = ((table["info"] & 0xF) == elf.STT_FUNC) & (self.file.symbol_sections == self.text)
        which = np.flatnonzero(of_code & (table["size"] > 0))
        begin, size = table["value"][which].astype(np.int64), table["size"][which].astype(np.int64)
        order = np.lexsort((-size, begin))  # what holds others comes before them
        rows = zip(self.file.symbol_names(which[order]), begin[order].tolist(), size[order].tolist(), strict=True)
        found: dict[str, tuple[int, int]] = {}
        times: Counter[str] = Counter()
        row = self.file.sections[self.text]
        code = range(int(row["addr"]), int(row["addr"]) + int(row["size"]) + 1)
        last, end = "", 0
        for name, at, length in rows:
            if at not in code or at + length not in code:
                raise FeatureUnsupported(f"{self.file.name}: {name} does not lie within {TEXT}")
            if at + length <= end:
                continue
            if at < end:
                raise FeatureUnsupported(f"{self.file.name}: {last} and {name} overlap")
            times[name] += 1
            found[name if times[name] == 1 else f"{name}#{times[name]}"] = (at, length)
            last, end = name, at + length
        if not found:
            raise FeatureUnsupported(f"{self.file.name}: no symbol says where its functions are (it may be stripped)")
        return found

    @cached_property
    def sections(self) -> dict[str, int]:
        """Index of each loaded section by name, notes aside."""
        flags = self.file.sections["flags"]
        if (self.file.sections["addr"][(flags & elf.SHF_ALLOC) != 0] > elf.ADDRESSES).any():
            raise self.file.damaged("a section lies outside the address space")
        return {
            name: index
            for index, name in enumerate(self.file.section_names)
            if int(flags[index]) & elf.SHF_ALLOC and not name.startswith(".note")
        }

    def span(self, section: str) -> tuple[int, int]:
        """Address and size of a loaded section."""
        row = self.file.sections[self.sections[section]]
        return int(row["addr"]), int(row["size"])

    def bytes_of(self, section: str) -> NDArray[np.uint8]:
        """Content of a loaded section; empty for one without any in the file."""
        return np.frombuffer(self.file.view(self.sections[section]), np.uint8)

    def code(self, names: Sequence[str]) -> NDArray[np.uint8]:
        """The bytes of the functions, one after the other."""
        text, begin = self.bytes_of(TEXT), self.begin
        rows = [self.functions[name] for name in names]
        return np.concatenate([text[at - begin : at - begin + size] for at, size in rows])


def addresses_by_name(binary: elf.Elf, names: Sequence[str]) -> Numbers:
    """Where each of the functions begins in the binary, shape (names,)."""
    functions = Program(binary).functions
    return np.array([functions[name][0] for name in names], np.int64)


class Correspondence:
    """Which place of one program is which of another, that has the same functions and sections elsewhere."""

    def __init__(self, old: Program, new: Program) -> None:
        """Of these two."""
        self._programs = (old, new)
        rows = []
        for name, (at, size) in old.functions.items():
            rows.append((at, at + size, new.functions[name][0] - at))
        if rows:  # behind the last function: where it ends, and the end of the code
            ends = [max(at + size for at, size in program.functions.values()) for program in (old, new)]
            whole = [sum(program.span(TEXT)) for program in (old, new)]
            rows.append((ends[0], ends[0] + 1, ends[1] - ends[0]))
            rows.append((ends[0] + 1, whole[0] + 1, whole[1] - whole[0]))
        for name in old.sections:
            if name in (TEXT, TABLES):
                continue
            at, size = old.span(name)
            rows.append((at, at + size + 1, new.span(name)[0] - at))  # slices may end where the section does
        rows.sort()
        begin, end, shift = (np.array(column, np.int64) for column in zip(*rows, strict=True))
        self._begin, self._shift = begin, shift
        self._end = np.minimum(end, np.append(begin[1:], np.iinfo(np.int64).max))  # what begins there wins

    def same(self, old: Numbers, new: Numbers) -> NDArray[np.bool_]:
        """Which of the old addresses are the places of the new ones."""
        row = np.searchsorted(self._begin, old, side="right") - 1
        inside = (row >= 0) & (old < self._end[row])
        return np.asarray(inside & (old + self._shift[row] == new), np.bool_)

    def of_tables(self) -> Correspondence:
        """The same, to which any two places in `TABLES` are the same."""
        old, _ = self._programs
        return _AlsoInTables(self, *self._programs) if TABLES in old.sections else self


class _AlsoInTables(Correspondence):
    def __init__(self, plain: Correspondence, old: Program, new: Program) -> None:
        self._plain = plain
        self._tables = [program.span(TABLES) for program in (old, new)]

    def same(self, old: Numbers, new: Numbers) -> NDArray[np.bool_]:
        """See `Correspondence`."""
        (at, size), (new_at, new_size) = self._tables
        within = (old >= at) & (old <= at + size) & (new >= new_at) & (new <= new_at + new_size)
        return np.asarray(self._plain.same(old, new) | within, np.bool_)
