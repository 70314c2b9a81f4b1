"""Which mechanism a sweep goes by: planted ones, and what is none of them; how often that is right, and how often wrong."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from causekit import told_of
from layoutrand.errors import AnalysisError
from layoutrand.explain.caches import CodeCaches
from layoutrand.explain.causes import cause
from layoutrand.explain.mechanisms import MECHANISMS, HotCode, hot_code, levels, repeats_within
from layoutrand.objects.branches import Branch
from layoutrand.stats import dose_fit

FINE = np.arange(0, 64, 4)
COARSE = np.arange(0, 64, 16)
PAGE = np.arange(0, 4096, 128)
TABLE = np.arange(0, 16384, 512)
PAGES = np.arange(0, 65536, 2048)
TLB = (16, 4)
"""Sets and ways of a TLB: what its sets hold repeats within 64 KiB."""
BASE = 0x401000


def loop(rng: np.random.Generator, at: int, size: int) -> HotCode:
    """A function with one hot loop of so many bytes, and something that is executed seldom on both sides."""
    places = [0, *range(4, at, 5)]
    inside = [at]
    while inside[-1] < at + size - 6:
        inside.append(inside[-1] + int(rng.integers(2, 7)))
    behind = at + size
    executed = [(p, 1.0) for p in places] + [(p, 1000.0) for p in inside] + [(behind, 1.0), (behind + 3, 1.0)]
    return HotCode(tuple(executed), ())


def test_lines_windows_and_blocks_by_hand():
    """23 bytes from 20 on, as in libquantum: on two lines where the function begins at byte 32."""
    code = HotCode(((0, 1.0), (20, 90.0), (24, 90.0), (40, 90.0), (43, 1.0)), ())
    gap = HotCode(((0, 1.0), (20, 90.0), (24, 90.0), (31, 90.0), (38, 90.0), (43, 1.0)), ())
    met = levels(gap, [BASE, BASE + 16, BASE + 32, BASE + 48])

    assert met["line"] == (1, 1, 2, 1)
    assert met["window"] == (2, 1, 2, 1)
    assert met["fetch"] == (2, 2, 2, 2)
    assert met["page"] == (1, 1, 1, 1)
    assert levels(gap, [BASE + 4064])["page"] == (2,)
    # An instruction of 16 bytes there is none: what follows at once is not known, and a short jump is taken.
    assert levels(code, [BASE + 30])["line"] == (2,)
    assert levels(code, [BASE + 21])["line"] == (1,)


def test_branches_at_a_multiple_of_32_bytes_and_those_that_share_an_entry():
    """A comparison from 24 to 27 and its jump up to 29, and a return of one byte at 40, which is executed seldom."""
    executed = ((0, 1.0), (20, 90.0), (24, 90.0), (27, 90.0), (29, 1.0), (40, 80.0))
    code = HotCode(executed, (), CodeCaches(jcc=True), (Branch(27, 29, 24), Branch(40, 41, 40)), (0x8035,))

    assert levels(code, [0, 2, 3, 4, 7, 8, 23])["jcc"] == (0, 0, 1, 1, 1, 0, 1)
    # At 3 the jump ends at a multiple of 32; at 7 the comparison is before it and the jump behind; at 23 the return ends there.
    assert levels(code, [0, 9, 21, 0x4009])["aliasing"] == (0, 1, 2, 1)
    assert "jcc" not in levels(replace(code, caches=CodeCaches()), [0])
    assert levels(replace(code, branches=()), [3])["jcc"] == (0,)


def test_sets_that_are_overfull_by_hand():
    """Eight hot lines of others in each of four sets, and a function of two lines that comes into one of them, or two."""
    others = tuple(line * 64 + place for line in range(8) for place in (10, 11, 12, 13))
    code = HotCode(tuple((p, 1.0) for p in range(0, 128, 4)), others)
    at = [2 * 4096 * 64 + line * 64 for line in (0, 8, 9, 11, 13, 14, 40)]

    assert levels(code, at)["sets"] == (0, 0, 1, 2, 1, 0, 0)


def test_pages_that_are_too_many_for_their_set_by_hand():
    """Of a TLB of 4 sets and 2 ways: others are hot on two pages of set 1, and on one of set 3."""
    others = tuple(page * 64 for page in (1, 5, 3))
    code = HotCode(tuple((p, 1.0) for p in range(0, 128, 4)), others, CodeCaches(itlb=(4, 2)))
    at = [page * 4096 + offset for page, offset in ((8, 0), (9, 0), (11, 0), (8, 4032), (10, 4032), (13, 0))]
    assert levels(code, at)["itlb"] == (0, 2, 0, 2, 0, 2)
    assert "itlb" not in levels(replace(code, caches=CodeCaches()), at)
    assert set(levels(replace(code, caches=CodeCaches(itlb=(1, 4))), at)["itlb"]) == {
        0,
        2,
    }  # one set, of two pages at once
    assert set(levels(replace(code, caches=CodeCaches(itlb=(1, 64))), at)["itlb"]) == {0}
    assert repeats_within("itlb", code.caches) == 16384


def test_the_one_mechanism_that_offsets_go_by_is_told():
    rng = np.random.default_rng(1)
    code = loop(rng, 20, 26)
    met = levels(code, [BASE + o for o in FINE.tolist()])
    for name in ("line", "window"):
        values = rng.normal(0, 0.01, (8, len(FINE))) + 0.1 * np.array(met[name])
        found = cause(values, met, "wall", level=0.05, seed=1)
        assert found.mechanism == name
        assert {each.mechanism: bool(each.out) for each in found.candidates} == {m: m != name for m in met}
        assert set(met) == set(MECHANISMS) - {"jcc", "itlb"}
        better = cause(-values, met, "wall", level=0.05, seed=1)
        assert better.mechanism is None
        assert next(each for each in better.candidates if each.mechanism == name).out == "more of it is not worse"


def test_patterns_that_are_alike_cannot_be_told_apart():
    same = dict.fromkeys(MECHANISMS, (1.0, 1.0, 1.0, 1.0))
    met = same | {"line": (1.0, 2.0, 1.0, 2.0), "window": (2.0, 3.0, 2.0, 3.0)}
    values = np.random.default_rng(3).normal(0, 0.01, (10, 4)) + 0.1 * np.array(met["line"])
    found = cause(values, met, "wall", level=0.05, seed=1)

    assert found.mechanism is None
    assert [each.mechanism for each in found.candidates if not each.out] == ["line", "window"]
    assert cause(values, same, "wall", level=0.05, seed=1).mechanism is None


def test_a_simulated_cache_shows_conflicts_alone():
    met = {name: (1.0, 1.0, 2.0, 1.0) for name in MECHANISMS}
    values = np.tile([0.0, 0.0, 0.3, 0.0], (3, 1))
    found = cause(values, met, "cachegrind", level=0.05, seed=1)

    assert found.mechanism == "sets"
    assert found.unseen == ("line", "window", "jcc", "fetch", "page", "itlb", "aliasing")
    with pytest.raises(AnalysisError, match="f is not executed"):
        hot_code([], [], "f")


def test_classes_explain_what_doses_do_or_leave_something():
    rng = np.random.default_rng(4)
    values = rng.normal(0, 0.01, (10, 4)) + np.array([0.0, 0.0, 0.1, 0.0])
    right, wrong = dose_fit(values, [1, 1, 2, 1]), dose_fit(values, [2, 1, 2, 1])
    alone = dose_fit(values, [1, 2, 3, 4])

    assert right.share > 0.95
    assert right.p_value > 0.05
    assert right.rises
    assert wrong.share < 0.5
    assert wrong.p_value < 0.01
    assert (alone.share, alone.p_value) == (1.0, 1.0)
    assert not dose_fit(-values, [1, 1, 2, 1]).rises
    exact = dose_fit(np.tile([0.0, 0.1, 0.2, 0.0], (2, 1)), [1, 2, 2, 1])
    assert 0 < exact.share < 1
    for bad in (np.ones(4), np.ones((1, 4)), np.ones((3, 3)), np.full((3, 4), np.inf)):
        with pytest.raises(AnalysisError):
            dose_fit(bad, [1, 2, 1, 2])


def dense(rng: np.random.Generator, at: int, size: int) -> HotCode:
    """As `loop`, with a branch every few instructions, of which the last is one operation with what is before it."""
    code = loop(rng, at, size)
    inside = [place for place, count in code.executed if count > 1]
    ends = dict(itertools.pairwise(place for place, _ in code.executed))
    some = [place for place in inside[1:-1] if rng.random() < 0.2]
    branches = [Branch(place, ends[place], place) for place in some]
    branches.append(Branch(inside[-1], ends[inside[-1]], inside[-2] if len(inside) > 1 else inside[-1]))
    return replace(code, branches=tuple(branches), caches=CodeCaches(jcc=True))


def planted(true: str, rng: np.random.Generator) -> HotCode:
    """A function that may meet the mechanism."""
    if true == "itlb":  # others have taken some of the sets, each of which three of their pages share
        code = dense(rng, int(rng.integers(100, 900)), int(rng.integers(100, 400)))
        first, taken = int(rng.integers(0, TLB[0])), int(rng.integers(2, 9))
        full = [first + number + TLB[0] * way for number in range(taken) for way in range(TLB[1])]
        others = tuple(page * 64 + int(rng.integers(0, 64)) for page in full)
        return replace(code, others=others, caches=CodeCaches(jcc=True, itlb=TLB))
    if true in ("page", "sets", "aliasing"):
        code = dense(rng, int(rng.integers(100, 900)), int(rng.integers(100, 400)))
        full = int(rng.integers(0, 48))
        others = tuple(line * 64 + full + s for line in range(8) for s in range(12))
        begin = int(rng.integers(0, 12000))
        jumps = tuple(begin + place for place in range(0, 1500, 12))
        return replace(
            code, others=others if true == "sets" else (), other_branches=jumps if true == "aliasing" else ()
        )
    return dense(rng, int(rng.integers(1, 40)), int(rng.integers(12, 60)))


def study(true: str, offsets: np.ndarray, n: int, *, rounds: int = 8) -> Counter[str]:
    """What is told of sweeps in which the mechanism adds 10 % a step, executions differ by 1 %, and rivals by nothing."""
    rng = np.random.default_rng([len(true), len(offsets)])
    told: Counter[str] = Counter()
    while sum(told.values()) < n:
        code = planted("itlb" if offsets is PAGES else true, rng)
        starts = [BASE + offset for offset in offsets.tolist()]
        met = levels(code, starts)
        if true == "data":  # of data at a fixed place: a stretch of the page, of no lines or loops
            where = np.array(starts) * 7 % 64
            if offsets is PAGE or offsets is PAGES:
                where = np.array(starts) % (int(offsets[-1] + offsets[1]))
            level = ((where + int(rng.integers(0, 4096))) % where.max() < where.max() / 3).astype(float)
        else:
            level = np.array(met[true]) - min(met[true])
        if len(set(level.tolist())) < 2:
            continue
        told[told_of(rng, met, level, offsets, rounds=rounds, seed=sum(told.values()))] += 1
    return told


CELLS = [
    ("line", FINE),
    ("window", FINE),
    ("jcc", FINE),
    ("fetch", FINE),
    ("page", PAGE),
    ("sets", PAGE),
    ("aliasing", TABLE),
    ("itlb", PAGES),
]


@pytest.mark.slow
def test_planted_mechanisms_are_told_and_none_is_told_wrong():
    """At 2 % each, more than 2 of 10 wrong come by chance in 1 of 1000."""
    for true, offsets in CELLS:
        told = study(true, offsets, 10)
        assert told[true] >= 8, (true, told)
        assert sum(told[name] for name in MECHANISMS if name != true) <= 1, (true, told)


@pytest.mark.hour
@pytest.mark.parametrize(
    ("true", "offsets"), [*CELLS, ("line", COARSE), ("window", COARSE), ("data", PAGE), ("data", FINE), ("data", PAGES)]
)
def test_mechanisms_are_told_at_their_rate(true, offsets):
    """The table of docs/guides/explain.md."""
    n = 100
    told = study(true, offsets, n)
    wrong = sum(told[name] for name in MECHANISMS if name != true)
    print(
        f"| {true} | {len(offsets)} | {told[true] / n:.3f} | {told['cannot tell'] / n:.3f} | {wrong / n:.3f} | {dict(told)}"
    )
    assert wrong / n <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    if len(offsets) > len(COARSE) and true != "data":
        assert told[true] / n >= 0.8
