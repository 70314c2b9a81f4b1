"""One mechanism switched, and all others as they were: which offsets, and how often what is said of it is true."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.explain.caches import USUAL, CodeCaches
from layoutrand.explain.mechanisms import HotCode, levels
from layoutrand.explain.offsets import Offsets
from layoutrand.explain.sweep_words import what_it_does
from layoutrand.explain.switching import Switch, candidates, choose_switch, range_of, switched
from layoutrand.objects.branches import Branch
from layoutrand.screens.sweep_screen import show_sweep
from sweepkit import judged

BASE = 0x404000
LOOP = HotCode(
    ((20, 90.0), (24, 90.0), (31, 90.0), (38, 90.0), (41, 90.0), (43, 1.0)),
    tuple(line * 64 + 30 + place for line in range(8) for place in range(6)),
    CodeCaches(jcc=True),
    (Branch(41, 43, 38),),
    tuple(0x8000 + place for place in range(0, 1000, 40)),
)
"""A loop of 23 bytes that ends with a fused branch, hot lines of others in some sets, and hot branches of others."""


PAGES = replace(LOOP, caches=CodeCaches(jcc=True, itlb=(16, 1)))
"""The same where each hot page of the others has a set of the TLB to itself."""


def chosen(mechanism: str, step: int = 1, code: HotCode = LOOP) -> Switch:
    offsets = candidates(range_of(mechanism, code.caches, None), step)
    return choose_switch(mechanism, levels(code, [BASE + each for each in offsets]), offsets, "f")


@pytest.mark.parametrize("mechanism", ["line", "window", "jcc", "fetch", "page", "sets", "itlb", "aliasing"])
def test_the_mechanism_alone_differs(mechanism):
    code = PAGES if mechanism == "itlb" else LOOP
    switch = chosen(mechanism, 4 if mechanism in ("sets", "itlb", "aliasing") else 1, code)
    met = levels(code, [BASE + each for each in switch.offsets])

    assert len(set(met[mechanism])) == 2
    assert all(len(set(met[other])) == 1 for other in met if other != mechanism)
    of = dict(zip(switch.offsets, met[mechanism], strict=True))
    assert {of[each] for each in switch.without} == {min(met[mechanism])}
    assert {of[each] for each in switch.with_it} == {max(met[mechanism])}
    assert len(switch.with_it) == len(switch.without) <= 4
    assert not set(switch.with_it) & set(switch.without)


def test_a_tlb_of_which_nothing_is_known_cannot_be_switched():
    with pytest.raises(UsageError, match=r"--switch itlb: the sizes of its TLB are not known here; there are line, "):
        chosen("itlb")
    with pytest.raises(UsageError, match=r"--switch jcc: this processor does not have it"):
        chosen("jcc", code=replace(LOOP, caches=USUAL))


def test_what_cannot_be_switched_alone_is_refused_with_the_reason():
    offsets = [0, 16, 32, 48]
    same = {"line": [1.0, 1, 1, 1], "window": [1.0, 2, 1, 1]}
    with pytest.raises(UsageError, match=r"f meets as much of it at all 4 offsets .* a larger --offset"):
        choose_switch("line", same, offsets, "f")
    with pytest.raises(UsageError, match="its alignment allows no others"):
        choose_switch("line", same, offsets, "f", every=True)
    along = {"line": [1.0, 2, 1, 1], "window": [1.0, 2, 1, 1], "page": [1.0, 1, 1, 1]}
    with pytest.raises(UsageError, match="it meets another amount of window, too"):
        choose_switch("line", along, offsets, "f")
    with pytest.raises(UsageError, match="this processor does not have it; there are line, window"):
        choose_switch("jcc", same, offsets, "f")
    assert choose_switch("line", along | {"window": [1.0, 1, 1, 2]}, offsets, "f") == Switch("line", (0,), (16,))


def test_offsets_that_are_looked_at():
    assert candidates(Offsets(0, 63, None), 16) == (0, 16, 32, 48)
    assert candidates(Offsets(8, 63, None), 16) == (16, 32, 48)
    assert candidates(Offsets(0, 63, 32), 16) == (0, 32)
    assert len(candidates(Offsets(0, 16383, None), 1)) == 1024
    arm = CodeCaches(128, 16384, 256, 4)
    assert [range_of(each, USUAL, None).last for each in ("fetch", "line", "page", "sets", "aliasing")] == [
        255,
        255,
        4095,
        4095,
        16383,
    ]
    assert [range_of(each, arm, 8).last for each in ("line", "page", "sets")] == [255, 16383, 32767]


def said(switch: Switch, logs: np.ndarray, seed: int = 1) -> str:
    """The sentence on logarithms of shape (rounds, offsets)."""
    sweep = judged(np.exp(logs), switch.offsets, seed, period=16384)
    return what_it_does(replace(sweep, switched=switched(np.log(sweep.means), switch, confidence=0.95, seed=seed)))


def test_what_it_does_in_words():
    rng = np.random.default_rng(3)
    switch = Switch("line", (0, 64), (32, 96))
    noise = rng.normal(0, 0.01, (8, 4))
    has = np.array([0, 1, 0, 1])

    slow = said(switch, noise + 0.1 * has)
    assert slow.startswith(
        "instruction line straddle (64-byte lines under its hottest instructions), switched alone: f is"
    )
    assert re.search(r"f is 1\d\S* % slower \(95 % interval \S+ … \S+\) with more of it \(2 offsets with more", slow)
    assert "% faster" in said(switch, noise - 0.1 * has)
    assert "shows: switched alone it changes wall_s of f by no more than" in said(switch, noise)
    assert said(switch, noise + 0.1 * np.array([0, 1, 0, 0])).startswith("cannot tell what instruction line straddle")
    alone = Switch("line", (0,), (32,))
    assert "whether others like these two do the same was not seen" in said(alone, (noise + 0.1 * has)[:, :2])
    exact = said(switch, np.zeros((3, 4)) + 0.1 * has)
    assert "10.52 % slower with more of it" in exact
    tiny = said(switch, np.zeros((3, 4)) + 2e-6 * has)
    assert "0.00020 % slower with more of it" in tiny
    assert "switched alone it changes nothing of wall_s of f, to the digit (2" in said(switch, np.zeros((3, 4)))
    assert what_it_does(judged(np.exp(noise), switch.offsets, 1, period=128)) == ""


def test_a_verdict_that_needs_more_rounds_does_not_stand_beside_the_answer(capsys):
    """Of two offsets four rounds tell what the mechanism does, and not which offset stands out of all."""
    switch = Switch("line", (0,), (32,))
    logs = np.random.default_rng(4).normal(0, 0.001, (4, 2)) + 0.1 * np.array([0, 1])
    sweep = judged(np.exp(logs), switch.offsets, 1)
    still = SimpleNamespace(symbols=1, sections=1, as_in_base=1, pages_on=0)
    sweep = replace(sweep, binaries=SimpleNamespace(stillness=still))
    show_sweep(sweep, Terminal(json=False, quiet=False), None)
    assert "cannot tell: 4 complete rounds of 2 offsets are too few" in capsys.readouterr().out
    told = replace(sweep, switched=switched(logs, switch, confidence=0.95, seed=1))
    show_sweep(told, Terminal(json=False, quiet=False), None)
    shown = capsys.readouterr().out
    assert "switched alone: f is 10" in shown
    assert "cannot tell" not in shown


def study(kind: str, truth: str, n: int, rounds: int = 8) -> Counter[str]:
    """What is said where the mechanism makes 5 %, or nothing does, or something of one of the offsets alone."""
    rng = np.random.default_rng([len(kind), len(truth), rounds])
    switch = chosen("line")
    has = np.isin(switch.offsets, switch.with_it)
    counts: Counter[str] = Counter()
    for seed in range(n):
        noise = rng.normal(0, 0.01, (rounds, len(has)))
        if kind == "spikes":
            noise += np.where(rng.random(noise.shape) < 0.03, 0.2, 0.0)
        elif kind == "lognormal":
            noise = 0.01 * (rng.lognormal(0, 0.8, noise.shape) - 1)
        effect = {
            "nothing": 0 * has,
            "mechanism": 0.05 * has,
            "one offset": 0.05 * (np.arange(len(has)) == seed % len(has)),
        }
        text = said(switch, noise + effect[truth], seed)
        name = (
            "cannot tell" if text.startswith("cannot") else "no effect" if text.startswith("no effect") else "an effect"
        )
        counts[name] += 1
        if name == "an effect" and truth == "mechanism":
            low, high = map(float, re.search(r"interval (\S+) … (\S+)\)", text).groups())
            counts["held"] += low - 0.06 <= 100 * np.expm1(0.05) <= high + 0.06
    return counts


@pytest.mark.slow
def test_few_of_sixty_sentences_are_false():
    """At 5 % each, more than 9 of 60 come by chance in 1 of 1000; what of it cannot be told has 5 %, too."""
    assert study("normal", "nothing", 60)["an effect"] <= 9
    some = study("normal", "mechanism", 60)
    assert some["an effect"] >= 51
    assert some["held"] >= some["an effect"] - 9
    assert study("normal", "one offset", 20)["an effect"] <= 2


@pytest.mark.hour
@pytest.mark.parametrize("kind", ["normal", "lognormal", "spikes"])
def test_sentences_are_true_at_their_rate(kind):
    """The table of docs/guides/explain.md."""
    n = 400
    rows = {truth: study(kind, truth, n) for truth in ("nothing", "mechanism", "one offset")}
    print(kind, {truth: dict(counts) for truth, counts in rows.items()}, flush=True)
    assert rows["nothing"]["an effect"] / n <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    assert rows["mechanism"]["held"] >= 0.92 * rows["mechanism"]["an effect"]
