"""What a check is asked, what it is given to work with, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, Protocol

from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.conclusion import CANNOT_TELL, SAME_PROGRAM, Conclusion, Verdict, of_pair
from layoutrand.analysis.next_steps import STEPS, WITHIN_REACH, Step, StepKind
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.build.build import SystemBuild
from layoutrand.cache.store import Cache
from layoutrand.capture.checked_commits import CheckedCommit
from layoutrand.capture.function_changes import FunctionChanges
from layoutrand.config.config import Config
from layoutrand.config.two_commits import BASE
from layoutrand.execute.measure import Executor
from layoutrand.execute.run_progress import RunProgress
from layoutrand.harnesses.case_names import entry_of
from layoutrand.model import STOCK, BuildFailure, Execution, LayoutName
from layoutrand.warning import AnyWarning

Ending = Literal["decided", "budget", "layouts", "coarse clock", "failures", "same program"]
"""Why a check of one system came to its end."""

_BY_RUN: Final[frozenset[StepKind]] = frozenset(("more executions", "retry failed", "same rounds", "run again"))
"""Steps that are taken by `layoutrand run`, which knows nothing of the commits of a check."""

_DECIDING: Final[frozenset[StepKind]] = frozenset(("more layouts", "more executions", "other threshold", "sooner"))
"""Steps that may decide what is open by itself; others make it less noisy, or more certain."""

MOST_LAYOUTS: Final = 200
"""Without a verdict by then more layouts would hardly give one."""


@dataclass(frozen=True)
class Quantity:
    """What one verdict is about: a metric of a benchmark, and the instrument that measures it.

    ``entry`` is what is executed for it where that is a harness with several cases; "" for a benchmark of its own.
    """

    benchmark: str
    instrument: str
    metric: str
    entry: str = field(default="", compare=False)

    @property
    def executed(self) -> str:
        """The entry of ``[[benchmarks]]`` that an execution of it is recorded under."""
        return self.entry or self.benchmark


@dataclass(frozen=True)
class CheckQuestion:
    """What is asked.

    ``systems`` and ``benchmarks`` are names, the latter empty for all, and of entries with a harness or of their cases;
    ``metric`` is judged where it is given, else each benchmark's main one, and simulated counts that are measured
    beside it.  ``budget_s`` is for linking and executing rounds, not for builds; ``most_layouts`` limits each quantity.
    ``as_built``: stock is executed, too.  What failed and began before ``retry_before`` (seconds since 1970) is
    executed again.
    """

    config: Config
    project: Path
    systems: Sequence[str]
    benchmarks: Sequence[str]
    base: CheckedCommit
    head: CheckedCommit
    metric: str | None = None
    threshold: float = 0.01
    confidence: float = 0.95
    budget_s: float = 600.0
    most_layouts: int = MOST_LAYOUTS
    as_built: bool = True
    retry_before: float | None = None
    wait_s: float = 3600.0
    share_machine: bool = False

    @property
    def entries(self) -> list[str]:
        """What is executed: the entries of ``[[benchmarks]]`` behind ``benchmarks``."""
        return list(dict.fromkeys(map(self.entry, self.benchmarks)))

    def entry(self, name: str) -> str:
        """The entry of ``[[benchmarks]]`` of that name, or whose case it is."""
        names = [each.name for each in self.config.benchmarks]
        cased = [each.name for each in self.config.benchmarks if each.metric.by_case]
        return name if name in names else entry_of(name, cased) or name


class Builds(Protocol):
    """Makes layouts of both commits: by builds, or from the ``captures`` (system -> id) of builds made before."""

    def __call__(
        self, system: str, config: Config, layouts: Sequence[LayoutName], captures: Mapping[str, str] | None
    ) -> list[SystemBuild]:
        """What was built, base first; ``config`` has the two commits of ``system``."""


@dataclass(frozen=True)
class CheckTools:
    """What a check works with.

    ``progress`` is entered while rounds are executed, and gives what is called after each execution; ``say`` takes
    sentences; ``clock`` tells seconds; ``readable`` maps symbols of C++ and Rust to names for people.
    """

    build: Builds
    cache: Cache
    executor: Executor
    progress: Callable[[], AbstractContextManager[Callable[[RunProgress], None]]]
    say: Callable[[str], None]
    clock: Callable[[], float]
    readable: Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True)
class CheckedBenchmark:
    """One verdict: what is concluded, from which ratio and how many rounds; no ratio where nothing was executed.

    ``settled`` says whether it was reached, so that nothing more was executed.
    """

    quantity: Quantity
    concluded: Conclusion
    pair: BenchmarkRatio | None
    n_rounds: int
    settled: bool


@dataclass(frozen=True)
class SystemCheck:
    """What became of one system at both commits.

    ``changes`` says what differs, artefact by artefact; None where that is not known.  ``comparison`` and ``selection``
    are those of what was executed, None where nothing was.  ``one_sided`` are cases of harnesses that one commit alone
    has, with which that is, so that there is nothing to compare, and ``apart`` the entries of which that is so of every
    case.  ``next_round_s`` is how long another round would have
    taken, where less than that was left of the budget; None where nothing was left, or something else ended it.
    ``waited_s`` seconds of it went by while another layoutrand measured, which did so to the end where ``is_kept_off``.
    """

    system: str
    ending: Ending
    benchmarks: tuple[CheckedBenchmark, ...]
    changes: tuple[FunctionChanges, ...] | None
    captures: tuple[str, str]
    comparison: Comparison | None = None
    selection: Selection | None = None
    build_failures: tuple[BuildFailure, ...] = ()
    notes: tuple[AnyWarning, ...] = ()
    executed: int = 0
    results: Path | None = None
    one_sided: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    next_round_s: float | None = None
    waited_s: float = 0.0
    is_kept_off: bool = False

    @property
    def failures(self) -> tuple[Execution, ...]:
        """The failed executions."""
        return () if self.selection is None else self.selection.failures

    @property
    def is_built(self) -> bool:
        """Whether both commits were built, so that what failed is single layouts of them, or executions."""
        return self.results is not None or self.is_same_program

    @property
    def fails_at_base_alone(self) -> bool:
        """Whether BASE could not be built or executed and HEAD could, as where HEAD adds what is benchmarked."""
        if self.is_built:  # layouts that cannot be made are of programs that are there
            lost = any(each.layout != STOCK for each in self.build_failures)
            failed = set() if lost else {each.system for each in self.failures}
        else:
            failed = {each.system for each in self.build_failures}
        return self.ending == "failures" and failed == {BASE}

    @property
    def has_failed(self) -> bool:
        """Whether nothing could be executed, or compared, of something that was asked for."""
        return self.ending == "failures" or bool(self.apart)

    def is_without_result(self, each: CheckedBenchmark) -> bool:
        """Whether nothing of this benchmark could be built or executed: a failure, and no verdict that it is open."""
        return self.ending == "failures" and each.pair is None

    @property
    def is_same_program(self) -> bool:
        """Whether it is known without any execution that nothing changed."""
        return self.ending == SAME_PROGRAM


@dataclass(frozen=True)
class CheckAnswer:
    """The answer: every system's, what was asked, and why systems were not checked (name -> why)."""

    question: CheckQuestion
    systems: tuple[SystemCheck, ...]
    not_checked: Mapping[str, str]

    @property
    def benchmarks(self) -> list[tuple[SystemCheck, CheckedBenchmark]]:
        """Every verdict, with the system that it is on."""
        return [(system, each) for system in self.systems for each in system.benchmarks]

    def has(self, verdict: Verdict) -> bool:
        """Whether any benchmark has this verdict."""
        return any(each.concluded.verdict == verdict for _, each in self.benchmarks)

    @property
    def has_failed(self) -> bool:
        """Whether nothing could be executed, or compared, of something that was asked for."""
        return any(system.has_failed for system in self.systems)


def concluded_benchmarks(
    comparison: Comparison | None,
    quantities: Sequence[Quantity],
    counts: Mapping[Quantity, int],
    *,
    stopped_at: int | None = None,
) -> tuple[CheckedBenchmark, ...]:
    """A verdict for each quantity; that nobody can tell where there is no ratio of it.

    ``stopped_at`` is the number of layouts that ended the check, None where it ended for something else.
    """
    found = {} if comparison is None else {quantity_of(pair): pair for pair in comparison.benchmarks}
    rows = []
    for quantity in quantities:
        pair = found.get(quantity)
        concluded = Conclusion(CANNOT_TELL, CANNOT_TELL, (), ())
        if comparison is not None and pair is not None:
            concluded = of_check(of_pair(comparison, pair), stopped_at)
        rows.append(
            CheckedBenchmark(quantity, concluded, pair, counts.get(quantity, 0), concluded.verdict != CANNOT_TELL)
        )
    return tuple(rows)


def with_first_step(system: SystemCheck) -> SystemCheck:
    """The same with what to do where BASE alone fails."""
    if not system.fails_at_base_alone:
        return system
    first = (STEPS["merge first"],)
    rows = [
        replace(each, concluded=replace(each.concluded, next=first)) if system.is_without_result(each) else each
        for each in system.benchmarks
    ]
    return replace(system, benchmarks=tuple(rows))


def of_check(concluded: Conclusion, stopped_at: int | None = None) -> Conclusion:
    """The same with steps that are taken by another `check`, and by no `run`; ``stopped_at`` as in `step_of_check`."""
    steps = concluded.next
    if concluded.verdict != CANNOT_TELL:  # what has its verdict is executed no more, however large the budget is
        steps = tuple(each for each in steps if each.kind != "more layouts")
    is_wide = any(each.cause == "interval too wide" for each in concluded.reasons)
    if stopped_at is not None and is_wide and not any(step.kind in _DECIDING for step in steps):
        steps = (STEPS["more layouts"], *steps)  # of so few that there are no bounds nothing says how many
    return replace(concluded, next=tuple(step_of_check(step, stopped_at) for step in steps))


def step_of_check(step: Step, stopped_at: int | None = None) -> Step:
    """The step as a check can take it that ended at so many layouts, or for something else."""
    if step.kind == "more layouts":
        is_within_reach = bool(step.command) or not step.has_figures
        by_budget = "a larger --budget" if is_within_reach else ""
        return replace(step, command="", short=by_budget if stopped_at is None else _larger_limit(step, stopped_at))
    if step.kind == "other threshold" and not step.short:
        return replace(step, short="less noise, or a larger --threshold")
    if step.kind == "retry failed":
        again = "--retry-failed, after a look at the log"
        return replace(step, command="", sentence=f"{step.sentence} ({again})", short=again)
    return replace(step, command="") if step.kind in _BY_RUN else step


def _larger_limit(step: Step, stopped_at: int) -> str:
    """The limit of layouts to go on with, as a number where that is known; "" where none within reach would do."""
    if step.n_layouts and stopped_at < step.n_layouts <= WITHIN_REACH:
        return f"go on with --most-layouts {step.n_layouts}"
    if step.fewest and stopped_at < step.fewest <= WITHIN_REACH:
        return f"go on with --most-layouts {step.fewest} or more"
    is_out_of_reach = step.has_figures and (step.fewest is None or step.fewest > WITHIN_REACH)
    return "" if is_out_of_reach else "a larger --most-layouts"


def quantity_of(found: BenchmarkRatio | Sample) -> Quantity:
    """What the ratio or the sample is of."""
    return Quantity(found.benchmark, found.instrument, found.metric)


def one_program(quantities: Sequence[Quantity]) -> tuple[CheckedBenchmark, ...]:
    """The verdicts on two commits that are one program."""
    same = Conclusion(SAME_PROGRAM, SAME_PROGRAM, (), ())
    return tuple(CheckedBenchmark(quantity, same, None, 0, True) for quantity in quantities)
