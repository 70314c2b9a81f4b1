"""Orders to learn a program from: each piece moves as no other does, and the end of the code shows its alignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Final

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf

ALIGNMENTS: Final = tuple(1 << power for power in range(7))
"""What the end of code may be aligned to by pieces without content that stand there."""

_TRIED: Final = 400
_ALL: Final = len(ALIGNMENTS) * (len(ALIGNMENTS) - 1) // 2
PROBES: Final = 2


def placed(size: Sequence[int], align: Sequence[int], order: Sequence[int], begin: int) -> list[int]:
    """The address of each piece in that order, and at the end that of the code's end."""
    address = [0] * (len(size) + 1)
    dot = begin
    for number in order:
        address[number] = at = elf.rounded(dot, align[number])
        dot = at + size[number]
    address[-1] = dot
    return address


def _end(size: Sequence[int], align: Sequence[int], order: Sequence[int], begin: int) -> int:
    """As `placed`, the end alone: without a list and a call for each piece, since hundreds of orders are tried."""
    dot = begin
    for number in order:
        step = align[number]
        if step > 1:
            dot = -(-dot // step) * step
        dot += size[number]
    return dot


def telling(
    size: Sequence[int],
    align: Sequence[int],
    movable: Sequence[bool],
    identity: Sequence[int],
    drawn: Iterable[Sequence[int]],
    begin: int,
) -> list[list[int]]:
    """`PROBES` of the ``drawn`` orders, a little changed, of code that ``begin``s there.

    Raises `NotPermuted` where pieces move alike in all of them.
    """
    start = placed(size, align, identity, begin)
    found: list[list[int]] = []
    moved: list[list[int]] = []
    for order in drawn:
        known = {pair for each in (identity, *found[1 - PROBES :]) for pair in _told(_end(size, align, each, begin))}
        tried = _with_telling_end(size, align, movable, order, begin, known)
        shift = [new - old for new, old in zip(placed(size, align, tried, begin), start, strict=True)][:-1]
        found, moved = [*found, tried][-PROBES:], [*moved, shift][-PROBES:]
        if len(found) == PROBES and _all_apart(moved, movable):
            return found
    raise NotPermuted("its pieces of code are too few, or too much alike, to be told from each other")


def separating(
    size: Sequence[int], align: Sequence[int], identity: Sequence[int], drawn: Sequence[Sequence[int]], begin: int
) -> list[Sequence[int]]:
    """`PROBES` of the ``drawn`` orders, of a section that ``begin``s there.

    Neighbours in identity, one of which is ever elsewhere, move differently in one of them; if that is so in no two, in
    most pairs of neighbours. Of such pairs it is the one whose ends tell most of what lies behind.
    """
    start = placed(size, align, identity, begin)
    neighbours = list(pairwise([*identity, len(size)]))
    elsewhere = {piece for order in drawn for piece, other in zip(identity, order, strict=True) if piece != other}
    wanted = [one in elsewhere or other in elsewhere for one, other in neighbours]
    apart: list[int] = []
    ends = []
    for order in drawn:
        at = placed(size, align, order, begin)
        moved = [new - old for new, old in zip(at, start, strict=True)]
        rows = zip(wanted, neighbours, strict=True)
        apart.append(sum(1 << bit for bit, (want, (a, b)) in enumerate(rows) if want and moved[a] != moved[b]))
        ends.append(_told(at[-1]))
    known = _told(start[-1])

    def tells(pair: tuple[int, ...]) -> tuple[int, int]:
        one, other = pair
        return (apart[one] | apart[other]).bit_count(), len(known | ends[one] | ends[other])

    return [drawn[number] for number in max(combinations(range(len(drawn)), PROBES), key=tells)]


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
    size: Sequence[int],
    align: Sequence[int],
    movable: Sequence[bool],
    order: Sequence[int],
    begin: int,
    known: set[tuple[int, int]],
) -> list[int]:
    """The order with another piece in its last movable slot, so that its end tells most beyond what is ``known``.

    What the code's own end is aligned to shows then.
    """
    last = next((slot for slot in range(len(order) - 1, -1, -1) if movable[order[slot]]), None)
    if last is None:
        return list(order)
    best, most = list(order), -1
    for slot in [last, *(slot for slot in range(last) if movable[order[slot]])][:_TRIED]:
        tried = list(order)
        tried[slot], tried[last] = tried[last], tried[slot]
        told = len(_told(_end(size, align, tried, begin)) | known)
        if told > most:
            best, most = tried, told
        if told == _ALL:
            break
    return best
