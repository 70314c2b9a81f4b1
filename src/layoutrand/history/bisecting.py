"""Which commit made a step: binary search by means over layouts, with one stated error over the whole search.

Each decision compares commits in the same rounds, by an interval that holds however often one looks
(`layoutrand.stats.anytime`), so rounds go on only until a decision is made.  First the two ends must differ.  Then a
commit between them is measured beside both ends, until it is sure not to be like one of them.  Commits that are the
same program as an end lie on its side without an execution; commits that do not build are passed over.  At last what
is left are two neighbours, and their own difference is the answer.  Nothing is executed here.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.coarse_clock import NO_STEPS, ClockSteps, largest_of
from layoutrand.analysis.next_steps import has_more_layouts
from layoutrand.analysis.reasons import Reason, reasons
from layoutrand.capture.commit_log import LoggedCommit
from layoutrand.config.flag_warnings import FlagsThatWin
from layoutrand.config.metric import Better
from layoutrand.stats import Interval, running_interval

Side = Literal["good", "bad"]
Ending = Literal["found", "one of several", "same program", "no step", "cannot tell"]
Outcome = Literal["differ", "same", "good", "bad", "open"]
Lacking = Literal["numbers", "binaries", "layouts"]
"""What rounds without a number are without: their executions failed, or nothing was made to execute."""

FEWEST_ROUNDS: Final = 8
"""No decision rests on fewer: where layouts fall into two groups, a few may all be of one."""

FEWEST_EXACT: Final = 3
"""Rounds of counts of a simulated processor that no layout changes."""

_RESERVED: Final = 0.05
"""Of the error, for decisions beyond those that are planned, as where many commits do not build."""

Rounds = Mapping[int, float]
"""Seed -> the mean of one binary."""


@dataclass(frozen=True)
class Decision:
    """One decision: about which commit (None: about the ends), what came of it, and what it rests on.

    ``interval`` is of the logarithm: bad end minus good end, or the commit minus the good end; with room for the steps
    of the clock, of which ``clock`` tells where times lie on one or two of them.  ``is_coarse`` where nothing but these
    leaves it open, so that no further round is executed.  ``numberless`` are the commits that were executed and gave no
    number in any round, or in none of the last two looks, but in ``n_given`` before: what always fails goes on failing,
    and a program has no more layouts than its functions allow, so that no further round is executed either.
    ``lacking`` says what their other rounds are without.
    """

    commit: LoggedCommit | None
    outcome: Outcome
    n_rounds: int
    interval: Interval | None
    clock: CoarseClock | None = None
    is_coarse: bool = False
    numberless: tuple[LoggedCommit, ...] = ()
    n_given: int = 0
    lacking: Lacking = "numbers"


@dataclass(frozen=True)
class SearchState:
    """How far a search is: everything up to ``good`` is on the good side, everything from ``bad`` on on the other.

    ``line`` are all commits in order, the ends first and last, ``captures`` place -> capture where it is known,
    ``skipped`` place -> why it could not be built, ``numberless`` the places that gave too few numbers, ``same``
    those that are the program of an end.  ``is_one_program`` says that both ends are.
    """

    line: tuple[LoggedCommit, ...]
    good: int
    bad: int
    captures: Mapping[int, str] = field(default_factory=dict)
    skipped: Mapping[int, str] = field(default_factory=dict)
    numberless: tuple[int, ...] = ()
    same: tuple[int, ...] = ()
    decisions: tuple[Decision, ...] = ()
    confidence: float = 0.95
    is_one_program: bool = False

    @classmethod
    def begin(cls, line: Sequence[LoggedCommit], confidence: float) -> SearchState:
        """With nothing known but the ends."""
        return cls(tuple(line), 0, len(line) - 1, confidence=confidence)

    @property
    def planned(self) -> int:
        """How many decisions a search of this length takes: the ends, each halving, and the last pair."""
        return 2 + max(0, math.ceil(math.log2(max(1, len(self.line) - 1))))

    def confidence_of(self, number: int) -> float:
        """Of the decision of this number, counted from 0, so that all of them together keep the search's confidence."""
        error = 1 - self.confidence
        if number < self.planned:
            return 1 - error * (1 - _RESERVED) / self.planned
        further = number - self.planned + 1
        return 1 - error * _RESERVED / (further * (further + 1))

    @property
    def next_confidence(self) -> float:
        """Of the next decision; those that had no numbers cannot be wrong, and take nothing of the error."""
        return self.confidence_of(sum(not each.numberless for each in self.decisions))

    def next_place(self) -> int | None:
        """The place to look at next: the middle, or the nearest to it that may tell; None where none is left."""
        over = {*self.skipped, *self.numberless}
        left = [place for place in range(self.good + 1, self.bad) if place not in over]
        middle = (self.good + self.bad) / 2
        return min(left, key=lambda place: (abs(place - middle), place)) if left else None

    def with_ends(self, good: str, bad: str, *, alike: bool = False) -> SearchState:
        """The state with the captures of both ends known; they are one program where these are, or where ``alike``."""
        known = {0: good, len(self.line) - 1: bad}
        return replace(self, captures=known, is_one_program=alike or good == bad)

    def with_capture(self, place: int, capture: str, alike: Iterable[str] = ()) -> SearchState:
        """The state with a capture known; where it is the program of an end, the place lies on its side.

        ``alike`` are other captures that are the same program once it is loaded.
        """
        state = replace(self, captures={**self.captures, place: capture})
        same = {capture, *alike}
        if self.captures.get(self.good) in same:
            return replace(state, good=place, same=(*self.same, place))
        if self.captures.get(self.bad) in same:
            return replace(state, bad=place, same=(*self.same, place))
        return state

    def without(self, place: int, why: str) -> SearchState:
        """The state with a commit passed over."""
        return replace(self, skipped={**self.skipped, place: why})

    def decided(self, place: int | None, decision: Decision) -> SearchState:
        """The state after a decision about a place, or about the ends."""
        state = replace(self, decisions=(*self.decisions, decision))
        if place is not None and decision.outcome == "good":
            return replace(state, good=place)
        if place is not None and decision.outcome == "bad":
            return replace(state, bad=place)
        return state


@dataclass(frozen=True)
class SearchAnswer:
    """The end of a search: what is known of the step, and what it cost.

    ``ratio`` is bad / good of the pair that is left, at the search's own level of the last decision; None where nothing
    was executed.  ``whole`` is the same of both ends.  ``suspects`` are the commits, one of which it is.
    ``merged`` is where the branch began that the commit merged, if it is a merge, and the branch's last commit.
    ``out_of_time``: nobody can tell because the time that was given is used.  ``of_speed`` is False of counts, of which
    fewer need not be faster.  ``flags`` may be why both ends are one program.  ``asked_metric`` is the metric that was
    named to judge by, "" for the main one.
    """

    ending: Ending
    suspects: tuple[LoggedCommit, ...]
    ratio: Interval | None
    whole: Interval | None
    state: SearchState
    executed: int
    known: int
    out_of_time: bool = False
    of_speed: bool = True
    merged: tuple[str, str] | None = None
    flags: FlagsThatWin | None = None
    asked_metric: str = ""

    @property
    def clock(self) -> CoarseClock | None:
        """What to tell of the clock: why there is no answer, or what the figures have room for."""
        told = [each.clock for each in self.state.decisions if each.clock is not None]
        return max(told, key=lambda each: (each.is_open, each.half), default=None)

    @property
    def numberless(self) -> tuple[LoggedCommit, ...]:
        """The ends of what is left that have no number in any round, where that ended the search."""
        if not self.state.decisions or self.ending != "cannot tell":
            return ()
        ends = [self.state.line[place] for place in (self.state.good, self.state.bad)]
        return tuple(each for each in self.state.decisions[-1].numberless if each in ends)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why nobody can tell, where that is known."""
        return reasons([self.clock]) if self.clock is not None and self.ending == "cannot tell" else ()


@dataclass(frozen=True)
class CaseSearch:
    """The search for a step of one case of a harness, by a metric of which ``better`` is an improvement."""

    name: str
    metric: str
    better: Better
    answer: SearchAnswer


@dataclass(frozen=True)
class CaseSearches:
    """The searches for steps of all cases that one entry with a harness has; each execution is one for all of them.

    Where both ends are one program the entry stands for its cases.  ``one_sided`` are cases that one end alone has,
    with which that is.  ``first`` executions were made before the cases were known.
    """

    entry: str
    cases: tuple[CaseSearch, ...]
    one_sided: Mapping[str, Side]
    first: int

    @property
    def is_told(self) -> bool:
        """Whether there is an answer for each case."""
        return bool(self.cases) and all(each.answer.ending != "cannot tell" for each in self.cases)


def what_is_lacking(
    idle: Mapping[str, Rounds], seeds: Sequence[int], lost: Container[object], few: Mapping[str, int]
) -> Lacking:
    """What rounds without a number are without, of captures with too few: capture -> the rounds of ``seeds`` with one.

    ``lost`` are the (capture, seed) without a binary, ``few`` the layouts of captures that have few.
    """
    missing = {(capture, seed) for capture, own in idle.items() for seed in seeds if seed not in own}
    if not all(each in lost for each in missing):
        return "numbers"
    counts = ((len(own), few.get(capture, math.inf)) for capture, own in idle.items())
    is_over = (count == 1 or not has_more_layouts(found, count) for found, count in counts)
    return "layouts" if all(is_over) else "binaries"


def is_enough(n: int, *, exact: bool) -> bool:
    """Whether a decision may rest on so many rounds."""
    return n >= (FEWEST_EXACT if exact else FEWEST_ROUNDS)


def decide_ends(
    good: Rounds, bad: Rounds, *, confidence: float, threshold: float, exact: bool, clock: ClockSteps = NO_STEPS
) -> Decision:
    """Whether the ends differ: "differ", "same" within the threshold, or "open".

    ``clock`` are the steps of the clock in the good end and in the bad one.
    """
    values = _differences([(1.0, bad), (-1.0, good)])
    alone = _interval(values, good, bad, confidence=confidence, exact=exact)
    seen = clock.behind(alone)
    interval, at_best = seen.of_log(alone), seen.of_log(_certain(alone))
    outcome = _of_ends(interval, threshold)
    is_open = outcome == _of_ends(at_best, threshold) == "open"
    is_coarse = is_open and _of_ends(alone, threshold) != "open"
    return Decision(None, outcome, len(values), interval, largest_of([seen], is_open=is_open), is_coarse)


def _of_ends(interval: Interval | None, threshold: float) -> Outcome:
    if interval is None:
        return "open"
    if interval.low > 0 or interval.high < 0:
        return "differ"
    return "same" if math.log1p(-threshold) <= interval.low and interval.high <= math.log1p(threshold) else "open"


def decide_side(
    commit: LoggedCommit,
    rounds: tuple[Rounds, Rounds, Rounds],
    *,
    rises: bool,
    confidence: float,
    exact: bool,
    clock: ClockSteps = NO_STEPS,
) -> Decision:
    """On which side a commit lies: ``rounds``, and steps of the ``clock``, are of the good end, it, and the bad end.

    Where one commit made the step, it has the level of one of the ends: it lies on the bad side once it is sure not to
    have the good end's, and the other way round.  (To be sure on which side of the middle it lies would take three
    times as many rounds.)  What is sure to have neither, as after one of two steps, lies with the nearer end.
    """
    good, own, bad = rounds
    sign = 1.0 if rises else -1.0
    from_good = _differences([(sign, own), (-sign, good), (0.0, bad)])
    to_bad = _differences([(sign, bad), (-sign, own), (0.0, good)])
    alone = [_interval(values, good, own, bad, confidence=confidence, exact=exact) for values in (from_good, to_bad)]
    # What rises is the ratio of the later to the earlier of two, and what falls that of the earlier to the later.
    steps = [clock.of_groups(*([each] for each in (pair if rises else pair[::-1]))) for pair in ((0, 1), (1, 2))]
    seen = [of.behind(each) for each, of in zip(alone, steps, strict=True)]
    risen, left = (of.of_log(each) for each, of in zip(alone, seen, strict=True))
    at_best = [of.of_log(_certain(each)) for each, of in zip(alone, seen, strict=True)]
    outcome = _of_side(risen, left)
    is_open = outcome == _of_side(*at_best) == "open"
    is_coarse = is_open and _of_side(*alone) != "open"
    told = largest_of(seen, is_open=is_open)
    return Decision(commit, outcome, len(from_good), _mirrored(risen) if not rises else risen, told, is_coarse)


def _of_side(risen: Interval | None, left: Interval | None) -> Outcome:
    if risen is None or left is None:
        return "open"
    not_good, not_bad = risen.low > 0, left.low > 0
    if not_good and not_bad:
        return "bad" if risen.centre > left.centre else "good"
    return "open" if not (not_good or not_bad) else "bad" if not_good else "good"


def _certain(interval: Interval | None) -> Interval | None:
    """What further rounds may make of an interval at best."""
    return None if interval is None else replace(interval, low=interval.centre, high=interval.centre)


def _mirrored(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return replace(interval, centre=-interval.centre, low=-interval.high, high=-interval.low)


def _differences(parts: Sequence[tuple[float, Rounds]]) -> list[float]:
    """Weighted sums of logarithms, of the rounds that all have, in the order of seeds."""
    seeds = sorted(set.intersection(*(set(rounds) for _, rounds in parts)))
    return [math.fsum(weight * math.log(rounds[seed]) for weight, rounds in parts) for seed in seeds]


def _interval(values: Sequence[float], *rounds: Rounds, confidence: float, exact: bool) -> Interval | None:
    """The interval of the mean; None of too few rounds."""
    constant = exact and all(len(set(each.values())) == 1 for each in rounds)
    if not values or not is_enough(len(values), exact=constant):
        return None
    found = running_interval(values, confidence=confidence)
    return replace(found, low=found.centre, high=found.centre) if constant else found


def as_ratio(interval: Interval | None) -> Interval | None:
    """An interval of logarithms as one of a ratio."""
    if interval is None:
        return None
    low, high = (math.exp(min(max(end, -700.0), 700.0)) for end in (interval.low, interval.high))
    return replace(interval, centre=math.exp(interval.centre), low=low, high=high)


def gives_no_more(counts: Sequence[int]) -> bool:
    """Whether a commit has numbers of no round, or at three looks, between which rounds were added, of as many."""
    return not counts[-1] or (len(counts) == 3 and counts[0] == counts[-1])
