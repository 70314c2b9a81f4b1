"""`layoutrand analyse`: how much does each level vary, and where among the layouts does the default one lie?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final

from layoutrand.analysis.analysis_warnings import (
    FailedBuilds,
    FailedExecutions,
    NothingExecuted,
)
from layoutrand.analysis.blocking import Freed, SampleNodes, freed, sample_nodes
from layoutrand.analysis.coarse_clock import clock_of
from layoutrand.analysis.control_shift import control_shift
from layoutrand.analysis.findings import Findings, findings, within_clock
from layoutrand.analysis.layout_part import LayoutSpread
from layoutrand.analysis.machine import MachineState, machine_states, quantity_of
from layoutrand.analysis.node_table import NodeTable, node_table
from layoutrand.analysis.reasons import concerns
from layoutrand.analysis.sample import Executions, Sample
from layoutrand.analysis.selection import Selection
from layoutrand.analysis.short_executions import of_short
from layoutrand.analysis.start_warnings import StartFilesWarning, UnlikeCode
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.metric import Better
from layoutrand.config.problems import suggest
from layoutrand.errors import AnalysisError, UnknownMetric
from layoutrand.instruments.known import counts
from layoutrand.instruments.program_output import without_last_words
from layoutrand.model import BinaryName, LayoutName
from layoutrand.stats import Interval, mean_interval, variance_components
from layoutrand.stats.advice import NoVariation
from layoutrand.stats.levels import Nested, nested_executions
from layoutrand.warning import AnyWarning, sentences_of

LEVELS: Final = ("binary", "execution", "iteration")


@dataclass(frozen=True)
class LevelVariance:
    """One level: S_i^2 and T_i^2 in squared units, and the standard deviation that it adds over the mean.

    ``count`` is the largest number of repetitions.  None stands for what the data cannot tell.
    """

    level: str
    count: int
    biased_variance: float | None
    unbiased_variance: float | None
    relative_sd: float | None


@dataclass(frozen=True)
class Control:
    """A binary outside the layout population: stock or identity.

    ``sd`` is over its executions; ``percentile`` is the share of layouts, in percent, with a mean below this one's;
    ``shift`` is the layout mean over this mean, round by round where most rounds have both.  None stands for what the
    data cannot tell.
    """

    n_executions: int
    mean: float
    sd: float | None
    percentile: float
    shift: Interval | None
    warnings: tuple[AnyWarning, ...]


@dataclass(frozen=True)
class Analysis:
    """One metric of one system on one benchmark; ``binary_means`` holds (seed, mean).

    ``findings`` is what stands out: how sure the variances are, whether layout matters, odd layouts.  Of executions on
    several nodes what nodes add is taken out of all of it; ``nodes`` says what that is, and ``node_level`` is nodes as
    a level of variation, above binaries.  None of both for one machine.  Of a system that has ``one_layout`` alone the
    ``binary_means`` are those of its executions.
    """

    system: str
    benchmark: str
    instrument: str
    metric: str
    unit: str
    is_primary: bool
    n_binaries: int
    n_executions: int
    n_iterations: int
    mean: Interval
    binary_means: tuple[tuple[BinaryName, float], ...]
    levels: tuple[LevelVariance, ...]
    collapsed: tuple[str, ...]
    layout: LayoutSpread | None
    stock: Control | None
    identity: Control | None
    warnings: tuple[AnyWarning, ...]
    findings: Findings | None = None
    nodes: SampleNodes | None = None
    node_level: LevelVariance | None = None
    one_layout: bool = False
    better: Better = "less"

    @property
    def is_machine(self) -> bool:
        """Whether it was the machine that made what may be taken for the difference of layouts."""
        return self.findings is not None and self.findings.is_machine


@dataclass(frozen=True)
class AnalysisReport:
    """All analyses of a selection, with its failures and what was left out; ``nodes`` where there were several."""

    analyses: tuple[Analysis, ...]
    selection: Selection
    confidence: float
    warnings: tuple[AnyWarning, ...]
    nodes: NodeTable | None = None

    @property
    def disturbed(self) -> tuple[Disturbed, ...]:
        """What disturbed the numbers; nothing does where all are simulated."""
        return self.selection.disturbed({each.instrument for each in self.analyses})


def analyse(selection: Selection, *, confidence: float, metrics: Sequence[str]) -> AnalysisReport:
    """Analyse every sample of these metrics (all where empty).

    Raises `UnknownMetric` where there is no such metric, `AnalysisError` where no sample has a single binary.
    """
    chosen = choose_metrics(selection, metrics)
    with_binaries = [sample for sample in chosen if sample.binaries]
    warnings = selection.warnings_for(sample.instrument for sample in chosen)
    warnings += [
        NothingExecuted(sample.system, sample.benchmark)
        for sample in chosen
        if not sample.binaries and sample.is_primary
    ]
    if not with_binaries:
        raise AnalysisError(
            "\n".join(["no seed was executed successfully", *sentences_of(warnings), *_failure_lines(selection)])
        )
    nodes = node_table(selection, confidence)
    states = machine_states(chosen)
    return AnalysisReport(
        analyses=tuple(
            _analyse(sample, selection, confidence, states[quantity_of(sample)]) for sample in with_binaries
        ),
        selection=selection,
        confidence=confidence,
        warnings=(*warnings, *(nodes.warnings if nodes else ())),
        nodes=nodes,
    )


def choose_metrics(selection: Selection, metrics: Sequence[str]) -> list[Sample]:
    """The samples of these metrics, or all; raises as `known_metrics` does."""
    known_metrics(selection.samples, metrics)
    return [sample for sample in selection.samples if not metrics or sample.metric in metrics]


def known_metrics(samples: Sequence[Sample], metrics: Sequence[str]) -> None:
    """Raise `UnknownMetric` for a metric that none of these samples is of, `AnalysisError` where there are none."""
    known = sorted({sample.metric for sample in samples})
    for metric in metrics:
        if not known:  # where nothing succeeded, nobody can tell whether it is one
            raise AnalysisError(f"no execution measured {metric!r}; there are no successful executions")
        if metric not in known:
            there = ", ".join(known)
            raise UnknownMetric(f"no execution measured {metric!r}; there are {there}{suggest(metric, known)}")


def measurements(sample: Sample) -> Any:
    """The sample, highest level first, for `layoutrand.stats`."""
    return _measured(sample)[0]


def collapse(binaries: Sequence[Executions]) -> tuple[Any, tuple[str, ...]]:
    """The measurements without lower levels that were nowhere repeated, and the names of the levels that are left."""
    return _repeated(nested_executions(binaries)) if binaries else ([], ("binary",))


def _measured(sample: Sample) -> tuple[Any, tuple[str, ...]]:
    """As `collapse`, of all binaries of a sample."""
    return _repeated(sample.nested) if sample.binaries else ([], ("binary",))


def _repeated(whole: Nested) -> tuple[Nested, tuple[str, ...]]:
    iterations, executions, top = whole.counts
    if iterations.max() > 1:
        if executions.max() == 1:
            return Nested(values=whole.values, counts=(iterations, top)), ("binary", "iteration")
        return whole, LEVELS
    if executions.max() > 1:
        return Nested(values=whole.values, counts=(executions, top)), ("binary", "execution")
    return Nested(values=whole.values, counts=(top,)), ("binary",)


def _analyse(measured: Sample, selection: Selection, confidence: float, state: MachineState | None) -> Analysis:
    own = freed(measured)
    sample = own.sample
    data, names = _measured(sample)
    if sample.one_layout:
        names = LEVELS[1 : 1 + len(names)]
    interval = mean_interval(own.charged(data), confidence=confidence)
    means = sample.binary_means
    levels = _levels(data, names)
    collapsed = tuple(level for level in LEVELS if level not in names)
    controls = {
        name: _control(own, name, means, confidence, at_random=selection.at_random) for name in ("stock", "identity")
    }
    # A count that no layout changes, of a simulated processor or of events, is no reason to doubt a timer.
    constant = counts(sample.instrument) and len(means) > 1 and min(means) == max(means)
    unsure = [each.in_executions() if sample.one_layout else each for each in interval.warnings]
    clock = clock_of(measured, selection)
    found = within_clock(findings(own, data, names, interval, state), clock.halves[0], interval, len(means))
    found = _of_two_machines(found, sample, selection)
    warnings: list[AnyWarning] = [
        *([] if constant else [each for each in unsure if not (clock.are_seen and isinstance(each, NoVariation))]),
        *missing(sample, selection),
        *own.warnings,
        *found.warnings,
        *of_short(measured),
        *clock.warnings(is_open=found.layout.answer == "cannot tell"),
    ]
    nodes = sample_nodes(own, confidence)
    return Analysis(
        system=sample.system,
        benchmark=sample.benchmark,
        instrument=sample.instrument,
        metric=sample.metric,
        unit=sample.unit,
        is_primary=sample.is_primary,
        n_binaries=sample.n_binaries,
        n_executions=sample.n_executions,
        n_iterations=sum(len(iterations) for _, executions in sample.binaries for iterations in executions),
        mean=clock.of_mean(interval),
        levels=levels,
        collapsed=collapsed,
        binary_means=tuple(zip((name for name, _ in sample.binaries), means, strict=True)),
        layout=found.layout.spread,
        stock=controls["stock"],
        identity=controls["identity"],
        findings=found,
        warnings=tuple(dict.fromkeys(warnings)),
        nodes=nodes,
        node_level=_node_level(nodes, interval.centre),
        one_layout=sample.one_layout,
        better=sample.better,
    )


def _of_two_machines(found: Findings, sample: Sample, selection: Selection) -> Findings:
    """The findings where what executions were started with changed half way.

    Groups may be that, and where it is code so may be all that varies.
    """
    unlike = [
        each
        for each in selection.warnings
        if isinstance(each, StartFilesWarning) and concerns(each, sample.benchmark, sample.instrument, (sample.system,))
    ]
    if unlike:
        shape = replace(found.shape, of_machine=True)
        found = replace(found, shape=shape, median=found.median if shape.is_odd else None)
    if found.layout.answer is not None and any(isinstance(each, UnlikeCode) for each in unlike):
        found = replace(found, layout=replace(found.layout, answer="cannot tell"))
    return found


def _levels(data: Any, names: tuple[str, ...]) -> tuple[LevelVariance, ...]:
    """The variance of each level, highest first."""
    components = variance_components(data)
    rows = zip(
        names,
        reversed(components.counts),
        reversed(components.biased),
        reversed(components.unbiased),
        reversed(components.relative_sd),
        strict=True,
    )
    return tuple(LevelVariance(*row) for row in rows)


def _node_level(nodes: SampleNodes | None, mean: float) -> LevelVariance | None:
    """Nodes as a level: what chance adds to the differences between them is taken off."""
    if nodes is None or nodes.effects is None:
        return None
    sd = nodes.effects.between_sd * (abs(mean) if nodes.effects.scale == "log" else 1.0)
    return LevelVariance("node", len(nodes.nodes), None, sd * sd, _relative_sd(sd * sd, mean))


def _control(
    sample: Freed, name: LayoutName, means: Sequence[float], confidence: float, *, at_random: bool
) -> Control | None:
    executions = sample.sample.controls.get(name)
    if not executions:
        return None
    own = [fmean(iterations) for iterations in executions]
    mean = fmean(own)
    variance = _variance(own) if sample.has_noise(name) else None
    below = sum(value < mean for value in means) + sum(value == mean for value in means) / 2
    shift, warnings = control_shift(sample, name, confidence, at_random=at_random)
    return Control(
        n_executions=len(own),
        mean=mean,
        sd=None if variance is None else math.sqrt(variance),
        percentile=100 * below / len(means),
        shift=shift,
        warnings=tuple(warnings),
    )


def missing(sample: Sample, selection: Selection) -> list[AnyWarning]:
    """Warnings about seeds that should be in the sample and are not: their absence may bias it."""
    of_sample = (sample.system, sample.benchmark, sample.instrument)
    lost = [e for e in selection.failures if (e.system, e.benchmark, e.instrument) == of_sample]
    seeds = sorted({e.layout for e in lost if isinstance(e.layout, int)} - {seed for seed, _ in sample.binaries})
    warnings: list[AnyWarning] = []
    if lost:
        warnings.append(FailedExecutions(len(lost), tuple(seeds), is_ours=selection.by_run and not selection.sources))
    unbuilt = sorted({f.layout for f in selection.build_failures if f.system == sample.system}, key=str)
    if unbuilt:
        warnings.append(FailedBuilds(tuple(unbuilt)))
    return warnings


def _variance(values: Sequence[float]) -> float | None:
    """Sample variance; exactly 0 for constant values, None for fewer than two."""
    if len(values) < 2:
        return None
    if min(values) == max(values):
        return 0.0
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _relative_sd(variance: float, mean: float) -> float | None:
    return None if mean == 0 else math.sqrt(max(variance, 0.0)) / abs(mean)


def _failure_lines(selection: Selection) -> list[str]:
    """One line for each cause, with the first that had it: what was not built, then what failed."""
    unbuilt, failed = defaultdict(list), defaultdict(list)
    for failure in selection.build_failures:
        unbuilt[failure.system, failure.error].append(failure)
    for execution in selection.failures:
        key = execution.system, execution.benchmark, execution.status, without_last_words(execution.reason)
        failed[key].append(execution)
    lines = [
        f"  - {system}: {len(several)} layout{'s' * (len(several) > 1)} could not be built: {error}"
        for (system, error), several in unbuilt.items()
    ]
    for first, *more in failed.values():
        log = f"; log {first.log}" if first.log else ""
        alike = f" (and {len(more)} more like this)" if more else ""
        place = f"{first.system}, {first.benchmark}, {first.layout}"
        lines.append(f"  - {place}: {first.status}: {first.reason}{log}{alike}")
    return lines[:10] + ([f"  ... and {len(lines) - 10} more"] if len(lines) > 10 else [])
