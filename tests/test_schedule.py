from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from layoutrand.core.schedule import CACHEGRIND, NATIVE, Design, schedule

DESIGN = Design(
    systems=("O2", "O3"), benchmarks=(("x", (NATIVE,)), ("y", (NATIVE, CACHEGRIND))), seeds=(1, 2, 3),
    controls=("stock", "identity"), repetitions=1, schedule_seed=1,
)  # fmt: skip


def names(slots):
    return [f"{s.round}:{s.system}/{s.benchmark}/{s.layout}/{s.instrument}/{s.repetition}" for s in slots]


def without_order(slots):
    return {replace(slot, order=0) for slot in slots}


def test_a_round_executes_seed_and_controls_of_every_system_on_every_benchmark():
    slots = [s for s in schedule(DESIGN) if s.round == 3]
    native = Counter((s.system, s.benchmark, s.layout) for s in slots if s.instrument == NATIVE)
    assert native == {(s, b, x): 1 for s in ("O2", "O3") for b in "xy" for x in (3, "stock", "identity")}


def test_rounds_follow_each_other_and_orders_count_up():
    slots = schedule(DESIGN)
    assert [s.round for s in slots] == sorted(s.round for s in slots)
    assert [s.order for s in slots] == list(range(len(slots)))


def test_simulated_controls_are_executed_in_two_rounds_and_never_repeated():
    slots = [s for s in schedule(replace(DESIGN, repetitions=4)) if s.instrument == CACHEGRIND]
    assert {s.repetition for s in slots} == {0}
    assert Counter(s.round for s in slots if s.layout == "stock") == {1: 2, 2: 2}
    assert Counter(s.round for s in slots if s.layout not in {"stock", "identity"}) == {1: 2, 2: 2, 3: 2}


def test_repetitions():
    slots = [s for s in schedule(replace(DESIGN, repetitions=3)) if (s.system, s.benchmark, s.round) == ("O2", "x", 2)]
    assert Counter((s.layout, s.repetition) for s in slots) == {
        (layout, k): 1 for layout in (2, "stock", "identity") for k in range(3)
    }


def test_golden_order():
    assert names(schedule(replace(DESIGN, seeds=(7,), benchmarks=(("x", (NATIVE,)),)))) == GOLDEN_ROUND
    digest = hashlib.sha256("\n".join(names(schedule(replace(DESIGN, seeds=tuple(range(1, 31)))))).encode()).hexdigest()
    assert digest == GOLDEN_DIGEST


GOLDEN_ROUND = [
    "7:O3/x/identity/native/0",
    "7:O2/x/7/native/0",
    "7:O2/x/stock/native/0",
    "7:O3/x/stock/native/0",
    "7:O2/x/identity/native/0",
    "7:O3/x/7/native/0",
]
GOLDEN_DIGEST = "6b5e0134c6515b33623210f88ed962ec8cc88152af66f39ce6def188ca65cfdf"


def test_rounds_differ_in_order_and_so_do_schedule_seeds():
    def pattern(slots, number):
        return [(s.system, s.benchmark, s.instrument, s.layout == number) for s in slots if s.round == number]

    slots = schedule(DESIGN)
    assert pattern(slots, 1) != pattern(slots, 2)
    assert names(slots) != names(schedule(replace(DESIGN, schedule_seed=2)))


@given(st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=8), st.integers(0, 2**64 - 1))
def test_more_seeds_leave_the_other_rounds_alone(seeds, schedule_seed):
    ordered = tuple(sorted(seeds))
    design = replace(DESIGN, benchmarks=(("x", (NATIVE,)),), schedule_seed=schedule_seed)
    all_slots = schedule(replace(design, seeds=ordered))
    few = schedule(replace(design, seeds=ordered[:1]))
    assert names(few) == names(s for s in all_slots if s.round == ordered[0])
    assert len({s.identity for s in all_slots}) == len(all_slots)


@given(st.integers(1, 5), st.integers(1, 5))
def test_more_repetitions_only_add_slots(few, more):
    a = without_order(schedule(replace(DESIGN, repetitions=few)))
    b = without_order(schedule(replace(DESIGN, repetitions=few + more)))
    assert a < b


def test_a_seed_listed_twice_is_one_round():
    assert schedule(replace(DESIGN, seeds=(1, 1, 2))) == schedule(replace(DESIGN, seeds=(1, 2)))


def test_no_seeds_no_slots():
    assert schedule(replace(DESIGN, seeds=())) == ()


def test_every_place_in_a_round_is_equally_likely():
    """Chi-square of the place of one cell over 1,200 rounds of six; 99.99 % point of 5 degrees of freedom is 25.7."""
    slots = schedule(replace(DESIGN, seeds=tuple(range(1200)), benchmarks=(("x", (NATIVE,)),)))
    places = Counter(s.order % 6 for s in slots if s.system == "O2" and s.layout == "stock")
    assert sum((places[k] - 200) ** 2 / 200 for k in range(6)) < 25.7
