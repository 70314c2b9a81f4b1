"""Steps in a series: found where they are, and seldom where there are none."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from layoutrand.errors import AnalysisError
from layoutrand.stats.change_points import best_cuts, change_at, find_steps
from layoutrand.stats.studies import rate


def noise(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape)


def places(table, **options):
    return [step.place for step in find_steps(table, **options).steps]


def test_a_step_of_rounds_is_found_where_it_is_though_rounds_differ_more():
    table = 0.01 * noise(12, 20) + noise(1, 20, seed=2)
    table[7:] += 0.02
    (step,) = find_steps(table).steps
    assert (step.place, step.first, step.last) == (7, 7, 7)
    assert step.size.low < 0.02 < step.size.high
    assert step.size.method == "blocks"


def test_a_rise_and_fall_is_two_steps():
    table = 0.01 * noise(14, 20)
    table[5:8] += 0.03
    assert places(table) == [5, 8]


def test_several_steps_each_have_their_own_size():
    table = 0.01 * noise(30, 10)
    table[8:] += 0.05
    table[20:] -= 0.02
    first, second = find_steps(table).steps
    assert (first.place, second.place) == (8, 20)
    assert first.size.low < 0.05 < first.size.high
    assert second.size.low < -0.02 < second.size.high


def test_points_measured_at_different_times_need_a_step_that_rises_above_the_times():
    quiet, loud = 0.001 * noise(20, 1), 0.05 * noise(20, 1)
    step = np.where(np.arange(20) < 9, 0.0, 0.02)[:, None]
    assert places(quiet + step) == [9]
    assert places(loud + step) == []


def test_counts_without_any_spread():
    table = np.repeat([[5.0], [5.0], [6.0], [6.0]], 8, axis=1)
    (step,) = find_steps(table).steps
    assert (step.place, step.size.low, step.size.centre, step.size.high) == (2, 1.0, 1.0, 1.0)
    assert places(np.full((4, 8), 7.0)) == []


@pytest.mark.parametrize(
    ("shape", "can_tell"), [((1, 30), False), ((2, 30), True), ((2, 3), False), ((6, 1), False), ((9, 1), True)]
)
def test_so_few_that_nothing_could_be_told(shape, can_tell):
    table = np.zeros(shape)
    table[shape[0] // 2 :] += 100
    found = find_steps(table + 0.001 * noise(*shape))
    assert found.can_tell is can_tell
    assert bool(found.steps) is can_tell


def test_blocks_that_shift_as_a_whole_change_nothing():
    table = 0.01 * noise(10, 8)
    table[4:] += 0.03
    shifted = table + 100 * noise(1, 8, seed=3)
    one, other = find_steps(table).steps, find_steps(shifted).steps
    assert [step.place for step in one] == [step.place for step in other] == [4]
    assert one[0].size.centre == pytest.approx(other[0].size.centre)


def test_the_same_seed_the_same_answer():
    table = noise(15, 3)
    table[6:] += 1.2
    assert find_steps(table, seed=4) == find_steps(table, seed=4)


@pytest.mark.parametrize("table", [np.zeros(3), np.zeros((3, 0)), np.array([[1.0], [np.nan]])])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(AnalysisError, match="finite numbers"):
        find_steps(table)


def test_a_change_at_a_place_that_is_known_from_elsewhere():
    table = 0.01 * noise(10, 12)
    assert change_at(table, 5).low < 0 < change_at(table, 5).high
    table[5:] += 0.05
    assert change_at(table, 5).low < 0.05 < change_at(table, 5).high
    assert np.isinf(change_at(table[4:6, :1], 1).high)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=3, max_size=12))
@example([-942, -1000, 31, 0, 1, -971])  # where one cut gains half of what two do
def test_the_best_cuts_are_those_that_trying_all_finds(values):
    series = np.array(values, dtype=float)

    def cost(*edges):
        return sum(((series[start:end] - series[start:end].mean()) ** 2).sum() for start, end in pairwise(edges))

    n = len(series)
    whole = cost(0, n)
    one = min(cost(0, k, n) for k in range(1, n))
    two = min(cost(0, j, k, n) for j in range(1, n) for k in range(j + 1, n))
    cuts = best_cuts(series)
    most = max((whole - two) / 2, whole - one)
    assert (whole - cost(0, *cuts, n)) / len(cuts) == pytest.approx(most, abs=1e-6 * (1 + whole))


def test_ruptures_cuts_at_the_same_places():
    ruptures = pytest.importorskip("ruptures", reason="no ruptures, which has no release for Python 3.14")
    for seed in range(30):
        series = noise(25, seed=seed)
        series[10:16] += seed / 10
        cuts = best_cuts(series)
        found = ruptures.KernelCPD(kernel="linear", min_size=1).fit(series[:, None]).predict(n_bkps=len(cuts))
        assert tuple(found[:-1]) == cuts


def test_few_series_without_a_step_are_said_to_have_one():
    alarms = sum(bool(find_steps(noise(8, 6, seed=k), seed=k, n_resamples=99).steps) for k in range(60))
    assert rate(alarms, 60).low < 0.05


def test_layouts_that_neighbours_share_are_no_step():
    """A seed's layout changes at few commits: the values of a round follow each other, and may not change places."""
    alarms = {"table": 0, "means": 0, "means alone": 0}
    for k in range(60):
        table = drawn("one of ten", np.random.default_rng(k), 20, 12)
        means = table.mean(axis=1, keepdims=True)
        alarms["table"] += bool(find_steps(table, seed=k, n_resamples=99).steps)
        alarms["means"] += bool(find_steps(means, seed=k, n_resamples=99, kept=table).steps)
        alarms["means alone"] += bool(find_steps(means, seed=k, n_resamples=99).steps)
    assert rate(alarms["table"], 60).low < 0.05
    assert rate(alarms["means"], 60).low < 0.05
    assert rate(alarms["means alone"], 60).low > 0.2


def test_a_step_among_layouts_that_neighbours_share_is_found():
    table = drawn("one of ten", np.random.default_rng(5), 20, 12)
    table[8:] += 3
    assert places(table) == [8]
    assert places(table.mean(axis=1, keepdims=True), kept=table) == [8]


def test_thousands_of_layouts_can_be_turned():
    table = 0.01 * noise(5, 1200)
    table[2:] += 0.01
    assert places(table, n_resamples=99) == [2]


@pytest.mark.parametrize("kept", [np.zeros(8), np.zeros((7, 12)), np.full((8, 12), np.inf)])
def test_what_points_keep_is_of_these_points(kept):
    with pytest.raises(AnalysisError, match="table of 8 points"):
        find_steps(noise(8, 1), kept=kept)


def drawn(kind, chance, n, blocks):
    values = chance.normal(size=(n, blocks))
    if kind in SHARED:
        for k in range(1, n):
            stays = chance.random(blocks) >= SHARED[kind]
            values[k, stays] = values[k - 1, stays]
        values += 0.2 * chance.normal(size=values.shape)  # executions of one binary
        return values + (0.2 * chance.normal(size=(n, 1)) if kind == "one of ten, days" else 0)
    if kind == "heavy":
        return chance.standard_t(2, size=(n, blocks))
    if kind == "two groups":
        return values + 6 * (chance.random((n, blocks)) < 0.3)
    if kind == "days alike":  # correlation of each with the one before: 0.5
        for k in range(1, n):
            values[k] = 0.5 * values[k - 1] + math.sqrt(0.75) * values[k]
    return values + (np.linspace(0, 20, blocks) if kind == "rounds drift" else 0)


N_HISTORIES = 1000

SHARED = {"three of ten": 0.3, "one of ten": 0.1, "one of ten, days": 0.1}
"""The share of layouts that change at a commit; the others are those that the seed has at the commit before."""


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize("kind", ["normal", "heavy", "two groups", "rounds drift"])
@pytest.mark.parametrize("n", [10, 30])
def test_false_alarms_of_a_history_are_as_stated(n, kind):
    """The rates in docs/guides/over-time.md; by rounds, and by means of different times, which have no rounds."""
    for blocks in (20,) if kind == "rounds drift" else (1, 20):
        chance = np.random.default_rng(1000 * n + blocks)
        alarms = sum(bool(find_steps(drawn(kind, chance, n, blocks), seed=k).steps) for k in range(N_HISTORIES))
        print(f"{kind}, {n} commits, {blocks} rounds: {alarms} of {N_HISTORIES}")
        assert rate(alarms, N_HISTORIES).low < 0.05


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize("kind", ["three of ten", "one of ten"])
@pytest.mark.parametrize("n", [10, 30])
def test_false_alarms_where_seeds_keep_layouts_are_as_stated(n, kind):
    """The rates in docs/guides/over-time.md; by rounds, and by means of 20 layouts."""
    for by_mean in (False, True):
        chance, alarms = np.random.default_rng(n), 0
        for k in range(N_HISTORIES):
            table = drawn(kind, chance, n, 20)
            means = table.mean(axis=1, keepdims=True)
            found = find_steps(means, seed=k, kept=table) if by_mean else find_steps(table, seed=k)
            alarms += bool(found.steps)
        print(f"{kind}, {n} commits, by {'mean' if by_mean else 'rounds'}: {alarms} of {N_HISTORIES}")
        assert rate(alarms, N_HISTORIES).low < 0.05


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize(("n", "share"), [(10, 0.079), (30, 0.092)])
def test_days_beside_layouts_that_seeds_keep_look_like_steps_as_stated(n, share):
    """Neither exchanges of means nor turned layouts know of both: `MeasuredApart` says so beside each such step."""
    chance, alarms = np.random.default_rng(n), 0
    for k in range(N_HISTORIES):
        table = drawn("one of ten, days", chance, n, 20)
        alarms += bool(find_steps(table.mean(axis=1, keepdims=True), seed=k, kept=table).steps)
    print(f"one of ten, days, {n} commits: {alarms} of {N_HISTORIES}")
    found = rate(alarms, N_HISTORIES)
    assert found.low < share < found.high


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize(("n", "share"), [(10, 0.191), (30, 0.436)])
def test_days_that_are_like_those_before_look_like_steps_as_stated(n, share):
    """No exchange of means knows of it: `MeasuredApart` says so beside each such step."""
    chance = np.random.default_rng(n)
    alarms = sum(bool(find_steps(drawn("days alike", chance, n, 1), seed=k).steps) for k in range(N_HISTORIES))
    print(f"days alike, {n} commits: {alarms} of {N_HISTORIES}")
    found = rate(alarms, N_HISTORIES)
    assert found.low < share < found.high


def test_of_days_that_are_like_those_before_more_than_stated_have_a_step():
    """What `MeasuredApart` is told for: were this mended, it need not be."""
    chance = np.random.default_rng(1)
    alarms = sum(bool(find_steps(drawn("days alike", chance, 20, 1), seed=k, n_resamples=99).steps) for k in range(60))
    assert rate(alarms, 60).low > 0.05
