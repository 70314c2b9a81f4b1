"""Which executions are compared with which: decided by rounds, nodes and times, never by what was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutrand.analysis.blocking import freed
from layoutrand.analysis.comparison_warnings import AddedAlone, ExecutedApart, FewCompleteRounds, IncompleteRounds
from layoutrand.analysis.control_shift import control_shift
from layoutrand.analysis.primary_ratio import both_ratios, of_design, sureness_of
from layoutrand.analysis.ratio_findings import could_miss, of_ratios
from layoutrand.analysis.round_design import control_sample, round_design
from layoutrand.analysis.sample_pair import sample_pair
from roundkit import executed, layouts
from warningkit import said


def both(seeds):
    return [(seed, "ab") for seed in seeds]


def alone(system, seeds):
    return [(seed, system) for seed in seeds]


def pair_of(plan, seed=1, **changes):
    rng = np.random.default_rng(seed)
    top = max(seed for seed, _ in plan) + 1
    return sample_pair(*executed(rng, plan, {s: layouts(rng, "normal", top) for s in "ab"}, **changes))


@pytest.mark.parametrize(
    ("plan", "primary", "rounds", "warned"),
    [
        (both(range(1, 31)), "paired", 30, []),
        (both(range(1, 31)) + alone("a", range(31, 41)), "paired", 30, [IncompleteRounds]),
        (both(range(1, 31)) + alone("a", range(31, 61)), "paired", 30, [AddedAlone]),
        (alone("a", range(1, 31)) + both(range(31, 61)), "paired", 30, [AddedAlone]),
        (alone("a", range(1, 31)) + alone("b", range(1, 31)), "unpaired", 0, [ExecutedApart]),
        (alone("a", range(1, 31)) + alone("b", range(31, 61)), "unpaired", 0, [ExecutedApart]),
        (alone("a", range(1, 31)) + alone("b", range(1, 31)) + both(range(31, 36)), "paired", 5, [AddedAlone]),
        ([(k, "ab" if k % 3 == 0 else "ba"[k % 3 - 1]) for k in range(1, 31)], "unpaired", 10, [FewCompleteRounds]),
    ],
)
def test_what_is_compared_with_what(plan, primary, rounds, warned):
    pair = pair_of(plan)
    assert (pair.design.primary, len(pair.design.pairs)) == (primary, rounds)
    assert [type(each) for each in of_design(pair)] == warned
    assert pair.design.cannot_tell == (warned == [ExecutedApart])


def test_what_was_executed_apart_takes_new_rounds():
    """No seed that is recorded is executed again, so `run` without new ones would change nothing."""
    (apart,) = of_design(pair_of(alone("a", range(1, 31)) + alone("b", range(1, 21))))
    assert apart.new_rounds == "31..60" and "`layoutrand run --seeds 31..60`" in str(apart)


def test_the_same_executions_with_other_numbers_are_compared_in_the_same_way():
    """The better of two answers is never chosen: only the numbers differ here."""
    plan = both(range(1, 20)) + alone("b", range(20, 30))
    assert {pair_of(plan, seed).design.primary for seed in range(20)} == {"paired"}
    assert {len(pair_of(plan, seed).design.pairs) for seed in range(20)} == {19}


def test_where_times_are_not_known_names_decide():
    old, new = pair_of(alone("a", range(1, 9)) + alone("b", range(1, 9))).measured
    assert round_design(old, new).cannot_tell
    unknown = [replace(sample, started={}, rounds={}) for sample in (old, new)]
    assert (round_design(*unknown).primary, round_design(*unknown).in_turns) == ("paired", True)
    simulated = [replace(sample, instrument="cachegrind") for sample in (old, new)]
    assert round_design(*simulated).primary == "paired"


def test_a_round_that_was_executed_again_later_is_left_out():
    plan = [(k, "a" if k == 7 else "ab") for k in range(1, 21)] + [(7, "b")]
    pair = pair_of(plan)
    assert pair.design.not_beside == (7,)
    assert "compared without 7, of which the two systems were executed at different times" in said(of_design(pair))


def test_one_random_order_is_no_error():
    rng = np.random.default_rng(3)
    slots = [(k, s) for k in range(1, 31) for s in "ab"]
    plan = [slots[place] for place in rng.permutation(len(slots))]
    old, new = pair_of(plan).measured
    assert round_design(old, new, at_random=True).primary == "paired"
    assert len(round_design(old, new, at_random=True).pairs) == 30


def test_seeds_on_different_nodes_are_no_rounds():
    old, new = pair_of(both(range(1, 9))).measured
    nodes = {name: ("n1",) for name in old.started if isinstance(name, int)}
    design = round_design(replace(old, nodes=nodes), replace(new, nodes={**nodes, 3: ("n2",)}))
    assert (design.elsewhere, len(design.pairs)) == ((3,), 7)


def test_all_that_is_said_is_of_one_ratio():
    """The p-value is below 5 % exactly when the interval leaves 1 out, whatever the design."""
    for plan in (both(range(1, 13)), [(k, "ab" if k < 5 else "ab"[k % 2]) for k in range(1, 25)]):
        for seed in range(30):
            pair = pair_of(plan, seed)
            found = both_ratios(pair, 0.95)
            primary, ratio, _ = found.primary(pair)
            sure = sureness_of(pair, primary, 0.0, "once", centre=ratio.centre, clock=found.clock)
            assert (sure.no_difference <= 0.05) == (not ratio.low <= 1 <= ratio.high)


def test_the_shift_against_stock_goes_by_round():
    pair = pair_of(both(range(1, 31)), drift="walk")
    own = freed(pair.measured[0])
    shift, warnings = control_shift(own, "stock", 0.95)
    assert (shift.method, warnings) == ("paired-log-t", [])
    few = replace(own.raw, instrument="cachegrind", controls={"stock": own.raw.controls["stock"][:2]})
    assert control_shift(freed(few), "stock", 0.95)[0].method == "fieller-welch"
    assert [name for name, _ in control_sample(own.raw, "stock").binaries][:2] == ["round 1", "round 2"]


def test_what_stands_out_is_told_of_the_ratios():
    pair = pair_of(both(range(1, 31)))
    assert could_miss(pair, 0.95) == pytest.approx(1 - 0.05 ** (1 / 30))
    old, new = pair.measured
    far = replace(new, binaries=tuple((n, ((9.0,),)) if n == 4 else (n, runs) for n, runs in new.binaries))
    assert "rounds far from the others, but in the numbers: 4" in said(of_ratios(sample_pair(old, far)))
    step = replace(new, binaries=tuple((n, ((runs[0][0] * (1 + (n > 15)),),)) for n, runs in new.binaries))
    found = " ".join(said(of_ratios(sample_pair(old, step))))
    assert "fall into groups" in found
    assert "ratios of successive rounds are alike" in found
