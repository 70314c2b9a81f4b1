"""`layoutrand plan`: from a pilot to repetition counts, for each benchmark.

The executions recorded so far are the pilot.  They tell how much each level varies and what it costs; from these
follow the optimal counts below the binaries (Kalibera and Jones, TR 4-12, section 6) and the number of binaries for a
wanted precision, and to decide between two systems.

A pilot's variances are estimates.  Executions below a binary are therefore counted by the upper limit of what binaries
differ (a pilot of few may show no difference at all), and each number of binaries is a range: of the estimate, and of
its upper limit.  Where other executions of each binary than there are would save next to nothing, it is planned with
those that there are, so that `plan`, `compare` and `analyse` name one number for one question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from layoutrand.analysis.analysis_warnings import NothingToFind
from layoutrand.analysis.layout_part import has_rounds
from layoutrand.analysis.layouts_alone import fewest_without_noise
from layoutrand.analysis.machine import machine_finding, machine_states, quantity_of
from layoutrand.analysis.pilot_sample import PilotSample, pilot_sample
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.analysis.planned_counts import NO_NUMBER, PlanAim, PlannedCount, PlanQuestion, saves, with_time
from layoutrand.analysis.planned_pair import PlannedPair, planned_pair
from layoutrand.analysis.same_program import same_program
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.errors import AnalysisError
from layoutrand.execute.cases import processes
from layoutrand.instruments.known import simulated
from layoutrand.stats import binaries_for_half_width, binaries_to_reach
from layoutrand.stats.decision import usual_difference
from layoutrand.warning import AnyWarning

USUAL_HALF_WIDTH: Final = 0.01
HALF_WIDTHS: Final = (0.005, USUAL_HALF_WIDTH, 0.02)


@dataclass(frozen=True)
class WidthForecast:
    """Binaries that give ``half_width`` (relative to the mean) or less in 80 % of experiments."""

    half_width: float
    count: PlannedCount


@dataclass(frozen=True)
class RatioForecast:
    """Binaries of each of two systems that decide between them in 80 % of experiments.

    ``different`` are for a true ``difference``, ``same`` for systems that are the same within ``threshold`` and truly
    alike.  ``baseline`` is the other system of the results, whose binaries are pairs with these where it ``is_paired``;
    "" where the results have none, and two systems like this one are taken.  ``is_decided`` says that the results
    decide already, as `compare` tells of them with this threshold.  ``fewest_without_noise`` are the binaries that it
    would take at least without any noise, 0 where that is not known.  ``as_executed`` is the larger number where each
    binary is executed as often as in the results, which `compare` counts with; None where this plan does, too.
    """

    baseline: str
    is_paired: bool
    threshold: float
    difference: float
    same: PlannedCount
    different: PlannedCount
    is_decided: bool = False
    fewest_without_noise: int = 0
    as_executed: PlannedCount | None = None


@dataclass(frozen=True)
class BenchmarkPlan:
    """The plan for one benchmark of one system.

    ``levels`` are those that the pilot (or stock) shows, highest first; ``relative_sds``, ``costs_s`` and ``counts``
    go by level name.  ``counts`` holds the levels below the binaries, and ``repetitions`` how many of
    these the pilot has.  ``for_mean`` gives the interval of one system's
    mean, ``for_ratio`` what decides between two; None for the baseline, beside which the other systems stand, and for
    one that is the same program.
    ``is_machine`` says that the machine alternated so much meanwhile that nothing can be told of layouts.
    ``n_executions`` and ``n_iterations`` are those of all ``n_binaries`` together, without warm-up.  ``is_simulated``
    where a simulator counted, which has no noise that could be less.
    """

    system: str
    benchmark: str
    metric: str
    n_binaries: int
    mean: float
    levels: tuple[str, ...]
    relative_sds: Mapping[str, float]
    costs_s: Mapping[str, float]
    counts: Mapping[str, int]
    repetitions: Mapping[str, float]
    for_mean: tuple[WidthForecast, ...]
    for_ratio: RatioForecast | None
    warnings: tuple[AnyWarning, ...]
    is_machine: bool = False
    n_executions: int = 0
    n_iterations: int = 0
    is_simulated: bool = False


def make_plans(
    selection: Selection,
    link_s: Mapping[str, float],
    *,
    half_widths: Sequence[float],
    threshold: float,
    confidence: float,
    difference: float | None = None,
    n_distinct: Mapping[str, int] | None = None,
) -> list[BenchmarkPlan]:
    """A plan for each benchmark's main metric; ``link_s`` maps binaries (SHA-256) to the seconds of their links.

    ``n_distinct`` are the layouts that the program of a system can have at most, of systems where these are few.
    ``difference`` is the true one that a comparison is to find, twice the ``threshold`` by default.  Raises
    `AnalysisError` where no benchmark has been executed with two binaries or more, and for a difference within the
    threshold.
    """
    samples = [sample for sample in selection.samples if sample.is_primary and len(sample.binaries) > 1]
    if not samples:
        failed = f"; {processes(selection.failures)} of {processes(selection.executions)} executions failed"
        raise AnalysisError(
            "a plan needs a pilot with at least 2 binaries per benchmark, better 5 or more: "
            f"`layoutrand run --seeds 5`, then plan again{failed if selection.failures else ''}"
        )
    stated = usual_difference(threshold) if difference is None else difference
    wanted = PlanAim(tuple(half_widths), threshold, stated, confidence, selection.at_random)
    states = machine_states([sample for sample in selection.samples if sample.is_primary])
    plans = []
    for sample, (asked, as_executed) in zip(samples, _as_planned(samples, selection, link_s, wanted), strict=True):
        made = _plan(asked, as_executed, wanted)
        if asked.baseline is not None:
            same = _nothing_to_find(selection, asked.baseline.own.sample, sample)
            made = made if same is None else replace(made, for_ratio=None, warnings=(same, *made.warnings))
        machine = machine_finding(
            sample, states[quantity_of(sample)], has_groups=False, by_round=has_rounds(asked.own.own)
        )
        # A plan supposes that executions scatter by chance: where the machine changes, more of them do not help.
        few = _few_layouts(made, (n_distinct or {}).get(sample.system))
        warnings = (*few, *machine.warnings, *made.warnings)
        plans.append(replace(made, warnings=warnings, is_machine=machine.instead_of_layout))
    return plans


def _as_planned(
    samples: Sequence[Sample], selection: Selection, link_s: Mapping[str, float], wanted: PlanAim
) -> list[tuple[PlanQuestion, PlanQuestion | None]]:
    """What is asked of each sample, with what it is planned; and with what there is, where that is another plan."""
    groups: dict[tuple[str, str, str], list[tuple[int, PlanQuestion]]] = {}
    for place, sample in enumerate(samples):
        own = pilot_sample(sample, selection, link_s, threshold=wanted.threshold, confidence=wanted.confidence)
        group = groups.setdefault((sample.benchmark, sample.instrument, sample.metric), [])
        baseline, both = group[0][1].own if group else None, None
        if baseline is not None:
            both = planned_pair(baseline.own, own.own, wanted.threshold, wanted.confidence, at_random=wanted.at_random)
        is_baseline = not group and any(_alike(sample, other) for other in samples)
        group.append((place, PlanQuestion(own, baseline, both, is_baseline)))
    planned: dict[int, tuple[PlanQuestion, PlanQuestion | None]] = {}
    for group in groups.values():
        best = [each for _, each in group]
        executed = [each.as_executed for each in best]
        is_other = saves(best, executed, wanted)
        for (place, own_best), there in zip(group, executed, strict=True):
            planned[place] = (own_best, there) if is_other else (there, None)
    return [planned[place] for place in range(len(samples))]


def _nothing_to_find(selection: Selection, baseline: Sample, sample: Sample) -> NothingToFind | None:
    """That two systems are one program on a benchmark: a plan to find a difference would be one to find noise."""
    same = same_program(selection, sample.benchmark, baseline.system, sample.system)
    return None if same is None else NothingToFind(baseline.system, str(same))


def _few_layouts(made: BenchmarkPlan, n_distinct: int | None) -> list[FewDistinctLayouts]:
    """That a plan asks for more layouts than there are."""
    ratio = made.for_ratio
    counts = [each.count for each in made.for_mean] + ([] if ratio is None else [ratio.same, ratio.different])
    most = max((math.inf if each.binaries[1] is None else each.binaries[1] for each in counts), default=0)
    return [FewDistinctLayouts(n_distinct)] if n_distinct is not None and n_distinct < most else []


def _alike(sample: Sample, other: Sample) -> bool:
    """Whether these are samples of different systems that would be compared."""
    return sample.system != other.system and (sample.benchmark, sample.instrument, sample.metric) == (
        other.benchmark,
        other.instrument,
        other.metric,
    )


def _plan(asked: PlanQuestion, as_executed: PlanQuestion | None, wanted: PlanAim) -> BenchmarkPlan:
    pilot = asked.own
    sample, mean = pilot.own.sample, pilot.mean
    called = {"binary": "execution"} if sample.one_layout else {}
    names = tuple(called.get(level, level) for level in pilot.levels)
    for_ratio = None
    if not asked.is_baseline:
        for_ratio = _for_ratio(asked, wanted)
        if as_executed is not None:
            for_ratio = replace(for_ratio, as_executed=as_executed.most(wanted))
    return BenchmarkPlan(
        system=sample.system,
        benchmark=sample.benchmark,
        metric=sample.metric,
        n_binaries=sample.n_binaries,
        mean=mean,
        levels=names,
        relative_sds={
            name: math.sqrt(component) for name, component in zip(names, reversed(pilot.pilot.components), strict=True)
        },
        costs_s=dict(zip(names, reversed(pilot.costs), strict=True)),
        counts={name: max(1, round(count)) for name, count in zip(reversed(names[1:]), pilot.lower, strict=True)},
        repetitions={name: each.repetitions for name, each in zip(reversed(names[1:]), pilot.pilot.below, strict=True)},
        for_mean=tuple(
            WidthForecast(width, _for_width(pilot, width, wanted.confidence)) for width in wanted.half_widths
        ),
        for_ratio=for_ratio,
        warnings=pilot.warnings,
        n_executions=sample.n_executions,
        n_iterations=sum(len(run) for _, runs in sample.binaries for run in runs),
        is_simulated=sample.instrument in simulated(),
    )


def _for_width(pilot: PilotSample, width: float, confidence: float) -> PlannedCount:
    """For a mean of this half-width, steps of the clock and all."""
    left = width - pilot.half
    if left <= 0:
        return NO_NUMBER
    # With as many executions as there are, and where all is narrow enough, it is what `analyse` says.
    found = binaries_to_reach(pilot.interval, left, n_binaries=pilot.own.sample.n_binaries)
    is_there = found is not None and found.high == pilot.own.sample.n_binaries
    if found is None or not (is_there or pilot.lower == pilot.as_executed.lower):
        estimate, upper = map(math.sqrt, pilot.pilot.variance(pilot.lower))
        found = binaries_for_half_width(estimate, upper, half_width=left, confidence=confidence)
    return with_time(found, pilot.seconds)


def _for_ratio(asked: PlanQuestion, wanted: PlanAim) -> RatioForecast:
    """Against the baseline, in pairs where all seeds are common, as the comparison then is; or of two alike."""
    baseline, both = asked.baseline, asked.both
    different, same = asked.to_decide(wanted)
    fewest = 0
    if both is not None and not asked.room:
        fewest = _without_noise(both, (different, same), asked.spread[0])
    return RatioForecast(
        baseline="" if baseline is None else baseline.own.sample.system,
        is_paired=both is not None and both.primary == "paired",
        threshold=wanted.threshold,
        difference=wanted.difference,
        different=different,
        same=same,
        is_decided=asked.is_decided,
        fewest_without_noise=fewest,
    )


def _without_noise(both: PlannedPair, counts: Sequence[PlannedCount], sd: float) -> int:
    """What `RatioForecast` has of that, of counts that rest on this standard deviation of the ratio's logarithm."""
    if both.is_decided or not sd:
        return 0
    fewest = [each.binaries[0] for each in counts]
    most = None if None in fewest else max(count for count in fewest if count is not None)
    return fewest_without_noise(most, both.pair, both.primary, sd) or 0
