"""How a system changed over commits: the mean over layouts of each commit, steps in these means, and stock beside it.

A step in the means over layouts is the program's.  A step that only stock shows is where the code of one build landed:
"layout only".  Commits that are one program are one point, measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from layoutrand.analysis.analyse import known_metrics, measurements
from layoutrand.analysis.asked_results import Question
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.coarse_clock import ClockSteps, clock_steps
from layoutrand.analysis.sample import Sample
from layoutrand.capture.commit_log import CommitLog, LoggedCommit
from layoutrand.config.disturbance import summary
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.config.flag_warnings import flags_that_win
from layoutrand.errors import AnalysisError
from layoutrand.history.commit_series import ProgramSamples, RecordedCommits, recorded_commits
from layoutrand.history.compared_points import ComparedPoints, compared_points
from layoutrand.history.history_steps import SeenSteps, StepQuestion, seen_steps
from layoutrand.history.history_values import (
    LEVELS,
    CommitSeries,
    History,
    HistoryPoint,
    HistoryStep,
    are_one_program,
)
from layoutrand.history.history_warnings import (
    ClockOfSeries,
    FewRounds,
    MeasuredApart,
    NotAboveZero,
    OtherBranches,
    TooShortHistory,
    UnknownOrder,
    without_numbers,
)
from layoutrand.instruments.known import simulated
from layoutrand.model import STOCK, BuiltFrom, Execution
from layoutrand.results.experiments import ResultsStore
from layoutrand.stats import mean_interval
from layoutrand.warning import AnyWarning, plural


@dataclass(frozen=True)
class HistoryQuestion:
    """What is asked: of which results, in which commits (None: the order is not known, and why), and how sure.

    ``order`` are hashes, oldest first; ``of`` names what they are the history of.  ``n_distinct`` are the layouts that
    captures can have at most, of captures where these are few; it is asked only where more would help, as it takes a
    look at captures.
    """

    question: Question
    log: CommitLog | None
    order: Sequence[str]
    of: str
    why: str = ""
    metrics: Sequence[str] = ()
    confidence: float = 0.95
    threshold: float = 0.01
    n_distinct: Callable[[Collection[str]], Mapping[str, int]] = lambda _: {}


def history(asked: HistoryQuestion, store: ResultsStore) -> History:
    """The history of all systems and benchmarks asked for.

    Raises `AnalysisError` where nothing recorded belongs to it, and as `layoutrand.analysis.selection.select` does.
    """
    # What is recorded of commits, and what of it belongs together.
    recorded = recorded_commits(asked.question, store)
    # The commits in order, each with its program.
    lines, warnings = _in_order(recorded, asked)
    # For each metric of each system on each benchmark: means, steps, and what they mean.
    series = [each for line in lines.values() for each in _series_of(line, asked)]
    if not series:
        if samples := [sample for program in recorded.programs for sample in program.samples]:
            known_metrics(samples, asked.metrics)
        raise AnalysisError(_nothing(recorded, lines, warnings))
    commits = _all_commits(asked, recorded)
    one_program = dict.fromkeys(each.system for each in series if each.is_one_program)
    winning = [won for name in one_program if (won := flags_that_win(asked.question.config, name)) is not None]
    failed = [lost for name, line in lines.items() for lost in without_numbers(name, _executions(line))]
    return History(
        series=tuple(series),
        commits=tuple(commits),
        project=recorded.experiment.project,
        host=recorded.experiment.hostname,
        confidence=asked.confidence,
        threshold=asked.threshold,
        warnings=(*failed, *_disturbed(lines.values(), asked), *recorded.warnings, *warnings, *winning),
    )


_Line = list[tuple[list[LoggedCommit], ProgramSamples]]


def _executions(line: _Line) -> list[Execution]:
    return [each for _, program in line for each in program.executions]


def _nothing(recorded: RecordedCommits, lines: Mapping[str, _Line], warnings: Sequence[AnyWarning]) -> str:
    """Why there is no series: of these commits nothing is recorded, or no layout, or all that is failed."""
    why = (
        "no results of commits: `layoutrand run` at a commit without changes records it, and "
        "`layoutrand history --run OLD..NEW` builds and executes all of a range."
    )
    executions = [execution for line in lines.values() for execution in _executions(line)]
    failed = [each for each in executions if each.status != "ok" and isinstance(each.layout, int)]
    commits = {commit.commit for line in lines.values() for own, _ in line for commit in own}
    of = plural(len(commits), "commit")
    if failed:
        first = failed[0]
        why = (
            f"no execution of {of} in a layout gave a number: {plural(len(failed), 'execution')} failed, such as "
            f"one of {first.benchmark}: {first.reason}{f'; log {first.log}' if first.log else ''}\n"
            "Once the cause is mended: `layoutrand history --run OLD..NEW --retry-failed`"
        )
    elif executions:
        why = (
            f"no layout of {of} was executed, only builds as they are (stock, identity), and a history is of means "
            "over layouts: `layoutrand build` says why there are none"
        )
    return "\n".join([why, *(f"  - {each}" for each in (*recorded.warnings, *warnings))])


def _disturbed(lines: Collection[_Line], asked: HistoryQuestion) -> list[DisturbedExecutions]:
    """What disturbed executions of these programs, of each benchmark of which a metric is followed that feels it."""
    followed = {
        (sample.benchmark, sample.instrument)
        for line in lines
        for _, program in line
        for sample in program.samples
        if _is_followed(sample, asked)
    }
    felt = [each for line in lines for each in _executions(line) if (each.benchmark, each.instrument) in followed]
    is_repeated = asked.question.config.run.disturbance.repeat > 0
    return [DisturbedExecutions(row, is_repeated) for row in summary(felt, simulated())]


def _in_order(recorded: RecordedCommits, asked: HistoryQuestion) -> tuple[dict[str, _Line], list[AnyWarning]]:
    """System -> its programs in the order of their commits, neighbours that are one program together."""
    warnings: list[AnyWarning] = []
    places = {commit: number for number, commit in enumerate(asked.order)}
    short = {commit[:_RECORDED_SHORT]: number for commit, number in places.items()}
    if asked.log is None:
        warnings.append(UnknownOrder(asked.why))
    lines: dict[str, _Line] = {}
    left: dict[str, int] = {}
    found: dict[str, list[tuple[float, LoggedCommit, ProgramSamples]]] = {}
    for program in recorded.programs:
        for commit, built in program.commits.items():
            number = places.get(commit, short.get(commit[:_RECORDED_SHORT]))
            place = built.committed_at if asked.log is None else number
            if place is None:
                left[program.system] = left.get(program.system, 0) + 1
                continue
            whole = commit if number is None else asked.order[number]
            logged = LoggedCommit(whole, built.committed_at, built.subject)
            found.setdefault(program.system, []).append((place, logged, program))
    for system, rows in found.items():
        line = lines.setdefault(system, [])
        for _, logged, program in sorted(rows, key=lambda row: (row[0], row[1].commit)):
            if line and line[-1][1].capture == program.capture:
                line[-1][0].append(logged)
            else:
                line.append(([logged], program))
    warnings += [OtherBranches(count, system, asked.of) for system, count in left.items()]
    return lines, warnings


_RECORDED_SHORT: Final = 12
"""Digits of a commit that layoutrand recorded before it kept all of them."""


def _all_commits(asked: HistoryQuestion, recorded: RecordedCommits) -> list[LoggedCommit]:
    known: dict[str, BuiltFrom] = {
        commit: built for each in recorded.programs for commit, built in each.commits.items()
    }
    if asked.log is None:
        rows = sorted(known.values(), key=lambda built: (built.committed_at or 0.0, built.commit))
        return [LoggedCommit(built.commit, built.committed_at, built.subject) for built in rows]
    return [
        LoggedCommit(commit, known[commit].committed_at, known[commit].subject)
        if commit in known
        else LoggedCommit(commit)
        for commit in asked.order
    ]


def _is_followed(sample: Sample, asked: HistoryQuestion) -> bool:
    return bool(sample.binaries) and (sample.metric in asked.metrics if asked.metrics else sample.is_primary)


def _series_of(line: _Line, asked: HistoryQuestion) -> Iterable[CommitSeries]:
    """A series for each benchmark and metric of one system."""
    keys: dict[tuple[str, str, str], None] = {}
    for _, program in line:
        for sample in program.samples:
            if _is_followed(sample, asked):
                keys[sample.benchmark, sample.instrument, sample.metric] = None
    for key in keys:
        rows = [
            (commits, program, sample)
            for commits, program in line
            for sample in program.samples
            if (sample.benchmark, sample.instrument, sample.metric) == key and sample.binaries
        ]
        yield _series(rows, asked)


def _series(rows: Sequence[tuple[list[LoggedCommit], ProgramSamples, Sample]], asked: HistoryQuestion) -> CommitSeries:
    raw = [sample for _, _, sample in rows]
    samples = [freed(sample).sample for sample in raw]
    clock = clock_steps(*raw)  # nodes taken out, they lie on no steps
    points = [
        _point(commits, program, samples[number], clock.of_groups([number]), asked.confidence)
        for number, (commits, program, _) in enumerate(rows)
    ]
    compared = compared_points(samples, raw, clock)
    first = samples[0]
    seen = seen_steps(compared.layouts, compared.stocks, StepQuestion(asked.confidence, asked.threshold, first.better))
    n_distinct: int | None = None
    if not seen.layouts.can_tell or any(step.verdict == "size unknown" for step in seen.steps):
        # More layouts would help, if there are more.
        captures = {points[number].capture for number in compared.chosen}
        n_distinct = min(asked.n_distinct(captures).values(), default=None)
    is_apart = not compared.n_common and len(compared.chosen) > 1 and first.instrument not in simulated()
    steps = [_in_points(step, compared.chosen) for step in seen.steps]
    return CommitSeries(
        system=first.system,
        benchmark=first.benchmark,
        metric=first.metric,
        unit=first.unit,
        better=first.better,
        points=tuple(points),
        n_rounds=compared.n_rounds,
        n_common=compared.n_common,
        layouts=seen.layouts,
        stocks=seen.stocks,
        steps=tuple(replace(step, good=_good(step, steps, points, asked.log)) for step in steps),
        warnings=tuple(_of_series(first, points, compared, seen, n_distinct, is_apart=is_apart)),
        resolution=seen.resolution,
        clock=seen.clock,
        n_distinct=n_distinct,
        is_apart=is_apart,
        is_main=first.is_primary,
    )


def _of_series(
    sample: Sample,
    points: Sequence[HistoryPoint],
    compared: ComparedPoints,
    seen: SeenSteps,
    n_distinct: int | None,
    *,
    is_apart: bool,
) -> Iterator[AnyWarning]:
    """What to know of a series, whose benchmark and system are those of the sample."""
    of = sample.benchmark, sample.system
    if few := [point.commit.short for number, point in enumerate(points) if number not in compared.chosen]:
        yield FewRounds(*of, tuple(few))
    if not compared.is_above_zero:
        yield NotAboveZero(*of)
    if not seen.layouts.can_tell and not are_one_program(points):
        ends = points[0].commits[0].short, points[-1].commits[-1].short
        n_chosen, n_common = len(compared.chosen), compared.n_common
        yield TooShortHistory(*of, n_chosen, n_common, ends, n_distinct, compared.new_rounds)
    if is_apart and any(step.verdict in LEVELS for step in seen.steps):
        yield MeasuredApart(*of)
    if seen.clock is not None:
        yield ClockOfSeries(*of, seen.clock)


def _point(
    commits: Sequence[LoggedCommit], program: ProgramSamples, sample: Sample, clock: ClockSteps, confidence: float
) -> HistoryPoint:
    own = freed(sample)
    executions = sample.controls.get(STOCK, ())
    return HistoryPoint(
        commits=tuple(commits),
        capture=program.capture,
        mean=clock.of_mean(mean_interval(own.charged(measurements(sample)), confidence=confidence)),
        n_layouts=sample.n_binaries,
        n_executions=sample.n_executions,
        stock=fmean(map(fmean, executions)) if executions else None,
        n_stock=len(executions),
    )


def _good(
    step: HistoryStep, steps: Sequence[HistoryStep], points: Sequence[HistoryPoint], log: CommitLog | None
) -> LoggedCommit | None:
    """See `HistoryStep`: commits of branches that were merged stand behind one another, and descend from others."""
    if step.verdict not in {"slower", "faster"}:
        return None
    before = [each.last for each in steps if each.place < step.place and each.verdict in {*LEVELS, "small"}]
    start = max(before, default=0)
    bad = points[step.last].commits[0].commit
    level = points[min(start, step.first - 1) : step.first]
    earlier = [commit for point in reversed(level) for commit in reversed(point.commits)]
    return next((each for each in earlier if log is None or log.descends(bad, each.commit)), None)


def _in_points(step: HistoryStep, chosen: Sequence[int]) -> HistoryStep:
    """The step with its places counted in all points."""
    return replace(step, place=chosen[step.place], first=chosen[step.first], last=chosen[step.last])
