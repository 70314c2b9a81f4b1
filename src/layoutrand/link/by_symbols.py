"""The proof of a layout where no relocations are at hand: each function found by its symbol, and compared.

Go's linker reads objects of its own compiler and writes a program without relocations.  What is proved of a layout
instead is this.  Both programs have the same functions, of the same sizes, each once.  Wherever bytes of a function or
of data differ, there is a field of 4 or 8 bytes whose old and new value are the same place in the old and the new
program: a distance from the instruction, an absolute address, or a distance from the beginning of the code.  A place
is the same if it is the same byte of the same function, or of the same section besides code.  The fields that the
links of the capture itself have shown are checked in every layout, whether their bytes differ or not.  A field that
is found by chance would need 32 bits to agree by chance.

Not proved: the contents of ``.gopclntab`` (Go's tables of lines, frames and unwinding, sorted by address), but that
its pointers are from where they were; the checksum in ``.go.fipsinfo``; and what is not loaded, such as DWARF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.cache.capture_record import CapturedLink
from layoutrand.errors import CodeChanged, LayoutNotApplied
from layoutrand.layout.distance import kendall_tau
from layoutrand.link.code import DAMAGED, Code, damaged
from layoutrand.link.leads import array_in
from layoutrand.link.program_places import TABLES, TEXT, Correspondence, Numbers, Program
from layoutrand.model import IDENTITY, Layout, Verification
from layoutrand.objects import elf

_CHECKSUM: Final = ".go.fipsinfo"
_MODULE: Final = ".go.module"
_SUM: Final = slice(16, 48)
"""Where the checksum of the code is in `_CHECKSUM`, after a magic word."""

_WORD: Final = 4
_POINTER: Final = 8
_AFTER: Final = (0, 1, 2, 4)
"""Bytes of an instruction that may follow a distance: a constant."""


@dataclass(frozen=True)
class _Side:
    """Bytes of one program with the address of each."""

    content: NDArray[np.uint8]
    address: Numbers
    begin: int

    def value(self, at: Numbers, width: int) -> Numbers:
        """The signed numbers of ``width`` bytes there."""
        wide = self.content[at[:, None] + np.arange(width)]
        kind = "<i4" if width == _WORD else "<i8"
        return np.ascontiguousarray(wide).view(kind)[:, 0].astype(np.int64)


def _targets(side: _Side, at: Numbers, kind: int) -> Numbers:
    """Where fields lead, if they are of the kind: 0 to 3 a distance, with so much behind it; 4 an offset in the code.

    5 is an absolute address of 4 bytes, 6 of 8.
    """
    if kind < len(_AFTER):
        return side.address[at] + _WORD + _AFTER[kind] + side.value(at, _WORD)
    if kind == _OFFSET:
        return side.begin + side.value(at, _WORD)
    return side.value(at, _POINTER if kind == _ADDRESS else _WORD)


_OFFSET: Final = 4
_SHORT_ADDRESS: Final = 5
_ADDRESS: Final = 6
_OF_CODE: Final = (0, 1, 2, 3, _ADDRESS, _SHORT_ADDRESS)
_OF_DATA: Final = (_ADDRESS, _OFFSET, 0, _SHORT_ADDRESS)


def _width(kind: int) -> int:
    return _POINTER if kind == _ADDRESS else _WORD


def _explained(
    old: _Side, others: Sequence[tuple[_Side, Correspondence]], kinds: Sequence[int], differing: Numbers
) -> Iterator[tuple[int, Numbers]]:
    """The fields that explain the ``differing`` bytes, by kind; and last, as of kind -1, the bytes that none does.

    A field must lead to the same place in all the ``others``: where it is looked at a byte aside, it may by chance in
    one.
    """
    left = differing
    for kind in kinds:
        for before in range(_width(kind)):
            at = left - before
            at = at[(at >= 0) & (at + _width(kind) <= len(old.content))]
            for new, same in others:
                at = at[same.same(_targets(old, at, kind), _targets(new, at, kind))]
            if len(at):
                yield kind, np.unique(at)
                covered = np.zeros(len(old.content), np.bool_)
                for byte in range(_width(kind)):
                    covered[at + byte] = True
                left = left[~covered[left]]
    if len(left):
        yield -1, left


@dataclass(frozen=True)
class ProgramCode(Code):
    """`Code` of a program that is known by its symbols: with ``image``, identity's file, and the fields known in it.

    ``fields`` has rows of kind and place in ``content``.
    """

    image: NDArray[np.uint8]
    fields: NDArray[np.int64]

    @cached_property
    def program(self) -> Program:
        """Identity's."""
        return Program(elf.read(self.image.tobytes(), name="identity"))

    @cached_property
    def names(self) -> list[str]:
        """The functions in identity's order."""
        return list(self.program.functions)

    @cached_property
    def side(self) -> _Side:
        """Its functions, which every layout is compared with."""
        return _code_side(self.program, self)

    def save(self, file: BinaryIO) -> None:
        """See `Code.save`."""
        np.savez(file, **{**self.stored_arrays(), "image": self.image, "fields": self.fields})

    @staticmethod
    def load(file: BinaryIO) -> ProgramCode:
        """See `Code.load`."""
        plain = Code.load(file)
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                image, fields = (array_in(arrays, name) for name in ("image", "fields"))
            if image.dtype != np.uint8 or fields.dtype != np.int64 or fields.shape[1:] != (2,):
                raise ValueError("other arrays than were written")
            return ProgramCode(**plain.arrays(), image=image, fields=fields)
        except DAMAGED as error:
            raise damaged(file, error) from error


def code_of(image: bytes, others: Sequence[elf.Elf], name: str) -> ProgramCode:
    """Identity's code, whose fields are those by which the ``others``, other layouts of it, differ.

    Raises `CodeChanged` for another that is no layout of it.
    """
    program = Program(elf.read(image, name=name))
    sizes = np.array([size for _, size in program.functions.values()], np.int64)
    content = program.code(list(program.functions))
    nothing = np.empty(0, np.int64)
    file = np.frombuffer(image, np.uint8)
    fixed = np.full(len(content), 0xFF, np.uint8)
    plain = ProgramCode(sizes, sizes, content, fixed, nothing, nothing, file, np.empty((0, 2), np.int64))
    programs = [Program(other) for other in others]
    for new in programs:
        _compare_functions(program, new)
    found = _code_fields(plain, [(_code_side(new, plain), Correspondence(program, new)) for new in programs])
    for kind, at in found.tolist():
        fixed[at : at + _width(kind)] = 0
    known = ProgramCode(sizes, sizes, content, fixed, nothing, nothing, file, found)
    for new in programs:
        _compare(known, new)
    return known


def _code_fields(code: ProgramCode, others: Sequence[tuple[_Side, Correspondence]]) -> NDArray[np.int64]:
    """The fields that explain how all the others differ from identity, as `ProgramCode` has them."""
    old = code.side
    differs = np.zeros(len(code.content), np.bool_)
    for new, _ in others:
        differs |= ((old.content ^ new.content) & code.fixed) != 0
    rows = [np.empty((0, 2), np.int64)]
    for kind, at in _explained(old, others, _OF_CODE, np.flatnonzero(differs)):
        if kind < 0:
            raise CodeChanged(_differs(code, int(at[0])))
        rows.append(np.column_stack([np.full(len(at), kind), at]))
    return np.concatenate(rows)


def verify(binary: elf.Elf, link: CapturedLink, layout: Layout, code: ProgramCode) -> Verification:
    """Check the binary against identity, and that it is another layout if it is to be one.

    Raises `LayoutNotApplied` or `CodeChanged`, naming the first function or section that is wrong.
    """
    new = Program(binary)
    if layout.name == IDENTITY:
        if binary.data != code.image.tobytes():
            raise CodeChanged("the link in identity order gives another file than it gave for the capture")
        achieved = np.array(link.identity, np.int64)
    else:
        _compare(code, new)
        place = {name: index for index, name in enumerate(code.names)}
        achieved = np.array([place[name] for name in new.functions], np.int64)
        if np.array_equal(achieved, link.identity):
            raise LayoutNotApplied(f"{link.linker} was asked to shuffle, but left every function where it was")
    return Verification(
        n_sections=len(achieved),
        n_functions=len(achieved),
        tau_identity=kendall_tau(link.identity, achieved),
        tau_request=1.0,  # the order is the linker's own choice
        text_size=new.span(TEXT)[1],
    )


def _compare(code: ProgramCode, new: Program) -> None:
    """Raise `CodeChanged` for a difference from identity that places do not explain."""
    old = code.program
    _compare_functions(old, new)
    _compare_sections(old, new)
    same = Correspondence(old, new)
    sides = [code.side, _code_side(new, code)]
    for kind in np.unique(code.fields[:, 0]).tolist():
        at = code.fields[code.fields[:, 0] == kind, 1]
        wrong = np.flatnonzero(~same.same(_targets(sides[0], at, kind), _targets(sides[1], at, kind)))
        if len(wrong):
            raise CodeChanged(_differs(code, int(at[wrong[0]])))
    _code_fields(code, [(sides[1], same)])
    for name in old.sections:
        if name not in (TEXT, TABLES):
            _compare_data(old, new, name, same.of_tables() if name == _MODULE else same)


def _compare_functions(old: Program, new: Program) -> None:
    if old.functions.keys() != new.functions.keys():
        other = min(old.functions.keys() ^ new.functions.keys())
        raise CodeChanged(f"not the same functions as in identity: {other} is in one alone")
    for name, (_, size) in old.functions.items():
        if new.functions[name][1] != size:
            raise CodeChanged(f"{name} has {new.functions[name][1]} bytes, in identity {size}")


def _compare_sections(old: Program, new: Program) -> None:
    if list(old.sections) != list(new.sections):
        raise CodeChanged("not the same loaded sections as in identity")
    for name in old.sections:
        if name not in (TEXT, TABLES) and old.span(name)[1] != new.span(name)[1]:
            raise CodeChanged(f"{name} has another size than in identity")


def _code_side(program: Program, code: ProgramCode) -> _Side:
    """The functions of a program, in identity's order."""
    begins = np.array([program.functions[name][0] for name in code.names], np.int64)
    inside = np.arange(len(code.content)) - np.repeat(np.cumsum(code.size) - code.size, code.size)
    return _Side(program.code(code.names), np.repeat(begins, code.size) + inside, program.begin)


def _compare_data(old: Program, new: Program, name: str, same: Correspondence) -> None:
    contents = [program.bytes_of(name) for program in (old, new)]
    if name == _CHECKSUM:
        contents = [_without_sum(content) for content in contents]
    if name == _MODULE:
        contents = [_without_lengths(content, program) for content, program in zip(contents, (old, new), strict=True)]
    sides = [
        _Side(content, program.span(name)[0] + np.arange(len(content), dtype=np.int64), program.begin)
        for content, program in zip(contents, (old, new), strict=True)
    ]
    differing = np.flatnonzero(sides[0].content != sides[1].content)
    for kind, at in _explained(sides[0], [(sides[1], same)], _OF_DATA, differing):
        if kind < 0:
            raise CodeChanged(f"{name} differs from identity at byte {int(at[0])}, addresses aside")


def _without_sum(content: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The checksum's section with the checksum left out."""
    plain = content.copy()
    plain[_SUM] = 0
    return plain


def _without_lengths(content: NDArray[np.uint8], program: Program) -> NDArray[np.uint8]:
    """The table of the program's parts without the lengths of those in `TABLES`: address, length, capacity of each."""
    at, size = program.span(TABLES)
    words = content[: len(content) // _POINTER * _POINTER].copy().view("<i8")
    part = np.flatnonzero((words[:-2] >= at) & (words[:-2] < at + size) & (words[1:-1] == words[2:]))
    words[part + 1] = words[part + 2] = 0
    return np.concatenate([words.view(np.uint8), content[len(words) * _POINTER :]])


def _differs(code: ProgramCode, at: int) -> str:
    """Which function differs where, for a place in ``content``."""
    ends = np.cumsum(code.size)
    index = int(np.searchsorted(ends, at, side="right"))
    inside = at - int(ends[index] - code.size[index])
    return f"{code.names[index]} differs from identity at byte {inside}, addresses aside"
