"""What relocations tell of where fields lead."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from layoutrand.objects import elf
from layoutrand.permute.anchors import NOBODY, Geometry, Pieces, Probed
from layoutrand.permute.relocations import _Hints
from layoutrand.permute.skeleton import Skeleton

DATA, BEGIN = 1, 0x1000


def of_data(*sizes: int) -> tuple[Probed, _Hints]:
    """A file with one section, of pieces of these sizes, and hints about it."""
    sections = np.zeros(2, elf.SECTION)
    sections[DATA]["addr"], sections[DATA]["size"], sections[DATA]["flags"] = BEGIN, sum(sizes), elf.SHF_ALLOC
    skeleton = Skeleton(bytes(64), np.zeros(0), sections, ("", ".rodata"), DATA, (DATA,), "lld")
    size = np.array(sizes, np.int64)
    address = BEGIN + np.cumsum(size) - size
    one = np.ones_like(size)
    probed = Probed(Geometry(skeleton, address), Pieces(one * DATA, size, one, one, address), (), one == 1)
    empty = SimpleNamespace(
        symbol_sections=np.zeros(1, np.int64),
        section_count=2,
        section_names=["", ".rodata"],
        sections=sections,
        symbols=np.zeros(1, elf.SYMBOL),
    )
    return probed, _Hints(empty, {".rodata": DATA}, probed)  # type: ignore[arg-type]


def test_a_word_of_a_table_leads_to_what_is_so_far_from_its_begin() -> None:
    """As LLVM's tables of texts: a word far from the begin says an address that is in a text behind the one it means."""
    probed, hints = of_data(16, 16, 16, 64)
    table = BEGIN + 48
    place = np.array([table, table + 4, table + 20], np.int64)
    meant = np.array([BEGIN, BEGIN + 16, BEGIN], np.int64)
    section = np.full(3, probed.identity.section(DATA))
    assert hints.of_tables(section, meant + place - table, place, DATA).tolist() == [1, 2, 1]


def test_what_a_symbol_tells_is_not_changed() -> None:
    """Nor what is not of the section that the symbol is of, or no place at all."""
    _probed, hints = of_data(16, 64)
    place = np.array([BEGIN + 20, BEGIN + 20], np.int64)
    told = np.array([2, NOBODY], np.int64)
    assert hints.of_tables(told, place, place, DATA).tolist() == told.tolist()


def test_a_table_of_jumps_begins_where_the_code_says_that_leads_there() -> None:
    """What a word of it says lies in another piece of code than what it means."""
    probed, hints = of_data(16, 16, 64)
    table = BEGIN + 32
    place = table + np.array([0, 4, 8, 12], np.int64)
    meant = np.array([BEGIN, BEGIN + 14, BEGIN + 18, BEGIN + 9], np.int64)
    section = np.full(4, probed.identity.section(DATA))
    said = meant + place - table
    assert hints.in_jumps(section, said, place).tolist() == section.tolist()  # nothing leads there
    hints = of_data(16, 16, 64)[1]
    hints.read(np.array([BEGIN + 20, BEGIN + 3]), np.array([BEGIN + 64, table]), DATA)
    assert hints.in_jumps(section, said, place).tolist() == [1, 1, 2, 1]
    assert hints.in_jumps(section, said[::-1], place[::-1]).tolist() == [1, 2, 1, 1]


def test_words_that_say_how_far_something_is_from_themselves_are_no_table_of_jumps() -> None:
    """Though code leads to the first: none of them leads into that code, nor to where a piece begins."""
    probed, hints = of_data(16, 16, 64)
    table = BEGIN + 32
    place = table + np.array([0, 4, 8, 12], np.int64)
    section = np.full(4, probed.identity.section(DATA))
    hints.read(np.array([BEGIN + 3]), np.array([table]), DATA)
    assert hints.in_jumps(section, np.full(4, BEGIN + 30), place).tolist() == section.tolist()


def test_words_with_a_gap_between_them_are_of_two_tables() -> None:
    """Behind the gap, nothing says where that table begins."""
    probed, hints = of_data(16, 16, 64)
    table = BEGIN + 32
    place = table + np.array([0, 4, 12], np.int64)
    section = np.full(3, probed.identity.section(DATA))
    hints.read(np.array([BEGIN + 3]), np.array([table]), DATA)
    found = hints.in_jumps(section, BEGIN + 1 + place - table, place)
    assert found.tolist() == [1, 1, probed.identity.section(DATA)]
