"""What moves in a file, by number: its pieces, its sections, and where those end that pieces are placed in.

`FIXED` moves never.  Which of them an address belongs to is told by where it lies, and by how it moves: two more links,
in orders that have nothing in common with the first (`Probed`), show that of each address.  So what stands right at
the end of one piece, or is added to a table's address, is still known for what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import NotPermuted
from layoutrand.permute.skeleton import Numbers, Skeleton

FIXED: Final = 0
NOBODY: Final = -1
STEPS: Final = tuple(1 << power for power in range(7))
"""What sections are aligned to, as far as that is looked for."""

CONSTANT: Final = 4
"""Bytes of the longest constant behind an address in an instruction."""

_BEHIND: Final = 64
"""Bytes: how far behind a section, before the next, its end is still meant."""


@dataclass(frozen=True)
class Pieces:
    """The pieces by their numbers: section, size, alignment, and the address in identity; all shape (n,).

    The last ones are what stands behind those that an order places, in the same sections; ``most`` is the largest
    alignment that a piece may have, as far as that can be told.
    """

    section: Numbers
    size: Numbers
    align: Numbers
    most: Numbers
    address: Numbers

    def __len__(self) -> int:
        """How many there are."""
        return len(self.size)


def piece(number: int) -> int:
    """The anchor of a piece."""
    return 1 + number


@dataclass(frozen=True)
class Geometry:
    """Where one layout has everything: its tables, and the address of each piece."""

    skeleton: Skeleton
    pieces: Numbers

    def section(self, number: int) -> int:
        """The anchor of a section."""
        return 1 + len(self.pieces) + number

    def end(self, which: int, step: int = 1) -> int:
        """The anchor of the end of one of the homes, rounded up to a ``step`` of `STEPS`.

        There lies what had a section of its own behind it, which GNU ld left out because it is empty.
        """
        return 1 + len(self.pieces) + len(self.skeleton.sections) + which * len(STEPS) + STEPS.index(step)

    @cached_property
    def _ends(self) -> Numbers:
        ends = self.skeleton.ends[list(self.skeleton.homes)]
        return np.asarray(np.stack([-(-ends // step) * step for step in STEPS], axis=1).ravel(), np.int64)

    @cached_property
    def addresses(self) -> Numbers:
        """The address of each anchor."""
        sections = self.skeleton.sections["addr"].astype(np.int64)
        return np.concatenate([[0], self.pieces, sections, self._ends])

    def places(self, section: Numbers) -> Numbers:
        """The place in the file of each anchor; ``section`` has that of each piece."""
        offsets = self.skeleton.sections["offset"].astype(np.int64)
        ahead = offsets - self.skeleton.sections["addr"].astype(np.int64)
        of_ends = np.repeat(ahead[list(self.skeleton.homes)], len(STEPS))
        return np.concatenate([[0], self.pieces + ahead[section], offsets, self._ends + of_ends])


@dataclass(frozen=True)
class Probed:
    """Identity's geometry, and that of some links in other orders; which pieces are ``free`` to move, shape (n,)."""

    identity: Geometry
    pieces: Pieces
    probes: tuple[Geometry, ...]
    free: NDArray[np.bool_]

    @cached_property
    def shifts(self) -> Numbers:
        """How far each anchor is moved in each probe, shape (anchors, probes)."""
        return np.stack([each.addresses - self.identity.addresses for each in self.probes], axis=1)

    @cached_property
    def _by_address(self) -> NDArray[np.intp]:
        return np.argsort(self.identity.pieces, kind="stable")

    def home(self, address: Numbers, section: int) -> Numbers:
        """The anchor of the piece that each address in one of the homes lies in; of that section before the first."""
        slot, there = self._piece_of(address, section)
        return np.where(there, 1 + self._by_address[slot], self.identity.section(section))

    def holder(self, address: Numbers) -> Numbers:
        """The anchor of the piece or section that has each address, or `NOBODY`."""
        found = self._section_of(address)
        for home in self.identity.skeleton.homes:
            inside = self._inside(address, home)
            found = np.where(inside & (found == NOBODY), self.home(address, home), found)
        return found

    def _piece_of(self, address: Numbers, section: Numbers | int) -> tuple[Numbers, NDArray[np.bool_]]:
        """Which piece by address is the last that begins there or ahead, and whether it is one of the section."""
        slot = np.searchsorted(self.identity.pieces[self._by_address], address, side="right") - 1
        there = (slot >= 0) & (self.pieces.section[self._by_address[np.maximum(slot, 0)]] == section)
        return np.maximum(slot, 0), np.asarray(there, np.bool_)

    def settle(self, address: Numbers, moved: Numbers, hint: Numbers) -> Numbers:
        """The anchor of each address, which is ``moved`` so far in each probe, shape (m, probes); or `NOBODY`.

        ``hint`` is the anchor of what it is known to be of, or of the section where that has pieces, or `NOBODY`.  The
        address that a field says is a few bytes ahead of what is meant where the instruction has a constant behind it.
        """
        identity, homes = self.identity, self.identity.skeleton.homes
        ordered = self._by_address
        of_home = np.isin(hint, [identity.section(home) for home in homes])
        within, beside, ends, borders = [np.where(of_home, NOBODY, hint)], [], [], []
        placed = np.zeros(len(address), bool)
        for which, home in enumerate(homes):
            inside = self._inside(address, home) & (~of_home | (hint == identity.section(home)))
            placed |= inside
            slot, there = self._piece_of(address, home)
            before, first = np.maximum(slot - 1, 0), self._piece_of(address + CONSTANT, home)
            ahead = (slot >= 1) & (self.pieces.section[ordered[before]] == home)
            holds = inside & there & (address < (self.pieces.address + self.pieces.size)[ordered[slot]])
            within += [np.where(holds, 1 + ordered[slot], NOBODY)]
            beside += [np.where(inside & there, 1 + ordered[slot], NOBODY)]
            beside += [np.where(inside & there & ahead, 1 + ordered[before], NOBODY)]
            beside += [np.where(inside & first[1], 1 + ordered[first[0]], NOBODY)]
            least, most = self._extents[home]
            border = [identity.end(which), identity.section(home)]
            ends += [
                np.where(inside & at, each, NOBODY)
                for at, each in zip((address >= most, address <= least), border, strict=True)
            ]
            borders += [np.where(inside, each, NOBODY) for each in border]
            for step in STEPS[1:]:
                end = identity.end(which, step)
                borders.append(np.where(address == identity.addresses[end], end, NOBODY))
        known = np.where(of_home, NOBODY, self._section_of(address))
        found = np.full(len(address), NOBODY, np.int64)
        self._take(found, moved, [*within, known, *beside, *ends])
        for row in np.flatnonzero((found == NOBODY) & of_home).tolist():  # as of arrays that are counted from 1
            found[row] = self._like(int(address[row]), moved[row], int(hint[row]))
        self._take(found, moved, [self._section_of(address), self._section_of(address, behind=_BEHIND), *borders])
        for row in np.flatnonzero((found == NOBODY) & (moved != 0).any(axis=1)).tolist():
            found[row] = self._like(int(address[row]), moved[row])
        somewhere = placed | (self._section_of(address, behind=_BEHIND) != NOBODY)
        nowhere = (found == NOBODY) & ~somewhere & (moved == 0).all(axis=1)
        return np.where(nowhere, FIXED, found)

    @cached_property
    def _extents(self) -> dict[int, tuple[int, int]]:
        """Where the first piece of each home begins in identity, and the last one ends."""
        pieces, found = self.pieces, {}
        for home in self.identity.skeleton.homes:
            here = pieces.section == home
            found[home] = (int(pieces.address[here].min()), int((pieces.address + pieces.size)[here].max()))
        return found

    def _take(self, found: Numbers, moved: Numbers, candidates: Sequence[Numbers]) -> None:
        """Give what has no anchor yet the first candidate that is moved so."""
        for candidate in candidates:
            fits = (found == NOBODY) & (candidate != NOBODY)
            fits[fits] = (self.shifts[candidate[fits]] == moved[fits]).all(axis=1)
            found[fits] = candidate[fits]

    def _inside(self, address: Numbers, home: int) -> NDArray[np.bool_]:
        skeleton = self.identity.skeleton
        begin = int(skeleton.sections["addr"][home])
        return np.asarray((address >= begin - CONSTANT) & (address <= int(skeleton.ends[home])), np.bool_)

    def _section_of(self, address: Numbers, behind: int = 0) -> Numbers:
        """The anchor of the section that has the address, or ends so many bytes ahead, or `NOBODY`; no home."""
        skeleton = self.identity.skeleton
        which = np.flatnonzero(skeleton.loaded & (skeleton.sections["size"] > 0))
        which = which[~np.isin(which, skeleton.homes) & ~skeleton.beside[which]]
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

    def alike_ends(self, targets: NDArray[np.int32]) -> tuple[tuple[int, int], ...]:
        """Pairs of anchors that lie and move alike, one of which is a section's end and among the ``targets``.

        The other is what that is rounded up to, or the begin of what follows.
        """
        identity = self.identity
        used = set(np.unique(targets).tolist())
        found = []
        for which, home in enumerate(identity.skeleton.homes):
            ends = [identity.end(which, step) for step in STEPS]
            behind = [identity.section(home + 1)] if home + 1 < len(identity.skeleton.sections) else []
            for one, other in combinations([*ends, *behind], 2):
                alike = identity.addresses[one] == identity.addresses[other]
                if alike and {one, other} & used & set(ends) and (self.shifts[one] == self.shifts[other]).all():
                    found.append((one, other))
        return tuple(found)

    def _like(self, address: int, moved: Numbers, section: int = NOBODY) -> int:
        """The closest piece that is moved so, of the section with that anchor if there is one; or `NOBODY`.

        Raises `NotPermuted` where there are several, and an order may move them apart.
        """
        known = self._alike.get(tuple(moved.tolist()), [])
        if section != NOBODY:
            number = section - self.identity.section(0)
            known = [piece for piece in known if int(self.pieces.section[piece]) == number]
        if len(known) > 1 and self.free[known].any():
            raise NotPermuted(
                f"which of several parts is meant by the address {address:#x}, outside of all of these, cannot be told"
            )
        where = self.identity.pieces
        return 1 + min(known, key=lambda number: abs(int(where[number]) - address)) if known else NOBODY
