"""`layoutrand compare`: candidate over baseline, for each benchmark and for the suite, with intervals and verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from layoutrand.analysis.analyse import choose_metrics, measurements, missing
from layoutrand.analysis.coarse_clock import NO_STEPS, ClockSteps
from layoutrand.analysis.compared_suite import SuiteRatio, compared_suite
from layoutrand.analysis.default_builds import AsBuilt, SinglePairs, as_built, new_pair, single_pairs
from layoutrand.analysis.display_names import DisplayNames
from layoutrand.analysis.evidence import Evidence, evidence
from layoutrand.analysis.forecasting import to_decide
from layoutrand.analysis.layouts_alone import fewest_without_noise
from layoutrand.analysis.machine import of_both
from layoutrand.analysis.median_ratio import MedianRatio, median_ratio
from layoutrand.analysis.node_table import NodeTable, node_table
from layoutrand.analysis.primary_ratio import Looks, both_ratios, of_design, sureness_of
from layoutrand.analysis.ratio_findings import could_miss, of_quotient, of_ratios, reasons_to_doubt
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.same_program import SameProgram, same_program
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.sample_pair import SamplePair, sample_pair
from layoutrand.analysis.selection import Selection, Source
from layoutrand.analysis.short_executions import of_short
from layoutrand.analysis.sureness import Sureness, stands, together
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.execution_warnings import disturbed_of
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError
from layoutrand.execute.unlike_outputs import systems_print_other
from layoutrand.model import BuildFailure, Execution
from layoutrand.stats import (
    FiveNumberSummary,
    Forecast,
    Interval,
    Pairing,
    StatsWarning,
    decide,
    mean_interval,
    pairing,
    single_binary_ratios,
)
from layoutrand.stats.advice import Single
from layoutrand.stats.decision import Verdict
from layoutrand.warning import AnyWarning, plural, sentences_of

UNDECIDED: Final = "undecided"
Counted = Literal["binaries", "executions"]


@dataclass(frozen=True)
class BenchmarkRatio:
    """One benchmark, or one further metric of it; below 1 the candidate is faster, unless more of it is ``better``.

    ``ratio`` is the one that verdict, p-values and forecast rest on.  Which that is, the design of the experiment alone
    decides: ``primary`` is "paired", over the complete rounds (paired-log-t), or "unpaired" (fieller-welch); None where
    it is not defined.  ``paired`` and ``unpaired`` are both, with their verdicts; None where impossible.
    ``n_pairs`` are the rounds that both systems have; ``variance_reduction`` is the share of the variance of the
    log-ratio that pairing takes away, ``correlation`` that of the systems' means by round.

    ``n_baseline`` and ``n_candidate`` count the binaries behind ``ratio``, or executions of a system that has
    ``one_layout`` alone; ``n_executions`` is how many executions each has.  These two are of baseline and candidate, in
    this order; ``executions_now`` is as of `Selection`.  ``sureness`` holds p-values and the verdict that stands beside
    all others; ``measured_pairs`` sums up the ratios of all binaries of one to all of the other, ``new_pair`` is the
    range of one more pair, ``single_pairs`` how many contradict the verdict, ``as_built`` what the default builds say;
    ``could_miss`` is the largest share of layouts that these may well have none of; ``median`` is the second statement
    where ratios have groups, far values or a long tail; ``forecast`` says how many binaries would decide what is
    undecided, and ``fewest_without_noise`` how many it would take at least if nothing but layout made times differ.
    None where the data cannot tell.
    ``clock`` are the steps of the clock that ``ratio`` has room for.
    ``same_program`` says why the two are one program, None where they are not known to be: `analysis/conclusion.py`
    then concludes nothing else.

    On several nodes what these add to both systems is taken out of everything that is not paired; both systems of a
    round are executed on one node, and rounds of which that is not so are not in the pairs.
    """

    benchmark: str
    instrument: str
    metric: str
    unit: str
    ratio: Interval | None
    verdict: Verdict
    n_baseline: int
    n_candidate: int
    baseline_mean: float
    candidate_mean: float
    paired: Interval | None
    n_pairs: int
    correlation: float | None
    variance_reduction: float | None
    warnings: tuple[AnyWarning, ...]
    better: Better = "less"
    one_layout: tuple[bool, bool] = (False, False)
    n_executions: tuple[int, int] = (0, 0)
    executions_now: int | None = None
    sureness: Sureness | None = None
    measured_pairs: FiveNumberSummary | None = None
    forecast: Forecast | None = None
    paired_verdict: Verdict | None = None
    same_program: SameProgram | None = None
    primary: Primary = "unpaired"
    unpaired: Interval | None = None
    unpaired_verdict: Verdict | None = None
    new_pair: Interval | None = None
    single_pairs: SinglePairs | None = None
    as_built: AsBuilt | None = None
    could_miss: float | None = None
    median: MedianRatio | None = None
    clock: ClockSteps = NO_STEPS
    may_simulate: bool = True
    fewest_without_noise: int | None = None

    @property
    def counted(self) -> tuple[Counted, Counted]:
        """What ``n_baseline`` and ``n_candidate`` count."""
        baseline, candidate = self.one_layout
        return "executions" if baseline else "binaries", "executions" if candidate else "binaries"


@dataclass(frozen=True)
class Comparison:
    """Two systems; ``only_baseline`` and ``only_candidate`` name benchmarks that one system alone has results of."""

    baseline: str
    candidate: str
    confidence: float
    threshold: float
    benchmarks: tuple[BenchmarkRatio, ...]
    suite: SuiteRatio | None
    only_baseline: tuple[str, ...]
    only_candidate: tuple[str, ...]
    failures: tuple[Execution, ...]
    build_failures: tuple[BuildFailure, ...]
    warnings: tuple[AnyWarning, ...]
    disturbed: tuple[Disturbed, ...] = ()
    sources: tuple[Source, ...] = ()
    evidence: Evidence | None = None
    nodes: NodeTable | None = None
    names: DisplayNames = field(default_factory=DisplayNames)


def compare(
    selection: Selection,
    baseline: str,
    candidate: str,
    *,
    confidence: float,
    threshold: float,
    metric: str | None,
    looks: Looks = "once",
) -> Comparison:
    """Compare ``candidate`` with ``baseline`` by each benchmark's primary metric, or by ``metric``.

    ``threshold`` is a fraction: within 1 +- threshold two systems count as equivalent.  Where ``looks`` are taken after
    every round, intervals and p-values hold at all of them; there is no suite then, whose benchmarks have different
    numbers of rounds.  Raises `AnalysisError`
    where the two have no benchmark in common.
    """
    chosen = [
        sample
        for sample in choose_metrics(selection, [metric] if metric else [])
        if sample.binaries and (metric or sample.is_primary)
    ]
    old = {_name(sample): sample for sample in chosen if sample.system == baseline}
    new = {_name(sample): sample for sample in chosen if sample.system == candidate}
    common = [name for name in old if name in new]
    if not common:
        raise AnalysisError(_nothing_common(baseline, candidate, old, new, selection, metric))
    pairs = [sample_pair(old[name], new[name], at_random=selection.at_random) for name in common]
    told = evidence(selection, {baseline, candidate})
    ratios = [_ratio(pair, selection, confidence, threshold, looks, of_others=told.of_others) for pair in pairs]
    instruments = {instrument for _, instrument, _ in common}
    suite, suite_warnings = (
        compared_suite(
            pairs,
            ratios[0].ratio,
            [each.clock for each in ratios],
            confidence,
            threshold,
            of_others=told.of_others,
        )
        if looks == "once"
        else (None, [])
    )
    nodes = node_table(selection, confidence, {baseline, candidate})
    disturbed = selection.disturbed(instruments, {baseline, candidate})
    of_all = disturbed_of(selection.warnings_for(instruments), disturbed)
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        confidence=confidence,
        threshold=threshold,
        benchmarks=adjusted(ratios, confidence),
        suite=suite,
        only_baseline=tuple(dict.fromkeys(name[0] for name in old if name not in new)),
        only_candidate=tuple(dict.fromkeys(name[0] for name in new if name not in old)),
        failures=tuple(e for e in selection.failures if e.system in {baseline, candidate}),
        build_failures=tuple(f for f in selection.build_failures if f.system in {baseline, candidate}),
        warnings=(*of_all, *suite_warnings, *(nodes.warnings if nodes else ())),
        disturbed=disturbed,
        sources=selection.sources,
        names=selection.names,
        evidence=told,
        nodes=nodes,
    )


def adjusted(
    pairs: Sequence[BenchmarkRatio], confidence: float, *, family: Sequence[BenchmarkRatio] = ()
) -> tuple[BenchmarkRatio, ...]:
    """The same benchmarks with p-values and verdicts adjusted to how many are judged at once.

    ``family`` are all that are, where they are more than ``pairs``.
    """
    everything = list(family or pairs)
    found = together([each.sureness for each in everything])
    by_identity = {id(each): sure for each, sure in zip(everything, found, strict=True)}
    judged = []
    for each in pairs:
        sure = by_identity[id(each)]
        if sure is not None:
            sure = replace(sure, verdict=each.verdict if stands(sure, confidence) else UNDECIDED)
        judged.append(replace(each, sureness=sure))
    return tuple(judged)


def compare_several(
    selection: Selection,
    baseline: str,
    candidates: Sequence[str],
    *,
    confidence: float,
    threshold: float,
    metric: str | None,
) -> list[Comparison]:
    """Every candidate against the baseline; all verdicts are one family, since any of them may be quoted."""
    found = [
        compare(selection, baseline, name, confidence=confidence, threshold=threshold, metric=metric)
        for name in candidates
    ]
    family = [pair for each in found for pair in each.benchmarks]
    return [replace(each, benchmarks=adjusted(each.benchmarks, confidence, family=family)) for each in found]


def _name(sample: Sample) -> tuple[str, str, str]:
    return sample.benchmark, sample.instrument, sample.metric


def _ratio(
    pair: SamplePair, selection: Selection, confidence: float, threshold: float, looks: Looks, *, of_others: bool
) -> BenchmarkRatio:
    baseline, candidate = pair.samples
    warnings: list[AnyWarning] = [*missing(pair.measured[0], selection), *missing(pair.measured[1], selection)]
    both = both_ratios(pair, confidence, looks)
    shape = [] if both.clock.are_seen else of_ratios(pair)  # steps of a clock lie in groups, and far from each other
    warnings += [*pair.free[0].warnings, *pair.free[1].warnings, *of_design(pair, of_others=of_others), *shape]
    primary, ratio, reasons = both.primary(pair)
    by_round, in_turns = primary == "paired", not pair.design.cannot_tell
    warnings += [*of_short(*pair.measured), *reasons, *of_both(pair.measured, by_round=by_round, in_turns=in_turns)]
    verdict: Verdict = UNDECIDED
    old, new = pair.data(0), pair.data(1)
    mean_old, mean_new = (mean_interval(side, confidence=confidence).centre for side in (old, new))
    if ratio is not None:
        warnings += of_quotient(primary, ratio, mean_new / mean_old if mean_old else math.inf)
        told = reasons_to_doubt(ratio.warnings, {baseline.instrument}, is_told=both.clock.are_seen)
        warnings += _of_what_is_counted(told, baseline, candidate)
        verdict = UNDECIDED if pair.design.cannot_tell else decide(ratio, threshold, better=baseline.better)
        at_best = decide(both.clock.at_best(ratio), threshold, better=baseline.better)
        warnings += both.clock.warnings(is_open=verdict == at_best == UNDECIDED)
    systems = baseline.system, candidate.system
    warnings += systems_print_other(selection.printed, baseline.benchmark, baseline.instrument, systems)
    won = _paired(pair.free_by_round, confidence)
    ahead = None if verdict != UNDECIDED or both.clock.are_seen else _forecast(pair, primary, ratio, threshold)
    return BenchmarkRatio(
        benchmark=baseline.benchmark,
        instrument=baseline.instrument,
        metric=baseline.metric,
        unit=baseline.unit,
        ratio=ratio,
        verdict=verdict,
        n_baseline=len(baseline.binaries),
        n_candidate=len(candidate.binaries),
        baseline_mean=mean_old,
        candidate_mean=mean_new,
        paired=both.paired,
        n_pairs=len(pair.design.pairs),
        correlation=won.correlation.centre if won else None,
        variance_reduction=won.variance_reduction if won else None,
        warnings=tuple(dict.fromkeys(warnings)),
        better=baseline.better,
        one_layout=(baseline.one_layout, candidate.one_layout),
        n_executions=(baseline.n_executions, candidate.n_executions),
        executions_now=selection.executions_now,
        sureness=None
        if ratio is None or pair.design.cannot_tell
        else sureness_of(pair, primary, threshold, looks, centre=ratio.centre, clock=both.clock),
        measured_pairs=_measured_pairs(old, new),
        forecast=ahead,
        fewest_without_noise=None
        if ahead is None or ahead.warnings
        else fewest_without_noise(ahead.fewest, pair, primary),
        paired_verdict=None if both.paired is None else decide(both.paired, threshold, better=baseline.better),
        primary=primary,
        may_simulate=baseline.may_simulate,
        unpaired=both.unpaired,
        unpaired_verdict=None if both.unpaired is None else decide(both.unpaired, threshold, better=baseline.better),
        new_pair=None if both.clock.are_seen else new_pair(pair, confidence),
        single_pairs=None if ratio is None else single_pairs(pair, ratio, verdict, threshold),
        could_miss=could_miss(pair, confidence),
        median=None if ratio is None or looks != "once" else median_ratio(pair, primary, shape, confidence, threshold),
        as_built=as_built(pair, confidence, threshold, at_random=selection.at_random),
        same_program=same_program(selection, baseline.benchmark, baseline.system, candidate.system),
        clock=both.clock,
    )


def _forecast(pair: SamplePair, primary: Primary, ratio: Interval | None, threshold: float) -> Forecast | None:
    """None where more binaries would not help."""
    if ratio is None or pair.design.cannot_tell:
        return None
    return to_decide(ratio, pair, primary, threshold)


def _of_what_is_counted(warnings: Sequence[StatsWarning], baseline: Sample, candidate: Sample) -> list[StatsWarning]:
    """The warnings of a ratio, of executions where they are about a system that has one layout alone."""
    fixed = {"baseline": baseline.one_layout, "candidate": candidate.one_layout}
    found = [each.in_executions() if all(fixed[side] for side in each.sides or fixed) else each for each in warnings]
    single = [each for each in found if isinstance(each, Single)]
    if len({each.counted for each in single}) == 1:  # of both systems: told once
        both = replace(single[0], of=tuple(of for each in single for of in each.of))
        return [both, *(each for each in found if each not in single)]
    return found


def _measured_pairs(old: Any, new: Any) -> FiveNumberSummary | None:
    try:
        return single_binary_ratios(old, new)
    except AnalysisError:  # a mean not above 0: there is no ratio of these two binaries
        return None


def _paired(samples: tuple[Sample, Sample], confidence: float) -> Pairing | None:
    """What pairing wins over complete rounds, where there are at least two and all means are above 0."""
    if len(samples[0].binaries) < 2:
        return None
    try:
        return pairing(*map(measurements, samples), confidence=confidence)
    except AnalysisError:  # a mean of 0 has no logarithm: there is nothing to pair, and the ratio itself says so
        return None


_ONE_NAME: Final = " Give it one name in the files of both, as by `hyperfine --command-name NAME`."


def _nothing_common(
    baseline: str,
    candidate: str,
    old: dict[tuple[str, str, str], Sample],
    new: dict[tuple[str, str, str], Sample],
    selection: Selection,
    metric: str | None,
) -> str:
    def listed(samples: dict[tuple[str, str, str], Sample]) -> str:
        return ", ".join(dict.fromkeys(name[0] for name in samples)) or "none"

    of_metric = f" that measured {metric}" if metric else ""
    # What could not be built is executed by no further `run`, and the reason says what to change.
    unbuilt = [failure for failure in selection.build_failures if failure.system in {baseline, candidate}]
    execute = "" if unbuilt else " Execute both with `layoutrand run`."
    lines = [
        f"{baseline} and {candidate} have no benchmark in common with successful executions of seeds{of_metric}.",
        f"{baseline} has {listed(old)}; {candidate} has {listed(new)}."
        + (execute if not selection.sources else _ONE_NAME if old and new else ""),
    ]
    if unbuilt:
        lines.append(f"{plural(len(unbuilt))} could not be built, the first: {unbuilt[0].error}")
    lines += sentences_of(selection.warnings)
    if selection.failures:
        first = selection.failures[0]
        log = f" (log {first.log})" if first.log else ""
        lines.append(f"{plural(len(selection.failures), 'execution')} failed, the first: {first.reason}{log}")
    return "\n".join(lines)
