"""Whether a step behind the link, such as BOLT, left functions of its file in the order that the link gave them.

BOLT keeps the marks of sections and gives them the addresses of what it wrote, so they tell the order that is executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from layoutrand.errors import FeatureUnsupported
from layoutrand.link import codecheck
from layoutrand.objects import elf

_Pairs = set[tuple[int, int]]


class FixedPairs(NamedTuple):
    """Of ``total`` pairs of sections that follow each other in the first file, ``fixed`` do so in all, by no link."""

    fixed: int
    total: int
    n_layouts: int


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


def fixed_pairs(layouts: Sequence[Placing]) -> FixedPairs:
    """What no layout of several moves, though the links did: what a step of the build orders by itself."""
    files = [_pairs(each.file) for each in layouts]
    links = [_pairs(each.link) for each in layouts]
    alike: _Pairs = files[0].intersection(*files)
    return FixedPairs(len(alike - links[0].intersection(*links)), len(files[0]), len(layouts))


def _pairs(order: Sequence[int]) -> _Pairs:
    return set(pairwise(order))
