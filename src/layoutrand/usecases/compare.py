"""`layoutrand compare`: candidate over baseline, for each benchmark and for the suite, with intervals and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from layoutrand.core.disturbance import Disturbed, summary
from layoutrand.core.metric import Better
from layoutrand.errors import AnalysisError
from layoutrand.model import BuildFailure, Execution
from layoutrand.stats import (
    Interval,
    Pairing,
    decide,
    mean_interval,
    pairing,
    randomization_test,
    ratio_interval,
    suite_ratio,
)
from layoutrand.usecases.analyse import choose_metrics, in_executions, measurements, missing
from layoutrand.usecases.selection import Executions, Sample, Selection, Source

UNDECIDED: Final = "undecided"
Verdict = Literal["faster", "slower", "equivalent", "undecided"]


@dataclass(frozen=True)
class BenchmarkRatio:
    """One benchmark, or one further metric of it; below 1 the candidate is faster, unless more of it is ``better``.

    ``ratio`` is the independent (Fieller) one, None where it is not defined; ``paired`` the one paired by seed over
    the ``n_pairs`` seeds that both systems have, None where pairing is impossible; ``variance_reduction`` is the share
    of the variance of the log-ratio that pairing takes away, ``correlation`` that of the systems' means by seed.
    ``counted`` says what ``n_baseline`` and ``n_candidate`` count: executions where a system has one layout alone.
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
    warnings: tuple[str, ...]
    better: Better = "less"
    counted: Literal["binaries", "executions"] = "binaries"


@dataclass(frozen=True)
class SuiteRatio:
    """Geometric mean of the benchmarks' ratios; ``ratio`` is ``paired`` (seed by seed) where seeds are shared.

    ``p_value`` is that of the two-sided randomization test over the binaries.
    """

    ratio: Interval
    verdict: Verdict
    p_value: float | None
    n_benchmarks: int
    paired: Interval | None


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
    warnings: tuple[str, ...]
    disturbed: tuple[Disturbed, ...] = ()
    sources: tuple[Source, ...] = ()


def compare(  # noqa: PLR0913 - what to compare, and three keyword-only options
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
    pairs = [(old[name], new[name]) for name in common]
    suite, suite_warnings = _suite(pairs, confidence, threshold)
    return Comparison(
        baseline=baseline, candidate=candidate, confidence=confidence, threshold=threshold,
        benchmarks=tuple(_ratio(a, b, selection, confidence, threshold) for a, b in pairs), suite=suite,
        only_baseline=tuple(dict.fromkeys(name[0] for name in old if name not in new)),
        only_candidate=tuple(dict.fromkeys(name[0] for name in new if name not in old)),
        failures=tuple(e for e in selection.failures if e.system in {baseline, candidate}),
        build_failures=tuple(f for f in selection.build_failures if f.system in {baseline, candidate}),
        warnings=(*selection.warnings, *suite_warnings),
        disturbed=summary(e for e in selection.executions if e.system in {baseline, candidate}),
        sources=selection.sources,
    )  # fmt: skip


def _name(sample: Sample) -> tuple[str, str, str]:
    return sample.benchmark, sample.instrument, sample.metric


def _ratio(
    baseline: Sample, candidate: Sample, selection: Selection, confidence: float, threshold: float
) -> BenchmarkRatio:
    warnings = [*missing(baseline, selection), *missing(candidate, selection)]
    old, new = measurements(baseline), measurements(candidate)
    one_layout = baseline.one_layout or candidate.one_layout
    ratio: Interval | None = None
    verdict: Verdict = UNDECIDED
    try:
        ratio = ratio_interval(old, new, confidence=confidence)
        verdict = decide(ratio, threshold, better=baseline.better)
        warnings += in_executions(ratio.warnings) if one_layout else ratio.warnings
    except AnalysisError as error:
        warnings.append(f"no ratio: {error}")
    old_by_seed, new_by_seed = dict(baseline.binaries), dict(candidate.binaries)
    seeds = [seed for seed in old_by_seed if seed in new_by_seed]
    paired = _paired([old_by_seed[seed] for seed in seeds], [new_by_seed[seed] for seed in seeds], confidence)
    return BenchmarkRatio(
        benchmark=baseline.benchmark, instrument=baseline.instrument, metric=baseline.metric, unit=baseline.unit,
        ratio=ratio, verdict=verdict, n_baseline=len(baseline.binaries), n_candidate=len(candidate.binaries),
        baseline_mean=mean_interval(old, confidence=confidence).centre,
        candidate_mean=mean_interval(new, confidence=confidence).centre,
        paired=paired.paired if paired else None, n_pairs=len(seeds),
        correlation=paired.correlation.centre if paired else None,
        variance_reduction=paired.variance_reduction if paired else None, warnings=tuple(dict.fromkeys(warnings)),
        better=baseline.better, counted="executions" if one_layout else "binaries",
    )  # fmt: skip


def _paired(old: Sequence[Executions], new: Sequence[Executions], confidence: float) -> Pairing | None:
    """The comparison over common seeds, where there are at least two and all means are above 0."""
    if len(old) < 2:
        return None
    try:
        return pairing(old, new, confidence=confidence)
    except AnalysisError:  # a mean of 0 has no logarithm: there is nothing to pair, and the ratio itself says so
        return None


def _suite(
    pairs: Sequence[tuple[Sample, Sample]], confidence: float, threshold: float
) -> tuple[SuiteRatio | None, list[str]]:
    """The geometric mean over benchmarks, and why there is none."""
    metrics = {old.metric for old, _ in pairs}
    if len(metrics) > 1:
        listed = ", ".join(sorted(metrics))
        reason = f"no ratio for the suite: its benchmarks are measured in different metrics ({listed})"
        return None, [f"{reason}; --metric chooses one"]
    directions = {old.better for old, _ in pairs}
    if len(directions) > 1:
        (metric,) = metrics
        return None, [f"no ratio for the suite: of {metric} less is better in some of its benchmarks, more in others"]
    baselines = {" ".join(_name(old)): measurements(old) for old, _ in pairs}
    candidates = {" ".join(_name(new)): measurements(new) for _, new in pairs}
    try:
        ratio = suite_ratio(baselines, candidates, confidence=confidence)
    except AnalysisError as error:
        return None, [f"no ratio for the suite: {error}"]
    # All benchmarks of a seed are executed from one binary, so their ratios rise and fall together. Where seeds are
    # shared the mean over benchmarks is therefore taken seed by seed: an interval that took the benchmarks for
    # independent would be too narrow.
    paired = _paired_suite(pairs, confidence)
    leading = paired or ratio
    suite = SuiteRatio(
        ratio=leading, verdict=decide(leading, threshold, better=pairs[0][0].better),
        p_value=_p_value(baselines, candidates),
        n_benchmarks=len(pairs), paired=paired,
    )  # fmt: skip
    warnings = []
    if paired is None and len(pairs) > 1:
        warnings.append(
            "the suite's interval takes the benchmarks for independent, although one binary serves them all; "
            "build both systems with the same seeds to do without that"
        )
    return suite, warnings


def _p_value(baselines: Mapping[str, Any], candidates: Mapping[str, Any]) -> float | None:
    """None where a single binary measured 0, whose share in a geometric mean cannot be dealt anew."""
    try:
        return randomization_test(baselines, candidates).p_value
    except AnalysisError:
        return None


def _paired_suite(pairs: Sequence[tuple[Sample, Sample]], confidence: float) -> Interval | None:
    """Over the seeds that all samples share; None where there are fewer than two."""
    samples = [dict(sample.binaries) for pair in pairs for sample in pair]
    seeds = [seed for seed in samples[0] if all(seed in sample for sample in samples)]
    if len(seeds) < 2:
        return None
    old = {_name(a)[0] + _name(a)[2]: [dict(a.binaries)[seed] for seed in seeds] for a, _ in pairs}
    new = {_name(b)[0] + _name(b)[2]: [dict(b.binaries)[seed] for seed in seeds] for _, b in pairs}
    try:
        return suite_ratio(old, new, confidence=confidence, method="paired-log-t")
    except AnalysisError:
        return None


def _nothing_common(
    baseline: str, candidate: str, old: dict[tuple[str, str, str], Sample], new: dict[tuple[str, str, str], Sample],
    selection: Selection,
) -> str:  # fmt: skip
    def listed(samples: dict[tuple[str, str, str], Sample]) -> str:
        return ", ".join(dict.fromkeys(name[0] for name in samples)) or "none"

    lines = [
        f"{baseline} and {candidate} have no benchmark in common with successful executions of seeds.",
        f"{baseline} has {listed(old)}; {candidate} has {listed(new)}."
        + ("" if selection.sources else " Execute both with `layoutrand run`."),
        *selection.warnings,
    ]
    if selection.failures:
        first = selection.failures[0]
        log = f" (log {first.log})" if first.log else ""
        lines.append(f"{len(selection.failures)} executions failed, the first: {first.reason}{log}")
    return "\n".join(lines)
