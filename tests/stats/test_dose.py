"""Runs of doses: what is found, by hand and planted; and how often nothing is called something, in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError

LINE = range(0, 64, 16)
FINE = range(0, 64, 4)


def noise(rng, shape, kind="normal"):
    """Rounds of doses, in which doses do not matter."""
    if kind == "lognormal":
        return 0.01 * rng.lognormal(0, 0.8, shape)
    if kind == "spikes":
        return rng.normal(0, 0.005, shape) + 0.2 * (rng.random(shape) < 0.03)
    if kind == "drift":  # of the machine: executions of a round are in random order
        walk = rng.normal(0, 0.003, shape[0] * shape[1]).cumsum().reshape(shape)
        return np.array([row[rng.permutation(shape[1])] for row in walk])
    return rng.normal(0, 0.01, shape)


def planted(doses, period, inside, size=0.1):
    return np.array([size if dose % period in inside else 0.0 for dose in doses])


def test_one_of_two_doses_is_a_paired_t_test():
    rng = np.random.default_rng(1)
    values = noise(rng, (12, 2)) + np.array([0.0, 0.01])
    found = stats.dose_response(values, [0, 32], period=64, n_permutations=4999)
    ordinary = scipy_stats.ttest_rel(values[:, 1], values[:, 0])

    assert found.largest.doses == (32,)
    assert found.largest.difference.centre == pytest.approx(np.diff(values, axis=1).mean())
    assert found.p_value == pytest.approx(ordinary.pvalue, abs=5 * np.sqrt(ordinary.pvalue / 5000) + 0.002)
    wide = ordinary.confidence_interval(0.95)
    assert found.largest.difference.low == pytest.approx(wide.low, rel=0.2)
    assert [run.difference.centre for run in found.single] == pytest.approx([0.0, 0.0], abs=1)


def test_the_run_that_was_planted_is_found_with_its_period():
    rng = np.random.default_rng(2)
    for period, inside, doses in (
        (64, {32}, LINE),
        (64, {48, 52, 56, 60, 0, 4}, FINE),  # around the end
        (32, {16, 20, 24, 28}, FINE),
        (16, {8}, FINE),
        (4096, {0, 256, 512}, range(0, 4096, 256)),
    ):
        values = noise(rng, (8, len(doses))) + planted(doses, period, inside)
        found = stats.dose_response(values, doses, period=max(doses) + doses[1])
        assert found.matters
        assert found.largest.period == period
        assert found.largest.doses == tuple(dose for dose in doses if dose % period in inside)
        assert 0.1 in found.largest.difference
        assert found.largest.difference.low > 0.07


def test_more_than_half_the_doses_may_be_the_slow_ones():
    values = noise(np.random.default_rng(3), (8, 16)) + planted(FINE, 64, {8}, size=-0.1)
    found = stats.dose_response(values, FINE, period=64)

    assert set(found.doses) - set(found.largest.doses) == {8}
    assert found.largest.difference.centre == pytest.approx(0.1, abs=0.02)


def test_values_that_repeat_to_the_digit_leave_nothing_to_chance():
    values = np.tile([1.0, 1.0, 1.25, 1.0], (2, 1))
    found = stats.dose_response(values, LINE, period=64)

    assert found.is_exact
    assert found.matters
    assert found.largest.doses == (32,)
    assert (found.largest.difference.low, found.largest.difference.high) == (0.25, 0.25)
    same = stats.dose_response(np.ones((2, 4)), LINE, period=64)
    assert (same.matters, same.is_exact, same.bound) == (False, True, 0.0)


def test_too_few_rounds_cannot_tell():
    rng = np.random.default_rng(5)
    assert not stats.dose_response(noise(rng, (2, 4)), LINE, period=64).can_tell
    assert not stats.dose_response(noise(rng, (4, 2)), [0, 32], period=64).can_tell
    assert stats.dose_response(noise(rng, (8, 2)), [0, 32], period=64).can_tell
    few = stats.dose_response(noise(rng, (2, 4)) + np.array([0, 0, 9, 0]), LINE, period=64)
    assert not few.matters


def test_the_same_seed_is_the_same_answer():
    values = noise(np.random.default_rng(6), (5, 16))
    one, other = (stats.dose_response(values, FINE, period=64, seed=3) for _ in range(2))

    assert one.p_value == other.p_value
    assert one.largest == other.largest


def test_what_is_no_table_of_doses_is_refused():
    good = np.ones((3, 4))
    for values, doses, period in (
        (np.ones(4), LINE, 64),
        (np.full((3, 4), np.nan), LINE, 64),
        (good, LINE, 48),
        (good, [0, 16, 32, 64], 64),
        (good, [0, 16, 16, 56], 64),
        (good, [0, 16, 32], 64),
        (good[:1], LINE, 64),
        (np.ones((3, 512)), range(512), 512),
        (np.ones((3, 1)), [0], 64),
    ):
        with pytest.raises(AnalysisError):
            stats.dose_response(values, doses, period=period)


def rates(doses, n_rounds, kind, count, effect=None):
    """Shares of sweeps in which something is found, is the run planted, and whose interval and bound hold the truth."""
    rng = np.random.default_rng(7)
    truth = np.zeros(len(doses)) if effect is None else effect
    alone = np.array([truth[n] - np.delete(truth, n).mean() for n in range(len(doses))])
    counts = np.zeros(4)
    for seed in range(count):
        values = noise(rng, (n_rounds, len(doses)), kind) + truth
        found = stats.dose_response(values, doses, period=64, seed=seed, n_permutations=399)
        inside = np.isin(doses, found.largest.doses)
        counts += [
            found.matters,
            found.largest.doses == tuple(dose for dose, size in zip(doses, truth, strict=True) if size),
            truth[inside].mean() - truth[~inside].mean() in found.largest.difference,
            found.bound >= np.abs(alone).max() - 1e-12,
        ]
    return counts / count


def test_hardly_ever_is_something_found_where_nothing_is():
    """At 5 %, 15 of 150 are not to be reached (1 in 300 by chance)."""
    for n_rounds in (3, 10):
        for kind in ("normal", "spikes"):
            assert rates(LINE, n_rounds, kind, 150)[0] < 0.1


@pytest.mark.hour
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "lognormal", "spikes", "drift"])
@pytest.mark.parametrize(("doses", "n_rounds"), [(LINE, 3), (LINE, 5), (LINE, 10), (FINE, 3), (FINE, 10)])
def test_rates_hold_whatever_the_noise(kind, doses, n_rounds):
    """False alarms 5 % at most, intervals and bounds of all runs at once 95 % at least: 600 sweeps, 3 standard errors."""
    count = 600
    slack = 3 * np.sqrt(0.05 * 0.95 / count)
    false, _, holds, bounded = rates(doses, n_rounds, kind, count)
    assert false <= 0.05 + slack
    assert holds >= 0.95 - slack
    assert bounded >= 0.95 - slack
    effect = planted(doses, 64, {32, 36, 40, 44}, size=0.03)
    _, right, holds, bounded = rates(doses, n_rounds, kind, count, effect)
    assert holds >= 0.95 - slack
    assert bounded >= 0.95 - slack
    if (kind, n_rounds) == ("normal", 10):
        assert right > 0.98


def test_of_two_doses_each_is_held_against_the_other():
    values = np.random.default_rng(8).normal(0, 0.01, (6, 2)) + np.array([0.0, 0.3])
    found = stats.dose_response(values, [0, 32], period=64)
    first, second = found.single
    assert (first.doses, second.doses) == ((0,), (32,))
    assert first.difference.centre == -second.difference.centre < -0.25
    assert found.largest.doses == (32,)


def test_doses_need_not_be_equally_far_apart():
    values = np.random.default_rng(9).normal(0, 0.01, (6, 4)) + np.array([0.0, 0.0, 0.2, 0.2])
    found = stats.dose_response(values, [0, 4, 40, 240], period=256)
    assert found.matters
    assert found.largest.doses == (40, 240)
