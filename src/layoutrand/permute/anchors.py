"""What moves in a file, by number: its pieces of code, its sections, and where its code ends.

`FIXED` moves never.  Which of them an address belongs to is told by where it lies, and by how it moves: two more links,
in orders that have nothing in common with the first (`Probed`), show that of each address.  So what stands right at
the end of one piece, or is added to a table's address, is still known for what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.permute.skeleton import Numbers, Skeleton

FIXED: Final = 0
NOBODY: Final = -1
_BEHIND: Final = 64
"""Bytes: how far behind a section, before the next, its end is still meant."""


@dataclass(frozen=True)
class Pieces:
    """The pieces of code by their numbers: size, alignment, and the address in identity; all shape (n,)."""

    size: Numbers
    align: Numbers
    address: Numbers

    def __len__(self) -> int:
        """How many there are."""
        return len(self.size)


def piece(number: int) -> int:
    """The anchor of a piece of code."""
    return 1 + number


@dataclass(frozen=True)
class Geometry:
    """Where one layout has everything: its tables, and the address of each piece."""

    skeleton: Skeleton
    pieces: Numbers

    def section(self, number: int) -> int:
        """The anchor of a section."""
        return 1 + len(self.pieces) + number

    @property
    def code_end(self) -> int:
        """The anchor of the end of the code."""
        return 1 + len(self.pieces) + len(self.skeleton.sections)

    @cached_property
    def addresses(self) -> Numbers:
        """The address of each anchor."""
        sections = self.skeleton.sections["addr"].astype(np.int64)
        return np.concatenate([[0], self.pieces, sections, [self.skeleton.ends[self.skeleton.code]]])

    @cached_property
    def places(self) -> Numbers:
        """The place in the file of each anchor."""
        skeleton = self.skeleton
        offsets = skeleton.sections["offset"].astype(np.int64)
        code = int(offsets[skeleton.code]) - int(skeleton.sections["addr"][skeleton.code])
        end = int(skeleton.ends[skeleton.code]) + code
        return np.concatenate([[0], self.pieces + code, offsets, [end]])


@dataclass(frozen=True)
class Probed:
    """Identity's geometry, and that of some links in other orders."""

    identity: Geometry
    pieces: Pieces
    probes: tuple[Geometry, ...]

    @cached_property
    def shifts(self) -> Numbers:
        """How far each anchor is moved in each probe, shape (anchors, probes)."""
        return np.stack([each.addresses - self.identity.addresses for each in self.probes], axis=1)

    @cached_property
    def _by_address(self) -> NDArray[np.intp]:
        return np.argsort(self.identity.pieces, kind="stable")

    def home(self, address: Numbers) -> Numbers:
        """The anchor of the piece that each address in the code lies in; of the code's section before the first."""
        slot = np.searchsorted(self.identity.pieces[self._by_address], address, side="right") - 1
        code = self.identity.section(self.identity.skeleton.code)
        return np.where(slot < 0, code, 1 + self._by_address[np.maximum(slot, 0)])

    def settle(self, address: Numbers, moved: Numbers, hint: Numbers) -> Numbers:
        """The anchor of each address, which is ``moved`` so far in each probe, shape (m, probes); or `NOBODY`.

        ``hint`` is the anchor of a section that it is known to be of, or `NOBODY`.
        """
        identity = self.identity
        ordered = self._by_address
        slot = np.searchsorted(identity.pieces[ordered], address, side="right") - 1
        in_code = self._in_code(address)
        candidates = [
            np.where(in_code & (slot >= 0), 1 + ordered[np.maximum(slot, 0)], NOBODY),
            np.where(in_code & (slot >= 1), 1 + ordered[np.maximum(slot - 1, 0)], NOBODY),
            hint,
            self._section_of(address),
            self._section_of(address, behind=_BEHIND),
            np.where(in_code, identity.code_end, NOBODY),
            np.where(in_code, identity.section(identity.skeleton.code), NOBODY),
        ]
        found = np.full(len(address), NOBODY, np.int64)
        for candidate in candidates:
            fits = (found == NOBODY) & (candidate != NOBODY)
            fits[fits] = (self.shifts[candidate[fits]] == moved[fits]).all(axis=1)
            found[fits] = candidate[fits]
        for row in np.flatnonzero((found == NOBODY) & (moved != 0).any(axis=1)).tolist():
            found[row] = self._like(int(address[row]), moved[row])
        somewhere = in_code | (self._section_of(address, behind=_BEHIND) != NOBODY)
        nowhere = (found == NOBODY) & ~somewhere & (moved == 0).all(axis=1)
        return np.where(nowhere, FIXED, found)

    def _in_code(self, address: Numbers) -> NDArray[np.bool_]:
        skeleton = self.identity.skeleton
        begin = int(skeleton.sections["addr"][skeleton.code])
        return np.asarray((address >= begin) & (address <= int(skeleton.ends[skeleton.code])), np.bool_)

    def _section_of(self, address: Numbers, behind: int = 0) -> Numbers:
        """The anchor of the section that has the address, or ends so many bytes ahead, or `NOBODY`; not the code's."""
        skeleton = self.identity.skeleton
        which = np.flatnonzero(skeleton.loaded & (skeleton.sections["size"] > 0))
        which = which[(which != skeleton.code) & ~skeleton.beside[which]]
        begins, ends = skeleton.sections["addr"][which].astype(np.int64), skeleton.ends[which]
        order = np.argsort(begins, kind="stable")
        if not len(order):
            return np.full(len(address), NOBODY, np.int64)
        slot = np.searchsorted(begins[order], address, side="right") - 1
        row = order[np.maximum(slot, 0)]
        inside = (slot >= 0) & (address < ends[row] + behind)
        return np.where(inside, self.identity.section(0) + which[row], NOBODY)

    @cached_property
    def _alike(self) -> dict[tuple[int, ...], list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        for number, row in enumerate(self.shifts[1 : 1 + len(self.pieces)].tolist()):
            found.setdefault(tuple(row), []).append(number)
        return found

    def _like(self, address: int, moved: Numbers) -> int:
        """The closest piece that is moved so."""
        known = self._alike.get(tuple(moved.tolist()), [])
        where = self.identity.pieces
        return 1 + min(known, key=lambda number: abs(int(where[number]) - address)) if known else NOBODY
