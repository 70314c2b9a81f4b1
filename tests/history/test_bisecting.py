"""The search for a commit: which it looks at, what decides, and what its error is."""

import dataclasses
import math
import random

import pytest

from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.history.bisect_words import has_more_steps, rest_commands
from layoutrand.history.bisecting import Decision, SearchAnswer, SearchState, decide_ends, decide_side, gives_no_more
from layoutrand.stats import Interval
from layoutrand.stats.studies import rate


def line_of(n):
    return [LoggedCommit(f"{k:09x}{0:031x}") for k in range(n)]


def rounds(mean, n=20, sd=0.002, seed=1):
    chance = random.Random(seed)
    return {k: mean * chance.gauss(1, sd) for k in range(1, n + 1)}


def test_the_middle_comes_first_and_what_cannot_be_built_is_passed_over():
    state = SearchState.begin(line_of(9), 0.95)
    assert state.next_place() == 4
    assert state.without(4, "no").next_place() == 3
    assert state.without(4, "no").without(3, "no").next_place() == 5
    for place in range(1, 8):
        state = state.without(place, "no")
    assert state.next_place() is None


def test_what_is_the_program_of_an_end_lies_on_its_side():
    state = SearchState.begin(line_of(9), 0.95).with_ends("a", "b")
    assert (state.good, state.bad, state.same) == (0, 8, ())
    state = state.with_capture(4, "a")
    assert (state.good, state.bad) == (4, 8)
    state = state.with_capture(6, "b")
    assert (state.good, state.bad, state.next_place(), state.same) == (4, 6, 5, (4, 6))
    assert not state.is_one_program


def test_what_loads_as_an_end_does_lies_on_its_side_whatever_it_was_built_from():
    """Of the captures of comments alone, Go's and those with line numbers differ."""
    state = SearchState.begin(line_of(9), 0.95).with_ends("a", "b")
    state = state.with_capture(3, "a2", {"a", "a2"}).with_capture(7, "b2", {"b"}).with_capture(5, "c", {"d"})
    assert (state.good, state.bad, state.same) == (3, 7, (3, 7))
    assert state.captures[3] == "a2", "executions are recorded under its own"
    assert SearchState.begin(line_of(2), 0.95).with_ends("a", "b", alike=True).is_one_program
    assert SearchState.begin(line_of(2), 0.95).with_ends("a", "a").is_one_program


def test_the_errors_of_all_decisions_add_up_to_that_of_the_search():
    for n in (2, 3, 50, 1000):
        state = SearchState.begin(line_of(n), 0.95)
        total = sum(1 - state.confidence_of(number) for number in range(10_000))
        assert total == pytest.approx(0.05, rel=0.001)


def test_a_commit_without_numbers_takes_nothing_of_the_error():
    """Of a dozen that are passed over the decisions after them would need many times as many rounds."""
    state = SearchState.begin(line_of(50), 0.95)
    made, passed = (
        Decision(None, "differ", 8, None),
        Decision(state.line[7], "open", 0, None, numberless=state.line[7:8]),
    )
    assert state.next_confidence == state.confidence_of(0)
    state = state.decided(None, made)
    for _ in range(12):
        state = state.decided(7, passed)
    assert state.next_confidence == state.confidence_of(1)


def decided(good, bad, **changes):
    return decide_ends(good, bad, **{"confidence": 0.99, "threshold": 0.01, "exact": False} | changes)


def test_ends():
    assert decided(rounds(1.0), rounds(1.04, seed=2)).outcome == "differ"
    assert decided(rounds(1.0, sd=0.0005), rounds(1.0, sd=0.0005, seed=2)).outcome == "same"
    assert decided(rounds(1.0, sd=0.2), rounds(1.04, sd=0.2, seed=2)).outcome == "open"
    few = decided(rounds(1.0, n=7), rounds(1.04, n=7, seed=2))
    assert (few.outcome, few.n_rounds, few.interval) == ("open", 7, None)


def test_counts_that_no_layout_changes_need_few_rounds():
    same = {k: 100.0 for k in range(3)}
    found = decided(same, {k: 101.0 for k in range(3)}, exact=True)
    assert (found.outcome, found.n_rounds) == ("differ", 3)
    assert decided(same, {k: 101.0 for k in range(3)}).outcome == "open"


@pytest.mark.parametrize(("mean", "outcome"), [(1.0, "good"), (1.1, "bad"), (1.03, "good"), (1.07, "bad")])
def test_a_commit_lies_with_the_end_that_it_is_not_sure_to_differ_from_or_with_the_nearer(mean, outcome):
    own = (rounds(1.0), rounds(mean, seed=2), rounds(1.1, seed=3))
    rising = decide_side(line_of(1)[0], own, rises=True, confidence=0.99, exact=False)
    falling = decide_side(line_of(1)[0], own[::-1], rises=False, confidence=0.99, exact=False)
    assert rising.outcome == outcome
    assert falling.outcome == {"good": "bad", "bad": "good"}[outcome]
    assert rising.interval.low < math.log(mean) < rising.interval.high
    assert falling.interval.low < math.log(mean / 1.1) < falling.interval.high


def test_a_commit_that_may_be_like_both_ends_is_open():
    own = (rounds(1.0, sd=0.3), rounds(1.05, sd=0.3, seed=2), rounds(1.1, sd=0.3, seed=3))
    assert decide_side(line_of(1)[0], own, rises=True, confidence=0.99, exact=False).outcome == "open"


def interval(low, high):
    return Interval(centre=(low + high) / 2, low=low, high=high, confidence=0.99, method="anytime", warnings=())


def test_that_there_are_more_steps_is_told_where_it_is_sure():
    state = dataclasses.replace(SearchState.begin(line_of(9), 0.95), good=3, bad=4)
    pair = SearchAnswer("found", (), interval(1.02, 1.04), interval(1.05, 1.06), state, 0, 0)
    assert rest_commands(pair, "O2", "of two words") == [
        "layoutrand bisect 000000000 000000003 --benchmark 'of two words' --system O2",
        "layoutrand bisect 000000004 000000008 --benchmark 'of two words' --system O2",
    ]
    of_memory = dataclasses.replace(pair, asked_metric="max_rss_bytes")
    assert rest_commands(of_memory, "O2", "b")[0].endswith(" --benchmark b --system O2 --metric max_rss_bytes")
    alone = dataclasses.replace(pair, whole=interval(1.03, 1.05))
    assert not has_more_steps(alone)
    assert rest_commands(alone, "O2", "b") == []
    at_first = dataclasses.replace(pair, state=dataclasses.replace(state, good=0))
    assert [each.split()[2] for each in rest_commands(at_first, "O2", "b")] == ["000000004"]


def test_only_rounds_that_all_have_count():
    own = (rounds(1.0, n=30), rounds(1.1, n=9, seed=2), rounds(1.1, n=30, seed=3))
    assert decide_side(line_of(1)[0], own, rises=True, confidence=0.99, exact=False).n_rounds == 9


def search(step_at, n, effect, sd, seed):
    """A whole search with a simulated machine; the commit that it ends at, or None, and the executions."""
    chance, executed = random.Random(seed), 0

    def measured(place, count):
        nonlocal executed
        executed += count
        return {k: (1 + effect * (place >= step_at)) * chance.gauss(1, sd) for k in range(count)}

    state = SearchState.begin(line_of(n), 0.95)
    tables = {}

    def decide(state, place):
        number = len(state.decisions)
        for count in (8, 12, 17, 24, 33, 46, 63, 86, 117, 159, 200):
            places = [state.good, *([] if place is None else [place]), state.bad]
            own = [tables.setdefault((number, each), {}) for each in places]
            for each, table in zip(places, own, strict=True):
                more = measured(each, count - len(table))
                table |= {k + len(table): value for k, value in more.items()}
            confidence = state.confidence_of(number)
            if place is None:
                found = decide_ends(own[0], own[-1], confidence=confidence, threshold=0.01, exact=False)
            else:
                found = decide_side(state.line[place], tuple(own), rises=True, confidence=confidence, exact=False)
            if found.outcome != "open":
                break
        return state.decided(place, found), found

    state, found = decide(state, None)
    if found.outcome != "differ":
        return None, executed
    while (place := state.next_place()) is not None:
        state, found = decide(state, place)
        if found.outcome == "open":
            return None, executed
    return state.bad, executed


def test_a_search_ends_at_the_commit():
    assert search(11, 20, 0.05, 0.01, seed=1)[0] == 11


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize(("effect", "sd"), [(0.05, 0.02), (0.02, 0.02), (0.02, 0.05)])
def test_wrong_answers_of_searches_are_as_rare_as_stated(effect, sd):
    """The figures in docs/guides/over-time.md."""
    ends = [search(number % 39 + 1, 40, effect, sd, seed=number) for number in range(400)]
    wrong = sum(found is not None and found != number % 39 + 1 for number, (found, _) in enumerate(ends))
    none = sum(found is None for found, _ in ends)
    executed = sorted(count for _, count in ends)[len(ends) // 2]
    print(f"effect {effect}, sd {sd}: {wrong} wrong, {none} cannot tell, of 400; median {executed} executions")
    assert rate(wrong, 400).low < 0.05


@pytest.mark.parametrize(
    ("counts", "idle"),
    [
        ([0], True),
        ([8], False),
        ([2, 2], False),
        ([2, 2, 2], True),
        ([2, 2, 3], False),
        ([2, 3, 3], False),
        ([0, 0], True),
    ],
)
def test_no_further_round_helps_where_two_looks_brought_nothing(counts, idle):
    assert gives_no_more(counts) is idle
