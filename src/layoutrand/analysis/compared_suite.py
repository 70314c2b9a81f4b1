"""The suite of a comparison: the geometric mean over its benchmarks, by round where these go by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutrand.analysis.analysis_warnings import (
    APART,
    NoRatio,
)
from layoutrand.analysis.coarse_clock import ClockSteps, of_suite
from layoutrand.analysis.ratio_findings import reasons_to_doubt
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.analysis.suite_warnings import (
    BenchmarksTakenForIndependent,
    MixedDirections,
    MixedMetrics,
    NoSuiteBootstrap,
    SuiteNotPaired,
)
from layoutrand.analysis.whole_suite import bootstrap, by_binary, distributions, few_are_common, p_value, paired_suite
from layoutrand.errors import AnalysisError
from layoutrand.stats import FiveNumberSummary, Interval, decide, suite_ratio
from layoutrand.stats.decision import Verdict
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class SuiteRatio:
    """Geometric mean of the benchmarks' ratios; ``ratio`` is ``paired`` (round by round) where these go by round.

    ``p_value`` is that of the two-sided randomization test over the binaries.  ``bootstrap`` is the interval by
    hierarchical resampling, in which all benchmarks of a seed are drawn together where seeds are shared.
    Neither is given where times lie on one or two steps of their clock, which the interval of ``ratio`` has room for.
    ``distributions`` are of the suite mean of baseline and candidate when every benchmark is measured once, in ``unit``
    (Li, Chen and Peng, section V).
    """

    ratio: Interval
    verdict: Verdict
    p_value: float | None
    n_benchmarks: int
    paired: Interval | None
    bootstrap: Interval | NoSuiteBootstrap | None = None
    distributions: tuple[FiveNumberSummary, FiveNumberSummary] | None = None
    unit: str = ""


def compared_suite(
    several: Sequence[SamplePair],
    alone: Interval | None,
    clocks: Sequence[ClockSteps],
    confidence: float,
    threshold: float,
    *,
    of_others: bool = False,
) -> tuple[SuiteRatio | None, list[AnyWarning]]:
    """The geometric mean over benchmarks, and why there is none.

    ``alone`` is the ratio of the only benchmark, where there is one: it is the suite's then.  ``clocks`` are the steps
    of the clock in each of the ratios; ``of_others`` is as in `Evidence`.
    """
    if (reason := _why_no_mean(several)) is not None:
        return None, [reason]
    by_round = all(each.design.primary == "paired" for each in several)
    pairs, matched = [each.samples for each in several], [each.by_round for each in several]
    try:
        of_independent = _of_independent(several, confidence)
    except AnalysisError as error:
        return None, [NoRatio(str(error), is_of_suite=True)]
    # All benchmarks of a seed are executed from one binary, so their ratios rise and fall together. Where they go by
    # round the mean over benchmarks is therefore taken round by round: an interval that took the benchmarks for
    # independent would be too narrow. Both systems of a round are executed on one node, so these ratios are taken as
    # measured; whatever compares a system's binaries with another's has what nodes add taken out before.
    paired = paired_suite(matched, confidence) if by_round else None
    lost = tuple(max(each.free[side].lost for each in several) for side in (0, 1))
    shared = None if paired else by_binary(pairs, confidence, lost=(lost[0], lost[1]))
    leading = of_suite(paired or shared or of_independent, clocks)
    if len(several) == 1 and alone is not None:
        leading = alone
    has_steps = any(each.are_seen for each in clocks)
    instruments = {sample.instrument for pair in several for sample in pair.measured}
    leading = replace(leading, warnings=tuple(reasons_to_doubt(leading.warnings, instruments, is_told=has_steps)))
    cannot_tell = any(each.design.cannot_tell for each in several)
    suite = SuiteRatio(
        ratio=leading,
        verdict="undecided" if cannot_tell else decide(leading, threshold, better=pairs[0][0].better),
        p_value=None if cannot_tell or has_steps else p_value(pairs, matched if paired else None),
        n_benchmarks=len(pairs),
        paired=None if paired is None else of_suite(paired, clocks),
        unit=pairs[0][0].unit,
    )
    if len(pairs) > 1:
        suite = replace(suite, distributions=distributions(pairs))
        if not has_steps:
            resampled = bootstrap(matched if paired else pairs, confidence, is_by_round=paired is not None)
            suite = replace(suite, bootstrap=resampled)
    remarks = [] if paired else _of_other_binaries(several, leading, of_others=of_others, is_shared=shared is not None)
    return suite, remarks


def _of_other_binaries(
    several: Sequence[SamplePair], leading: Interval, *, of_others: bool, is_shared: bool
) -> list[AnyWarning]:
    """What to know of a mean that does not go by round; ``is_shared`` where benchmarks share binaries within it."""
    remarks: list[AnyWarning] = []
    if (few := few_are_common([each.measured for each in several])) is not None:
        remarks.append(SuiteNotPaired(*few, of_others))
    has_bounds = math.isfinite(leading.low) or math.isfinite(leading.high)  # where it has none, nothing is too narrow
    if not is_shared and len(several) > 1 and has_bounds:
        remarks.append(BenchmarksTakenForIndependent())
    return remarks


def _of_independent(several: Sequence[SamplePair], confidence: float) -> Interval:
    """The mean as if the benchmarks knew nothing of each other; raises `AnalysisError` where there is none."""
    known_by = [_name(each)[0] for each in several]
    names = known_by if len(set(known_by)) == len(several) else [" ".join(_name(each)) for each in several]
    baselines = {name: each.data(0) for name, each in zip(names, several, strict=True)}
    candidates = {name: each.data(1) for name, each in zip(names, several, strict=True)}
    return suite_ratio(baselines, candidates, confidence=confidence)


def _why_no_mean(several: Sequence[SamplePair]) -> AnyWarning | None:
    """Why these benchmarks have none."""
    baselines = [each.measured[0] for each in several]
    metrics = sorted({sample.metric for sample in baselines})
    if len(metrics) > 1:
        return MixedMetrics(tuple(metrics))
    if len({sample.better for sample in baselines}) > 1:
        return MixedDirections(metrics[0])
    by_round = all(each.design.primary == "paired" for each in several)
    if not by_round and not all(each.comparable for each in several):
        return NoRatio(APART, is_of_suite=True)
    return None


def _name(pair: SamplePair) -> tuple[str, str, str]:
    sample = pair.measured[0]
    return sample.benchmark, sample.instrument, sample.metric
