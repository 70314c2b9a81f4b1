"""References of instructions and data to places: what a relocation wrote, read back from a linked binary.

A processor says how each of its relocations is read (`layoutrand.objects.processor`).  Some say the whole of an
address, some a part of it, and two of them together the whole; linkers may write two in another form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]

WHOLE: Final = -1
"""Bits of an address that a reading says: all of them."""

_WORD: Final = 8
_LONGEST_SECTION: Final = 40
"""Bits of a place in a section."""


@dataclass(frozen=True)
class Relocations:
    """Relocations of sections that are placed, all shape (m,).

    ``section`` is a capture index and ``offset`` a place in it; ``type`` the relocation's number, ``symbol`` a number
    that is another one for each symbol of each object; ``target`` the capture index of the section that the symbol is
    in, whichever object's, with its ``value`` there, or -1 for what is elsewhere or in several.  ``merged`` are those
    whose symbol stands for a section that linkers merge: there the addend says which string or constant is meant, and
    not how far behind the symbol.
    """

    section: Numbers
    offset: Numbers
    type: Numbers
    symbol: Numbers
    addend: Numbers
    target: Numbers
    value: Numbers
    merged: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.section)

    @property
    def place(self) -> Numbers:
        """A number for each place in each section, ascending within a section."""
        return place_in(self.section, self.offset)

    def chosen(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Relocations:
        """Some of them."""
        return Relocations(**{name: column[which] for name, column in vars(self).items()})


def place_in(section: Numbers, offset: Numbers) -> Numbers:
    """A number for the place so far into that section: no place of one section is one of another."""
    return (section << _LONGEST_SECTION) + offset


def joined(parts: list[Relocations]) -> Relocations:
    """All of them, one after the other."""
    if not parts:
        nothing = np.empty(0, np.int64)
        return Relocations(nothing, nothing, nothing, nothing, nothing, nothing, nothing, np.empty(0, bool))
    return Relocations(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})


@dataclass(frozen=True)
class Readings:
    """What to read where, all shape (u,): row of a `Relocations`, how it is read, and bytes from its offset to there.

    ``other`` is how many bytes behind (or before) that the second instruction of two is.
    """

    row: Numbers
    kind: Numbers
    shift: Numbers
    other: Numbers


def readings(row: Numbers, kind: Numbers | int, shift: Numbers | int = 0, other: Numbers | int = 0) -> Readings:
    """`Readings`, single numbers being those of all rows."""
    row = row.astype(np.int64)
    return Readings(row, *(np.broadcast_to(np.asarray(each, np.int64), row.shape) for each in (kind, shift, other)))


def together(parts: list[Readings]) -> Readings:
    """All of them, one after the other."""
    return Readings(
        *(np.concatenate([vars(part)[name] for part in parts]) for name in ("row", "kind", "shift", "other"))
    )


@dataclass(frozen=True)
class Read:
    """What was read, shape (n,): the ``value``, and whether it was an instruction of that kind at all.

    ``bits`` of the value count.  ``form`` is what else was read, such as the register that an address goes to, where
    linkers write instructions in several forms of one meaning.
    """

    value: Numbers
    valid: NDArray[np.bool_]
    bits: int = WHOLE
    form: Numbers | None = None


class Windows:
    """A file, of which eight bytes can be read at many places at once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._windows = self._of(data)

    @staticmethod
    def _of(data: bytes) -> Words:
        return np.ndarray(
            (max(0, len(data) - _WORD + 1),), np.uint64, data, strides=(1,)
        )  # at any byte, aligned or not

    def words(self, at: Numbers) -> Words:
        """The eight bytes from each place on as a number, zeros where the file ends; shape (n,)."""
        if len(at) and int(at.max()) >= len(self._windows):
            self._data += bytes(max(0, int(at.max()) + _WORD - len(self._data)))
            self._windows = self._of(self._data)
        return self._windows[at]


def signed(value: Words, bits: int) -> Numbers:
    """The lowest bits as a number with a sign."""
    shift = np.uint64(64 - bits)
    return (value << shift).view(np.int64) >> np.int64(64 - bits)


def field(word: Words, low: int, width: int) -> Words:
    """So many bits from bit ``low`` on."""
    return (word >> np.uint64(low)) & np.uint64((1 << width) - 1)
