"""What may be wrong with a suspect's place: layouts of known truth, searched and judged as `explain` does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from layoutrand.errors import AnalysisError
from layoutrand.explain import suspect_cause as judging
from layoutrand.explain.caches import CodeCaches
from layoutrand.explain.features import Feature, all_features, design, features
from layoutrand.explain.hotness import HotFunction, Hotness
from layoutrand.explain.mechanisms import MECHANISMS, counts_in_layouts, together
from layoutrand.explain.suspect_cause import suspect_cause
from layoutrand.explain.suspects import Suspect, suspects_of, with_causes
from layoutrand.objects.branches import Branch
from layoutrand.stats import left_in_classes, screen_features
from programkit import layouts, program

SMALL = CodeCaches(sets=64, ways=2, jcc=True)
"""A cache that six hot functions can overfill."""

PAGES = CodeCaches(jcc=True, itlb=(4, 1))
"""A TLB whose sets six hot functions meet in."""

OTHERS = ("nothing", "table", "page circle", "distance")
"""Truths that are none of the mechanisms."""


def truth(kind: str, hotness: Hotness, starts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How bad each layout is."""
    first, second = starts[:, 0], starts[:, 1]
    if kind == "table":  # any number for each 16 bytes of a line
        return rng.normal(0, 1, 4)[first // 16 % 4]
    if kind == "page circle":
        return np.cos(2 * np.pi * (first / 4096 + rng.random()))
    if kind == "distance":
        return np.log2(np.abs(second - first))
    return counts_in_layouts(hotness, starts)[0][kind]


def told(kind: str, rng: np.random.Generator, count: int, noise: float, caches: CodeCaches | None = None) -> str:
    """The mechanism that is told of the first suspect where layouts differ by 5 % (sd) by one, and by ``noise`` beside."""
    level = 0.05
    usual = {"sets": SMALL, "itlb": PAGES}.get(kind, CodeCaches(jcc=True))
    while True:
        long = {"page": 1, "sets": 6, "aliasing": 6}.get(kind, 0)
        hot = program(rng, long=long)
        starts = layouts(rng, hot, count, align=4 if kind == "fetch" else 16)
        hotness = Hotness(hot, caches=caches or usual)
        bad = np.zeros(count) if kind == "nothing" else truth(kind, hotness, starts, rng)
        if kind == "nothing" or count - np.unique(bad, return_counts=True)[1].max() >= 4:
            break
    bad = bad - bad.mean()
    response = 0.05 * bad / (bad.std() or 1.0) + rng.normal(0, noise, count)
    found = features(hotness, starts)
    priority = [0 if each.functions else 1 for each in found]
    designs = [design(each) for each in found]
    result = screen_features(designs, response, priority=priority, level=level, n_permutations=199, most=2)
    suspects = suspects_of(found, result, response, 1, level)
    if not suspects:
        return "no suspect"
    (first, *_) = with_causes(suspects[:1], hotness, starts, response, "wall", level)
    assert first.cause is not None
    return first.cause.mechanism or "cannot tell"


def study(kind: str, count: int, noise: float, n: int, caches: CodeCaches | None = None) -> Counter[str]:
    rng = np.random.default_rng([len(kind), count, int(1000 * noise)])
    return Counter(told(kind, rng, count, noise, caches) for _ in range(n))


@pytest.fixture
def few_permutations(monkeypatch):
    monkeypatch.setattr(judging, "PERMUTATIONS", 199)


def test_what_lies_together_in_layouts_by_hand():
    """The loop of f is on one line or two; a branch of it meets one of g where they lie 16 KiB apart."""
    f = HotFunction(
        0, "f", 0.8, 64, (20, 24, 40), (20, 24, 40), ((20, 9.0), (24, 9.0), (40, 9.0)), (Branch(40, 42, 24),)
    )
    g = HotFunction(1, "g", 0.2, 64, (0,), (0,), ((0, 5.0),), (Branch(0, 2, 0),))
    hotness = Hotness((f, g), caches=CodeCaches(jcc=True))
    starts = np.array([[0x1000, 0x9000], [0x1020, 0x9000], [0x1008, 0x5030], [0x1016, 0x9000]])
    met, of_g = counts_in_layouts(hotness, starts)

    assert met["line"].tolist() == [1, 2, 1, 1]
    assert met["jcc"].tolist() == [1, 1, 0, 1]  # 24 to 42; 56 to 74; 32 to 50; 46 to 64, which ends there
    assert met["aliasing"].tolist() == [0, 0, 1, 0]
    both = together([met, of_g])
    assert both["line"].tolist() == [2, 3, 2, 2]
    assert both["aliasing"].tolist() == [0, 0, 2, 0]
    assert "jcc" not in counts_in_layouts(Hotness((f, g)), starts)[0]


def own(values: np.ndarray) -> Feature:
    return Feature("loop", ("f",), "number", 0, values)


def test_one_is_told_where_no_other_is_left():
    rng = np.random.default_rng(5)
    line = rng.integers(1, 3, 40).astype(float)
    window = line + rng.integers(0, 2, 40)
    response = 0.1 * line + rng.normal(0, 0.01, 40)
    same = np.ones(40)
    met = {"line": line, "window": window, "fetch": same}
    found = suspect_cause(met, response, own(line), [], "wall", level=0.05)

    assert found.mechanism == "line"
    assert [each.out for each in found.candidates] == [
        "",
        "layouts that meet as much of it differ by something else",
        "it is the same in all layouts",
    ]
    assert found.whole > 0.9
    assert (
        suspect_cause(met, -response, own(line), [], "wall", level=0.05).candidates[0].out == "more of it is not worse"
    )
    simulated = suspect_cause(met, response, own(line), [], "cachegrind", level=0.05)
    assert (simulated.mechanism, simulated.unseen) == (None, ("line", "window", "fetch"))
    alike = suspect_cause({"line": line, "window": line}, response, own(line), [], "wall", level=0.05)
    assert alike.mechanism is None
    assert not any(each.out for each in alike.candidates)


def test_what_explains_less_than_the_suspect_is_not_told():
    """Something else of the same function, of which the mechanism has a part: with few layouts nothing speaks against it."""
    line = np.array([1.0] * 6 + [2.0] * 6)
    whole = line + np.tile([0.0, 1.1, 0.2, 0.9, 0.5, 0.7], 2)
    found = suspect_cause({"line": line}, whole, own(whole), [], "wall", level=1e-9)
    assert found.mechanism is None
    assert found.candidates[0].out == ""
    assert found.candidates[0].share < 0.8 * found.whole


def test_what_goes_with_them_by_chance_alone_is_not_told():
    """The suspect explains nothing that chance does not, and no more does what is left."""
    line = np.tile([1.0, 1.0, 2.0, 2.0], 10)
    response = np.tile([0.0, 1.0, 1.0, 0.0], 10) + 0.001 * line
    found = suspect_cause({"line": line}, response, own(np.repeat([0.0, 1.0], 20)), [], "wall", level=0.05)
    assert found.mechanism is None
    assert [each.out for each in found.candidates] == ["it goes with them by no more than chance"]


def test_a_suspect_is_judged_without_what_those_of_other_functions_explain():
    rng = np.random.default_rng(9)
    hotness = Hotness(program(rng))
    starts = 4 * rng.integers(0, 9999, (60, len(hotness.functions)))
    loops = [each for each in all_features(hotness, starts) if each.name in ("loop:f0", "loop:f1")]
    response = loops[0].values + loops[1].values + rng.normal(0, 0.01, 60)
    both = [Suspect(each, 0.001, 0.5, None, None, 30, 30, ()) for each in loops]
    found = [each.cause for each in with_causes(both, hotness, starts, response, "wall", 0.05)]
    assert all(each.beside and each.whole > 0.9 for each in found)
    (alone,) = with_causes(both[:1], hotness, starts, response, "wall", 0.05)
    assert not alone.cause.beside
    assert alone.cause.whole < 0.9


def test_nothing_within_classes_is_found_in_its_share_of_cases():
    """Classes that do anything at all; at 5 %, more than 12 of 100 come by chance in 1 of 500."""
    rng = np.random.default_rng(6)
    found = {False: 0, True: 0}
    for seed in range(100):
        level = rng.integers(0, 3, 30).astype(float)
        designs = [rng.normal(0, 1, (30, 1)), rng.normal(0, 1, (30, 3)), level[:, None]]
        response = 5 * level + rng.lognormal(0, 1, 30)
        for straight in found:
            rest = left_in_classes(response, level, designs=designs, straight=straight, n_permutations=199, seed=seed)
            found[straight] += rest.p_value <= 0.05
    assert max(found.values()) <= 12
    strong = left_in_classes(response + 9 * designs[0][:, 0], level, designs=designs)
    assert (strong.p_value, strong.index) == (0.0005, 0)
    nothing = left_in_classes(level, level, designs=designs)
    assert (nothing.p_value, nothing.index) == (1.0, None)
    for observed, classes, designs in (
        ([1.0, 2.0], [1.0, 2.0], []),
        (response, level[:-1], []),
        (response, level, [np.full((30, 1), np.nan)]),
    ):
        with pytest.raises(AnalysisError):
            left_in_classes(observed, classes, designs=designs)


@pytest.mark.slow
def test_planted_mechanisms_are_told_and_none_is_told_wrong(few_permutations):
    """Line straddles and pages; more than 2 of 20 wrong would come by chance in 1 of 100 at 2.5 % each."""
    for kind in ("line", "page"):
        found = study(kind, 30, 0.02, 10)
        assert found[kind] >= 8, (kind, found)
        assert sum(found[name] for name in MECHANISMS if name != kind) <= 1, (kind, found)


@pytest.mark.slow
def test_what_is_no_mechanism_is_told_to_be_none(few_permutations):
    found = sum((study(kind, 30, 0.02, 6) for kind in OTHERS), Counter())
    assert sum(found[name] for name in MECHANISMS) <= 3, found


@pytest.mark.hour
@pytest.mark.parametrize("kind", ["line", "window", "jcc", "fetch", "page", "sets", "itlb", "aliasing", *OTHERS])
def test_mechanisms_are_told_at_their_rate(few_permutations, kind):
    """The table of docs/guides/explain.md."""
    n = 50
    for noise in (0.02, 0.05):
        found = study(kind, 30, noise, n)
        wrong = sum(found[name] for name in MECHANISMS if name != kind)
        print(f"| {kind} | {noise:.0%} | {found[kind] / n:.2f} | {wrong / n:.2f} | {dict(found)}", flush=True)
        assert wrong / n <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)


@pytest.mark.hour
@pytest.mark.parametrize("kind", ["line", "page", "aliasing", *OTHERS])
def test_none_is_told_wrong_where_the_tlb_is_known_too(few_permutations, kind):
    """Of a TLB whose sets hot functions meet in, though that does nothing."""
    n = 50
    for noise in (0.02, 0.05):
        found = study(kind, 30, noise, n, PAGES)
        wrong = sum(found[name] for name in MECHANISMS if name != kind)
        print(f"| {kind} | {noise:.0%} | {found[kind] / n:.2f} | {wrong / n:.2f} | {dict(found)}", flush=True)
        assert wrong / n <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
