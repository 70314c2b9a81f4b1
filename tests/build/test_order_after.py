"""The order of functions in a file that a step behind the link wrote, as its marks tell it."""

import pytest

from buildkit import compiled, link_with
from layoutrand.build.order_after import FixedPairs, Placing, fixed_pairs, placing

LINKED = (1, 2, 3, 4)
OTHER = (4, 2, 1, 3)


def assembled(folder, numbers, *, marks=True):
    """A program with a function for each of the numbers, in this order, and their marks."""
    parts = [
        (f".lr.{number:07}: " if marks else "") + f".globl f{number}; f{number}: mov ${number}, %eax; ret"
        for number in numbers
    ]
    text = "int main(void) { return 0; }\n" + "".join(f'__asm__("{part}");\n' for part in parts)
    return link_with("bfd", folder, [compiled(folder, "main.c", text)]).read_bytes()


def test_the_order_of_the_marks(tmp_path):
    """The file has them in another order than the link; a section that keeps its place is left out."""
    data = assembled(tmp_path, [2, 0, 1])

    assert placing(data, [0x10, 0x20, 0x30], frozenset({0, 1, 2})) == Placing((2, 0, 1), (0, 1, 2))
    assert placing(data, [0x10, 0x20, 0x30], frozenset({0, 2})) == Placing((2, 0), (0, 2))


@pytest.mark.parametrize("addresses", [[1, 2], [1, 2, 3]])
def test_a_file_without_all_marks(tmp_path, addresses):
    """Of a stripped file, one that lacks some, or none that is a program, nothing is told."""
    everything = frozenset(range(len(addresses)))

    assert placing(assembled(tmp_path, [0, 1], marks=False), addresses, everything) is None
    assert placing(assembled(tmp_path, [0]), addresses, everything) is None
    assert placing(b"\x7fELF, but packed", addresses, everything) is None


def test_a_step_that_orders_by_itself():
    """Links that differ and files that do not: all pairs are the step's."""
    assert fixed_pairs([Placing(LINKED, LINKED), Placing(LINKED, OTHER)]) == FixedPairs(3, 3, 2, True)


def test_a_step_that_orders_some():
    """What it leaves as it was linked is not counted."""
    assert fixed_pairs([Placing((1, 2, 3, 4), (4, 3, 2, 1)), Placing((1, 2, 4, 3), (1, 4, 2, 3))]) == FixedPairs(
        1, 3, 2, False
    )


def test_a_step_that_orders_all_and_has_a_pair_as_links_happen_to_have_it():
    """Nothing is left of these layouts, though not all of it is the step's doing: whole modules keep their pairs."""
    assert fixed_pairs([Placing(LINKED, (1, 2, 4, 3)), Placing(LINKED, (3, 1, 2, 4))]) == FixedPairs(2, 3, 2, True)


def test_a_step_that_keeps_each_order():
    """Files as they were linked; what links keep together, as whole modules do, is no step's doing."""
    assert fixed_pairs([Placing(LINKED, LINKED), Placing(OTHER, OTHER)]) is None
    assert fixed_pairs([Placing((1, 2, 3, 4), (1, 2, 3, 4)), Placing((3, 4, 1, 2), (3, 4, 1, 2))]) is None


def test_a_step_that_moves_by_a_rule():
    """Reversed layouts are layouts."""
    assert fixed_pairs([Placing(LINKED[::-1], LINKED), Placing(OTHER[::-1], OTHER)]) is None


def test_one_layout_tells_nothing():
    assert fixed_pairs([]) is None
    assert fixed_pairs([Placing(LINKED, OTHER)]) is None


def test_no_more_layouts_are_read_than_it_takes():
    """Binaries of a large program are large, and each build from the cache would read all of them."""

    def layouts():
        yield Placing(LINKED, LINKED)
        yield Placing((2, 1, 4, 3), (2, 1, 4, 3))
        pytest.fail("nothing is alike in these two")

    assert fixed_pairs(layouts()) is None
