"""How often the primary ratio of a comparison is true, on machines that drift and with executions that are missing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.control_shift import control_shift
from layoutrand.analysis.default_builds import new_pair
from layoutrand.analysis.primary_ratio import both_ratios
from layoutrand.analysis.sample_pair import sample_pair
from layoutrand.stats import ratio_interval
from roundkit import NOISE, executed, layouts

pytestmark = pytest.mark.slow

RUNS, RATIO = 300, 1.03


def near(count, share=0.95, runs=RUNS):
    """Within what chance does to a count of which the share is expected."""
    return abs(count - share * runs) < 3.3 * math.sqrt(share * (1 - share) * runs)


def complete(rng, count=30):
    return [(seed, "ab") for seed in range(1, count + 1)]


def lost(share):
    def plan(rng):
        kept = [(seed, "".join(s for s in "ab" if rng.random() > share)) for seed in range(1, 31)]
        return [each for each in kept if each[1]]

    return plan


def study(plan, kind="normal", drift="none", seed=1):
    """How many intervals of the primary ratio hold the true one, of those of independent samples, and both widths."""
    rng = np.random.default_rng(seed)
    held = blind = 0
    widths = []
    for _ in range(RUNS):
        rounds = plan(rng)
        top = max(seed for seed, _ in rounds) + 1
        effects = {"a": layouts(rng, kind, top), "b": RATIO * layouts(rng, kind, top)}
        pair = sample_pair(*executed(rng, rounds, effects, drift))
        _, ratio, _ = both_ratios(pair, 0.95).primary(pair)
        apart = ratio_interval(*map(measurements, pair.measured))
        held += RATIO in ratio
        blind += RATIO in apart
        widths.append((ratio.half_width, apart.half_width))
    own, other = np.mean(widths, axis=0)
    return held, blind, own / other


@pytest.mark.parametrize("kind", ["normal", "t3", "gamma"])
@pytest.mark.parametrize("count", [3, 10, 30])
def test_on_a_quiet_machine(kind, count):
    held, _, _ = study(lambda rng: complete(rng, count), kind)
    assert near(held) or (kind == "t3" and held > 0.95 * RUNS)


@pytest.mark.parametrize("drift", ["walk", "AR1"])
def test_on_a_machine_that_drifts_rounds_are_as_sure_and_far_narrower(drift):
    held, _, share = study(complete, drift=drift)
    assert near(held)
    assert share < 0.85


def test_with_executions_lost():
    held, _, _ = study(lost(0.1), drift="walk")
    assert near(held)
    held, _, _ = study(lost(0.5), drift="walk")  # hardly any round is complete: not by round, and wide
    assert held > 0.93 * RUNS - 3.3 * math.sqrt(0.93 * 0.07 * RUNS)


def test_rounds_added_to_one_system_alone_do_no_harm():
    """As two independent samples about half of the intervals hold the true ratio."""
    held, blind, _ = study(lambda rng: complete(rng) + [(seed, "a") for seed in range(31, 61)], drift="walk")
    assert near(held)
    assert blind < 0.65 * RUNS


def test_executed_one_after_the_other_there_is_no_verdict():
    rng = np.random.default_rng(4)
    for _ in range(50):
        effects = {system: layouts(rng, "normal", 31) for system in "ab"}
        plan = [(seed, system) for system in "ab" for seed in range(1, 31)]
        assert sample_pair(*executed(rng, plan, effects, "walk")).design.cannot_tell


@pytest.mark.parametrize("count", [5, 20, 45])
@pytest.mark.parametrize("kind", ["normal", "t3", "gamma"])
def test_one_more_binary_of_each_lies_in_its_range(kind, count):
    """By the normal distribution below 39 rounds, and no narrower than what was measured."""
    rng = np.random.default_rng(count)
    held = 0
    for _ in range(RUNS):
        effects = {system: layouts(rng, kind, count + 1) for system in "ab"}
        pair = sample_pair(*executed(rng, complete(rng, count), effects, "walk"))
        old, new = (float(layouts(rng, kind, 1)[0] * math.exp(NOISE * rng.standard_normal())) for _ in "ab")
        held += new / old in new_pair(pair, 0.95)
    assert 0.93 * RUNS - 3.3 * math.sqrt(0.93 * 0.07 * RUNS) < held < 0.99 * RUNS


def test_the_shift_against_stock_holds_and_is_narrower_by_round():
    rng = np.random.default_rng(6)
    held, widths = 0, []
    for _ in range(RUNS):
        effects = {system: np.concatenate([[1.0], layouts(rng, "normal", 30)]) for system in "ab"}
        own = freed(executed(rng, complete(rng), effects, "AR1")[0])
        shift, _ = control_shift(own, "stock", 0.95)
        stock = [run[0] for run in own.raw.controls["stock"]]
        apart = ratio_interval(stock, measurements(own.raw), method="fieller-welch")
        held += 1 in shift
        widths.append((shift.half_width, apart.half_width))
    assert near(held)
    ours, theirs = np.mean(widths, axis=0)
    assert ours < 0.8 * theirs
