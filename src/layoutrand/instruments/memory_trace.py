"""Loads and stores of a program in the order in which it makes them, out of what valgrind's lackey prints.

Lackey's source (``lackey/lk_main.c``) says of its lines: ``I  addr,size`` for an instruction, and after it `` L``,
`` S`` and `` M`` (both) for each access to memory.  Each process begins with a preamble of lines ``==PID==``, which has
its command, so that those of one program can be told from others, and ends with its exit status.  Valgrind's own
messages stand between.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NoMeasurement
from layoutrand.text.digits import LARGEST_COUNT, whole_number

_DIGITS: Final = 12
"""Of an address, in hexadecimal: programs have none above 2^48."""

_NEWLINE, _COMMA = ord("\n"), ord(",")
_SIZES: Final = 4
_SAID = re.compile(rb"^(?:==(\d+)==([^\n]*)|--\d+--[^\n]*|(?:vex|valgrind)[^\n]*)\n", re.MULTILINE)
_ENDED: Final = b" Exit code:"
_COMMAND: Final = b" Command: "
_VALUES: Final = np.full(256, 255, np.uint8)
for _digit, _character in enumerate(b"0123456789abcdef"):
    _VALUES[_character] = _digit


@dataclass(frozen=True)
class Accesses:
    """Accesses to memory, in order, each shape (accesses,): to which ``address``, of how many bytes (``size``).

    ``at`` is the number of the instruction that makes it, counted from the process' first; it ``reads``, ``writes`` or
    does both.
    """

    at: NDArray[np.int64]
    address: NDArray[np.int64]
    size: NDArray[np.int64]
    reads: NDArray[np.bool_]
    writes: NDArray[np.bool_]


@dataclass(frozen=True)
class Stretch:
    """A stretch of one process of the program: its accesses, and the first of its ``instructions``' number."""

    accesses: Accesses
    first: int
    instructions: int


class TraceReader:
    """Lines of one process as they come, in pieces cut anywhere, and out of them stretches of what it did.

    ``programs`` are the names under which the program may have been started; a process of another one has none.
    ``has_ended`` says that it told its exit status.  Raises `NoMeasurement` for lines that are none of lackey's.
    """

    def __init__(self, programs: Collection[str]) -> None:
        self._programs = {name.encode("utf-8", "surrogateescape") for name in programs}
        self._rest = b""
        self._count = 0
        self.pid: int | None = None
        self.is_program = False
        self.has_ended = False

    def stretches(self, piece: bytes) -> Iterator[Stretch]:
        """What the whole lines of the piece, and of the end of the one before, say."""
        whole, newline, self._rest = (self._rest + piece).rpartition(b"\n")
        if len(self._rest) > 1 << 16:
            raise NoMeasurement("lackey printed a line without end")
        text = whole + newline
        begin = 0
        for said in _SAID.finditer(text):
            yield from self._stretch(text[begin : said.start()])
            if said[1] is not None:
                self._hear(said[1], said[2])
            begin = said.end()
        yield from self._stretch(text[begin:])

    def _stretch(self, lines: bytes) -> Iterator[Stretch]:
        if not self.is_program or not lines:
            return
        accesses, instructions = parse(lines, self._count)
        first, self._count = self._count, self._count + instructions
        yield Stretch(accesses, first, instructions)

    def _hear(self, pid: bytes, words: bytes) -> None:
        if words.startswith(_COMMAND):
            self.pid = whole_number(pid.decode("ascii"), LARGEST_COUNT)
            command = words.removeprefix(_COMMAND)
            self.is_program = any(command == name or command.startswith(name + b" ") for name in self._programs)
        self.has_ended |= words.startswith(_ENDED)


def parse(lines: bytes, before: int) -> tuple[Accesses, int]:
    """The accesses of whole lines, after ``before`` instructions, and how many instructions they have.

    Raises `NoMeasurement` for a line that is none of these.
    """
    text = np.frombuffer(lines, np.uint8)
    ends, commas = np.flatnonzero(text == _NEWLINE), np.flatnonzero(text == _COMMA)
    begins = np.concatenate([[0], ends[:-1] + 1])
    _require(len(commas) == len(ends) and bool(((begins + 3 < commas) & (commas + 1 < ends)).all()))
    first, kinds = text[begins], text[begins + 1]
    is_code = (first == ord("I")) & (kinds == ord(" "))
    reads, writes = ((first == ord(" ")) & np.isin(kinds, list(which)) for which in (b"LM", b"SM"))
    _require(bool((text[begins + 2] == ord(" ")).all() and (is_code | reads | writes).all()))
    numbers = before + np.cumsum(is_code)
    rows = np.flatnonzero(~is_code)
    address = _number(text, begins[rows] + 3, commas[rows], 16, _DIGITS)
    size = _number(text, commas[rows] + 1, ends[rows], 10, _SIZES)
    _require(bool((size > 0).all()))
    accesses = Accesses(numbers[rows] - 1, address, size, reads[rows], writes[rows])
    inside = address >= 0  # of none above: the kernel's own page that programs may read
    if not inside.all():
        accesses = Accesses(*(values[inside] for values in vars(accesses).values()))
    return accesses, int(is_code.sum())


def _number(
    text: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64], base: int, most: int
) -> NDArray[np.int64]:
    """The numbers in these places; -1 for one with more digits than ``most``."""
    if not len(begin):
        return np.empty(0, np.int64)
    places = end[:, None] - np.arange(most, 0, -1)
    digits = _VALUES[text[np.maximum(places, 0)]].astype(np.int64)
    there = places >= begin[:, None]
    _require(bool((digits[there] < base).all()))
    value: NDArray[np.int64] = np.where(there, digits, 0) @ base ** np.arange(most - 1, -1, -1, dtype=np.int64)
    return np.where(end - begin > most, -1, value)


def _require(condition: bool) -> None:
    if not condition:
        raise NoMeasurement("lackey printed something else than loads and stores")
