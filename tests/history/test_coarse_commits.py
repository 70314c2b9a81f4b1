"""`history` and `bisect` of times in steps of their clock: neither names a commit, nor calls commits the same, for these.

Where commits differ by more than the steps allow, both find it.
"""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from layoutrand.analysis.coarse_clock import NO_STEPS, clock_steps
from layoutrand.analysis.sample import Sample
from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.history.bisect_words import answer_words, bisect_document
from layoutrand.history.bisecting import SearchAnswer, SearchState, as_ratio, decide_ends, decide_side
from layoutrand.history.history_steps import PointValues, StepQuestion, seen_steps
from layoutrand.history.history_values import CommitSeries, History, HistoryPoint
from layoutrand.history.history_words import has_no_step, no_step
from layoutrand.history.searched_rounds import SearchedRounds
from layoutrand.screens.bisect_screen import bisect_screen
from layoutrand.screens.history_screen import history_screen
from layoutrand.stats import mean_interval

N_COMMITS, N_ROUNDS, AT = 10, 10, 6
STEP = 0.01
LINE = tuple(LoggedCommit(f"{k:09x}{0:031x}") for k in range(3))
SURE = {"confidence": 0.99, "threshold": 0.01, "exact": False}


def sample_of(values):
    binaries = tuple((seed, ((float(value),),)) for seed, value in enumerate(values, 1))
    return Sample("O2", "work", "native", "wall_s", "s", is_primary=True, binaries=binaries, controls={})


def read(values, step=STEP):
    return np.round(np.asarray(values) / step) * step


def times(old, new, *, noise=0.0005, seed=1, step=STEP):
    """A table (commits, rounds) whose level changes once."""
    levels = np.where(np.arange(N_COMMITS) < AT, old, new)[:, None]
    return read(levels * (1 + noise * np.random.default_rng(seed).normal(size=(N_COMMITS, N_ROUNDS))), step)


def points(table):
    return PointValues(table, tuple(range(len(table))), clock_steps(*(sample_of(row) for row in table)))


def seen(table, stocks=None, threshold=0.01):
    return seen_steps(points(table), None if stocks is None else points(stocks), StepQuestion(0.95, threshold, "less"))


def series_of(found):
    series = CommitSeries(
        "O2",
        "work",
        "wall_s",
        "s",
        "less",
        (),
        N_ROUNDS,
        N_ROUNDS,
        found.layouts,
        None,
        found.steps,
        (),
        found.resolution,
    )
    return dataclasses.replace(series, clock=found.clock)


def said(found, threshold=0.01):
    series = series_of(found)
    history = History((series,), (), "p", "vm", 0.95, threshold, ())
    assert has_no_step(history, series) is (not no_step(history, series).startswith("cannot tell"))
    return no_step(history, series)


@pytest.mark.parametrize("old", [0.2, 0.2043, 0.2049])
@pytest.mark.parametrize("ratio", [1.0, 1.005, 1.02, 1.045, 0.98])
def test_history_neither_names_a_commit_nor_says_that_there_is_none(old, ratio):
    """Values change by a whole step or not at all; the truth is less than a step."""
    found = seen(times(old, old * ratio))
    assert found.steps == ()
    assert said(found).startswith("cannot tell: a step below about")
    assert said(found).endswith("would not show (coarse clock)")
    assert found.clock.is_open
    assert found.resolution >= 0.04


def test_the_screen_of_such_a_history_says_what_helps():
    commits = tuple(LoggedCommit(f"{k:040x}") for k in range(N_COMMITS))
    table = times(0.2, 0.2)
    whole = [mean_interval([[each] for each in row]) for row in table]
    shown = [
        HistoryPoint((c,), c.commit, mean, N_ROUNDS, N_ROUNDS, None, 0) for c, mean in zip(commits, whole, strict=True)
    ]
    series = dataclasses.replace(series_of(seen(table)), points=tuple(shown))
    history = History((series,), commits, "p", "vm", 0.95, 0.01, ())
    text = "\n".join("".join(part for part, _ in line) for line in history_screen(history, 80))
    assert "? cannot tell: a step below about 5.1 % would not show (coarse clock)" in text
    assert "Next: more work for each execution" in text


@pytest.mark.parametrize(("ratio", "verdict"), [(1.15, "slower"), (0.85, "faster")])
def test_history_finds_what_is_larger_than_the_steps(ratio, verdict):
    found = seen(times(0.2, 0.2 * ratio))
    (step,) = found.steps
    assert (step.verdict, step.place) == (verdict, AT)
    assert step.ratio.low < ratio < step.ratio.high
    assert step.ratio.half_width > 0.04
    assert not found.clock.is_open


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize("noise", [0.011, 0.0005])
@pytest.mark.parametrize("ratio", [1.0, 1.005, 1.01, 1.02, 1.05])
def test_histories_are_as_seldom_wrong_as_stated(noise, ratio):
    """The figures in docs/concepts/statistics.md."""
    for number in range(200):
        level = np.random.default_rng([number, 1]).uniform(0.195, 0.205)
        found = seen(times(level, level * ratio, noise=noise, seed=number))
        named = [step for step in found.steps if step.verdict in {"slower", "faster"}]
        assert not named or ratio > 1.01
        assert all(step.ratio.low <= ratio <= step.ratio.high and step.place == AT for step in named)
        assert found.steps or said(found).endswith("(coarse clock)")


def test_history_of_a_clock_that_is_fine_enough_says_that_there_is_no_step():
    found = seen(times(0.2035, 0.2035, step=0.001))
    assert found.steps == ()
    assert not found.clock.is_open
    assert said(found) == "no step beyond 1 %"
    assert said(seen(times(0.2035, 0.2035, step=0.001), threshold=0.001), 0.001).endswith("(coarse clock)")


def test_history_of_times_that_scatter_over_steps_is_as_it_was():
    table = times(0.2, 0.21, noise=0.02, step=0.001)
    found = seen(table)
    alone = seen_steps(PointValues(table, tuple(range(N_COMMITS))), None, StepQuestion(0.95, 0.01, "less"))
    assert found == alone
    assert found.clock is None


def test_a_change_whose_size_alone_is_open_is_told():
    """Of 10 % as much as 5 % is sure, and a threshold of 7 % lies between."""
    found = seen(times(0.2, 0.22), threshold=0.07)
    assert [step.verdict for step in found.steps] == ["about the threshold"]
    assert found.clock.is_open


def test_a_large_change_of_unknown_size_is_not_about_the_threshold():
    """Two commits in twelve layouts that vary by 25 %: that there is a change is sure, and hardly how large it is."""
    values = np.random.default_rng(61).normal(0, 0.25, (2, 12)) + np.array([[0.0], [-0.4]])
    (step,) = seen_steps(PointValues(np.exp(values), (0, 1)), None, StepQuestion(0.95, 0.01, "less")).steps
    assert step.verdict == "size unknown"
    assert step.ratio.low < 0.6
    assert step.ratio.high > 0.99
    near = seen_steps(PointValues(np.exp(values), (0, 1)), None, StepQuestion(0.95, 0.2, "less"))
    assert [each.verdict for each in near.steps] == ["about the threshold"]


def test_a_change_of_the_own_build_that_a_step_may_be_is_not_said_to_be_layout():
    layouts = times(0.2, 0.2, noise=0.02, step=1e-4)
    assert seen(layouts, times(0.2049, 0.2053)).steps == ()
    (step,) = seen(layouts, times(0.2, 0.24)).steps
    assert step.verdict == "layout only"
    assert step.stock.low < 1.2 < step.stock.high


def test_a_commit_after_which_more_digits_are_printed_hides_no_steps_before_it():
    table = times(0.2049, 0.2051, noise=0.005)
    table[-1] = read(0.2051 + 1e-4 * np.arange(N_ROUNDS), 1e-4)
    clock = clock_steps(*(sample_of(row) for row in table))
    assert min(clock.halves[:-1]) > 0.02
    assert clock.halves[-1] < 0.001
    assert clock.step_s == pytest.approx(STEP)


def test_the_room_of_a_mean_of_commits_is_the_mean_of_theirs():
    clock = clock_steps(sample_of([0.1] * 3), sample_of([0.2] * 3), sample_of([0.21, 0.2]))
    assert clock.of_groups([0, 1], [2]).halves == pytest.approx((0.0375, 0.005 / 0.205))
    assert NO_STEPS.of_groups([0], [1], [2]).halves == (0, 0, 0)


def rounds(value, n=8, *, digits=None):
    return {seed: value if digits is None else round(value + 0.004 * (seed % 5), digits) for seed in range(1, n + 1)}


def clock(*tables):
    return clock_steps(*(sample_of(table.values()) for table in tables))


@pytest.mark.parametrize(("good", "bad"), [(0.2, 0.2), (0.2, 0.21), (0.21, 0.2)])
def test_ends_within_a_step_neither_differ_nor_are_the_same(good, bad):
    ends = rounds(good), rounds(bad)
    found = decide_ends(*ends, **SURE, clock=clock(*ends))
    assert (found.outcome, found.is_coarse, found.clock.is_open) == ("open", True, True)
    without = decide_ends(*ends, **SURE)
    assert without.outcome == ("same" if good == bad else "differ")
    assert without.clock is None


def test_ends_that_differ_by_more_are_told_with_the_room():
    ends = rounds(0.2), rounds(0.23)
    found = decide_ends(*ends, **SURE, clock=clock(*ends))
    ratio = as_ratio(found.interval)
    assert (found.outcome, found.is_coarse, found.clock.is_open) == ("differ", False, False)
    assert (ratio.low, ratio.high) == (pytest.approx(0.225 / 0.205), pytest.approx(0.235 / 0.195))


def test_ends_whose_step_is_small_beside_the_threshold_are_the_same():
    ends = rounds(0.2), rounds(0.2)
    fine = clock_steps(sample_of([0.2, 0.2001]), sample_of([0.2]))
    assert decide_ends(*ends, **SURE, clock=fine).outcome == "same"


@pytest.mark.parametrize(("own", "outcome"), [(0.2, "good"), (0.23, "bad"), (0.21, "open")])
def test_a_commit_lies_on_a_side_where_steps_leave_it_no_other(own, outcome):
    ends = rounds(0.2), rounds(own), rounds(0.22 if outcome == "open" else 0.23)
    up = decide_side(LINE[1], ends, rises=True, confidence=0.99, exact=False, clock=clock(*ends))
    down = decide_side(LINE[1], ends[::-1], rises=False, confidence=0.99, exact=False, clock=clock(*ends[::-1]))
    assert up.outcome == outcome
    assert down.outcome == {"good": "bad", "bad": "good"}.get(outcome, outcome)
    assert up.is_coarse is down.is_coarse is (outcome == "open")
    assert as_ratio(up.interval).low < own / 0.2 < as_ratio(up.interval).high
    assert as_ratio(down.interval).low < own / ends[2][1] < as_ratio(down.interval).high


def test_more_rounds_are_executed_where_they_may_still_decide():
    """Noise leaves it open, and not the steps: 25 % are more than any of these."""
    ends = {k: 0.2 for k in range(1, 9)}, {k: 0.25 + 0.15 * (k == 8) for k in range(1, 9)}
    found = decide_ends(*ends, **SURE, clock=dataclasses.replace(clock(rounds(0.2), rounds(0.25))))
    assert (found.outcome, found.is_coarse, found.clock.is_open) == ("open", False, False)


def open_answer():
    ends = rounds(0.2), rounds(0.21)
    decision = decide_ends(*ends, **SURE, clock=clock(*ends))
    state = SearchState.begin(LINE, 0.95).decided(None, decision)
    ratio = as_ratio(decision.interval)
    return SearchAnswer("cannot tell", LINE[1:], ratio, ratio, state, 16, 0)


def test_bisect_says_why_and_what_helps():
    answer = open_answer()
    assert answer_words(answer, 0.01) == "cannot tell whether the ends differ after 8 rounds (coarse clock)"
    text = " ".join(
        "".join(part for line in bisect_screen(answer, "less", "O2", "work", 0.01, 80) for part, _ in line).split()
    )
    assert "times come in steps of 10 ms" in text
    assert "Next: more work for each execution" in text
    assert "--most-seeds" not in text
    document = json.loads(json.dumps(bisect_document(answer, system="O2", benchmark="w", metric="m", threshold=0.01)))
    assert [each["cause"] for each in document["reasons"]] == ["coarse clock"]
    assert document["warnings"] == [document["reasons"][0]["sentence"]]


def test_the_clock_of_rounds_is_that_of_these_rounds_alone():
    """In later rounds, which another decision rests on, the machine was at another speed."""
    values = [[0.21] * 8 + [0.33] * 8, [0.22] * 8 + [0.35] * 8]
    samples = {name: sample_of(own) for name, own in zip("ab", values, strict=True)}
    found = SearchedRounds({}, exact=False, metric="wall_s", better="less", samples=samples)
    assert found.clock(["a", "b"], range(1, 9)).halves == pytest.approx((0.005 / 0.21, 0.005 / 0.22))
    assert found.clock(["a", "b"], range(1, 17)).halves == (0, 0)
    assert found.clock(["a", "c"], range(1, 9)) == NO_STEPS
    assert found.clock(["a", "b"], range(90, 99)) == NO_STEPS
