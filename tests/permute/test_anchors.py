"""What addresses belong to, by where they lie and how they move."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute.anchors import NOBODY, Geometry, Pieces, Probed
from layoutrand.permute.skeleton import Skeleton

CODE, DATA, ZEROES = 1, 2, 3
BEGINS = {CODE: 0x1000, DATA: 0x2000, ZEROES: 0x2020}
"""Zeroes begin where the data ends."""

PIECES = [(CODE, 0x1000), (CODE, 0x1010), (DATA, 0x2000), (DATA, 0x2010), (ZEROES, 0x2020), (ZEROES, 0x2030)]
SIZE = 0x10


def layout(moved: list[int]) -> Geometry:
    """The file, with each of its pieces moved so far, and its sections where they are."""
    sections = np.zeros(4, elf.SECTION)
    for number, begin in BEGINS.items():
        sections[number]["addr"], sections[number]["size"], sections[number]["flags"] = begin, 2 * SIZE, elf.SHF_ALLOC
    skeleton = Skeleton(
        bytes(64), np.zeros(0), sections, ("", ".text", ".data", ".bss"), CODE, (CODE, DATA, ZEROES), "gnu"
    )
    return Geometry(skeleton, np.array([address for _, address in PIECES], np.int64) + moved)


def probed(*moved: list[int], free: tuple[bool, ...] = (True,) * 6) -> Probed:
    """That file, and links in which the pieces are moved so."""
    section, address = (np.array(each, np.int64) for each in zip(*PIECES, strict=True))
    one = np.ones_like(section)
    pieces = Pieces(section, one * SIZE, one * SIZE, one * SIZE, address)
    return Probed(layout([0] * 6), pieces, tuple(layout(each) for each in moved), np.array(free))


def settled(file: Probed, address: int, moved: list[int], hint: int = NOBODY) -> int:
    """The anchor of one address."""
    return int(file.settle(*(np.array([each], np.int64) for each in (address, moved, hint)))[0])


def test_an_address_between_two_sections_is_what_begins_there() -> None:
    """Though the last piece of the data moves as the first of the zeroes does; unless it is known to be of the data."""
    file = probed([64, 32, 8, 16, 16, 24], [32, 64, 24, 48, 48, 8])
    assert settled(file, 0x2020, [16, 48]) == 1 + 4
    assert settled(file, 0x2020, [16, 48], file.identity.section(ZEROES)) == 1 + 4
    assert settled(file, 0x2020, [16, 48], file.identity.section(DATA)) == 1 + 3


def test_an_address_between_a_piece_and_a_section_without_any_is_of_that() -> None:
    """Such as the first of a linker set, right behind the data; what is known to be of the data is at its end."""
    moved = [64, 32, 8, 16, 0, 0], [32, 64, 24, 48, 0, 0]
    file = probed(*moved)
    of_pieces = file.pieces.section != ZEROES
    pieces = Pieces(*(getattr(file.pieces, each.name)[of_pieces] for each in fields(Pieces)))
    layouts = [layout(each) for each in ([0] * 6, *moved)]
    for each, by in zip(layouts, (0, 16, 48), strict=True):
        each.skeleton.sections[ZEROES]["addr"] += by  # as the last piece of the data
    some = [Geometry(replace(each.skeleton, homes=(CODE, DATA)), each.pieces[of_pieces]) for each in layouts]
    file = Probed(some[0], pieces, tuple(some[1:]), file.free[of_pieces])
    assert settled(file, 0x2020, [16, 48]) == file.identity.section(ZEROES)
    assert settled(file, 0x2020, [16, 48], file.identity.section(DATA)) == 1 + 3


def test_an_address_outside_of_its_array_is_of_the_section_that_its_symbol_is_of() -> None:
    """As those of arrays that are counted from 1: code, and the zeroes behind the data, move as that does."""
    file = probed([16, 32, 8, 16, 16, 24], [48, 64, 24, 48, 48, 8])
    assert settled(file, 0x1FF0, [16, 48], file.identity.section(DATA)) == 1 + 3
    assert settled(file, 0x1FF0, [16, 48], file.identity.section(ZEROES)) == 1 + 4


def test_an_address_outside_of_all_that_moves_so_is_refused() -> None:
    """Which of these is meant cannot be told, but if they stay together in every order it is all the same."""
    alike = [16, 32, 8, 16, 24, 24], [48, 64, 24, 48, 8, 8]
    with pytest.raises(NotPermuted, match="which of several parts is meant by the address 0x2000"):
        settled(probed(*alike), 0x2000, [24, 8], probed(*alike).identity.section(ZEROES))
    pinned = probed(*alike, free=(True, True, True, True, False, False))
    assert settled(pinned, 0x2000, [24, 8], pinned.identity.section(ZEROES)) == 1 + 4


def test_ends_that_are_not_told_apart() -> None:
    """What is rounded up to 16 and to 32 lies and moves alike, and only what a field leads to counts."""
    file = probed([0] * 6, [0] * 6)
    end, rounded = (file.identity.end(1, step) for step in (16, 32))
    assert file.alike_ends(np.array([0, 1, 2], np.int32)) == ()
    pairs = file.alike_ends(np.array([rounded], np.int32))
    assert (end, rounded) in pairs
    assert (rounded, file.identity.section(ZEROES)) in pairs
    assert all(rounded in pair for pair in pairs)
    assert (rounded, file.identity.end(1, 64)) not in pairs  # that lies elsewhere
