"""Reconciled layouts, before any link: what is paired, where it is put, and that room is enough for every seed."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from buildkit import section
from layoutrand.layout.reconciled import Adjustment, Rules, Side, arrange, pair, requested, rooms, stretch_of
from layoutrand.model import IDENTITY, MAX_SEED

KINDS = ("text", "hot", "unlikely", "rodata", "data.rel.ro.local", "data.rel.ro", "data", "bss")
RULES = Rules(("function-order", "data-order"), "keep", 0)
PADDED = Rules(("function-order", "padding"), "mix", 24)
UNCHANGED, CHANGED, OWN = "unchanged", "changed", "own"

seeds = st.integers(0, MAX_SEED)
sizes = st.tuples(st.integers(1, 300), st.sampled_from((1, 2, 8, 16, 64)))
parts = st.lists(
    st.tuples(st.sampled_from((UNCHANGED, CHANGED, OWN)), st.sampled_from(KINDS), sizes, sizes, st.booleans()),
    min_size=1,
    max_size=30,
)
rules = st.sampled_from((RULES, PADDED))


def sides_of(drawn):
    """Two sides of these parts: what is its own is of the one or the other, what changed has another size too."""
    sections = [[], []]
    contents = [[], []]
    for number, (what, kind, first, second, where) in enumerate(drawn):
        for which, (size, align) in enumerate((first, second if what == CHANGED else first)):
            if what == OWN and which != where:
                continue
            own = sections[which]
            own.append(section(len(own), f"m{number % 4}.o", f".{kind}.f{number}", kind=kind, size=size, align=align))
            contents[which].append(b"%d" % (number if what != CHANGED else 1000 + 2 * number + which))
    by_stretch = [sorted(range(len(own)), key=lambda n: stretch_of(own[n].kind)) for own in sections]
    return [Side(*each) for each in zip(sections, by_stretch, contents, strict=True)]


def offsets(sides, pairs, seed, rules):
    return [
        {number: at for stretch in side.values() for number, at in stretch}
        for side in arrange(sides, pairs, seed, rules)
    ]


@given(parts, seeds, rules)
def test_what_both_sides_have_begins_at_one_offset_and_nothing_overlaps(drawn, seed, rules):
    sides = sides_of(drawn)
    pairs = pair(sides)
    assert len(pairs.unchanged) == sum(what == UNCHANGED for what, *_ in drawn)
    at = offsets(sides, pairs, seed, rules)
    for row in (*pairs.unchanged, *pairs.changed):
        assert len({own[number] for own, number in zip(at, row, strict=True)}) == 1
    room = rooms(sides, pairs, rules.padding)
    for side, stretches in zip(sides, arrange(sides, pairs, seed, rules), strict=True):
        assert sorted(number for stretch in stretches.values() for number, _ in stretch) == sorted(side.identity)
        for of, stretch in stretches.items():
            end = 0
            for number, offset in stretch:
                assert offset >= end
                assert offset % side.sections[number].align == 0
                end = offset + side.sections[number].size
            assert end <= room[of].size


@given(parts, seeds, rules)
def test_a_linker_that_packs_sections_puts_each_where_it_is_to_be(drawn, seed, rules):
    """What is asked for, placed one behind the other as linkers do, is the arrangement; every stretch has its room."""
    sides = sides_of(drawn)
    pairs = pair(sides)
    room = rooms(sides, pairs, rules.padding)
    none = dict.fromkeys(room, Adjustment())
    for number, side in enumerate(sides):
        if not side.identity:
            continue
        stretches = arrange(sides, pairs, seed, rules)[number]
        layout, fillers = requested(side, stretches, room, none, (seed, rules))
        known = [*side.sections, *fillers]
        end, at, ends = {}, {}, {}
        for index in layout.order:
            of = stretch_of(known[index].kind)
            begin = -(-end.get(of, 0) // max(1, known[index].align)) * max(1, known[index].align)
            at[index], end[of] = begin, begin + known[index].size
            ends[of] = end[of]
        for of, stretch in stretches.items():
            assert [at[n] - room[of].align for n, _ in stretch] == [offset for _, offset in stretch]
            assert ends[of] == room[of].align + room[of].size
        assert layout.gaps == ()


@given(parts, seeds)
def test_what_is_shared_comes_before_what_changed_and_that_before_what_is_of_one_side(drawn, seed):
    sides = sides_of(drawn)
    pairs = pair(sides)
    for which, stretches in enumerate(arrange(sides, pairs, seed, RULES)):
        unchanged, changed = ({row[which] for row in rows} for rows in (pairs.unchanged, pairs.changed))
        for stretch in stretches.values():
            ranks = [0 if n in unchanged else 1 if n in changed else 2 for n, _ in stretch]
            assert ranks == sorted(ranks)


def test_the_order_is_the_seeds_and_the_same_for_ever():
    """What a seed means is cited: this order may not change."""
    sides = sides_of([(UNCHANGED, "text", (20 + n, 16), (1, 1), False) for n in range(12)])
    orders = [
        [number for number, _ in arrange(sides, pair(sides), seed, RULES)[0]["text"]] for seed in (1, 2, 2**64 - 1)
    ]
    assert orders == GOLDEN
    identity = arrange(sides, pair(sides), IDENTITY, RULES)[0]["text"]
    assert [number for number, _ in identity] == list(range(12))


GOLDEN = [
    [5, 6, 2, 4, 8, 11, 9, 10, 1, 0, 3, 7],
    [4, 0, 6, 11, 2, 10, 1, 7, 8, 5, 3, 9],
    [6, 5, 7, 3, 2, 4, 9, 11, 0, 1, 10, 8],
]


def side(*rows):
    """A side of plain functions (object, name, contents)."""
    sections = [section(n, obj, f".text.{name}") for n, (obj, name, _) in enumerate(rows)]
    return Side(sections, list(range(len(rows))), [hashlib.sha256(what.encode()).digest() for *_, what in rows])


def test_a_function_is_found_again_when_its_file_or_its_name_is_another():
    first = side(("a.o", "f", "1"), ("a.o", "g", "2"), ("a.o", "h.constprop.0", "3"), ("a.o", "k", "4"))
    other = side(("new.o", "g", "2"), ("new.o", "f", "1"), ("a.o", "h.constprop.7", "3"), ("a.o", "k", "5"))
    assert pair([first, other]).unchanged == ((0, 1), (1, 0), (2, 2))
    assert pair([first, other]).changed == ((3, 3),)


def test_of_equal_contents_none_is_taken_for_another():
    """Two functions of the same contents and other names each: nobody can tell which is which."""
    first = side(("a.o", "f", "1"), ("a.o", "g", "1"))
    other = side(("b.o", "p", "1"), ("b.o", "q", "1"))
    assert pair([first, other]).unchanged == ()


def test_three_systems_share_what_all_of_them_have():
    sides = [
        side(("a.o", "f", "1"), ("a.o", "g", "2")),
        side(("a.o", "f", "1"), ("a.o", "g", "3")),
        side(("a.o", "g", "2"), ("a.o", "f", "1")),
    ]
    assert pair(sides).unchanged == ((0, 0, 1),)
    assert pair(sides).changed == ((1, 1, 0),)
    assert len({own[n] for own, n in zip(offsets(sides, pair(sides), 3, RULES), (0, 0, 1), strict=True)}) == 1


def test_another_alignment_or_kind_is_a_change():
    one = side(("a.o", "f", "1"))
    for changes in ({"align": 32}, {"kind": "unlikely"}, {"size": 17}):
        other = Side([section(0, "a.o", ".text.f", **changes)], [0], one.contents)
        assert pair([one, other]).unchanged == ()
        assert pair([one, other]).changed == ((0, 0),)
