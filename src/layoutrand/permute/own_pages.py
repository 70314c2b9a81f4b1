"""Which segments lld begins a page with: none, by -z separate-code those of code and behind it, or all.

The others begin in the next page, so far into it as the segment ahead ends in its own, so that the file has no gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from layoutrand.objects import elf

if TYPE_CHECKING:
    from layoutrand.permute.skeleton import Skeleton

PADDING: Final = ".relro_padding"
"""What lld, from version 18 on, fills the last page with that is made read-only after the start."""


def of(skeleton: Skeleton) -> frozenset[int]:
    """Their numbers, by where the segments of a file begin.

    Where that fits both, as by chance it may, they have no pages of their own: what is wrong then is found when links
    are compared.
    """
    sections, begins = skeleton.sections, skeleton.begins_segment()
    usual, own, of_code = set(), set(), set()
    ahead = -1
    for number in np.flatnonzero(skeleton.loaded & ~skeleton.beside).tolist():
        begun = begins.get(number)
        if begun is not None and ahead >= 0:
            dot, page = int(skeleton.ends[ahead]), int(skeleton.segments["align"][begun])
            align, address = (int(sections[name][number]) for name in ("align", "addr"))
            next_page = elf.rounded(dot, page)
            if address == elf.rounded(next_page + dot % page, align):
                usual.add(begun)
            if address == elf.rounded(next_page, align):
                own.add(begun)
            if (int(sections["flags"][ahead]) ^ int(sections["flags"][number])) & elf.SHF_EXECINSTR:
                of_code.add(begun)
        if skeleton.names[number] != PADDING:
            ahead = number
    every = usual | own
    if every <= usual or not of_code <= own:
        return frozenset()
    return frozenset(of_code if every - of_code <= usual else own)
