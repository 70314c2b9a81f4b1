"""Tables that linkers make by themselves."""

from __future__ import annotations

import numpy as np

from layoutrand.objects import elf
from layoutrand.permute.linker_made import by_place

RELATIVE, GLOB_DAT, WORD, TPOFF = 8, 6, 1, 18


def rows(*of: tuple[int, int, int]) -> elf.Table:
    """Relocations of these places, types and symbols."""
    table = np.zeros(len(of), elf.RELA)
    for row, (place, kind, symbol) in zip(table, of, strict=True):
        row["offset"], row["info"] = place, symbol << 32 | kind
    return table


def test_the_order_of_relocations_of_gnu_ld() -> None:
    """By the first place of each symbol; without one, as of a library's own thread-local variables, relative ones apart."""
    table = rows(
        *((0x10, RELATIVE, 0), (0x90, RELATIVE, 0)),
        *((0x20, GLOB_DAT, 7), (0x80, WORD, 7), (0x30, TPOFF, 0), (0x40, GLOB_DAT, 3), (0x50, GLOB_DAT, 9)),
    )
    for order in (range(7), [3, 6, 1, 4, 5, 0, 2]):
        mixed = table[list(order)]
        assert mixed[by_place(mixed, "gnu")]["offset"].tolist() == table["offset"].tolist()
