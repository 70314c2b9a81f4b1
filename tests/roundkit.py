"""Samples as a run leaves them: rounds, each of all systems and controls in random order, on a machine that may drift."""

from __future__ import annotations

import numpy as np

from layoutrand.analysis.sample import Sample

LAYOUT, NOISE = 0.01, 0.003


def layouts(rng, kind, count, sd=LAYOUT):
    """Relative effects of ``count`` layouts with mean 1 and this standard deviation, but for rare ones."""
    if kind == "t3":
        return 1 + sd * rng.standard_t(3, count) / np.sqrt(3)
    if kind == "gamma":
        return 1 + sd * (rng.gamma(1.0, 1.0, count) - 1)
    if kind == "bimodal":
        return 1 + 0.08 * ((rng.random(count) < 0.2) - 0.2) + 0.003 * rng.standard_normal(count)
    if kind == "rare":
        return 1 + 0.3 * ((rng.random(count) < 0.03) - 0.03) + 0.003 * rng.standard_normal(count)
    return 1 + sd * rng.standard_normal(count)


def course(rng, kind, count):
    """What the machine does to ``count`` executions one after the other, as factors."""
    if kind == "walk":
        return np.exp(np.cumsum(0.002 * rng.standard_normal(count)))
    if kind == "AR1":
        innovations = 0.02 * np.sqrt(1 - 0.98**2) * rng.standard_normal(count)
        level, found = 0.02 * rng.standard_normal(), []
        for each in innovations:
            level = 0.98 * level + each
            found.append(level)
        return np.exp(np.array(found))
    return np.ones(count)


def executed(rng, plan, effects, drift="none", noise=NOISE):
    """Baseline "a" and candidate "b" of executions in this order.

    ``plan`` lists rounds: (seed, the systems executed in it).  ``effects`` has of each system its value in each seed's
    layout; the value of 0 is its stock.  Each system's stock is executed in each of its rounds.
    """
    slots = []
    for seed, systems in plan:
        cells = [(system, layout) for system in systems for layout in (seed, "stock")]
        slots += [(seed, *cells[place]) for place in rng.permutation(len(cells))]
    machine = course(rng, drift, len(slots)) * np.exp(noise * rng.standard_normal(len(slots)))
    own = {}
    for place, (seed, system, layout) in enumerate(slots):
        value = effects[system][0 if layout == "stock" else seed] * machine[place]
        own.setdefault(system, {}).setdefault(layout, []).append((seed, float(value), float(place)))
    return tuple(_sample(system, own[system]) for system in "ab")


def _sample(system, own):
    seeds = sorted(name for name in own if name != "stock")
    return Sample(
        system=system,
        benchmark="x",
        instrument="native",
        metric="wall_s",
        unit="s",
        is_primary=True,
        binaries=tuple((seed, tuple((value,) for _, value, _ in own[seed])) for seed in seeds),
        controls={"stock": tuple((value,) for _, value, _ in own["stock"])},
        rounds={name: tuple(seed for seed, _, _ in runs) for name, runs in own.items()},
        started={name: tuple(time for _, _, time in runs) for name, runs in own.items()},
    )
