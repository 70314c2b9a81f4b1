"""Objects that change places on the link line: which may, how they are drawn, and what is checked afterwards."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildkit import section
from layoutrand.errors import CodeChanged, FeatureUnsupported, LayoutNotApplied
from layoutrand.layout.keyed import keyed_order
from layoutrand.linkers import link_order
from layoutrand.model import MAX_SEED

LINE = (
    "--sysroot=\0",
    "-o",
    "x",
    "crt1.o",
    "a.o",
    "b.o",
    "c.o",
    "-L",
    "dir",
    "d.o",
    "e.o",
    "lib.a",
    "f.o",
    "--as-needed",
    "g.o",
    "h.o",
    "-lc",
    "crtn.o",
)
MOVABLE = tuple(f"{letter}.o" for letter in "abcdefgh")


def test_objects_move_inside_unbroken_runs_only():
    """Nothing crosses an option, an archive or a file that may not move; every other word stays where it is."""
    seen = set()
    for seed in range(40):
        moved = link_order.move(LINE, MOVABLE, seed)
        assert [word for word in moved.argv if word not in MOVABLE] == [word for word in LINE if word not in MOVABLE]
        assert (sorted(moved.argv[4:7]), sorted(moved.argv[9:11]), moved.argv[12], sorted(moved.argv[14:16])) == (
            ["a.o", "b.o", "c.o"],
            ["d.o", "e.o"],
            "f.o",
            ["g.o", "h.o"],
        )
        assert moved.objects == tuple(word for word in moved.argv if word in MOVABLE)
        seen.add(moved.objects)
    assert len(seen) > 15


@pytest.mark.parametrize(("seed", "order"), [(0, "cbaedfgh"), (1, "cabdefgh"), (MAX_SEED, "abcedfhg")])
def test_orders_are_pinned_for_ever(seed, order):
    """The order of a fixed line never changes."""
    assert "".join(name[0] for name in link_order.move(LINE, MOVABLE, seed).objects) == order


@given(st.integers(0, MAX_SEED), st.permutations(MOVABLE))
def test_a_run_is_in_the_order_of_the_keyed_hash(seed, names):
    """By the names on the line alone: an object added to a run leaves the others' relative order."""
    whole = link_order.move(names, names, seed).objects
    fewer = link_order.move(names[1:], names[1:], seed).objects

    assert list(whole) == [names[which] for which in keyed_order(seed, "link-order", [name.encode() for name in names])]
    assert [name for name in whole if name != names[0]] == list(fewer)


@pytest.mark.parametrize(
    "line",
    [(), ("a.o",), ("a.o", "lib.a", "b.o"), ("a.o", "--start-group", "b.o", "--end-group", "c.o"), ("x.o", "y.o")],
)
def test_a_line_on_which_nothing_can_move_is_refused(line):
    """The message says why, and what moves the members of archives."""
    with pytest.raises(
        FeatureUnsupported,
        match=r"no two object files stand side by side .* module-order moves the members of archives",
    ):
        link_order.move(line, MOVABLE, 1)


def test_an_option_with_a_value_that_looks_like_an_object_is_no_object():
    """Values of options stay values."""
    line = ("a.o", "b.o", "-e", "c.o", "d.o", "e.o")
    for seed in range(20):
        argv = link_order.move(line, MOVABLE, seed).argv
        assert argv[2:4] == ("-e", "c.o")
        assert set(argv[:2]) == {"a.o", "b.o"}


SECTIONS = [
    section(0, "a.o", ".text.f"),
    section(1, "a.o", ".text._Z1tv", group="_Z1tv"),
    section(2, "a.o", ".text.hot.h", kind="hot"),
    section(3, "b.o", ".text.g"),
    section(4, "b.o", ".text._Z1tv", group="_Z1tv"),
    section(5, "b.o", ".data.v", kind="data"),
    section(6, "lib.a(c.o)", ".text.c"),
]
OWNERS = ["a.o", "a.o", "a.o", "b.o", "b.o", "b.o", ""]


def test_another_copy_of_a_comdat_function_is_no_change():
    """The group is there once in either; by whom does not matter."""
    link_order.check_presence(SECTIONS, [0, 1, 2, 3, 5, 6], [3, 4, 5, 0, 2, 6])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([0, 1, 2, 5, 6], r"the binary lacks \.text\.g of b\.o #0, which identity has"),
        ([0, 2, 3, 5, 6], r"the binary lacks \.text\._Z1tv of group _Z1tv, which identity has"),
        ([0, 1, 2, 3, 4, 5, 6], r"the binary has \.text\._Z1tv of group _Z1tv, which identity has not"),
    ],
)
def test_a_lost_or_doubled_section_is_a_changed_program(found, message):
    """Named with what it belongs to."""
    with pytest.raises(CodeChanged, match=message):
        link_order.check_presence(SECTIONS, [0, 1, 2, 3, 5, 6], found)


def moved(*objects):
    return link_order.Moved((), objects)


@pytest.mark.parametrize(
    ("achieved", "objects", "by_class"),
    [
        ([0, 1, 2, 3, 5, 6], ("a.o", "b.o"), False),
        ([3, 4, 5, 0, 2, 6], ("b.o", "a.o"), False),
        ([2, 0, 1, 3, 5, 6], ("a.o", "b.o"), True),
        ([2, 3, 4, 6, 0, 5], ("b.o", "a.o"), True),
        ([6, 0, 1, 3], ("a.o", "b.o"), True),
    ],
)
def test_orders_that_follow_the_link_line(achieved, objects, by_class):
    """Objects in their new order, each object's sections in its own; what cannot move may be anywhere."""
    link_order.check_order(SECTIONS, OWNERS, achieved, moved(*objects), by_class=by_class)


@pytest.mark.parametrize(
    ("achieved", "by_class", "message"),
    [
        ([3, 0, 1, 2, 5], False, r"\.text\.g of b\.o stands before \.text\.f of a\.o"),
        ([0, 3, 1], False, r"\.text\.g of b\.o stands before \.text\._Z1tv of a\.o"),
        ([2, 0, 3], False, r"\.text\.hot\.h of a\.o stands before \.text\.f of a\.o"),
        ([1, 0, 3], True, r"_Z1tv of a\.o stands before \.text\.f of a\.o"),
    ],
)
def test_orders_that_do_not(achieved, by_class, message):
    """The first pair that stands the wrong way round is named."""
    with pytest.raises(LayoutNotApplied, match=message):
        link_order.check_order(SECTIONS, OWNERS, achieved, moved("a.o", "b.o"), by_class=by_class)


def test_every_order_of_a_run_turns_up():
    """Three objects have six orders, about equally often, and no neighbours that always stay together."""
    orders = [link_order.move(("a.o", "b.o", "c.o"), MOVABLE, seed).objects for seed in range(600)]

    assert all(60 < orders.count(order) < 140 for order in set(orders))
    assert len(set(orders)) == 6
    assert len({pair for order in orders for pair in pairwise(order)}) == 6
