"""What counters say of a mechanism: how often they agree with the true one, and speak against it or for another."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from layoutrand.explain.causes import Cause, Mechanism
from layoutrand.explain.counted import ROUNDS, Counters, compared, consequences_of, in_sets, with_counters
from layoutrand.explain.processor_events import CONSEQUENCES, Event
from layoutrand.explain.sweep_words import what_counters_say
from layoutrand.instruments.counters import counted_of
from layoutrand.stats import DoseFit
from speeds import first_fast
from sweepkit import judged

CYCLES = 1e9
EXPERIMENTS = 400
SLOW = (False, True, False, False)


def noise(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Factors around 1: of one percent, or of two tenths with one in thirty a tenth more."""
    if kind == "1 %":
        return np.exp(0.01 * rng.standard_normal(shape))
    return np.exp(0.002 * rng.standard_normal(shape)) * np.where(rng.random(shape) < 1 / 30, 1.1, 1)


def said(rng: np.random.Generator, kind: str, *, slower: float, cost: float | None) -> str:
    """What two mechanisms' counters say of the first, whose events cost so many cycles each; None: nothing comes of it."""
    shape = (ROUNDS, len(SLOW))
    own, other = CONSEQUENCES["sets"].events[0], CONSEQUENCES["aliasing"].events[0]
    extra = slower * CYCLES * np.array(SLOW) * noise(rng, kind, shape)
    cycles = CYCLES * noise(rng, kind, shape) + extra
    counts = {
        own: 0.01 * CYCLES / own.at_most * noise(rng, kind, shape) + (extra / cost if cost else 0),
        other: 0.01 * CYCLES / other.at_most * noise(rng, kind, shape),
    }
    first, _ = compared(counts, dict.fromkeys(counts, cycles), SLOW, ["sets", "aliasing"], confidence=0.95)
    if not first.is_slow:
        return "nothing"
    return {True: "agrees", False: "against", None: "open"}[first.agrees]


@pytest.mark.parametrize("kind", first_fast(1, ["spikes", "1 %"]))
@pytest.mark.parametrize(
    ("slower", "cost", "wrong", "right"),
    [
        (0.05, 20, "against", 0.9),  # a third of what one can cost at most
        (0.05, 60, "against", 0.5),
        (0.3, 60, "against", 0.95),
        (0.05, None, "agrees", 0.6),
        (0.3, None, "agrees", 0.9),
        (0, None, "agrees", 0.0),
    ],
)
def test_how_often_counters_are_right(kind: str, slower: float, cost: float | None, wrong: str, right: float) -> None:
    rng = np.random.default_rng([int(1000 * slower), int(cost or 0), len(kind)])
    told = Counter(said(rng, kind, slower=slower, cost=cost) for _ in range(EXPERIMENTS))
    rates = {word: count / EXPERIMENTS for word, count in told.items()}
    print(kind, slower, cost, rates)
    assert rates.get(wrong, 0) <= 0.03
    assert rates.get("agrees" if wrong == "against" else "against", 0) >= right
    if slower == 0:
        assert rates["nothing"] >= 0.95


def fit(share: float) -> DoseFit:
    """One that explains so much and leaves nothing."""
    return DoseFit(share=share, p_value=1.0, rises=True, n_classes=2)


def test_what_counters_speak_against_is_out_and_what_is_left_is_the_cause() -> None:
    rng = np.random.default_rng(1)
    shape = (ROUNDS, len(SLOW))
    extra = 0.2 * CYCLES * np.array(SLOW)
    cycles = CYCLES * noise(rng, "1 %", shape) + extra
    misses, branches = CONSEQUENCES["sets"].events[1], CONSEQUENCES["aliasing"].events[0]
    counts = {misses: 1e5 * noise(rng, "1 %", shape) + extra / 20, branches: 1e6 * noise(rng, "1 %", shape)}
    names = ("sets", "aliasing")
    found = compared(counts, dict.fromkeys(counts, cycles), SLOW, names, confidence=0.95)
    assert [(each.mechanisms, each.agrees) for each in found] == [(("sets",), True), (("aliasing",), False)]

    candidates = tuple(Mechanism(name, (0.0, 1.0, 0.0, 0.0), fit(0.95), "") for name in names)
    undecided = Cause(None, candidates, ("line",))
    told = with_counters(undecided, Counters(found, ()))
    assert told.mechanism == "sets"
    assert told.candidates[1].out == "branch-misses speaks against it"
    assert told.unseen == ("line",)
    alone = with_counters(Cause("aliasing", candidates[1:], ()), Counters(found, ()))
    assert alone.mechanism is None
    assert with_counters(undecided, Counters((), names, "no perf")) == undecided


def test_each_event_is_told_by_what_it_was_counted_with() -> None:
    """One set of executions shows the slowness and another does not: what the first says stands."""
    shape = (ROUNDS, len(SLOW))
    rng = np.random.default_rng(2)
    slow = CYCLES * noise(rng, "1 %", shape) + 0.2 * CYCLES * np.array(SLOW)
    even = CYCLES * noise(rng, "1 %", shape)
    own, other = CONSEQUENCES["sets"].events[0], CONSEQUENCES["aliasing"].events[0]
    counts = {own: 1e5 * noise(rng, "1 %", shape), other: 1e5 * noise(rng, "1 %", shape)}
    found = compared(counts, {own: slow, other: even}, SLOW, ["sets", "aliasing"], confidence=0.95)
    table = 1 + 0.2 * np.array([SLOW] * 4)
    sweep = replace(judged(table, (0, 16, 32, 48), 1), counters=Counters(found, ("line",)))
    first, second, third = what_counters_say(sweep)
    assert first.startswith("counters speak against instruction cache set conflict: where it is slow there are ")
    assert "e0" not in first
    assert second.startswith("counters say nothing of branch aliasing: executed again to count branch-misses")
    assert third == "this processor, or its perf, counts nothing of instruction line straddle"


def test_each_mechanism_has_something_that_is_counted_and_few_are_at_once(tmp_path) -> None:
    found = consequences_of(["line", "jcc", "page", "aliasing"])
    assert list(found.values()) == [("line", "page"), ("jcc",), ("aliasing",)]
    events = [Event(name, 1) for name in "abcd"]
    assert [[each.name for each in chosen] for chosen in in_sets(events)] == [["a", "b", "c"], ["d"]]
    assert counted_of(str(tmp_path / "no-perf"), ["cycles:u"]) == ()
