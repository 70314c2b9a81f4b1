"""`layoutrand compare`: candidate over baseline, for each benchmark and for the suite, with intervals and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from layoutrand.analysis.analyse import choose_metrics, measurements, missing
from layoutrand.analysis.analysis_warnings import (
    APART,
    BenchmarksTakenForIndependent,
    MixedDirections,
    MixedMetrics,
    NoRatio,
    PairedWithout,
    SuiteNotPaired,
)
from layoutrand.analysis.blocking import Freed, apart, freed_together, without
from layoutrand.analysis.evidence import Evidence, evidence
from layoutrand.analysis.forecasting import to_decide
from layoutrand.analysis.node_table import NodeTable, node_table
from layoutrand.analysis.same_program import SameProgram, same_program
from layoutrand.analysis.sample import Executions, Sample
from layoutrand.analysis.selection import Selection, Source
from layoutrand.analysis.sureness import Sureness, stands, sureness, together
from layoutrand.analysis.whole_suite import bootstrap, by_binary, distributions, few_are_common, p_value, paired_suite
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.metric import Better
from layoutrand.errors import AnalysisError
from layoutrand.model import BinaryName, BuildFailure, Execution
from layoutrand.stats import (
    FiveNumberSummary,
    Forecast,
    Interval,
    Pairing,
    StatsWarning,
    decide,
    mean_interval,
    pairing,
    ratio_interval,
    single_binary_ratios,
    suite_ratio,
)
from layoutrand.warning import AnyWarning, sentences_of

UNDECIDED: Final = "undecided"
Verdict = Literal["faster", "slower", "equivalent", "undecided"]
Counted = Literal["binaries", "executions"]


@dataclass(frozen=True)
class BenchmarkRatio:
    """One benchmark, or one further metric of it; below 1 the candidate is faster, unless more of it is ``better``.

    ``ratio`` is the independent (Fieller) one, None where it is not defined; ``paired`` the one paired by seed over
    the ``n_pairs`` seeds that both systems have, None where pairing is impossible; ``variance_reduction`` is the share
    of the variance of the log-ratio that pairing takes away, ``correlation`` that of the systems' means by seed.
    ``n_baseline`` and ``n_candidate`` count binaries, or executions of a system that has ``one_layout`` alone;
    ``n_executions`` is how many executions each has.  These two are of baseline and candidate, in this order.
    ``sureness`` holds p-values and the verdict that stands beside all others; ``one_binary`` sums up the ratios that a
    binary of each would have shown; ``forecast`` says how many binaries would decide what is undecided, None elsewhere;
    ``paired_verdict`` is that of ``paired``.  None where the data cannot tell.  ``same_program`` says why the two are
    one program, None where they are not known to be: `analysis/conclusion.py` then concludes nothing else.

    On several nodes what these add to both systems is taken out of everything but ``paired``, which is free of it as
    both systems of a seed are executed on one node; seeds of which that is not so are not in the pairs.
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
    sureness: Sureness | None = None
    one_binary: FiveNumberSummary | None = None
    forecast: Forecast | None = None
    paired_verdict: Verdict | None = None
    same_program: SameProgram | None = None

    @property
    def counted(self) -> tuple[Counted, Counted]:
        """What ``n_baseline`` and ``n_candidate`` count."""
        baseline, candidate = self.one_layout
        return "executions" if baseline else "binaries", "executions" if candidate else "binaries"


@dataclass(frozen=True)
class SuiteRatio:
    """Geometric mean of the benchmarks' ratios; ``ratio`` is ``paired`` (seed by seed) where systems share seeds.

    ``p_value`` is that of the two-sided randomization test over the binaries.  ``bootstrap`` is the interval by
    hierarchical resampling, in which all benchmarks of a seed are drawn together where seeds are shared.
    ``distributions`` are of the suite mean of baseline and candidate when every benchmark is measured once, in ``unit``
    (Li, Chen and Peng, section V).
    """

    ratio: Interval
    verdict: Verdict
    p_value: float | None
    n_benchmarks: int
    paired: Interval | None
    bootstrap: Interval | None = None
    distributions: tuple[FiveNumberSummary, FiveNumberSummary] | None = None
    unit: str = ""


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


def compare(
    selection: Selection, baseline: str, candidate: str, *, confidence: float, threshold: float, metric: str | None
) -> Comparison:
    """Compare ``candidate`` with ``baseline`` by each benchmark's primary metric, or by ``metric``.

    ``threshold`` is a fraction: within 1 +- threshold two systems count as equivalent.  Raises `AnalysisError`
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
        raise AnalysisError(_nothing_common(baseline, candidate, old, new, selection))
    pairs = [_pair(old[name], new[name]) for name in common]
    instruments = {instrument for _, instrument, _ in common}
    suite, suite_warnings = _suite(pairs, confidence, threshold)
    nodes = node_table(selection, confidence, {baseline, candidate})
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        confidence=confidence,
        threshold=threshold,
        benchmarks=adjusted([_ratio(pair, selection, confidence, threshold) for pair in pairs], confidence),
        suite=suite,
        only_baseline=tuple(dict.fromkeys(name[0] for name in old if name not in new)),
        only_candidate=tuple(dict.fromkeys(name[0] for name in new if name not in old)),
        failures=tuple(e for e in selection.failures if e.system in {baseline, candidate}),
        build_failures=tuple(f for f in selection.build_failures if f.system in {baseline, candidate}),
        warnings=(*selection.warnings_for(instruments), *suite_warnings, *(nodes.warnings if nodes else ())),
        disturbed=selection.disturbed(instruments, {baseline, candidate}),
        sources=selection.sources,
        evidence=evidence(selection, {baseline, candidate}),
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


@dataclass(frozen=True)
class _Pair:
    """Both samples of a benchmark as measured, and with what nodes add taken out of both at once.

    ``apart`` are the seeds that they have on different nodes; ``comparable`` whether they have any nodes in common.
    """

    measured: tuple[Sample, Sample]
    free: tuple[Freed, Freed]
    apart: tuple[BinaryName, ...]
    comparable: bool

    @property
    def samples(self) -> tuple[Sample, Sample]:
        """With what nodes add taken out."""
        return self.free[0].sample, self.free[1].sample

    @property
    def matched(self) -> tuple[Sample, Sample]:
        """As measured, without seeds whose ratio would be partly that of two nodes."""
        return without(self.measured[0], self.apart), without(self.measured[1], self.apart)

    def data(self, side: int) -> Any:
        """Of the baseline (0) or the candidate (1), for `layoutrand.stats`."""
        return self.free[side].charged(measurements(self.samples[side]))


def _pair(old: Sample, new: Sample) -> _Pair:
    (first, second), comparable = freed_together([old, new])
    return _Pair((old, new), (first, second), tuple(apart(old, new)), comparable)


def _ratio(pair: _Pair, selection: Selection, confidence: float, threshold: float) -> BenchmarkRatio:
    baseline, candidate = pair.samples
    warnings: list[AnyWarning] = [*missing(baseline, selection), *missing(candidate, selection)]
    warnings += [*pair.free[0].warnings, *pair.free[1].warnings]
    warnings += [PairedWithout(pair.apart)] if pair.apart else []
    old, new = pair.data(0), pair.data(1)
    ratio: Interval | None = None
    verdict: Verdict = UNDECIDED
    try:
        ratio = _unpaired(pair, confidence)
        verdict = decide(ratio, threshold, better=baseline.better)
        warnings += _of_what_is_counted(ratio.warnings, baseline, candidate)
    except AnalysisError as error:
        warnings.append(NoRatio(str(error)))
    paired, seeds = _by_seed(pair.matched, confidence)
    won = _by_seed((without(baseline, pair.apart), without(candidate, pair.apart)), confidence)[0]
    return BenchmarkRatio(
        benchmark=baseline.benchmark,
        instrument=baseline.instrument,
        metric=baseline.metric,
        unit=baseline.unit,
        ratio=ratio,
        verdict=verdict,
        n_baseline=len(baseline.binaries),
        n_candidate=len(candidate.binaries),
        baseline_mean=mean_interval(old, confidence=confidence).centre,
        candidate_mean=mean_interval(new, confidence=confidence).centre,
        paired=paired.paired if paired else None,
        n_pairs=seeds,
        correlation=won.correlation.centre if won else None,
        variance_reduction=won.variance_reduction if won else None,
        warnings=tuple(dict.fromkeys(warnings)),
        better=baseline.better,
        one_layout=(baseline.one_layout, candidate.one_layout),
        n_executions=(baseline.n_executions, candidate.n_executions),
        sureness=sureness(old, new, threshold) if pair.comparable else None,
        one_binary=_one_binary(old, new),
        forecast=None if ratio is None or verdict != UNDECIDED else to_decide(ratio, old, new, threshold),
        paired_verdict=decide(paired.paired, threshold, better=baseline.better) if paired else None,
        same_program=same_program(selection, baseline.benchmark, baseline.system, candidate.system),
    )


def _of_what_is_counted(warnings: Sequence[StatsWarning], baseline: Sample, candidate: Sample) -> list[StatsWarning]:
    """The warnings of a ratio, of executions where they are about a system that has one layout alone."""
    fixed = {"baseline": baseline.one_layout, "candidate": candidate.one_layout}
    return [each.in_executions() if all(fixed[side] for side in each.sides or fixed) else each for each in warnings]


def _one_binary(old: Any, new: Any) -> FiveNumberSummary | None:
    try:
        return single_binary_ratios(old, new)
    except AnalysisError:  # a mean not above 0: there is no ratio of these two binaries
        return None


def _unpaired(pair: _Pair, confidence: float) -> Interval:
    if not pair.comparable:
        raise AnalysisError(APART)
    return ratio_interval(pair.data(0), pair.data(1), confidence=confidence)


def _by_seed(samples: tuple[Sample, Sample], confidence: float) -> tuple[Pairing | None, int]:
    """The comparison over common seeds, and how many these are."""
    old, new = (dict(sample.binaries) for sample in samples)
    seeds = [seed for seed in old if seed in new]
    return _paired([old[seed] for seed in seeds], [new[seed] for seed in seeds], confidence), len(seeds)


def _paired(old: Sequence[Executions], new: Sequence[Executions], confidence: float) -> Pairing | None:
    """The comparison over common seeds, where there are at least two and all means are above 0."""
    if len(old) < 2:
        return None
    try:
        return pairing(old, new, confidence=confidence)
    except AnalysisError:  # a mean of 0 has no logarithm: there is nothing to pair, and the ratio itself says so
        return None


def _suite(several: Sequence[_Pair], confidence: float, threshold: float) -> tuple[SuiteRatio | None, list[AnyWarning]]:
    """The geometric mean over benchmarks, and why there is none."""
    pairs, matched = [each.samples for each in several], [each.matched for each in several]
    metrics = {old.metric for old, _ in pairs}
    if len(metrics) > 1:
        return None, [MixedMetrics(tuple(sorted(metrics)))]
    directions = {old.better for old, _ in pairs}
    if len(directions) > 1:
        (metric,) = metrics
        return None, [MixedDirections(metric)]
    if not all(each.comparable for each in several):
        return None, [NoRatio(APART, is_of_suite=True)]
    baselines = {" ".join(_name(each.samples[0])): each.data(0) for each in several}
    candidates = {" ".join(_name(each.samples[1])): each.data(1) for each in several}
    try:
        ratio = suite_ratio(baselines, candidates, confidence=confidence)
    except AnalysisError as error:
        return None, [NoRatio(str(error), is_of_suite=True)]
    # All benchmarks of a seed are executed from one binary, so their ratios rise and fall together. Where seeds are
    # shared the mean over benchmarks is therefore taken seed by seed: an interval that took the benchmarks for
    # independent would be too narrow. Both systems of a seed are executed on one node, so these ratios are taken as
    # measured; whatever compares a system's binaries with another's has what nodes add taken out before.
    paired = paired_suite(matched, confidence)
    lost = tuple(max(each.free[side].lost for each in several) for side in (0, 1))
    shared = None if paired else by_binary(pairs, confidence, lost=(lost[0], lost[1]))
    leading = paired or shared or ratio
    suite = SuiteRatio(
        ratio=leading,
        verdict=decide(leading, threshold, better=pairs[0][0].better),
        p_value=p_value(pairs, matched if paired else None),
        n_benchmarks=len(pairs),
        paired=paired,
        bootstrap=bootstrap(matched if paired else pairs, confidence) if len(pairs) > 1 else None,
        distributions=distributions(pairs) if len(pairs) > 1 else None,
        unit=pairs[0][0].unit,
    )
    warnings: list[AnyWarning] = []
    if (few := few_are_common(matched)) is not None:
        warnings.append(SuiteNotPaired(*few))
    if paired is None and shared is None and len(pairs) > 1:
        warnings.append(BenchmarksTakenForIndependent())
    return suite, warnings


def _nothing_common(
    baseline: str,
    candidate: str,
    old: dict[tuple[str, str, str], Sample],
    new: dict[tuple[str, str, str], Sample],
    selection: Selection,
) -> str:
    def listed(samples: dict[tuple[str, str, str], Sample]) -> str:
        return ", ".join(dict.fromkeys(name[0] for name in samples)) or "none"

    lines = [
        f"{baseline} and {candidate} have no benchmark in common with successful executions of seeds.",
        f"{baseline} has {listed(old)}; {candidate} has {listed(new)}."
        + ("" if selection.sources else " Execute both with `layoutrand run`."),
        *sentences_of(selection.warnings),
    ]
    if selection.failures:
        first = selection.failures[0]
        log = f" (log {first.log})" if first.log else ""
        lines.append(f"{len(selection.failures)} executions failed, the first: {first.reason}{log}")
    return "\n".join(lines)
