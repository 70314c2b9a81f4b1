"""`layoutrand bisect`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import options
from layoutrand.cli.commit_range import both_ends
from layoutrand.cli.selecting import layouts_of_captures
from layoutrand.errors import BuildFailed, UsageError

if TYPE_CHECKING:
    from layoutrand.analysis.bisecting import CaseSearches, Decision, Ending, SearchAnswer, SearchState, Side
    from layoutrand.analysis.searched_rounds import SearchedRounds
    from layoutrand.analysis.selection import Question
    from layoutrand.cli.commit_runs import ProjectCommits
    from layoutrand.cli.failing import Failures
    from layoutrand.config.config import Benchmark, Config
    from layoutrand.config.metric import Better
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.model import LayoutName

CANNOT_TELL: Final = 4
"""Exit status where there is no answer."""

_APART: Final = 10_000
"""Between the seeds of one decision and the next: each is measured in rounds of its own."""

_GROWTH: Final = 1.35
"""How many times as many rounds there are at the next look."""


def bisect(  # noqa: PLR0913 - one parameter for each option
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A commit before the step, or both as GOOD..BAD.")],
    bad: Annotated[str | None, typer.Argument(metavar="BAD", help="A commit after it; default: HEAD.")] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", metavar="NAME", help="The benchmark; may be left out if there is one.")
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="NAME", help="The system; default: the first that is built here.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Ends that may be alike, and are within this, are told to be the same.")
    ] = "1%",
    most_seeds: Annotated[
        int, typer.Option(min=8, max=_APART, help="Rounds after which a decision is given up: cannot tell.")
    ] = 200,
    budget: Annotated[
        str | None, typer.Option(help="Time after which no further rounds begin, such as 10m or 1h; default: none.")
    ] = None,
    confidence: options.Confidence = 0.95,
    retry_failed: options.RetryBuilds = False,
    wait: options.Wait = 3600,
    share_machine: options.ShareMachine = False,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Find the commit of a step with few executions: halves the commits between, by means over layouts; resumes."""
    from layoutrand.analysis.bisect_words import bisect_cases_document, bisect_document
    from layoutrand.cli.bisect_screen import bisect_cases_screen, bisect_screen
    from layoutrand.cli.commit_runs import ProjectCommits, systems_with_commits
    from layoutrand.cli.failing import Failures
    from layoutrand.cli.terminal import terminal_width
    from layoutrand.execute.run_plan import RunChoices

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    limit = options.share(threshold, "--threshold", may_be_zero=True)
    name, entry = _benchmark(config, benchmark)
    chosen = systems_with_commits(config, options.match_systems(config, [system] if system else None), terminal)[0]
    part = options.ProjectPart(config, directory, [chosen], [entry.name], options.count_jobs(jobs))
    deadline = None if budget is None else time.monotonic() + options.budget_s(budget)
    choices = RunChoices(
        part.benchmarks,
        controls=False,
        retry_failed=retry_failed,
        retry_before=time.time(),
        wait_s=wait,
        share_machine=share_machine,
    )
    search = _Search(ProjectCommits(part, terminal), name, limit, most_seeds, Failures(), choices, deadline)
    first, last = both_ends(good, bad)
    state = search.begun(first or good, last or "HEAD", confidence)
    if entry.metric.by_case and name == entry.name:
        cases = search.of_each_case(state)
        if json:
            terminal.document(bisect_cases_document(cases, system=chosen, confidence=confidence, threshold=limit))
        else:
            terminal.screen(bisect_cases_screen(cases, chosen, limit, terminal_width()))
        return 0 if cases.is_told else CANNOT_TELL
    answer = search.run(state)
    metric, better = search.judged_by()
    if json:
        terminal.document(bisect_document(answer, system=chosen, benchmark=name, metric=metric, threshold=limit))
    else:
        terminal.screen(bisect_screen(answer, better, chosen, name, limit, terminal_width(), metric))
    return CANNOT_TELL if answer.ending == "cannot tell" else 0


def _benchmark(config: Config, wanted: str | None) -> tuple[str, Benchmark]:
    """The name that is asked for, and its entry of ``[[benchmarks]]``, which has another where it is a case of that."""
    from layoutrand.config.config import choose
    from layoutrand.harnesses.case_names import entry_of

    names = [each.name for each in config.benchmarks]
    cased = [each.name for each in config.benchmarks if each.metric.by_case]
    if wanted is None and len(names) > 1:
        raise UsageError(f"which benchmark? Name it with --benchmark; there are {', '.join(names)}")
    entry = wanted if wanted is None or wanted in names else entry_of(wanted, cased) or wanted
    found = choose("benchmark", [entry] if entry else [], names)
    if not found:
        raise UsageError("layoutrand.toml has no [[benchmarks]], so there is nothing to measure")
    if config.order() in {"sequential", "random"}:
        raise UsageError(
            f'run.order = "{config.order()}" does not execute commits side by side, which bisect rests on; set "blocks"'
        )
    return wanted or found[0], next(each for each in config.benchmarks if each.name == found[0])


@dataclass
class _Search:
    """One search: it builds and executes, and leaves every decision to `layoutrand.analysis.bisecting`.

    ``judged`` is a benchmark, or a case of one with a harness; ``choices`` are those of every round, but for its seeds.
    """

    project: ProjectCommits
    judged: str
    threshold: float
    most: int
    told: Failures
    choices: RunChoices
    deadline: float | None = None
    executed: int = 0
    known: int = 0
    wanted: set[tuple[str, int]] = field(default_factory=set)
    lost: set[tuple[str, LayoutName]] = field(default_factory=set)  # of which capture which layout has no binary
    found: SearchedRounds | None = None

    def begun(self, good: str, bad: str, confidence: float) -> SearchState:
        """With both ends built; raises `UsageError` where they are none, `BuildFailed` where they do not build."""
        from layoutrand.analysis.bisecting import SearchState
        from layoutrand.capture.commit_log import LoggedCommit
        from layoutrand.cli.named_cases import refuse_misspelt

        part = self.project.part
        log = self.project.log(fetch=True)
        line = log.first_parents(log.resolve(good), log.resolve(bad))
        if len(line) < 2:
            raise UsageError(f"{good} and {bad} are the same commit, so there is nothing between them")
        described = log.described(line)
        state = SearchState.begin([described.get(commit, LoggedCommit(commit)) for commit in line], confidence)
        ends = {each.commit: each.short for each in (state.line[0], state.line[-1])}
        refuse_misspelt([self.judged], [part.config], part.directory, ends, self.project.terminal)
        state = self._built(state, [0, len(line) - 1])
        for end in state.skipped:
            raise BuildFailed(
                f"{state.line[end].short} could not be built: {state.skipped[end]}\n"
                "The commands of layoutrand.toml build every commit: have them build this one, too, or name another end"
            )
        return state

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
        from layoutrand.analysis.bisecting import FEWEST_ROUNDS, CaseSearch, CaseSearches

        entry, last = self.judged, len(state.line) - 1
        if state.captures[0] == state.captures[last]:
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
        if state.captures[0] == state.captures[last]:
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
            state = self._built(state, [place])
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

    def _built(self, state: SearchState, places: Sequence[int]) -> SearchState:
        """The state with the captures of these commits, or why there are none."""
        from layoutrand.cli.commit_runs import unbuilt

        terminal = self.project.terminal
        commits = [state.line[place].commit for place in places]
        results = self.project.build(commits, retry_failed=self.choices.retry_failed)
        why = unbuilt(results)
        captures = {commit: result.capture.id for (_, commit), result in results.items() if result.capture}
        for place in places:
            commit = state.line[place]
            if commit.commit in why:
                if place not in (0, len(state.line) - 1):  # an end cannot be passed over: the caller says so
                    terminal.warn(f"{commit.short} is passed over, it could not be built: {why[commit.commit]}")
                state = state.without(place, why[commit.commit])
            elif place in (0, len(state.line) - 1):
                state = replace(state, captures={**state.captures, place: captures[commit.commit]})
            else:
                state = state.with_capture(place, captures[commit.commit])
                if place in state.same:
                    terminal.say(f"{commit.short} is the same program as an end: nothing is executed")
        return state

    def _decide(self, state: SearchState, place: int | None, *, rises: bool = True) -> tuple[SearchState, Decision]:
        """Execute rounds until there is a decision about a commit, or about the two ends, or too many rounds."""
        from layoutrand.analysis.bisect_words import apart_words, decision_words
        from layoutrand.analysis.bisecting import FEWEST_ROUNDS, decide_ends, decide_side, what_is_lacking

        number = len(state.decisions)
        places = [state.good, *([] if place is None else [place]), state.bad]
        confidence = state.next_confidence
        n = FEWEST_ROUNDS
        if place is None and number:  # the pair is chosen by its rounds from two, so each has half of the error
            number = max(k for k, each in enumerate(state.decisions) if each.outcome != "open")
            confidence, n = 1 - (1 - confidence) / 2, state.decisions[number].n_rounds
        looks: list[list[int]] = []
        while True:
            found, names, seeds = self._rounds(state, places, number, n)
            rounds, exact, clock = found.beside(names, seeds), found.exact, found.clock(names, seeds)
            if place is None:
                decision = decide_ends(
                    rounds[0], rounds[-1], confidence=confidence, threshold=self.threshold, exact=exact, clock=clock
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
            idle = {each: own for each, own, *counts in recent if _gives_no_more(counts)}
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
        first = 1 if self._is_simulated() else number * _APART + 1
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
        from layoutrand.analysis.searched_rounds import searched_rounds
        from layoutrand.results.file import open_for_reading, results_path

        with open_for_reading(results_path(self.project.part.directory)) as store:
            return searched_rounds(store, self._question(), names)

    def _cases(self, names: Sequence[str]) -> dict[str, set[str]]:
        """Case -> under which of the names it was reported."""
        from layoutrand.analysis.searched_rounds import recorded_cases
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
        from layoutrand.analysis.selection import Question

        part = self.project.part
        return Question(part.config, part.directory, part.systems, [self.judged], {}, None)

    def _answer(self, state: SearchState, ending: Ending) -> SearchAnswer:
        from layoutrand.analysis.bisecting import SearchAnswer, as_ratio
        from layoutrand.analysis.conclusion_words import is_speed

        ends = [decision for decision in state.decisions if decision.commit is None]
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
        )

    def _merged(self, state: SearchState) -> tuple[str, str] | None:
        return self.project.log(fetch=False).merged(state.line[state.bad].commit, state.line[state.good].commit)


def _gives_no_more(counts: Sequence[int]) -> bool:
    """Whether a commit has numbers of no round, or at three looks, between which rounds were added, of as many."""
    return not counts[-1] or (len(counts) == 3 and counts[0] == counts[-1])
