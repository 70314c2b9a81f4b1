"""From findings to conclusions: what each kind of warning does to a verdict, under which cause, and what helps.

This is the one place that knows.  A new finding is a kind of warning, made where its figures are known, and a line in
`MEANINGS` here (or in `NOTES`, where it changes nothing that is concluded); `analysis/conclusion.py` does the rest, and
`tests/project/test_reasons.py` finds kinds that are in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from layoutrand.analysis import analysis_warnings as own
from layoutrand.analysis import clock_warnings as clock
from layoutrand.analysis import comparison_warnings as compared
from layoutrand.analysis import conclusion_warnings as told
from layoutrand.analysis import damage_warnings
from layoutrand.analysis import machine_warnings as machine
from layoutrand.analysis import node_warnings as nodes
from layoutrand.analysis import noise_warnings as noise
from layoutrand.analysis import plan_warnings as plans
from layoutrand.analysis import start_warnings as starts
from layoutrand.analysis import suite_warnings as suites
from layoutrand.analysis.next_steps import (
    NO_TIMES,
    OF_TIMES,
    STEPS,
    LayoutsThere,
    Step,
    StepKind,
    with_number,
    within,
    without_simulation,
)
from layoutrand.config import execution_warnings as executions
from layoutrand.execute import output_warnings as outputs
from layoutrand.instruments.known import simulated
from layoutrand.stats import advice
from layoutrand.warning import AnyWarning

Effect = Literal["undecides", "doubts", "notes"]
"""What a reason does to a conclusion: takes the verdict away, casts doubt on it, or nothing."""

_ORDER: Final[tuple[Effect, ...]] = ("undecides", "doubts", "notes")

Cause = Literal[
    "interval too wide",
    "within noise",
    "too few layouts",
    "without bounds",
    "beside the others",
    "machine",
    "drift",
    "disturbed",
    "unlike conditions",
    "design",
    "nodes",
    "failures",
    "shape of the layouts",
    "too short",
    "coarse clock",
    "not to be tested",
    "same binaries",
    "false alarm",
    "old results",
    "unlike outputs",
]
"""One word for what lies behind one or more warnings: a cause is given once."""

MANY: Final = 0.05
"""Share of executions from which on it casts doubt on the numbers that they were disturbed."""


@dataclass(frozen=True)
class Reason:
    """One cause, with what it does to the conclusion and all that was found of it, which words itself."""

    cause: Cause
    effect: Effect
    warnings: tuple[AnyWarning, ...]

    def __str__(self) -> str:
        return "; ".join(dict.fromkeys(map(str, self.warnings)))

    def beside_name(self) -> str:
        """The same for a place that has named the benchmark."""
        return "; ".join(dict.fromkeys(each.beside_name() for each in self.warnings))


@dataclass(frozen=True)
class Meaning:
    """What a kind of warning means for a conclusion, and which step helps."""

    cause: Cause
    effect: Effect
    step: StepKind | Callable[[Any], StepKind] | None = None
    matters: Callable[[Any], bool] = lambda _: True
    """Whether this one, by its figures, is more than a note."""


MEANINGS: Final[dict[type[AnyWarning], Meaning]] = {
    # What the numbers themselves leave open.
    told.WideInterval: Meaning("interval too wide", "undecides"),
    told.NotBesideOthers: Meaning("beside the others", "doubts"),
    told.MedianOpposes: Meaning("shape of the layouts", "undecides"),
    told.MedianDiffers: Meaning("shape of the layouts", "doubts"),
    told.OneProgram: Meaning("same binaries", "notes", "look at the program"),
    told.AgainstItself: Meaning("same binaries", "notes"),
    told.PartlyOneProgram: Meaning("same binaries", "notes", "look at the program"),
    told.FalseAlarm: Meaning("false alarm", "doubts", "quiet machine"),
    # Too little data.
    advice.Single: Meaning("too few layouts", "undecides", "more layouts"),
    advice.TooFew: Meaning("too few layouts", "doubts", "more layouts"),
    advice.UnboundedRatio: Meaning("without bounds", "undecides", "more layouts"),
    advice.NoVariation: Meaning("not to be tested", "doubts"),
    clock.CoarseClock: Meaning("coarse clock", "undecides", "more work", matters=lambda each: each.is_open),
    # How it was executed.
    own.ExecutedInSequence: Meaning("design", "doubts", "same rounds"),
    compared.TooFewRounds: Meaning("too few layouts", "undecides"),
    compared.ExecutedApart: Meaning("design", "undecides", "same rounds"),
    compared.AddedAlone: Meaning("design", "doubts", "same rounds"),
    compared.QuotientDiffers: Meaning("shape of the layouts", "doubts", matters=lambda each: each.is_outside),
    compared.RatiosDrifted: Meaning("drift", "doubts", "quiet machine"),
    compared.GroupsOfValues: Meaning("shape of the layouts", "doubts"),
    machine.MachineDrifted: Meaning("drift", "doubts", "quiet machine"),
    machine.MachineSwitched: Meaning("machine", "doubts", "quiet machine"),
    machine.MachineChanged: Meaning("machine", "notes", "quiet machine"),
    machine.GroupsInOneBinary: Meaning("machine", "doubts", "more executions"),
    machine.CountsFollowTime: Meaning("unlike conditions", "doubts", "run again"),
    machine.CountsChanged: Meaning(
        "unlike conditions",
        "doubts",
        lambda each: "same work" if each.fixed_addresses else "repeatable",
        matters=lambda each: each.is_seen,
    ),
    noise.WithinNoise: Meaning("within noise", "undecides", "more executions"),
    noise.NoisyStock: Meaning("unlike conditions", "doubts", "quiet machine"),
    executions.DisturbedExecutions: Meaning(
        "disturbed",
        "doubts",
        lambda each: "quiet machine" if each.is_repeated or each.row.is_throughout else "repeat disturbed",
        lambda each: each.row.disturbed > MANY * each.row.executions,
    ),
    executions.TooShort: Meaning("too short", "doubts", "more work"),
    executions.MixedSettings: Meaning("unlike conditions", "doubts", "quiet machine"),
    executions.MixedCpus: Meaning("unlike conditions", "doubts"),
    executions.MixedProgramFiles: Meaning("unlike conditions", "doubts"),
    executions.MixedIsolation: Meaning("unlike conditions", "doubts"),
    executions.MixedLaunchers: Meaning("unlike conditions", "doubts"),
    executions.EmulatedExecutions: Meaning("machine", "doubts", NO_TIMES),
    nodes.InseparableNodes: Meaning("nodes", "doubts"),
    nodes.OneRoundEach: Meaning("nodes", "doubts", "more layouts"),
    nodes.UnlikeNodes: Meaning("nodes", "doubts"),
    nodes.ChangedNodes: Meaning("nodes", "doubts"),
    own.ShownThoughOld: Meaning("old results", "doubts", "run again"),
    own.NewFiles: Meaning("old results", "doubts", "run again"),
    outputs.UnlikeOutputs: Meaning(
        "unlike outputs", "doubts", lambda each: "more executions" if each.may_be_chance else "same output"
    ),
    outputs.InputChanged: Meaning("old results", "doubts", "name the input"),
    outputs.MixedInputs: Meaning("unlike conditions", "undecides", "name the input"),
    starts.UnlikeCode: Meaning("design", "undecides", "more layouts"),
    starts.UnlikeCache: Meaning("design", "doubts", "more layouts"),
    # What is missing.
    own.FailedExecutions: Meaning("failures", "doubts", "retry failed"),
    own.FailedBuilds: Meaning("failures", "doubts"),
    own.NothingExecuted: Meaning("failures", "undecides", "retry failed"),
    executions.NothingButWarmup: Meaning("failures", "doubts"),
    own.NoRatio: Meaning("not to be tested", "undecides"),
    suites.BenchmarksTakenForIndependent: Meaning("design", "doubts", "same rounds"),
    noise.NoNoise: Meaning("not to be tested", "undecides", "more executions"),
    noise.UntestedLayout: Meaning("not to be tested", "undecides", "more executions"),
}
"""Kind of warning -> what it does to a conclusion that it is about."""

NOTES: Final[frozenset[type[AnyWarning]]] = frozenset(
    {
        own.OtherCaptures,
        own.SystemLeftOut,
        own.NotCompared,
        own.EarlierDefinition,
        damage_warnings.DamagedResults,
        own.ExecutedAgain,
        own.RebuiltBinaries,
        own.PrebuiltSystems,
        own.FewOfControl,
        own.ControlSpread,
        own.NoShift,
        own.UnboundedShift,
        own.CountsExecutions,
        plans.FewDistinctLayouts,
        plans.NoiseOfControls,
        own.NothingToFind,
        suites.MixedMetrics,
        suites.MixedDirections,
        suites.SuiteNotPaired,
        own.PairedWithout,
        compared.RoundsApart,
        compared.IncompleteRounds,
        compared.FewCompleteRounds,
        compared.NotByRound,
        compared.FarValues,
        compared.TailOfValues,
        outputs.MeasuresItself,
        outputs.SystemsPrintOther,
        nodes.AloneOnNode,
        nodes.ControlElsewhere,
        nodes.UnlikeProcessors,
        nodes.UnlikePaths,
        starts.OtherStartFiles,
        starts.StartFilesByNode,
    }
)
"""Kinds that are told, and change nothing that is concluded."""


def concerns(warning: AnyWarning, benchmark: str, instrument: str, systems: Collection[str]) -> bool:
    """Whether what is told of all that was measured is about this benchmark, measured so, with any of the systems."""
    if isinstance(warning, executions.MachineWarning) and instrument in simulated():
        return False
    row = getattr(warning, "row", None)
    of = getattr(warning, "system", None)
    if of is not None and of not in systems:
        return False
    if isinstance(warning, starts.StartFilesWarning) and (
        instrument != warning.instrument or not set(warning.of) <= set(systems)
    ):
        return False
    if isinstance(warning, own.EarlierDefinition):
        return benchmark in warning.benchmarks
    return getattr(warning if row is None else row, "benchmark", benchmark) == benchmark


def reasons(warnings: Iterable[AnyWarning], *, notes: Container[Cause] = ()) -> tuple[Reason, ...]:
    """One reason for each cause, those that take the verdict away first, then those that cast doubt on it.

    What is only noted is left out but for the causes that ``notes`` has.
    """
    found: dict[Cause, list[tuple[Effect, AnyWarning]]] = {}
    for each in dict.fromkeys(warnings):
        meaning = _meaning(each)
        if meaning is not None and (meaning.effect != "notes" or meaning.cause in notes):
            found.setdefault(meaning.cause, []).append((meaning.effect, each))
    gathered = []
    for cause, members in found.items():
        effect = min((effect for effect, _ in members), key=_ORDER.index)
        gathered.append(Reason(cause, effect, tuple(each for _, each in members)))
    return tuple(sorted(gathered, key=lambda reason: _ORDER.index(reason.effect)))


def steps(warnings: Iterable[AnyWarning], first: Sequence[Step] = (), *, layouts: LayoutsThere) -> tuple[Step, ...]:
    """What helps against these, each kind once; ``first`` are steps that have figures.

    Where more layouts are needed and nothing says how many, it is as many again as there are, if not the usual number;
    none asks for layouts that the program has not.
    """
    found: dict[StepKind, Step] = {step.kind: step for step in first}
    is_disturbed = False
    for each in warnings:
        is_disturbed |= isinstance(each, executions.DisturbedExecutions) and each.row.is_throughout
        meaning = _meaning(each)
        if meaning is not None and meaning.step is not None:
            kind = meaning.step(each) if callable(meaning.step) else meaning.step
            step = with_number(STEPS[kind], layouts)
            found.setdefault(kind, step if getattr(each, "may_simulate", True) else without_simulation(step))
    if is_disturbed:  # before all else: more of the same would be disturbed as well
        quiet = replace(found.pop("quiet machine"), comes_first=True)
        found = {quiet.kind: quiet, **found}
    if NO_TIMES in found:
        found = {kind: step for kind, step in found.items() if kind not in OF_TIMES}
    return within(tuple(found.values()), layouts)


def _meaning(warning: AnyWarning) -> Meaning | None:
    meaning = MEANINGS.get(type(warning))
    return meaning if meaning is not None and meaning.matters(warning) else None
