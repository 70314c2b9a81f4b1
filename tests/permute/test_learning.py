"""What is learned of a program, kept and read; and that a mistake in it is found."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from layoutrand.errors import NotPermuted
from layoutrand.permute import learn as learning
from layoutrand.permute.learn import learn, prove
from layoutrand.permute.learned import LearnedTable
from layoutrand.permute.resized import Content, resized
from layoutrand.permute.write import written
from permutekit import FLAGS, SOURCE, learnable, link_of


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The links to learn from."""
    return learnable(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def table(program):
    """What is learned of them."""
    return learn(*program[:4])


def test_every_tenth_order_is_the_linkers(program, table):
    """Byte for byte, with the build id, debugging information and names."""
    link = program[4]
    for order in list(itertools.permutations(range(6)))[::24]:
        prove(table, link(order), order)


def test_code_that_ends_at_one_place_in_any_order(tmp_path):
    """What that is aligned to cannot be told, and makes no difference; where it would, it is refused."""
    flags = (*FLAGS, "-Os", "-fno-align-functions")
    size = int(learnable(tmp_path, SOURCE, flags)[0].size.sum())
    filler = f'asm(".section .text.filler, \\"ax\\"\\n.skip {64 + -size % 64}, 0x90\\n.text");'
    *facts, link = learnable(tmp_path, SOURCE + filler, flags)
    table = learn(*facts)
    assert table.tails == ((1, 2, 4, 8, 16, 32, 64),)
    order = [6, 4, 5, 1, 0, 3, 2]
    prove(table, link(order), order)
    assert LearnedTable.of_stored(table.stored(), table.image).tails == table.tails
    with pytest.raises(NotPermuted, match="what the end of its code is aligned to cannot be told"):
        written(table, order, [1] * len(order))


@pytest.mark.parametrize("more", [1, 4095, 4096, 9000])
def test_what_follows_code_that_becomes_smaller_moves_back(table, more):
    """Tables of a file whose code was larger, by some pages or by none, and is as it was: they are as they were."""
    old = table.skeleton
    (size,) = (int(old.sections["size"][number]) for number in table.homes)
    larger = resized(old, {table.code: Content(size + more, (1,))})
    back = resized(larger, {table.code: Content(size, (1,))})
    assert (int(larger.sections["addr"].max()) > int(old.sections["addr"].max())) == (more > 1)
    assert (back.header, back.sections.tobytes(), back.segments.tobytes()) == (
        old.header,
        old.sections.tobytes(),
        old.segments.tobytes(),
    )


def test_what_is_kept_gives_the_same(table):
    """Read again, it writes the same files; another format's is none of ours."""
    again = LearnedTable.of_stored(table.stored(), table.image)
    assert written(again, [5, 4, 3, 2, 1, 0]) == written(table, [5, 4, 3, 2, 1, 0])


def test_another_format_is_not_read(table, monkeypatch):
    """A later layoutrand learns anew."""
    monkeypatch.setattr("layoutrand.permute.learned.FORMAT", 0)
    data = table.stored()
    monkeypatch.undo()
    assert LearnedTable.of_stored(data, table.image) is None


def test_a_damaged_table_is_refused(table):
    """With words."""
    with pytest.raises(NotPermuted, match="damaged"):
        LearnedTable.of_stored(table.stored()[:-40], table.image)
    wrong = replace(table, fields=replace(table.fields, target=table.fields.target + 1000))
    with pytest.raises(NotPermuted, match="damaged"):
        LearnedTable.of_stored(wrong.stored(), wrong.image)


def test_each_wrong_target_is_found_by_the_first_comparison(program, table):
    """A field that is said to lead to another piece gives another file."""
    order = [3, 1, 5, 0, 4, 2]
    binary = program[4](order)
    prove(table, binary, order)
    count = len(table.pieces)
    pieces = np.flatnonzero((table.fields.target >= 1) & (table.fields.target <= count))
    assert len(pieces) > 20
    for row in pieces.tolist():
        target = table.fields.target.copy()
        target[row] = 1 + target[row] % count
        with pytest.raises(NotPermuted, match="differs from what the linker writes"):
            prove(replace(table, fields=replace(table.fields, target=target)), binary, order)


def test_a_difference_is_named_by_its_section(program, table):
    """That is the reason that users are told."""
    wrong = replace(table, build_id="")
    with pytest.raises(NotPermuted, match=r"at byte 16 of \.note\.gnu\.build-id"):
        prove(wrong, program[4]([1, 0, 2, 3, 4, 5]), [1, 0, 2, 3, 4, 5])


def test_what_is_not_understood_is_refused(program, monkeypatch):
    """Each by its reason."""
    facts, identity, emitted, probes, link = program
    with pytest.raises(NotPermuted, match="changes"):
        learn(facts, identity, link([0, 1, 2, 3, 4, 5], "--emit-relocs", "--defsym=unused=1", "--gc-sections"), probes)
    with pytest.raises(NotPermuted, match="cannot be told|differs"):
        learn(facts, identity, emitted, [probes[0], replace(probes[1], order=tuple(reversed(probes[1].order)))])
    monkeypatch.setattr(learning, "_REFUSED", {".rodata": "--rodata"})
    with pytest.raises(NotPermuted, match=r"it has \.rodata; linked without --rodata it has none"):
        learn(facts, identity, emitted, probes)


CHOSEN = """
static int one(int x) { return x * 3; }
static int two(int x) { return x * 5 - 1; }
int counter;
static void *pick(void) { return counter ? (void *)one : (void *)two; }
int chosen(int) __attribute__((ifunc("pick")));
__attribute__((noinline)) int third(int x) { return chosen(x) + counter; }
__attribute__((noinline)) int fourth(int x) { return x ^ (counter + 77); }
void _start(void) { for (int k = 0; k < 9; k++) counter += third(k) + fourth(k) + chosen(k); }
"""


def test_a_call_leads_to_the_stub_of_what_is_chosen_at_the_start(tmp_path):
    """And not to the function that chooses, though that keeps its place, as stubs do, in all that is learned from."""
    facts, *_links, link = learnable(tmp_path, CHOSEN)
    first = CHOSEN[: CHOSEN.index("*pick(")].count("int x)")  # in the order of the text
    rest = [number for number in range(len(facts.size)) if number != first]
    orders = [[first, *rest], [first, *reversed(rest)], [first, *rest[2:], *rest[:2]]]
    start, *probes = [link_of(link(order), order) for order in orders]
    assert len({each.address[first] for each in (start, *probes)}) == 1
    made = learn(facts, start, link(orders[0], "--emit-relocs"), probes)
    order = [*rest[1:], first, rest[0]]
    prove(made, link(order), order)


def test_a_constant_is_told_from_an_address(tmp_path):
    """By how it moves; what is neither seen to move nor outside all that may is refused."""
    facts, *_links, link = learnable(tmp_path, CHOSEN)
    first = CHOSEN[: CHOSEN.index(" fourth(")].count("int x)") + 1  # in the order of the text, behind pick
    rest = [number for number in range(len(facts.size)) if number != first]
    defined = "--defsym=other=fourth+0"

    def learned(orders):
        start, *probes = [link_of(link(order, defined), order) for order in orders]
        return learn(facts, start, link(orders[0], defined, "--emit-relocs"), probes)

    with pytest.raises(NotPermuted, match="what other is the address of cannot be told"):
        learned([[first, *rest], [first, *reversed(rest)], [first, *rest[2:], *rest[:2]]])
    orders = [[first, *rest], [*rest[1:3], first, *rest[3:], rest[0]], [*reversed(rest), first]]
    order = [rest[0], first, *rest[1:]]
    prove(learned(orders), link(order, defined), order)
