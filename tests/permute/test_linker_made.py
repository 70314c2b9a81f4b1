"""Tables that linkers make by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.linker_made import by_place, refuse_unknown_entries

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


@pytest.mark.parametrize("tag", [1, 5, 0x6FFFFEF7, 0x6FFFFDF8, 0x6FFFFFF9, 0x70000000])
def test_entries_of_the_dynamic_linker_that_are_known_are_no_reason_to_refuse(tag: int) -> None:
    refuse_unknown_entries(".dynamic", entries((tag, 0x1000), (0, 0)))


def test_an_entry_that_may_be_an_address_is_refused_and_not_kept_as_it_is() -> None:
    """DT_TLSDESC_GOT was written as identity has it, before it was known."""
    unknown = 0x6FFFFE42  # among those that are addresses by the standard
    refuse_unknown_entries(".dynamic", entries((unknown, 0)))
    with pytest.raises(NotPermuted, match=r"\.dynamic has an entry of an unknown kind \(tag 0x6ffffe42\)"):
        refuse_unknown_entries(".dynamic", entries((1, 7), (unknown, 0x1000)))


def entries(*of: tuple[int, int]) -> elf.Table:
    table = np.zeros(len(of), elf.DYNAMIC)
    for row, (tag, value) in zip(table, of, strict=True):
        row["tag"], row["value"] = tag, value
    return table
