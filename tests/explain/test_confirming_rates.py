"""How often what `layoutrand explain --confirm` says is true: new layouts of known truth, judged as the command does."""

from __future__ import annotations

import math
import re
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from explainkit import interval, sample
from layoutrand.explain.confirming import Confirmation, Groups, conclude_group
from layoutrand.explain.words import of_confirmation

NAMED = re.compile(r"(\S+) % (more|less) \(95 % interval (\S+) % to (\S+) %\)")
NOT_CONFIRMED = re.compile(r"leaves no room for half of what was found")


def layouts(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """What all else adds to the logarithms of n layouts, over which its mean is 0, and their executions to these."""
    if kind == "bimodal":  # of something else, which no placement of the suspect goes with
        own = np.where(rng.random(n) < 1 / 3, 0.06, 0.0) - 0.02
    elif kind == "lognormal":
        own = 0.03 * (rng.lognormal(0, 0.8, n) - math.exp(0.32))
    else:
        own = rng.normal(0, 0.03, n)
    return own + rng.normal(0, 0.01, n)


def machine(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """What the machine adds to n executions in random order."""
    if kind == "switches":
        return (0.15 * ((rng.random(n) < 1 / 20).cumsum() % 2))[rng.permutation(n)]
    if kind == "drift":
        return rng.normal(0, 0.003, n).cumsum()[rng.permutation(n)]
    return np.zeros(n)


def confirmed(
    rng: np.random.Generator, kind: str, still: str, n: int, effect: float, found: float
) -> tuple[Confirmation, str]:
    """What is concluded, and the sentence on n + n layouts, of which the worse ones are slower by ``effect``."""
    logs = layouts(rng, kind, 2 * n) + machine(rng, still, 2 * n)
    logs[:n] += math.log1p(effect)
    measured = sample(dict(enumerate(np.exp(logs).tolist(), 31)))
    what = interval(1.0, 1 + found, 1 + 2 * found)
    suspect = cast("Any", SimpleNamespace(effect=what, feature=SimpleNamespace(words="line of f")))
    groups = Groups(suspect, tuple(range(31, 31 + n)), tuple(range(31 + n, 31 + 2 * n)), 40 * n)
    made = conclude_group(groups, measured, 0.95)
    assert isinstance(made, Confirmation)
    explanation = cast("Any", SimpleNamespace(subject=SimpleNamespace(sample=measured)))
    return made, of_confirmation(explanation, made)


def study(kind: str, still: str, n: int, effect: float, sets: int, found: float = 0.05) -> Counter[str]:
    """How often each verdict was told, and how often its sentence was true."""
    rng = np.random.default_rng([len(kind), len(still), n, round(1000 * effect)])
    counts: Counter[str] = Counter()
    for _ in range(sets):
        made, text = confirmed(rng, kind, still, n, effect, found)
        counts[made.verdict] += 1
        counts["held"] += made.effect.low <= 1 + effect <= made.effect.high
        if match := NAMED.search(text):
            unit = 10.0 ** -len(match[3].partition(".")[2]) / 2 + 1e-9  # what rounding may take
            sign = 1 if match[2] == "more" else -1
            counts["true"] += float(match[3]) - unit <= 100 * sign * effect <= float(match[4]) + unit
        elif NOT_CONFIRMED.search(text):
            counts["true"] += effect < found / 2
        else:
            counts["true"] += 1
    return counts


KINDS, MACHINES = ("normal", "bimodal", "lognormal"), ("still", "switches", "drift")


def test_few_of_hundred_sentences_are_false():
    """At 5 % each, more than 12 of 100 come by chance in 1 of 1000; at 2.5 %, more than 8."""
    nothing, half, all_of_it = (study("bimodal", "switches", 15, effect, 100) for effect in (0.0, 0.025, 0.05))
    assert nothing["confirmed"] <= 8
    assert half["true"] >= 88
    assert all_of_it["true"] >= 88
    assert all_of_it["confirmed"] > nothing["confirmed"] + 20


@pytest.mark.hour
@pytest.mark.parametrize("kind", KINDS)
def test_sentences_are_true_at_their_rate(kind):
    """Three standard errors of 1000 experiments; what is half as much as was found is the worst for "not confirmed"."""
    slack = 3 * math.sqrt(0.05 * 0.95 / 1000)
    for still in MACHINES:
        for n in (3, 5, 15, 30):
            for effect in (0.0, 0.025, 0.05):
                told = study(kind, still, n, effect, 1000)
                print(f"| {kind} | {still} | {n} | {effect} | {dict(told)}")
                assert told["true"] / 1000 >= 0.95 - slack
                assert told["held"] / 1000 >= 0.95 - slack
                if effect == 0:
                    assert told["confirmed"] / 1000 <= 0.025 + slack
