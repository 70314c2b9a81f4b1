"""The test of spread: by hand, its false alarms whatever the noise, what it finds, and the interval that goes with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.univariate import middle_of

SHAPES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
    "gamma": lambda rng, shape: rng.gamma(1, size=shape),
    "spikes": lambda rng, shape: 0.5 * rng.normal(size=shape) + 8 * (rng.random(shape) < 0.02),
    "AR1": lambda rng, shape: drift(rng, shape, 0.9) + rng.normal(size=shape),
    "random walk": lambda rng, shape: drift(rng, shape, 1.0) + rng.normal(size=shape),
}


def drift(rng, shape, memory):
    """From execution to execution, in rounds whose executions are in random order."""
    values = [0.0]
    for step in 0.6 * rng.normal(size=math.prod(shape) + 200):
        values.append(memory * values[-1] + step)
    return rng.permuted(np.array(values[201:]).reshape(shape), axis=1)


def cells(rng, noise, rounds, *, layout=0.0, controls=2, passes=1):
    """Rounds in which stock and identity are something slower and faster by themselves."""
    table = 100 + SHAPES[noise](rng, (passes * rounds, 1 + controls)).reshape(passes, rounds, 1 + controls)
    table[:, :, 0] += layout * rng.normal(size=rounds)
    table[:, :, 1] += 0.7
    return table


def near(count, runs, share):
    """Within what chance does to a count of which the share is expected: 3.5 standard deviations."""
    return abs(count - share * runs) < 3.5 * math.sqrt(share * (1 - share) * runs)


def at_most(count, runs, share):
    return count < share * runs + 3.5 * math.sqrt(share * (1 - share) * runs)


def test_all_exchanges_listed():
    """Four rounds: 81 ways to call one of three the binary; without drift all others are in the mean."""
    table = np.array([[[9.0, 5.0, 6.1], [2.0, 4.8, 5.2], [4.4, 5.3, 4.1], [8.0, 4.6, 5.9]]])
    values = table[0] - np.median(table[0], axis=0)
    left = values - (values.sum() - values) / 11
    away = np.abs(left - [middle_of(column) for column in left.T])
    every = [sum(away[k, pick] for k, pick in enumerate(picks)) for picks in itertools.product(range(3), repeat=4)]
    exact = np.mean([each >= away[:, 0].sum() - 1e-12 for each in every])

    found = stats.rounds_spread_test(table, n_resamples=40_000)

    assert found.window is None
    assert abs(found.p_value - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 40_000) + 1e-4


def test_all_exchanges_listed_where_there_are_no_rounds():
    values, control = np.array([9.0, 2.0, 4.4, 8.0]), np.array([5.0, 4.8, 5.3, 4.6])
    away = np.abs(np.concatenate([values - np.median(values), control - np.median(control)]))
    every = [away[list(chosen)].sum() for chosen in itertools.combinations(range(8), 4)]
    exact = np.mean([each >= away[:4].sum() - 1e-12 for each in every])

    found = stats.spread_test(values, [control], n_resamples=40_000)

    assert abs(found.p_value - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 40_000) + 1e-4
    assert found.variance == pytest.approx(values.var(ddof=1) - control.var(ddof=1))
    assert found.noise == pytest.approx(control.var(ddof=1))
    assert found.statistic == pytest.approx(np.abs(away[:4]).mean() / np.abs(away[4:]).mean())


def test_the_layouts_part_is_estimated_without_bias_though_the_machine_drifts():
    rng = np.random.default_rng(1)
    found = [stats.rounds_spread_test(cells(rng, "random walk", 30, layout=2.0), n_resamples=100) for _ in range(200)]

    error = np.std([each.variance for each in found]) / math.sqrt(200)
    assert abs(np.mean([each.variance for each in found]) - 4) < 3.5 * error
    # Within a round the walk adds to the noise of 1: steps of 0.36, and two executions are 4 / 3 steps apart.
    assert np.mean([each.noise for each in found]) == pytest.approx(1 + 0.36 * 4 / 3 / 2, rel=0.15)
    assert sum(each.window is not None for each in found) > 180


@pytest.mark.parametrize("noise", ["spikes", "random walk"])
def test_seldom_a_false_alarm_where_there_was_one_in_three(noise):
    """The F test against stock: .30 with spikes; and it finds nothing under drift, where this does."""
    rng = np.random.default_rng(2)
    alarms = sum(stats.rounds_spread_test(cells(rng, noise, 30), n_resamples=199).p_value <= 0.05 for _ in range(200))

    assert at_most(alarms, 200, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("controls", [1, 2])
@pytest.mark.parametrize("rounds", [10, 30])
@pytest.mark.parametrize("noise", list(SHAPES))
def test_false_alarms(noise, rounds, controls):
    """One in twenty, whatever the noise; F against stock: .21 with t3, .18 with gamma, .30 with spikes."""
    rng, runs = np.random.default_rng(3), 1500
    alarms = sum(
        stats.rounds_spread_test(cells(rng, noise, rounds, controls=controls), n_resamples=199).p_value <= 0.05
        for _ in range(runs)
    )

    assert 0.025 * runs < alarms < 0.05 * runs + 3 * math.sqrt(0.0475 * runs)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["normal", "t3", "gamma", "spikes"])
def test_false_alarms_without_rounds(noise):
    rng, runs, alarms = np.random.default_rng(4), 1500, 0
    for _ in range(runs):
        draw = SHAPES[noise]
        found = stats.spread_test(draw(rng, (30,)), [draw(rng, (12,)), draw(rng, (9,))], n_resamples=199)
        alarms += found.p_value <= 0.05

    assert 0.025 * runs < alarms < 0.055 * runs + 3 * math.sqrt(0.0475 * runs)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["normal", "spikes", "random walk"])
def test_false_alarms_of_repeated_executions(noise):
    """Fewer than one in twenty, as two tests must agree: `agreement_p` has no alarms of what is noise alone, either."""
    rng, runs = np.random.default_rng(5), 800
    alarms = sum(
        stats.rounds_spread_test(cells(rng, noise, 20, passes=2), n_resamples=199).p_value <= 0.05 for _ in range(runs)
    )

    assert 0 < alarms < 0.05 * runs + 3 * math.sqrt(0.0475 * runs)


@pytest.mark.slow
def test_power_is_that_of_f_at_normal_noise_and_stays_under_drift():
    """With stock and identity in each round, as `layoutrand run` has it; layouts 1.5 times the noise."""
    rng, runs = np.random.default_rng(6), 400
    found = {"normal": 0, "random walk": 0}
    by_f = dict(found)
    for noise in found:
        for _ in range(runs):
            table = cells(rng, noise, 30, layout=1.5)
            found[noise] += stats.rounds_spread_test(table, n_resamples=199).p_value <= 0.05
            by_f[noise] += stats.layout_effect(table[0, :, 1], table[0, :, 0]).p_value <= 0.05

    assert found["normal"] > by_f["normal"] - 0.03 * runs
    assert found["random walk"] > 0.7 * runs > 2 * by_f["random walk"]


@pytest.mark.slow
@pytest.mark.parametrize("layout", [0.0, 0.5, 1.5, 5.0])
@pytest.mark.parametrize("noise", ["normal", "t3", "gamma", "spikes", "random walk"])
def test_the_interval_covers(noise, layout):
    rng, runs, covered = np.random.default_rng(7), 400, 0
    for _ in range(runs):
        found = stats.rounds_spread_test(cells(rng, noise, 30, layout=layout), n_resamples=199)
        covered += layout in found.sd

    assert covered > 0.95 * runs - 3.5 * math.sqrt(0.0475 * runs)


LAYOUTS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n) / math.sqrt(3),
    "lognormal": lambda rng, n: (
        (np.exp(rng.normal(size=n) / 2) - math.exp(1 / 8)) / math.sqrt(math.expm1(0.25) * math.exp(0.25))
    ),
    "gamma 2": lambda rng, n: (rng.gamma(2, size=n) - 2) / math.sqrt(2),
    "gamma 1": lambda rng, n: rng.gamma(1, size=n) - 1,
    "two groups": lambda rng, n: ((rng.random(n) < 0.2) - 0.2) / 0.4,
    "two equal groups": lambda rng, n: np.where(rng.random(n) < 0.5, 1, -1),
}
"""Of standard deviation 1."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "least"),
    [("t3", 0.88), ("lognormal", 0.93), ("gamma 1", 0.9), ("two groups", 0.93), ("two equal groups", 0.95)],
)
def test_the_interval_of_layouts_that_are_not_normal(shape, least):
    """Skewed ones are covered less often: 30 layouts seldom have one of the slowest."""
    rng, runs, covered = np.random.default_rng(8), 400, 0
    for _ in range(runs):
        table = cells(rng, "normal", 30)
        table[0, :, 0] += 10 * LAYOUTS[shape](rng, 30)
        covered += 10 in stats.rounds_spread_test(table, n_resamples=199).sd

    assert covered > least * runs


def test_two_groups_of_equal_size_are_not_taken_for_a_bell():
    """60 layouts: a bell of the same mean deviation would begin above the truth, more often the more layouts there are."""
    rng = np.random.default_rng(14)
    for _ in range(12):
        table = cells(rng, "normal", 60)
        table[0, :, 0] += 5 * np.repeat([-1, 1], 30)
        found = stats.rounds_spread_test(table, n_resamples=100)
        own = table[0, :, 0] - table[0, :, 1:].mean(axis=1)
        assert found.sd.low < 5 < found.sd.high
        assert found.sd.low < math.sqrt(math.pi / 2) * np.abs(own - np.median(own)).mean() * 0.9
        assert found.sd.low <= found.sd.centre == pytest.approx(math.sqrt(found.variance))


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 30])
@pytest.mark.parametrize(("shape", "least"), [("normal", 0.95), ("gamma 2", 0.93), ("lognormal", 0.92), ("t3", 0.89)])
def test_the_interval_where_executions_repeat_to_the_digit(shape, least, count):
    """As simulated ones do; the bounds of normal layouts hold .72 (t3) to .83 (lognormal) of 30."""
    rng, runs, covered = np.random.default_rng(9), 1000, 0
    for _ in range(runs):
        values = 100 + LAYOUTS[shape](rng, count)
        covered += 1 in stats.spread_test(values, [[100.0, 100.0]], n_resamples=100).sd

    assert covered > least * runs - 2 * math.sqrt(least * (1 - least) * runs)


@pytest.mark.parametrize("layout", [0.0, 0.7, 3.0])
def test_the_interval_never_contradicts_the_test(layout):
    rng = np.random.default_rng(9)
    for number in range(40):
        noise = list(SHAPES)[number % len(SHAPES)]
        rounds, controls, passes = (4, 7, 12)[number % 3], 1 + number % 2, 1 + number % 5 // 4
        table = cells(rng, noise, rounds, layout=layout, controls=controls, passes=passes)
        found = stats.rounds_spread_test(table, n_resamples=199)
        assert (found.sd.low > 0) == (found.p_value <= 0.05)
        assert found.sd.low <= found.sd.centre <= found.sd.high
        assert found.sd.high > 0


def test_scale_and_place_change_nothing():
    table = cells(np.random.default_rng(10), "random walk", 20, layout=1.0)
    one, other = stats.rounds_spread_test(table), stats.rounds_spread_test(1e-9 * table + 3.0)

    assert other.p_value == one.p_value
    assert other.sd.high == pytest.approx(1e-9 * one.sd.high, rel=1e-6)
    assert other.variance == pytest.approx(1e-18 * one.variance, rel=1e-5)


def test_what_is_missing_is_left_out():
    table = cells(np.random.default_rng(11), "normal", 12, layout=5.0)
    less = table.copy()
    less[0, 3, 2] = less[0, 5, 0] = less[0, 7, 1:] = np.nan
    found = stats.rounds_spread_test(less)

    assert found.n_compared == 10
    assert found.p_value <= 0.01


def test_rounds_apart_are_compared_with_themselves_alone():
    """Whatever is added to each of them."""
    rng = np.random.default_rng(12)
    table = cells(rng, "normal", 20, layout=3.0)
    found = stats.rounds_spread_test(table, are_apart=True)

    assert (found.window, found.p_value <= 0.05) == (0, True)
    moved = stats.rounds_spread_test(table + rng.normal(0, 50, (1, 20, 1)), are_apart=True)
    assert moved.p_value == found.p_value
    assert moved.sd.high == pytest.approx(found.sd.high)


def test_binaries_that_differ_beside_controls_that_do_not():
    table = np.full((1, 8, 3), 5.0)
    table[0, :, 0] = [1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.5]
    for found in (
        stats.rounds_spread_test(table),
        stats.spread_test(table[0, :, 0], [table[0, :, 1], table[0, :, 2]]),
    ):
        assert (found.statistic, found.noise) == (math.inf, 0.0)
        assert found.p_value < 0.01
        assert 0 < found.sd.low < found.sd.centre < found.sd.high < math.inf
        assert found.variance == pytest.approx(table[0, :, 0].var(ddof=1))


def test_values_that_are_all_equal_differ_in_nothing():
    for found in (
        stats.rounds_spread_test(np.full((2, 5, 3), 0.1)),
        stats.spread_test([0.1] * 5, [[0.1] * 5]),
    ):
        assert (found.p_value, found.sd.low, found.sd.high, found.variance) == (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("passes", [1, 2])
def test_the_noise_of_controls_is_that_of_the_test(passes):
    """Squares and degrees of both controls are added; in rounds what these have in common costs its own."""
    rng = np.random.default_rng(12)
    table = cells(rng, "random walk", 30, layout=2.0, passes=passes)
    apart = stats.rounds_control_noise(table, are_apart=True)
    assert stats.rounds_control_noise(table).variance == stats.rounds_spread_test(table, n_resamples=100).noise
    assert apart.variance == stats.rounds_spread_test(table, n_resamples=100, are_apart=True).noise
    assert apart.degrees == 2 * 29 - 29
    controls = [table[0, :, 1], table[0, :11, 2]]
    found = stats.control_noise(controls)
    assert found.variance == pytest.approx(stats.spread_test(table[0, :, 0], controls, n_resamples=100).noise)
    assert found.variance == pytest.approx((29 * np.var(controls[0], ddof=1) + 10 * np.var(controls[1], ddof=1)) / 39)
    assert found.degrees == 39


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.control_noise([[1.0], [2.0]]), "noise of controls"),
        (lambda: stats.control_noise(3.0), "give the executions of each"),
        (lambda: stats.rounds_control_noise([[[1.0], [2.0]]]), "not shape"),
        (lambda: stats.spread_test([1.0], [[1.0, 2.0]]), "spread test: 1 binary beside 1 control"),
        (lambda: stats.spread_test([1.0, 2.0], [[1.0]]), "beside 0 controls with 2 executions"),
        (lambda: stats.spread_test([1.0, math.nan], [[1.0, 2.0]]), "value 1 is nan"),
        (lambda: stats.rounds_spread_test([[[1.0, 2.0]]]), "1 rounds have both"),
        (lambda: stats.rounds_spread_test([[[1.0], [2.0]]]), "not shape"),
        (lambda: stats.rounds_spread_test([[[1.0, math.inf], [2.0, 1.0]]]), "give finite cells"),
        (lambda: stats.rounds_spread_test([[[1.0, 2.0], [2.0, 2.5]]], are_apart=True), "need 2 controls each"),
        (lambda: stats.rounds_spread_test([[["x", 1.0]]]), "the cells must be numbers"),
        (lambda: stats.spread_test([1.0, 2.0], [[1.0, 2.0]], n_resamples=9), "n_resamples must be"),
        (lambda: stats.spread_test([1.0, 2.0], [[1.0, 2.0]], confidence=95), "confidence must lie"),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()


def test_the_middle_of_an_odd_number_is_the_mean_of_three():
    assert [middle_of(np.array(x)) for x in ([7.0], [1.0, 4.0], [9.0, 1.0, 2.0], [5.0, 1.0, 2.0, 9.0, 4.0])] == [
        7.0,
        2.5,
        4.0,
        pytest.approx(11 / 3),
    ]
