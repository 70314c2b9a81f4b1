from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.config.schedule import Design, Order, schedule

NATIVE, CACHEGRIND = "native", "cachegrind"
DESIGN = Design(
    systems=("O2", "O3"),
    benchmarks=(("x", (NATIVE,)), ("y", (NATIVE, CACHEGRIND))),
    seeds=(1, 2, 3),
    controls=("stock", "identity"),
    repetitions=1,
    schedule_seed=1,
    simulated=frozenset({CACHEGRIND}),
)


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


@pytest.mark.parametrize(
    ("seeds", "rounds"), [(2, [1, 2]), (3, [1, 2]), (6, [1, 2, 6]), (30, [1, 2, *range(6, 31, 5)])]
)
def test_simulated_controls_are_executed_throughout(seeds, rounds):
    slots = schedule(replace(DESIGN, seeds=tuple(range(1, seeds + 1))))
    for system, control in (("O2", "stock"), ("O3", "identity")):
        found = [s.round for s in slots if (s.system, s.layout, s.instrument) == (system, control, CACHEGRIND)]
        assert found == rounds


def test_simulated_controls_are_never_repeated():
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
GOLDEN_DIGEST = "93d4f0daac444584ac8cb834423e291b68ed953c3d712cd9579b48e6020893c4"


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


# --- other orders ------------------------------------------------------------------------------------------------

ORDERS = get_args(Order)


@st.composite
def designs(draw):
    instruments = st.sampled_from([(NATIVE,), (CACHEGRIND,), (NATIVE, CACHEGRIND)])
    return Design(
        systems=tuple(f"s{k}" for k in range(draw(st.integers(1, 3)))),
        benchmarks=tuple((f"b{k}", draw(instruments)) for k in range(draw(st.integers(1, 3)))),
        seeds=tuple(sorted(draw(st.sets(st.integers(0, 99), max_size=4)))),
        controls=draw(st.sampled_from([(), ("stock",), ("stock", "identity")])),
        repetitions=draw(st.integers(1, 3)),
        schedule_seed=draw(st.integers(0, 2**64 - 1)),
        simulated=frozenset({CACHEGRIND}),
    )


@given(designs())
def test_every_order_executes_exactly_the_same_slots(design):
    slots = {order: schedule(replace(design, order=order)) for order in ORDERS}
    for order in ORDERS:
        assert [slot.order for slot in slots[order]] == list(range(len(slots["blocks"])))
        assert without_order(slots[order]) == without_order(slots["blocks"])
        assert len(without_order(slots[order])) == len(slots[order])


@given(designs(), st.sampled_from(["blocks", "interleaved"]))
def test_a_round_is_complete_before_the_next_begins_and_all_rounds_before_binaries_are_executed_again(design, order):
    slots = schedule(replace(design, order=order))
    found = [key for key, _ in itertools.groupby(slots, key=lambda slot: (slot.repetition, slot.round))]
    first, *later = range(design.repetitions)
    assert found[: len(design.seeds)] == [(first, seed) for seed in design.seeds]
    repeated = [slot for slot in slots if slot.repetition > 0]
    assert found[len(design.seeds) :] == [(n, seed) for n in later for seed in design.seeds if repeated]


@given(designs(), st.sampled_from(ORDERS))
def test_the_same_design_gives_the_same_order(design, order):
    assert schedule(replace(design, order=order)) == schedule(replace(design, order=order))


@given(designs(), st.sampled_from(["sequential", "interleaved"]), st.integers(0, 2**64 - 1))
def test_orders_without_chance_do_not_depend_on_the_schedule_seed(design, order, seed):
    assert schedule(replace(design, order=order)) == schedule(replace(design, order=order, schedule_seed=seed))


@given(designs())
def test_sequential_executes_system_after_system_and_benchmark_after_benchmark(design):
    slots = schedule(replace(design, order="sequential"))
    blocks = [key for key, _ in itertools.groupby(slots, key=lambda slot: (slot.system, slot.benchmark))]
    assert blocks == [(s, b) for s in design.systems for b, _ in design.benchmarks if slots]
    for _, block in itertools.groupby(slots, key=lambda slot: (slot.system, slot.benchmark)):
        rounds = [slot.round for slot in block]
        assert rounds == sorted(rounds)


@given(designs())
def test_interleaved_alternates_the_systems(design):
    """A B A B: whatever slot is executed of one system, its counterparts of the others are its neighbours."""
    slots = schedule(replace(design, order="interleaved"))
    n = len(design.systems)
    assert [slot.system for slot in slots] == list(design.systems) * (len(slots) // n)
    for start in range(0, len(slots), n):
        assert len({replace(slot, system="", order=0) for slot in slots[start : start + n]}) == 1


def test_interleaved_and_sequential_by_name():
    design = replace(DESIGN, benchmarks=(("x", (NATIVE,)),), controls=("stock",), seeds=(1, 2))
    assert names(schedule(replace(design, order="interleaved"))) == [
        f"{k}:{system}/x/{layout}/native/0" for k in (1, 2) for layout in (k, "stock") for system in ("O2", "O3")
    ]
    assert names(schedule(replace(design, order="sequential"))) == [
        f"{k}:{system}/x/{layout}/native/0" for system in ("O2", "O3") for k in (1, 2) for layout in (k, "stock")
    ]


def test_random_mixes_the_rounds_and_is_pinned():
    """Golden as the blocks are; the order is not that of the blocks within any round either."""
    slots = schedule(replace(DESIGN, seeds=tuple(range(1, 31)), order="random"))
    changes = sum(a.round != b.round for a, b in itertools.pairwise(slots))
    assert changes > 0.9 * len(slots)
    assert hashlib.sha256("\n".join(names(slots)).encode()).hexdigest() == GOLDEN_RANDOM
    assert names(schedule(replace(DESIGN, order="random", schedule_seed=2))) != names(
        schedule(replace(DESIGN, order="random"))
    )


def test_random_puts_every_slot_anywhere():
    """Chi-square of the sixth of the schedule that one cell falls into, over 600 schedules; 99.99 % point 25.7."""
    design = replace(DESIGN, benchmarks=(("x", (NATIVE,)),), order="random")
    sixths = Counter()
    for seed in range(600):
        (place,) = [s.order for s in schedule(replace(design, schedule_seed=seed)) if (s.system, s.layout) == ("O2", 2)]
        sixths[place // 3] += 1
    assert sum((sixths[k] - 100) ** 2 / 100 for k in range(6)) < 25.7


@pytest.mark.parametrize("order", ORDERS)
def test_no_seeds_no_slots_in_any_order(order):
    assert schedule(replace(DESIGN, seeds=(), order=order)) == ()


GOLDEN_RANDOM = "29a1314eded97a0a0263e37b7cb9ae5ae292c979f64f7583228dca7da952ce88"
