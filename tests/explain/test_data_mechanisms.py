"""Which mechanism a variable's sweep goes by: counted by hand, planted ones, how often that is right, and how often wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from causekit import told_of
from layoutrand.errors import AnalysisError, UsageError
from layoutrand.explain.caches import CodeCaches
from layoutrand.explain.data_mechanisms import DATA_MECHANISMS, HotData, data_levels, data_repeats_within, hot_data
from layoutrand.explain.data_use import ALIAS, DataUse, StoreLoads
from layoutrand.explain.offsets import Offsets
from layoutrand.explain.switching import candidates, check_kind, choose_switch, range_of

BASE = 0x4F0000
FINE = np.arange(0, 64, 4)
PAGE = np.arange(0, 4096, 128)
NO_PAIRS = StoreLoads(*(np.empty(0, np.int64) for _ in range(6)))


def variable(places: list[int], size: int, pairs: StoreLoads = NO_PAIRS, direction: int = 1) -> HotData:
    """One that is accessed equally often in these places."""
    own = np.array([(place, size, 100) for place in places], np.int64)
    return HotData(own, np.empty(0, np.int64), pairs, np.full(len(pairs.count), direction))


def pairs(distances: list[int]) -> StoreLoads:
    """Loads of 8 bytes after stores of 8, at these distances if the variable began at address 0."""
    ones = np.ones(len(distances), np.int64)
    return StoreLoads(0 * ones, ones, np.array(distances, np.int64) % ALIAS, 8 * ones, 8 * ones, 1000 * ones)


def test_lines_pages_and_split_accesses_by_hand():
    met = data_levels(variable([0, 8, 16, 24], 8), [BASE, BASE + 32, BASE + 40, BASE + 60, BASE + 4076])
    assert met["data-line"] == (1, 1, 2, 2, 2)
    assert met["data-page"] == (1, 1, 1, 1, 2)
    assert met["data-split"] == (0, 0, 0, 2, 2)  # as many as at most: one of four
    assert met["data-sets"] == met["store-load"] == (0, 0, 0, 0, 0)


def test_sets_that_are_overfull_by_hand():
    others = np.array([line * 64 + place for line in range(8) for place in (10, 11)])
    data = replace(variable(list(range(0, 128, 8)), 8), others=others)
    at = [2 * 4096 * 64 + line * 64 for line in (0, 8, 9, 10, 11, 12, 74)]
    assert data_levels(data, at)["data-sets"] == (0, 0, 1, 2, 1, 0, 2)
    wide = replace(data, caches=CodeCaches(data_sets=64, data_ways=12))
    assert set(data_levels(wide, at)["data-sets"]) == {0}


def test_aliasing_goes_with_the_direction():
    """The store goes to 0x100 modulo 4 KiB; where the variable is stored to, it is the load that stays there."""
    at = [BASE + offset for offset in (0, 0xF8, 0xF9, 0x100, 0x107, 0x108, 0x1100)]
    for direction in (1, -1):
        data = variable([0], 8, pairs([-0x100 * direction]), direction)
        assert data_levels(data, at)["store-load"] == (0, 0, 2, 2, 2, 0, 2)


def test_what_is_known_of_a_variable_in_another_layout():
    """Of a trace in which others begin at 0x4000 and 0x6000, of a layout in which the first of them lies 24 bytes further on."""
    use = DataUse(
        touched=np.array([(0, 0, 50), (0, 9, 1), (1, 0, 900), (2, 0, 900)]),
        own=np.array([(0, 8, 900)]),
        pairs=StoreLoads(*np.array([(0, 1, 0x20, 8, 8, 5), (1, 0, 0x30, 8, 8, 6), (0, 2, 7, 8, 8, 9)]).T),
        address=np.array([0x4000, 0x5000, 0x6000]),
        instructions=9,
        whole=True,
    )
    data = hot_data(use, 1, np.array([0x4018, 0x5000, 0x6000]), "v")
    assert data.direction.tolist() == [1, -1]
    assert data.others.tolist() == [0x4018 // 64, 0x6000 // 64]  # what is hardly touched is not hot
    # where it begins at 0x5000, the distances are those of the trace, less or more the 24 bytes
    at = (data.pairs.distance + data.direction * 0x5000) % ALIAS
    assert at.tolist() == [0x20 - 24, 0x30 + 24]
    with pytest.raises(AnalysisError, match="v is not accessed in what was traced: its first 0 million"):
        hot_data(replace(use, own=np.empty((0, 3), np.int64), whole=False), 1, use.address, "v")


def test_one_mechanism_of_a_variable_is_switched_alone():
    data = variable([0, 8], 8, pairs([-0x100, -0x108, -0x110]))
    offsets = candidates(range_of("store-load", data.caches, None), 8)
    met = data_levels(data, [BASE + each for each in offsets])
    switch = choose_switch("store-load", met, offsets, "v")
    again = data_levels(data, [BASE + each for each in switch.offsets])
    assert all(len(set(again[name])) == 1 for name in DATA_MECHANISMS if name != "store-load")
    assert set(switch.with_it) <= {0xF8, 0x100, 0x108, 0x110}
    with pytest.raises(UsageError, match=r"it is one of functions, and v is a variable; there are data-split, "):
        check_kind("line", "v", is_code=False)
    with pytest.raises(UsageError, match=r"it is one of variables, and f is a function; there are line"):
        check_kind("data-line", "f", is_code=True)
    check_kind("data-line", "v", is_code=False)
    assert [data_repeats_within(name, data.caches) for name in DATA_MECHANISMS] == [64, 64, 4096, 4096, 4096]
    assert range_of("store-load", data.caches, None) == Offsets(0, 4095, None)


def planted(true: str, rng: np.random.Generator) -> HotData:
    """A variable that may meet the mechanism, and meets what others it may."""
    step = int(rng.choice([8, 12, 20])) if true == "data-split" else 8
    length = int(rng.integers(2, 9)) if true == "data-line" else int(rng.integers(4, 40))
    distance = int(rng.integers(0, 512)) * 8
    turns = int(rng.integers(1, 12))
    some = pairs([distance - 8 * turn for turn in range(turns)])
    direction = int(rng.choice([1, -1]))
    data = variable([step * number for number in range(length)], 8, some, direction)
    if true == "data-sets":
        full = int(rng.integers(0, 52))
        data = replace(data, others=np.array([line * 64 + full + s for line in range(8) for s in range(10)]))
    return data


def study(true: str, offsets: np.ndarray, n: int, *, rounds: int = 8) -> Counter[str]:
    """What is told of sweeps in which the mechanism adds 10 % a step and executions differ by 1 %."""
    rng = np.random.default_rng([sum(map(ord, true)), len(offsets)])
    told: Counter[str] = Counter()
    starts = [BASE + offset for offset in offsets.tolist()]
    period = max(64, 1 << int(offsets[-1]).bit_length())
    while sum(told.values()) < n:
        met = data_levels(planted(true, rng), starts)
        if true == "other":  # a third of the range, for a reason that is none of these
            level = ((np.array(starts) + int(rng.integers(0, period))) % period < period / 3).astype(float)
        else:
            level = np.array(met[true]) - min(met[true])
        if len(set(level.tolist())) < 2:
            continue
        told[told_of(rng, met, level, offsets, rounds=rounds, seed=sum(told.values()))] += 1
    return told


CELLS = [
    ("data-split", FINE),
    ("data-line", FINE),
    ("data-page", PAGE),
    ("data-sets", PAGE),
    ("store-load", PAGE),
]


@pytest.mark.slow
def test_planted_mechanisms_are_told_and_none_is_told_wrong():
    """At 2 % each, more than 2 of 10 wrong come by chance in 1 of 1000."""
    for true, offsets in CELLS:
        told = study(true, offsets, 10)
        assert told[true] >= 8, (true, told)
        assert sum(told[name] for name in DATA_MECHANISMS if name != true) <= 1, (true, told)


@pytest.mark.hour
@pytest.mark.parametrize(("true", "offsets"), [*CELLS, ("other", PAGE), ("other", FINE)])
def test_mechanisms_are_told_at_their_rate(true, offsets):
    """The table of docs/guides/explain.md."""
    n = 100
    told = study(true, offsets, n)
    wrong = sum(told[name] for name in DATA_MECHANISMS if name != true)
    print(
        f"| {true} | {len(offsets)} | {told[true] / n:.2f} | {wrong / n:.2f} | {told['cannot tell'] / n:.2f} | {dict(told)}"
    )
    assert wrong / n <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    if true != "other":
        assert told[true] / n >= 0.8
