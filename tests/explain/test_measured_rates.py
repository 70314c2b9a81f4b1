"""How often what `layoutrand predict --measure` says is true: rounds of known truth, judged as the command does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutrand.explain.predicted_layouts import against_controls
from layoutrand.model import IDENTITY, STOCK

BEST = 40
MACHINES = ("still", "spikes", "drift", "switches")


def measured(rng, machine, rounds, gain):
    """The layout and its controls, each once a round, in a random order: logarithms with a noise of 1 %."""
    logs = rng.normal(0, 0.01, (rounds, 3))
    place = np.array([rng.permutation(3) for _ in range(rounds)])
    if machine == "spikes":
        logs += np.where(rng.random(logs.shape) < 0.03, 0.2, 0.0)
    if machine == "drift":
        logs += np.take_along_axis(rng.normal(0, 0.003, logs.size).cumsum().reshape(logs.shape), place, axis=1)
    if machine == "switches":
        changes = 0.15 * ((rng.random(logs.size) < 1 / 40).cumsum() % 2)
        logs += np.take_along_axis(changes.reshape(logs.shape), place, axis=1)
    logs[:, 0] -= gain
    return dict(zip((BEST, STOCK, IDENTITY), np.exp(logs).T.tolist(), strict=True))


def held(machine, rounds, gain, sets):
    """In how many of them both intervals hold the truth."""
    rng = np.random.default_rng([rounds, MACHINES.index(machine), round(100 * gain)])
    found = [against_controls(measured(rng, machine, rounds, gain), BEST, 0.95) for _ in range(sets)]
    assert all(list(each) == [STOCK, IDENTITY] for each in found)
    return sum(all(each.low <= math.exp(-gain) <= each.high for each in own.values()) for own in found)


def test_both_intervals_hold_in_most_cases():
    """At 5 %, more than 12 of 100 are false by chance in 1 of 1000."""
    assert held("drift", 20, 0.02, 100) >= 88


@pytest.mark.hour
@pytest.mark.parametrize("machine", MACHINES)
def test_both_intervals_hold_at_their_rate(machine):
    """Three standard errors of 1000 measurements."""
    for rounds in (5, 20):
        for gain in (0.0, 0.02):
            told = held(machine, rounds, gain, 1000)
            print(f"| {machine} | {rounds} | {gain} | {told / 1000} |")
            assert told / 1000 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 1000)
