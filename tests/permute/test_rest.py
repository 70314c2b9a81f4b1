"""What linkers' maps say of sections of data, and what that is aligned to."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from layoutrand.errors import NotPermuted
from layoutrand.permute import probes
from layoutrand.permute.rest import Rest, alignments, of_map

LLD = """\
             VMA              LMA     Size Align Out     In      Symbol
            1000             1000       40    16 .rodata
            1000             1000        8     8         /a/b.o:(.rodata.f)
            1000             1000        8     1                 f
            1008             1008        4     4         /a/b.o:(.rodata.g)
            100c             100c       12     1         <internal>:(.rodata)
            1020             1020       20    16         <internal>:(.rodata)
            1040             1040        0     1         /a/c.o:(.rodata)
            2000             2000        4     4 .data
            2000             2000        4     4         /a/b.o:(.data.d)
"""
GNU = """
Linker script and memory map

.rodata         0x0000000000001000       0x40
 *(.rodata.lr.0000001)
 .rodata.lr.0000001
                0x0000000000001000        0x8 /a/b.o
 *(.rodata .rodata.* .gnu.linkonce.r.*)
 .rodata.str1.1
                0x0000000000001008       0x10 /a/b.o
                                         0x20 (size before relaxing)
 .rodata.str1.8
                0x0000000000001018        0x5 /a/c.o
                                          0x9 (size before relaxing)
 *fill*         0x0000000000001018        0x8
 .rodata.cst16  0x0000000000001020       0x20 /a/c.o
                                         0x30 (size before relaxing)
 .rodata.cst4   0x0000000000001040        0x4 /a/d.o

.data           0x0000000000002000        0x4
 .data          0x0000000000002000        0x4 /a/c.o
"""


def binary(*sections: tuple[str, int, int, int]) -> SimpleNamespace:
    """As much of a file as is asked for: name, address, size and alignment of sections."""
    rows = np.array([row[1:] for row in sections], [("addr", "<u8"), ("size", "<u8"), ("align", "<u8")])
    return SimpleNamespace(section_names=[row[0] for row in sections], sections=rows)


FILE = binary((".rodata", 0x1000, 0x40, 16), (".data", 0x2000, 4, 4))


def test_what_follows_the_pieces_by_lld() -> None:
    """With its alignment; other sections are not asked for."""
    pieces = np.array([0x1000, 0x1008]), np.array([8, 4])
    assert of_map(LLD, "lld", FILE, [0], pieces) == (
        Rest(0, 0x100C, 0x12, 1, 0x100C),
        Rest(0, 0x1020, 0x20, 16, 0x101E),
        Rest(0, 0x1040, 0, 1, 0x1040),
    )


def test_what_follows_the_pieces_by_gnu_ld() -> None:
    """What was merged away is not there, though the map gives it a size."""
    asked = []

    def aligned(owner: str, name: str) -> int:
        asked.append((owner, name))
        return 0

    pieces = np.array([0x1000]), np.array([8])
    assert of_map(GNU, "gnu", FILE, [0], pieces, aligned) == (
        Rest(0, 0x1008, 0x10, 0, 0x1008),
        Rest(0, 0x1020, 0x20, 0, 0x1018),
    )
    assert ("/a/c.o", ".rodata.cst16") in asked


def test_what_stands_between_pieces_is_refused() -> None:
    """Where it would be in another order is not known."""
    with pytest.raises(NotPermuted, match=r"something stands between the pieces of \.rodata"):
        of_map(LLD, "lld", FILE, [0], (np.array([0x1000, 0x1020]), np.array([8, 0x20])))


def test_an_alignment_that_is_not_known_shows_in_several_links() -> None:
    """As far as it does: what fits all links, up to that of the section."""
    one, other = Rest(0, 0x1020, 4, 0, 0x1019), Rest(0, 0x1030, 4, 0, 0x102B)
    assert alignments([(one,), (other,)], FILE) == ([8], [16])
    assert alignments([(one,), (Rest(0, 0x1028, 4, 0, 0x1021),)], FILE) == ([8], [8])
    with pytest.raises(NotPermuted, match=r"what a part of \.rodata is aligned to is not understood"):
        alignments([(one,), (Rest(0, 0x102C, 4, 0, 0x1021),)], FILE)
    with pytest.raises(NotPermuted, match="other parts"):
        alignments([(one,), ()], FILE)


def test_neighbours_are_told_apart_by_two_orders() -> None:
    """Of those that are drawn, two in which no neighbours stay neighbours, where there are such."""
    size, align = [8, 4, 12], [4, 4, 4]
    drawn = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert probes.separating(size, align, [0, 1, 2], drawn, 0) == [[1, 2, 0], [2, 0, 1]]


def test_data_that_moves_alike_is_avoided() -> None:
    """Of orders in which no neighbours stay neighbours, two in which no two pieces are moved as far as each other."""
    drawn = [[1, 0, 3, 4, 2], [1, 2, 3, 0, 4], [3, 2, 4, 1, 0]]

    def shifts(one: list[int], other: list[int]) -> int:
        return len({(one.index(piece) - piece, other.index(piece) - piece) for piece in range(5)} | {(0, 0)})

    assert probes.separating([8] * 5, [8] * 5, [0, 1, 2, 3, 4], drawn, 0) == [drawn[0], drawn[2]]
    assert (shifts(drawn[0], drawn[2]), shifts(drawn[0], drawn[1])) == (6, 5)
