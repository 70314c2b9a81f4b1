"""Orders to learn a program from: each piece moves as no other does, and the end of the code shows its alignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Final

import numpy as np

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.placing import places
from layoutrand.permute.skeleton import Numbers

ALIGNMENTS: Final = tuple(1 << power for power in range(7))
"""What the end of code may be aligned to by pieces without content that stand there."""

_TRIED: Final = 400
_COMPARED: Final = 30
"""Pairs of orders of data in which all pieces are compared."""

_ALL: Final = len(ALIGNMENTS) * (len(ALIGNMENTS) - 1) // 2
PROBES: Final = 2

Pieces = Sequence[int] | Numbers
"""A number for each piece, or the pieces' own numbers in an order."""


def placed(size: Pieces, align: Pieces, order: Pieces, begin: int) -> Numbers:
    """The address of each piece in that order (0 for others), and at the end that of the code's end; shape (n + 1,)."""
    size, align, order = (np.asarray(each, np.int64) for each in (size, align, order))
    address = np.zeros(len(size) + 1, np.int64)
    address[order], address[-1] = places(size[order], align[order], begin=begin)
    return address


def telling(
    size: Pieces, align: Pieces, movable: Sequence[bool], identity: Pieces, drawn: Iterable[Pieces], begin: int
) -> list[list[int]]:
    """`PROBES` of the ``drawn`` orders, a little changed, of code that ``begin``s there; no more of them are looked at.

    Raises `NotPermuted` where pieces move alike in all of them.
    """
    start = placed(size, align, identity, begin)
    known_ends: list[set[tuple[int, int]]] = []
    found: list[Numbers] = []
    moved: list[list[int]] = []
    for order in drawn:
        known = {*_told(int(start[-1])), *(pair for each in known_ends[1 - PROBES :] for pair in each)}
        tried = _with_telling_end(size, align, movable, order, begin, known)
        at = placed(size, align, tried, begin)
        known_ends.append(_told(int(at[-1])))
        found, moved = [*found, tried][-PROBES:], [*moved, (at - start)[:-1].tolist()][-PROBES:]
        if len(found) == PROBES and _all_apart(moved, movable):
            return [each.tolist() for each in found]
    raise NotPermuted("its pieces of code are too few, or too much alike, to be told from each other")


def separating(
    size: Pieces, align: Pieces, identity: Sequence[int], drawn: Sequence[Sequence[int]], begin: int
) -> list[Sequence[int]]:
    """`PROBES` of the ``drawn`` orders, of a section that ``begin``s there.

    Neighbours in identity, one of which is ever elsewhere, move differently in one of them; if that is so in no two, in
    most pairs of neighbours. Of such pairs it is one whose ends tell most of what lies behind; and of these one in
    which most pieces move as no other does, so that a word that leads out of its array is known.
    """
    start = placed(size, align, identity, begin)
    neighbours = list(pairwise([*identity, len(size)]))
    elsewhere = {piece for order in drawn for piece, other in zip(identity, order, strict=True) if piece != other}
    wanted = [one in elsewhere or other in elsewhere for one, other in neighbours]
    apart: list[int] = []
    ends, shifts = [], []
    for order in drawn:
        at = placed(size, align, order, begin)
        shifts.append(at - start)
        moved = shifts[-1].tolist()
        rows = zip(wanted, neighbours, strict=True)
        apart.append(sum(1 << bit for bit, (want, (a, b)) in enumerate(rows) if want and moved[a] != moved[b]))
        ends.append(_told(int(at[-1])))
    known = _told(int(start[-1]))
    tells = {
        (one, other): ((apart[one] | apart[other]).bit_count(), len(known | ends[one] | ends[other]))
        for one, other in combinations(range(len(drawn)), PROBES)
    }
    most = max(tells.values())
    best = [pair for pair, told in tells.items() if told == most][:_COMPARED]
    moving = np.array(sorted(elsewhere), np.int64)
    chosen = max(best, key=lambda pair: _different(*(shifts[number][moving] for number in pair)))
    return [drawn[number] for number in chosen]


def _different(one: Numbers, other: Numbers) -> int:
    """How many pairs of shifts there are beside that of what stays where it is."""
    rows = np.unique(np.stack([np.append(0, one), np.append(0, other)], axis=1), axis=0)
    return len(rows)


def _told(end: int) -> set[tuple[int, int]]:
    """Which alignments, in pairs, an end of pieces tells from each other: they would bring it to different places."""
    return {
        (one, other) for one in ALIGNMENTS for other in ALIGNMENTS if elf.rounded(end, one) < elf.rounded(end, other)
    }


def _all_apart(moved: Sequence[Sequence[int]], movable: Sequence[bool]) -> bool:
    """Whether no piece that can move is moved as another is."""
    kept: set[tuple[int, ...]] = set()
    seen: set[tuple[int, ...]] = set()
    for may, shift in zip(movable, zip(*moved, strict=True), strict=True):
        if may and shift in seen:
            return False
        (seen if may else kept).add(shift)
    return not (seen & kept)


def _with_telling_end(
    size: Pieces, align: Pieces, movable: Sequence[bool], order: Pieces, begin: int, known: set[tuple[int, int]]
) -> Numbers:
    """The order with another piece in its last movable slot, so that its end tells most beyond what is ``known``.

    What the code's own end is aligned to shows then.
    """
    order = np.array(order, np.int64)
    slots = np.flatnonzero(np.asarray(movable, bool)[order])
    if not len(slots):
        return order
    last, best, most = slots[-1], order, -1
    for slot in [last, *slots[:-1]][:_TRIED]:
        tried = order.copy()
        tried[[slot, last]] = tried[[last, slot]]
        told = len(_told(int(placed(size, align, tried, begin)[-1])) | known)
        if told > most:
            best, most = tried, told
        if told == _ALL:
            break
    return best
