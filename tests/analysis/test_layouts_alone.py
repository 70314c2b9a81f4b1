"""How many layouts a comparison takes at least without any noise, and how often that is said to be more than it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutrand.analysis.layouts_alone import fewest_without_noise
from layoutrand.analysis.sample_pair import sample_pair
from layoutrand.stats.sample_size import MOST_BINARIES
from roundkit import LAYOUT, executed, layouts

SETS = 300
WHOLE = 10**12
"""So many binaries for a variance of 1, that what is said to be left of them is the variance that it rests on."""


def experiment(rng, count, noise, *, kind="normal", sd=LAYOUT):
    """Both systems in rounds with their stock."""
    effects = {system: [1.0, *layouts(rng, kind, count, sd)] for system in "ab"}
    return executed(rng, [(seed, "ab") for seed in range(1, count + 1)], effects, noise=noise)


def twice(rng, sample, noise):
    """The sample without controls, each binary executed twice, with this noise beside what it has."""
    again = [
        (name, tuple((runs[0][0] * float(np.exp(noise * rng.normal())),) for _ in range(2)))
        for name, runs in sample.binaries
    ]
    often = {name: each * 2 for name, each in sample.rounds.items()}
    return replace(sample, binaries=tuple(again), controls={}, rounds=often, started={})


@pytest.mark.parametrize("primary", ["paired", "unpaired"])
@pytest.mark.parametrize(
    "noise", [pytest.param(0.003, marks=pytest.mark.slow), 0.01, pytest.param(0.03, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("count", [8, pytest.param(30, marks=pytest.mark.slow)])
def test_layouts_are_seldom_said_to_need_more_than_they_do(count, noise, primary):
    """The limit is one of 95 %: what layouts add is that or more in all but one experiment of twenty."""
    rng = np.random.default_rng((count, round(1000 * noise)))
    wrong = found = 0
    for _ in range(SETS):
        said = fewest_without_noise(WHOLE, sample_pair(*experiment(rng, count, noise)), primary, 1.0)
        found += said > 0
        wrong += said > WHOLE * 2 * LAYOUT**2
    assert wrong <= 0.08 * SETS
    if noise == 0.003:
        assert found > 0.75 * SETS  # which says something, too


def test_of_layouts_that_are_all_alike_nothing_is_left():
    rng = np.random.default_rng(5)
    said = [fewest_without_noise(5_000, sample_pair(*experiment(rng, 30, 0.01, sd=0.0)), "paired") for _ in range(SETS)]
    assert sum(each > 1_000 for each in said) <= 0.05 * SETS


def test_executions_of_the_binaries_themselves_show_the_noise_as_well():
    rng = np.random.default_rng(6)
    quiet = [twice(rng, each, 0.001) for each in experiment(rng, 30, 0.0)]
    noisy = [twice(rng, each, 0.05) for each in experiment(rng, 30, 0.0)]

    assert fewest_without_noise(5_000, sample_pair(*quiet), "unpaired") > 2_000
    assert fewest_without_noise(5_000, sample_pair(*noisy), "unpaired") < 2_000


def test_where_nothing_shows_the_noise_nothing_is_said():
    rng = np.random.default_rng(7)
    old, new = (replace(each, controls={}) for each in experiment(rng, 30, 0.003))

    assert fewest_without_noise(5_000, sample_pair(old, new), "paired") is None
    assert (
        fewest_without_noise(5_000, sample_pair(*(replace(x, one_layout=True) for x in (old, new))), "paired") is None
    )


def test_where_no_number_is_enough_as_many_as_are_ever_counted_are_the_least():
    rng = np.random.default_rng(8)
    pair = sample_pair(*experiment(rng, 30, 0.003))
    said = fewest_without_noise(None, pair, "paired")
    assert said == fewest_without_noise(MOST_BINARIES, pair, "paired")
    assert said > MOST_BINARIES / 2
