"""The search of `bisect`: which commit is built and executed next, until there is an answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from layoutrand.errors import BuildFailed, UsageError
from layoutrand.library.recorded import layouts_of_captures

if TYPE_CHECKING:
    from layoutrand.analysis.asked_results import Question
    from layoutrand.build.loaded_programs import LoadedProgram
    from layoutrand.cli.commit_runs import ProjectCommits
    from layoutrand.config.metric import Better
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.history.bisecting import CaseSearches, Decision, Ending, SearchAnswer, SearchState, Side
    from layoutrand.history.searched_rounds import SearchedRounds
    from layoutrand.model import LayoutName
    from layoutrand.screens.failing import Failures


SEEDS_APART: Final = 10_000
"""Between the seeds of one decision and the next: each is measured in rounds of its own."""

_GROWTH: Final = 1.35
"""How many times as many rounds there are at the next look."""


@dataclass
class CommitSearch:
    """One search: it builds and executes, and leaves every decision to `layoutrand.history.bisecting`.

    ``judged`` is a benchmark, or a case of one with a harness; ``choices`` are those of every round, but for its seeds.
    ``metric`` is the one that was named to judge by, which the project's configuration has as the main one then, or "".
    """

    project: ProjectCommits
    judged: str
    threshold: float
    most: int
    told: Failures
    choices: RunChoices
    deadline: float | None = None
    metric: str = ""
    executed: int = 0
    known: int = 0
    wanted: set[tuple[str, int]] = field(default_factory=set)
    lost: set[tuple[str, LayoutName]] = field(default_factory=set)  # of which capture which layout has no binary
    found: SearchedRounds | None = None
    programs: dict[str, LoadedProgram] = field(default_factory=dict)

    def begun(self, good: str, bad: str, confidence: float) -> SearchState:
        """With both ends built; raises `UsageError` where they are none, `BuildFailed` where they do not build."""
        from layoutrand.capture.commit_log import LoggedCommit
        from layoutrand.cli.named_cases import refuse_misspelt
        from layoutrand.history.bisecting import SearchState

        part = self.project.part
        log = self.project.log(fetch=True)
        line = log.first_parents(log.resolve(good), log.resolve(bad))
        if len(line) < 2:
            raise UsageError(f"{good} and {bad} are the same commit, so there is nothing between them")
        described = log.described(line)
        state = SearchState.begin([described.get(commit, LoggedCommit(commit)) for commit in line], confidence)
        ends = {each.commit: each.short for each in (state.line[0], state.line[-1])}
        refuse_misspelt([self.judged], [part.config], part.directory, ends, self.project.terminal)
        captures, why = self._built(state, [0, len(line) - 1])
        for end in why:
            raise BuildFailed(
                f"{state.line[end].short} could not be built: {why[end]}\n"
                "The commands of layoutrand.toml build every commit: have them build this one, too, or name another end"
            )
        good, bad = captures.values()
        return state.with_ends(good, bad, alike=bad in self._alike(good))

    def judged_by(self) -> tuple[str, Better]:
        """The metric, and which of its values are an improvement; by the configuration where nothing was executed."""
        from layoutrand.instruments.asked_for import primary_metric

        if self.found is not None:
            return self.found.metric, self.found.better
        (benchmark,) = [
            each for each in self.project.part.config.benchmarks if each.name in self.project.part.benchmarks
        ]
        return primary_metric(benchmark)[1], "less"

    def of_each_case(self, state: SearchState) -> CaseSearches:
        """The answer for each case of the harness that is judged, one after the other.

        Each case is searched in the same rounds as those before it, as far as it needs the same.
        """
        from layoutrand.history.bisecting import FEWEST_ROUNDS, CaseSearch, CaseSearches

        entry, last = self.judged, len(state.line) - 1
        if state.is_one_program:
            metric, better = self.judged_by()
            return CaseSearches(entry, (CaseSearch(entry, metric, better, self._answer(state, "same program")),), {}, 0)
        # Both ends are executed for the first time, which tells what cases there are.
        good, bad = self._executed(state, [0, last], range(1, FEWEST_ROUNDS + 1))
        reported = self._cases([good, bad])
        found = []
        for case in (case for case, ends in reported.items() if len(ends) == 2):
            self.project.terminal.say(f"{case}:")
            search = replace(self, judged=case, executed=0, known=0, wanted=set())
            answer = search.run(state)
            found.append(CaseSearch(case, *search.judged_by(), answer))
        one_sided: dict[str, Side] = {
            case: "good" if good in ends else "bad" for case, ends in reported.items() if len(ends) == 1
        }
        return CaseSearches(entry, tuple(found), one_sided, self.executed)

    def run(self, state: SearchState) -> SearchAnswer:
        """The answer, with both ends built; where they are one program there is nothing to measure."""
        last = len(state.line) - 1
        if state.is_one_program:
            return self._answer(state, "same program")
        if self.judged not in self.project.part.benchmarks:  # a case that there is none of is told after one round
            self._rounds(state, [0, last], 0, 1)
        # The ends differ, or there is no step to look for.
        state, decision = self._decide(state, None)
        if decision.outcome != "differ":
            return self._answer(state, "no step" if decision.outcome == "same" else "cannot tell")
        # The commits between are halved.
        rises = decision.interval is not None and decision.interval.centre > 0
        while (place := state.next_place()) is not None:
            if self._is_late():
                return self._answer(state, "cannot tell")
            state = self._with(state, place)
            if place in state.skipped or place in state.same:
                continue
            state, decision = self._decide(state, place, rises=rises)
            if decision.numberless == (state.line[place],):
                self.project.terminal.say(f"{state.line[place].short} is passed over")
                state = replace(state, numberless=(*state.numberless, place))
            elif decision.outcome == "open":
                return self._answer(state, "cannot tell")
        # The pair that is left must differ by itself, in the rounds that it was found in and in more.
        if any(each.outcome in {"good", "bad"} for each in state.decisions):
            state, decision = self._decide(state, None)
            if decision.outcome != "differ":
                return self._answer(state, "cannot tell")
        return self._answer(state, "found" if state.bad - state.good == 1 else "one of several")

    def _built(self, state: SearchState, places: Sequence[int]) -> tuple[dict[int, str], dict[int, str]]:
        """Place -> capture of those commits that could be built, and why of the others."""
        from layoutrand.build.loaded_programs import loaded_program
        from layoutrand.cli.commit_runs import unbuilt
        from layoutrand.model import IDENTITY

        commits = [state.line[place].commit for place in places]
        results = self.project.build(commits, retry_failed=self.choices.retry_failed)
        lost = unbuilt(results)
        captures: dict[str, str] = {}
        for (_, commit), result in results.items():
            if result.capture is not None:
                captures[commit] = result.capture.id
                self.programs[result.capture.id] = loaded_program(result.binaries, IDENTITY)
        why = {place: lost[state.line[place].commit] for place in places if state.line[place].commit in lost}
        return {place: captures[state.line[place].commit] for place in places if place not in why}, why

    def _alike(self, capture: str) -> set[str]:
        """The captures that are the same program as this one once it is loaded, whatever they were built from."""
        program = self.programs[capture]
        return {other for other, loaded in self.programs.items() if program and loaded == program}

    def _with(self, state: SearchState, place: int) -> SearchState:
        """The state with a commit between the ends built, or passed over."""
        terminal, commit = self.project.terminal, state.line[place]
        captures, why = self._built(state, [place])
        if place in why:
            terminal.warn(f"{commit.short} is passed over, it could not be built: {why[place]}")
            return state.without(place, why[place])
        state = state.with_capture(place, captures[place], self._alike(captures[place]))
        if place in state.same:
            terminal.say(f"{commit.short} is the same program as an end: nothing is executed")
        return state

    def _decide(self, state: SearchState, place: int | None, *, rises: bool = True) -> tuple[SearchState, Decision]:
        """Execute rounds until there is a decision about a commit, or about the two ends, or too many rounds."""
        from layoutrand.history.bisect_words import apart_words, decision_words
        from layoutrand.history.bisecting import (
            FEWEST_ROUNDS,
            decide_ends,
            decide_side,
            gives_no_more,
            what_is_lacking,
        )

        number = len(state.decisions)
        places = [state.good, *([] if place is None else [place]), state.bad]
        confidence, threshold = state.next_confidence, self.threshold
        n = FEWEST_ROUNDS
        if place is None and number:  # the pair is chosen by its rounds from two, so each has half of the error
            threshold = 0.0  # and to be nearly the same is no answer where the ends differ
            number = max(k for k, each in enumerate(state.decisions) if each.outcome != "open")
            confidence, n = 1 - (1 - confidence) / 2, state.decisions[number].n_rounds
        looks: list[list[int]] = []
        while True:
            found, names, seeds = self._rounds(state, places, number, n)
            rounds, exact, clock = found.beside(names, seeds), found.exact, found.clock(names, seeds)
            if place is None:
                decision = decide_ends(
                    rounds[0], rounds[-1], confidence=confidence, threshold=threshold, exact=exact, clock=clock
                )
            else:
                decision = decide_side(
                    state.line[place],
                    (rounds[0], rounds[1], rounds[2]),
                    rises=rises,
                    confidence=confidence,
                    exact=exact,
                    clock=clock,
                )
            everything = found.of(names, seeds)
            looks.append([len(own) for own in everything])
            recent = zip(places, everything, *looks[-3:], strict=True)
            idle = {each: own for each, own, *counts in recent if gives_no_more(counts)}
            if decision.outcome == "open" and idle:
                captures = {state.captures[each]: own for each, own in idle.items()}
                few = layouts_of_captures(self.project.part.config, captures)
                decision = replace(
                    decision,
                    numberless=tuple(state.line[each] for each in idle),
                    n_given=max(map(len, idle.values())),
                    lacking=what_is_lacking(captures, seeds, self.lost, few),
                )
            is_last = decision.is_coarse or bool(decision.numberless) or n >= self.most or self._is_late()
            if decision.outcome != "open" or is_last:
                apart = len(set.intersection(*map(set, everything))) - len(set.intersection(*map(set, rounds)))
                if apart:
                    self.project.terminal.say(apart_words(apart))
                self.project.terminal.say(decision_words(decision, is_first=not state.decisions))
                return state.decided(place, decision), decision
            n = min(self.most, round(n * _GROWTH) + 1)

    def _rounds(
        self, state: SearchState, places: Sequence[int], number: int, n: int
    ) -> tuple[SearchedRounds, list[str], range]:
        """What is recorded of these commits, their names there, and the rounds to decide by, after there are ``n``.

        Simulated, it does not matter when a round is executed, so every decision has the same ones.  Else each has its
        own, in which all of its commits are executed side by side.
        """
        first = 1 if self._is_simulated() else number * SEEDS_APART + 1
        seeds = range(first, first + n)
        names = self._executed(state, places, seeds)
        self.found = found = self._recorded(names)
        return found, names, seeds

    def _executed(self, state: SearchState, places: Sequence[int], seeds: range) -> list[str]:
        """Execute what is not yet executed of these rounds; under which names they are recorded."""
        from layoutrand.config.at_commits import name_at

        part = self.project.part
        choices = replace(self.choices, seeds=list(seeds))
        summary, built = self.project.execute([state.line[place].commit for place in places], choices, self.told)
        self.executed += summary.executed
        self.lost |= {(each.capture.id, one.layout) for each in built.values() if each.capture for one in each.failures}
        wanted = {(state.captures[place], seed) for place in places for seed in seeds} - self.lost
        self.known += max(0, len(wanted - self.wanted) - summary.executed)
        self.wanted |= wanted
        return [name_at(part.systems[0], state.captures[place]) for place in places]

    def _recorded(self, names: Sequence[str]) -> SearchedRounds:
        from layoutrand.history.searched_rounds import searched_rounds
        from layoutrand.results.file import open_for_reading, results_path

        with open_for_reading(results_path(self.project.part.directory)) as store:
            return searched_rounds(store, self._question(), names)

    def _cases(self, names: Sequence[str]) -> dict[str, set[str]]:
        """Case -> under which of the names it was reported."""
        from layoutrand.history.searched_rounds import recorded_cases
        from layoutrand.results.file import open_for_reading, results_path

        with open_for_reading(results_path(self.project.part.directory)) as store:
            return recorded_cases(store, self._question(), names)

    def _is_simulated(self) -> bool:
        from layoutrand.instruments.asked_for import primary_metric
        from layoutrand.instruments.known import simulated

        part = self.project.part
        (benchmark,) = [each for each in part.config.benchmarks if each.name in part.benchmarks]
        return primary_metric(benchmark)[0] in simulated()

    def _is_late(self) -> bool:
        """Whether the budget is used; what was executed is recorded, and another call goes on from there."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _question(self) -> Question:
        from layoutrand.analysis.asked_results import Question

        part = self.project.part
        return Question(part.config, part.directory, part.systems, [self.judged], {}, None)

    def _answer(self, state: SearchState, ending: Ending) -> SearchAnswer:
        from layoutrand.analysis.conclusion_words import is_speed
        from layoutrand.config.flag_warnings import flags_that_win
        from layoutrand.history.bisecting import SearchAnswer, as_ratio

        part, ends = self.project.part, [decision for decision in state.decisions if decision.commit is None]
        suspects = state.line[state.good + 1 : state.bad + 1]
        return SearchAnswer(
            ending=ending,
            suspects=suspects if ending in {"found", "one of several", "cannot tell"} else (),
            ratio=as_ratio(ends[-1].interval) if ends else None,
            whole=as_ratio(ends[0].interval) if ends else None,
            state=state,
            executed=self.executed,
            known=self.known,
            out_of_time=ending == "cannot tell" and self._is_late(),
            of_speed=self.found is None or is_speed(self.found),
            merged=self._merged(state) if ending == "found" else None,
            flags=flags_that_win(part.config, part.systems[0]) if ending == "same program" else None,
            asked_metric=self.metric,
        )

    def _merged(self, state: SearchState) -> tuple[str, str] | None:
        return self.project.log(fetch=False).merged(state.line[state.bad].commit, state.line[state.good].commit)
