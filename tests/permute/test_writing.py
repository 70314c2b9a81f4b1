"""What is written between pieces, and in which order symbols and names follow the code."""

from __future__ import annotations

import numpy as np
import pytest

from layoutrand.errors import NotPermuted
from layoutrand.objects import elf
from layoutrand.permute import probes
from layoutrand.permute.placing import places
from layoutrand.permute.symbols import Names, SymbolGroups
from layoutrand.permute.write import filling


def numbers(*values: int) -> np.ndarray:
    """As the tables have them."""
    return np.array(values, np.int64)


def test_filling_is_instructions_of_gnu_ld_and_traps_of_lld() -> None:
    """Each size is filled."""
    assert filling("lld", 3) == b"\xcc\xcc\xcc"
    for size in range(40):
        assert len(filling("gnu", size)) == size
    assert filling("gnu", 10) == bytes.fromhex("662e0f1f840000000000")
    assert filling("gnu", 11) == bytes.fromhex("662e0f1f84000000000090")


@pytest.mark.parametrize("seed", range(40))
def test_pieces_lie_as_when_put_one_by_one(seed: int) -> None:
    """Whatever they are aligned to, with gaps and without."""
    drawn = np.random.default_rng(seed)
    count = int(drawn.integers(0, 30))
    size, gap = drawn.integers(0, 70, count), drawn.integers(0, 70, count) if seed % 2 else None
    step = np.array([0, 1, 2, 4, 16, 64, 4096], np.int64)[drawn.integers(0, 7, count)]
    dot = begin = int(drawn.integers(0, 200))
    wanted = []
    for number in range(count):
        free = dot + (0 if gap is None else int(gap[number]))
        wanted.append(elf.rounded(free, max(int(step[number]), 1)))
        dot = wanted[-1] + int(size[number])
    found, end = places(size, step, gap, begin)
    assert (found.tolist(), end) == (wanted, dot)


def test_groups_follow_their_first_piece() -> None:
    """The first and the last stay, the others go by the slot of their first piece."""
    groups = SymbolGroups(numbers(1, 3, 5, 9), numbers(2, 2, 4, 1), numbers(0, 1, 2, 3), numbers(1, 2, 2, 1), 1, 1)
    assert groups.order(numbers(0, 1, 2, 3)).tolist() == [0, 1, 2, 3]
    assert groups.order(numbers(2, 0, 1, 3)).tolist() == [0, 2, 1, 3]
    assert groups.rows(numbers(2, 0, 1, 3), 12).tolist() == [0, 1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11]


def test_names_are_written_in_the_order_of_symbols() -> None:
    """A name that ends another lies within it."""
    old = b"\0first\0second\0"
    names = Names(numbers(1, 7), numbers(6, 7), numbers(-1, 0, 1, 1), numbers(-1, 0, 1, -1))
    text, where = names.written(old, numbers(0, 3, 2, 1), numbers(0, 1, 7, 10))
    assert text == b"\0second\0first\0"
    assert [text[at : text.index(b"\0", at)] for at in where.tolist()] == [b"", b"ond", b"second", b"first"]


def test_probes_tell_pieces_apart() -> None:
    """The code of each ends right behind a round address, and no two pieces move alike."""
    size, align = [17, 33, 20, 65, 8, 49], [16] * 6
    movable = [True] * 6
    orders = [[5, 4, 3, 2, 1, 0], [2, 0, 4, 1, 5, 3], [1, 0, 3, 2, 5, 4]]
    found = probes.telling(size, align, movable, range(6), orders, 0)
    assert [sorted(order) for order in found] == [list(range(6))] * 2
    ends = [probes.placed(size, align, order, 0)[-1] for order in found]
    assert all(end % 16 == 1 for end in ends)


def test_pieces_that_move_alike_are_refused() -> None:
    """Orders that change nothing tell nothing."""
    with pytest.raises(NotPermuted, match="too few, or too much alike"):
        probes.telling([16, 16], [16, 16], [True, True], [0, 1], [[0, 1]] * 5, 0)
