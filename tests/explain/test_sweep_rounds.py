"""Which executions a sweep is made of, and how many."""

from __future__ import annotations

from collections import Counter

import pytest

from fakes import make_config
from layoutrand.errors import UsageError
from layoutrand.explain.offsets import Offsets
from layoutrand.explain.sweep_rounds import SweepOrder, rounds_in_turn, slots_of

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nmetric = { %s }\n'


def slots(asked, metric):
    order = SweepOrder("a", "b", "f", Offsets(0, 63, None), 3, "identity", metric, 0.95)
    return slots_of(order, make_config(BENCHMARK % asked), [0, 16, 32, 48])


@pytest.mark.parametrize(
    ("metric", "instrument"),
    [
        (None, "native"),
        ("wall_s", "native"),
        ("minor_faults", "native"),  # which no instrument is asked for
        ("estimated_cycles", "cachegrind"),
        ("i1_misses", "cachegrind"),
        ("cycles", "perf"),
    ],
)
def test_only_what_measures_the_metric_is_executed(metric, instrument):
    made = slots('wall = true, cachegrind = true, counters = ["cycles"]', metric)
    assert Counter(each.instrument for each in made) == {instrument: 12}
    assert [each.order for each in made] == list(range(12))
    assert [{each.layout for each in made if each.round == number} for number in (1, 2, 3)] == [{0, 16, 32, 48}] * 3


@pytest.mark.parametrize(
    ("metric", "if_exact", "rounds"),
    [
        ("i1_misses", 2, [2, 3]),
        ("i1_misses", 3, [3]),
        ("i1_misses", None, [3]),  # so many were asked for
        ("wall_s", 2, [3]),  # which varies
        ("cycles", 2, [3]),
        (None, 2, [3]),
    ],
)
def test_few_rounds_come_first_of_what_may_repeat_to_the_digit(metric, if_exact, rounds):
    config = make_config(BENCHMARK % 'wall = true, cachegrind = true, counters = ["cycles"]')
    order = SweepOrder("a", "b", "f", Offsets(0, 63, None), 3, "identity", metric, 0.95, rounds_if_exact=if_exact)
    assert [each.rounds for each in rounds_in_turn(order, config)] == rounds


def test_a_metric_that_is_none_is_an_error_before_anything_is_executed():
    with pytest.raises(UsageError, match="no metric called 'speed'"):
        slots("wall = true", "speed")
    with pytest.raises(UsageError, match="no metric called 'minor_faults'"):
        slots("cachegrind = true", "minor_faults")


def test_of_cases_of_a_harness_all_is_executed():
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nharness = "google-benchmark"\n')
    order = SweepOrder("a", "b", "f", Offsets(0, 63, None), 2, "identity", "time_s", 0.95)
    assert Counter(each.instrument for each in slots_of(order, config, [0, 16])) == {"native": 4}
