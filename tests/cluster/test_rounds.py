"""Which rounds go to nodes together, and in which order."""

from __future__ import annotations

from layoutrand.cluster.rounds import slots_by_task
from layoutrand.config.schedule import Design, Slot, schedule


def design(**changes):
    given = {
        "systems": ("a", "b"),
        "benchmarks": (("x", ("native",)), ("y", ("native", "cachegrind"))),
        "seeds": tuple(range(1, 9)),
        "controls": ("stock", "identity"),
        "repetitions": 2,
        "schedule_seed": 1,
        "order": "pairs",
        "simulated": frozenset({"cachegrind"}),
    }
    return Design(**{**given, **changes})


def rounds(tasks):
    """(Repetition, round) of each task that has one alone."""
    return [one for (one,) in ({(slot.repetition, slot.round) for slot in task} for task in tasks)]


def test_a_task_has_one_pass_over_one_round_in_the_order_of_the_schedule():
    slots = schedule(design())
    tasks = slots_by_task(slots, schedule_seed=1, rounds=1)
    assert len(tasks) == len(set(rounds(tasks))) == 16
    assert sorted((slot for task in tasks for slot in task), key=sorting) == sorted(slots, key=sorting)
    for task in tasks:
        assert [slot.order for slot in task] == sorted(slot.order for slot in task)


def sorting(slot: Slot):
    return (slot.system, slot.benchmark, str(slot.layout), slot.instrument, slot.round, slot.repetition)


def test_the_order_of_rounds_is_drawn_from_the_schedule_seed_for_each_pass():
    """Golden: who shuffles the same rounds again has them in the same order, for ever."""
    shuffled = rounds(slots_by_task(schedule(design()), schedule_seed=1, rounds=1))
    assert shuffled == [
        (0, 8),
        (0, 4),
        (0, 5),
        (0, 6),
        (0, 7),
        (0, 2),
        (0, 3),
        (0, 1),
        (1, 7),
        (1, 6),
        (1, 5),
        (1, 8),
        (1, 1),
        (1, 3),
        (1, 2),
        (1, 4),
    ]
    other = rounds(slots_by_task(schedule(design()), schedule_seed=2, rounds=1))
    assert other != shuffled
    assert sorted(other) == sorted(shuffled)


def test_more_seeds_leave_the_order_of_those_before():
    few = rounds(slots_by_task(schedule(design(seeds=tuple(range(1, 6)))), schedule_seed=1, rounds=1))
    many = rounds(slots_by_task(schedule(design(seeds=tuple(range(1, 50)))), schedule_seed=1, rounds=1))
    assert [one for one in many if one in few] == few


def test_rounds_that_are_given_out_together():
    tasks = slots_by_task(schedule(design(repetitions=1)), schedule_seed=1, rounds=3)
    assert [len({slot.round for slot in task}) for task in tasks] == [3, 3, 2]
    assert len({slot for task in tasks for slot in task}) == len(schedule(design(repetitions=1)))


def test_no_slots_are_no_tasks():
    assert slots_by_task([], schedule_seed=1, rounds=4) == []


def test_every_node_has_an_equal_chance_of_every_round():
    """Over many schedule seeds each of 8 rounds comes first about equally often (0.001 quantile of chi squared)."""
    slots = schedule(design(benchmarks=(("x", ("native",)),), repetitions=1, controls=()))
    first = [rounds(slots_by_task(slots, schedule_seed=seed, rounds=1))[0][1] for seed in range(4000)]
    counts = [first.count(seed) for seed in range(1, 9)]
    assert sum((count - 500) ** 2 / 500 for count in counts) < 24.3


def test_pairs_follow_each_other_in_random_order():
    """Each benchmark, layout and instrument once for each system, side by side; who is first is drawn."""
    slots = schedule(design(repetitions=1))
    firsts = []
    for seed in range(1, 9):
        own = [slot for slot in slots if slot.round == seed]
        for one, other in zip(own[::2], own[1::2], strict=True):
            assert {one.system, other.system} == {"a", "b"}
            same = [(slot.benchmark, slot.layout, slot.instrument) for slot in (one, other)]
            assert same[0] == same[1]
            firsts.append(one.system)
    assert 20 < firsts.count("a") < len(firsts) - 20
    assert {slot.order for slot in slots} == set(range(len(slots)))
    assert {sorting(slot) for slot in slots} == {
        sorting(slot) for slot in schedule(design(repetitions=1, order="blocks"))
    }
