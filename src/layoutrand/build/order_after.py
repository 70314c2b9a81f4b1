"""Whether a step behind the link, such as BOLT, left functions of its file in the order that the link gave them.

BOLT keeps the marks of sections and gives them the addresses of what it wrote, so they tell the order that is executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import FeatureUnsupported
from layoutrand.link import codecheck
from layoutrand.objects import elf

_HALF: Final = 32  # bits: there are fewer sections


class FixedPairs(NamedTuple):
    """Of ``total`` pairs of sections that follow each other in the first file, ``fixed`` do so in all, by no link.

    ``is_whole`` where the order is the same in all files: links may have pairs of it, too, as where modules move whole.
    """

    fixed: int
    total: int
    n_layouts: int
    is_whole: bool


class Placing(NamedTuple):
    """One layout: the numbers of its sections in the order of the ``file`` and in that of the ``link``."""

    file: tuple[int, ...]
    link: tuple[int, ...]


def placing(data: bytes, addresses: Sequence[int], movable: frozenset[int]) -> Placing | None:
    """The orders of the ``movable`` sections; None where the file does not have the mark of each.

    ``addresses`` are those of all sections in the link, in capture order.
    """
    try:
        binary = elf.read(data, name="the artefact")
    except FeatureUnsupported:  # packed, or no ELF file any more
        return None
    marks = codecheck.of_capture(codecheck.placed_addresses(binary), len(addresses))
    in_file = codecheck.placed_order(marks[0], marks[1]).tolist()
    in_link = codecheck.placed_order(np.arange(len(addresses)), np.array(addresses, np.int64)).tolist()
    file, link = (tuple(number for number in order if number in movable) for order in (in_file, in_link))
    return Placing(file, link) if sorted(file) == sorted(link) else None


def fixed_pairs(layouts: Iterable[Placing]) -> FixedPairs | None:
    """What no layout of several moves, though the links did: what a step of the build orders by itself.

    None of fewer than two, and where nothing is fixed.  They are taken one by one, as pairs of all are no small thing
    of a program with many functions, and no more than are needed to see that nothing is.
    """
    alike, links = np.empty(0, np.int64), np.empty(0, np.int64)
    total = count = 0
    for each in layouts:
        file, link = _pairs(each.file), _pairs(each.link)
        if count == 0:
            alike, links, total = file, link, len(file)
        else:
            alike, links = np.intersect1d(alike, file, True), np.intersect1d(links, link, True)
        count += 1
        if not len(alike):
            return None
    fixed = len(np.setdiff1d(alike, links, True))
    return FixedPairs(fixed, total, count, len(alike) == total) if count > 1 and fixed else None


def _pairs(order: Sequence[int]) -> NDArray[np.int64]:
    """A number for each two that follow each other, all different."""
    numbers = np.asarray(order, np.int64)
    return (numbers[:-1] << _HALF) + numbers[1:]
