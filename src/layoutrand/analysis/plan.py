"""`layoutrand plan`: from a pilot to repetition counts, for each benchmark.

The executions recorded so far are the pilot.  They tell how much each level varies and what it costs; from these
follow the optimal counts below the binaries (Kalibera and Jones, TR 4-12, section 6) and the number of binaries for a
wanted precision, and to decide between two systems.

A pilot's variances are estimates.  Executions below a binary are therefore counted by the upper limit of what binaries
differ (a pilot of few may show no difference at all), and each number of binaries is a range: of the estimate, and of
its upper limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from layoutrand.analysis.analyse import collapse
from layoutrand.analysis.analysis_warnings import CountsExecutions, NothingToFind
from layoutrand.analysis.blocking import Freed, freed
from layoutrand.analysis.coarse_clock import clock_of
from layoutrand.analysis.layout_part import execution_noise, has_rounds
from layoutrand.analysis.layouts_alone import fewest_without_noise
from layoutrand.analysis.machine import machine_finding, machine_states, quantity_of
from layoutrand.analysis.pilot import Pilot, combined, costs_of, executions_of, pilot_of
from layoutrand.analysis.plan_warnings import FewDistinctLayouts, NoiseOfControls
from layoutrand.analysis.planned_pair import PlannedPair, planned_pair
from layoutrand.analysis.same_program import same_program
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.analysis.short_executions import of_short
from layoutrand.errors import AnalysisError
from layoutrand.execute.cases import processes
from layoutrand.instruments.known import simulated
from layoutrand.model import IDENTITY, STOCK
from layoutrand.stats import (
    ControlNoise,
    CountRange,
    binaries_for_half_width,
    binaries_to_decide,
    optimal_counts,
    plan,
)
from layoutrand.stats.advice import IdleTop
from layoutrand.stats.decision import usual_difference
from layoutrand.warning import AnyWarning

USUAL_HALF_WIDTH: Final = 0.01
HALF_WIDTHS: Final = (0.005, USUAL_HALF_WIDTH, 0.02)
_FEWEST_DEGREES: Final = 2
"""Of freedom, that the noise of controls must have."""


@dataclass(frozen=True)
class PlannedCount:
    """Numbers of binaries, and the seconds that they take (of both systems, in a comparison).

    The first number is enough if binaries differ as much as in the pilot, the second one for 80 % of such pilots; None
    where not even 100,000 would do, and its time is infinite.
    """

    binaries: tuple[int | None, int | None]
    seconds: tuple[float, float]


_NO_NUMBER: Final = PlannedCount((None, None), (math.inf, math.inf))
"""Where steps of the clock leave open what is asked for."""


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
    would take at least without any noise, 0 where that is not known.
    """

    baseline: str
    is_paired: bool
    threshold: float
    difference: float
    same: PlannedCount
    different: PlannedCount
    is_decided: bool = False
    fewest_without_noise: int = 0


@dataclass(frozen=True)
class PlanAim:
    """What plans are made for: relative half-widths, and a comparison's threshold and true difference.

    ``difference`` is above ``threshold``; ``at_random`` is as for `round_design`.
    """

    half_widths: tuple[float, ...]
    threshold: float
    difference: float
    confidence: float
    at_random: bool = False


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
    firsts: dict[tuple[str, str, str], _Measured] = {}
    states = machine_states([sample for sample in selection.samples if sample.is_primary])
    plans = []
    for sample in samples:
        own = _measured(sample, selection, link_s, wanted)
        baseline = firsts.setdefault((sample.benchmark, sample.instrument, sample.metric), own)
        is_compared = any(_alike(sample, other) for other in samples)
        made = _plan(own, None if baseline is own else baseline, wanted, is_baseline=is_compared)
        if baseline is not own and (same := _nothing_to_find(selection, baseline.own.sample, sample)) is not None:
            made = replace(made, for_ratio=None, warnings=(same, *made.warnings))
        machine = machine_finding(sample, states[quantity_of(sample)], has_groups=False, by_round=has_rounds(own.own))
        # A plan supposes that executions scatter by chance: where the machine changes, more of them do not help.
        few = _few_layouts(made, (n_distinct or {}).get(sample.system))
        warnings = (*few, *machine.warnings, *made.warnings)
        plans.append(replace(made, warnings=warnings, is_machine=machine.instead_of_layout))
    return plans


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


@dataclass(frozen=True)
class _Measured:
    """One sample as a pilot: its levels (highest first), what it tells, and what one more of each level costs.

    ``components`` are the unbiased variances and ``costs`` the seconds, level 1 first; ``lower`` are the counts below
    the binaries that are planned.  ``controls_s`` are the seconds of controls for each execution of a binary.
    ``half`` is what steps of the clock leave open of the mean, as a share of it: no number of anything averages it out.
    """

    own: Freed
    levels: tuple[str, ...]
    components: tuple[float, ...]
    pilot: Pilot
    costs: tuple[float, ...]
    lower: tuple[int, ...]
    mean: float
    warnings: tuple[AnyWarning, ...]
    controls_s: float
    half: float

    @property
    def seconds(self) -> float:
        """For one binary more, with the executions and iterations planned, and the controls executed beside these."""
        cost = 0.0
        executions = self.lower[-1] if "execution" in self.levels else 1
        for own, count in zip(self.costs, (*self.lower, 1), strict=True):
            cost = (cost + own) * count
        return cost + executions * self.controls_s


def _measured(measured: Sample, selection: Selection, link_s: Mapping[str, float], wanted: PlanAim) -> _Measured:
    own = freed(measured)  # no count of binaries or executions makes up for a slow node
    sample = own.sample
    executions = executions_of(sample, selection)
    data, levels = collapse([runs for _, runs in sample.binaries])
    costs = costs_of(sample, executions, link_s, levels)
    mean = fmean(value for _, runs in sample.binaries for run in runs for value in run)
    found = plan(data, [costs[level] for level in reversed(levels)], confidence=wanted.confidence)
    components = found.unbiased
    # That binaries seem not to differ is no reason for executions alone: their number goes by what binaries may differ.
    warnings: list[AnyWarning] = [each for each in found.warnings if not isinstance(each, IdleTop)]
    noise = None
    if sample.one_layout:
        warnings.append(CountsExecutions())
    elif levels == ("binary",) and (noise := _noise_of_controls(own)) is not None:
        # One execution per binary cannot tell layout from noise; those of a control, which vary by noise alone, can.
        levels = ("binary", "execution")
        costs = costs_of(sample, executions, link_s, levels)
        components = (noise.variance, max(0.0, components[0] - noise.variance))
        warnings = [NoiseOfControls(tuple(name for name in (STOCK, IDENTITY) if sample.controls.get(name)))]
    clock = clock_of(measured, selection)
    warnings += [*of_short(sample), *clock.against(wanted.threshold)]
    pilot = pilot_of(own, data, mean, noise)
    cost_list = tuple(costs[level] for level in reversed(levels))
    lower = optimal_counts((*components[:-1], pilot.upper_of_binaries() * mean**2), cost_list)
    beside = sum(map(len, sample.controls.values())) / max(1, sample.n_executions)
    controls_s = beside * fmean(execution.wall_s for execution in executions)
    return _Measured(
        own, levels, components, pilot, cost_list, lower, mean, tuple(warnings), controls_s, clock.halves[0]
    )


def _plan(measured: _Measured, baseline: _Measured | None, wanted: PlanAim, *, is_baseline: bool) -> BenchmarkPlan:
    sample, mean = measured.own.sample, measured.mean
    called = {"binary": "execution"} if sample.one_layout else {}
    names = tuple(called.get(level, level) for level in measured.levels)
    return BenchmarkPlan(
        system=sample.system,
        benchmark=sample.benchmark,
        metric=sample.metric,
        n_binaries=sample.n_binaries,
        mean=mean,
        levels=names,
        relative_sds={
            name: math.sqrt(max(0.0, component)) / abs(mean)
            for name, component in zip(names, reversed(measured.components), strict=True)
        },
        costs_s=dict(zip(names, reversed(measured.costs), strict=True)),
        counts=dict(zip(reversed(names[1:]), measured.lower, strict=True)),
        repetitions={
            name: level.repetitions for name, level in zip(reversed(names[1:]), measured.pilot.below, strict=True)
        },
        for_mean=tuple(
            WidthForecast(width, _for_width(measured, width, wanted.confidence)) for width in wanted.half_widths
        ),
        for_ratio=None if baseline is None and is_baseline else _for_ratio(measured, baseline, wanted),
        warnings=measured.warnings,
        n_executions=sample.n_executions,
        n_iterations=sum(len(run) for _, runs in sample.binaries for run in runs),
        is_simulated=sample.instrument in simulated(),
    )


def _for_width(measured: _Measured, width: float, confidence: float) -> PlannedCount:
    """For a mean of this half-width, steps of the clock and all."""
    estimate, upper = map(math.sqrt, measured.pilot.variance(measured.lower))
    left = width - measured.half
    if left <= 0:
        return _NO_NUMBER
    found = binaries_for_half_width(estimate, upper, half_width=left, confidence=confidence)
    return _with_time(found, measured.seconds)


def _for_ratio(measured: _Measured, baseline: _Measured | None, wanted: PlanAim) -> RatioForecast:
    """Against the baseline, in pairs where all seeds are common, as the comparison then is; or of two alike."""
    other = baseline or measured
    both = None
    if baseline is not None:
        both = planned_pair(baseline.own, measured.own, wanted.threshold, wanted.confidence, at_random=wanted.at_random)
    if baseline is None or both is None:
        # Two of the same pilot are one variance twice: as uncertain as it is, not less.
        estimate, upper = (math.sqrt(2 * each) for each in measured.pilot.variance(measured.lower))
    else:
        pilots = [(each.pilot, each.lower) for each in (baseline, measured)]
        estimate, upper = map(math.sqrt, combined([(both.spread.sd**2, both.spread.degrees)], pilots))
    seconds = other.seconds + measured.seconds
    # What steps of the clocks leave open brings the threshold nearer to what is truly the same, and to what differs.
    room = other.half + measured.half

    def enough(true: float, threshold: float) -> PlannedCount:
        if room and (threshold <= 0 or wanted.threshold < true <= threshold):
            return _NO_NUMBER
        found = binaries_to_decide(estimate, upper, threshold=threshold, difference=true, confidence=wanted.confidence)
        return _with_time(found, seconds)

    different, same = enough(wanted.difference, wanted.threshold + room), enough(0.0, wanted.threshold - room)
    return RatioForecast(
        baseline="" if baseline is None else baseline.own.sample.system,
        is_paired=both is not None and both.primary == "paired",
        threshold=wanted.threshold,
        difference=wanted.difference,
        different=different,
        same=same,
        is_decided=both is not None and both.is_decided,
        fewest_without_noise=0 if room or both is None else _without_noise(both, (different, same), estimate),
    )


def _without_noise(both: PlannedPair, counts: Sequence[PlannedCount], sd: float) -> int:
    """What `RatioForecast` has of that, of counts that rest on this standard deviation of the ratio's logarithm."""
    if both.is_decided or not sd:
        return 0
    fewest = [each.binaries[0] for each in counts]
    most = None if None in fewest else max(count for count in fewest if count is not None)
    return fewest_without_noise(most, both.pair, both.primary, sd) or 0


def _with_time(found: CountRange, seconds: float) -> PlannedCount:
    low, high = (math.inf if count is None else count * seconds for count in (found.low, found.high))
    return PlannedCount((found.low, found.high), (low, high))


def _noise_of_controls(own: Freed) -> ControlNoise | None:
    """That which `analyse` tells, where it is known well enough to be planned by."""
    found = execution_noise(own)
    return found if found is not None and found.degrees >= _FEWEST_DEGREES else None
