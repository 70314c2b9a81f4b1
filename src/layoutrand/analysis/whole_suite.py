"""The geometric mean over a suite: paired by seed, by resampling, as a test, and as a distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.analysis.suite_warnings import FEWEST_FOR_SUITE, NoSuiteBootstrap
from layoutrand.errors import AnalysisError
from layoutrand.model import BinaryName
from layoutrand.stats import (
    FiveNumberSummary,
    Interval,
    five_number_summary,
    randomization_test,
    ratio_interval,
    suite_ratio,
    whole_binary_test,
    with_lost,
)

Pairs = Sequence[tuple[Sample, Sample]]
"""(Baseline, candidate) of each benchmark."""


def paired_suite(pairs: Pairs, confidence: float) -> Interval | None:
    """Over the seeds that all samples share; None where these are not most of each sample's, or fewer than two.

    A handful of common seeds among many others would throw the others away; which it is depends on the seeds alone, so
    it is settled before any number is looked at.
    """
    common = _of_common_seeds(pairs)
    if common is None or few_are_common(pairs) is not None:
        return None
    try:
        return suite_ratio(*common, confidence=confidence, method="paired-log-t")
    except AnalysisError:
        return None


def few_are_common(pairs: Pairs) -> tuple[int, int] | None:
    """How many seeds all samples share, and of how many, where that is some, but not more than half."""
    common = len(_common_seeds(pairs))
    largest = max(len(sample.binaries) for pair in pairs for sample in pair)
    return (common, largest) if 0 < 2 * common <= largest else None


def by_binary(pairs: Pairs, confidence: float, *, lost: tuple[int, int] = (0, 0)) -> Interval | None:
    """Where the seeds of the systems differ, but each system's benchmarks share its binaries: a mean for each binary.

    The geometric mean over benchmarks is taken binary by binary, and Student's t (Welch) over these, so that what a
    binary does to all benchmarks at once widens the interval as it should.  None where benchmarks lack binaries that
    others have, and where a mean is not above 0.  ``lost`` are the degrees of freedom that the binaries of each system
    lack because what nodes add was taken out of them.
    """
    if len(pairs) < 2 or not _is_shared(pairs):
        return None
    logs: list[list[float]] = []
    for side in (0, 1):
        means = [[binary_mean(runs) for _, runs in pair[side].binaries] for pair in pairs]
        if min(map(min, means)) <= 0:
            return None
        logs.append([math.fsum(map(math.log, binary)) / len(pairs) for binary in zip(*means, strict=True)])
    if min(map(len, logs)) < 2:
        return None
    # The unit of the means is that of no quantity; centred, their exponentials cannot overflow.
    centre = fmean(logs[0])
    old, new = ([math.exp(value - centre) for value in side] for side in logs)
    return ratio_interval(with_lost(old, lost[0]), with_lost(new, lost[1]), confidence=confidence, method="log-t")


def _is_shared(pairs: Pairs) -> bool:
    """Whether the benchmarks of each system have the same binaries, in the same order."""
    return all(len({tuple(name for name, _ in pair[side].binaries) for pair in pairs}) == 1 for side in (0, 1))


def bootstrap(pairs: Pairs, confidence: float) -> Interval | NoSuiteBootstrap:
    """By hierarchical resampling: of the common seeds where there are some, which all benchmarks then share.

    One binary serves all benchmarks, so their measurements of a seed rise and fall together: resampling each benchmark
    by itself, as Li, Chen and Peng do for benchmarks that have nothing in common, would give too narrow an interval.
    Common seeds are drawn for both systems at once, so what a node adds to a seed cancels; where there are none it is
    to be taken out before.

    Studentised (bootstrap-t): percentiles cover .6 of 2 binaries, .85 of 5 and .93 of 30 at .95.  Of fewer than 10 even
    that has no bounds too often, so there is none.
    """
    common = None if few_are_common(pairs) else _of_common_seeds(pairs)
    sides = common or _sides(pairs)
    fewest = min(len(binaries) for side in sides for binaries in side.values())
    if fewest < FEWEST_FOR_SUITE:
        return NoSuiteBootstrap(fewest)
    draws = "paired" if common is not None else "shared" if _is_shared(pairs) else "separate"
    try:
        return suite_ratio(*sides, confidence=confidence, method="bootstrap-t", draws=draws)
    except AnalysisError:  # replicates around 0: the ratio by t says what it can
        return NoSuiteBootstrap(None)


def p_value(pairs: Pairs, matched: Pairs | None) -> float | None:
    """Of no difference between the systems over the suite; None where a mean is not above 0.

    One binary executes all benchmarks, so whole seeds are what chance could have given to the other system: of
    ``matched`` the ratios of common seeds have their signs flipped; where it is None, since too few seeds are common,
    whole binaries are assigned anew.  Only where benchmarks lack binaries that others have is each assigned by itself.

    To assign binaries anew takes them for exchangeable, which those of a slow node and of a fast one are not; so what
    nodes add is to be taken out of ``pairs`` before.
    """
    try:
        if matched is not None and (common := _of_common_seeds(matched)) is not None:
            return whole_binary_test(*common, pairing="seed").p_value
        sides = _sides(pairs)
        if _is_shared(pairs):
            return whole_binary_test(*sides, pairing="none").p_value
        return randomization_test(*sides).p_value
    except AnalysisError:
        return None


def distributions(pairs: Pairs) -> tuple[FiveNumberSummary, FiveNumberSummary] | None:
    """Of the suite means of both when everything is measured once; None where a measurement is not above 0."""
    draws = "shared" if _is_shared(pairs) else "separate"
    old, new = _sides(pairs)
    try:
        return five_number_summary(old, draws=draws), five_number_summary(new, draws=draws)
    except AnalysisError:
        return None


def _sides(pairs: Pairs) -> tuple[dict[str, Any], dict[str, Any]]:
    return {_name(old): measurements(old) for old, _ in pairs}, {_name(new): measurements(new) for _, new in pairs}


def _common_seeds(pairs: Pairs) -> list[BinaryName]:
    samples = [dict(sample.binaries) for pair in pairs for sample in pair]
    return [seed for seed in samples[0] if all(seed in sample for sample in samples)]


def _of_common_seeds(pairs: Pairs) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Baselines and candidates over the seeds that all samples share, in one order; None for fewer than two."""
    seeds = _common_seeds(pairs)
    if len(seeds) < 2:
        return None
    old = {_name(a): [dict(a.binaries)[seed] for seed in seeds] for a, _ in pairs}
    new = {_name(b): [dict(b.binaries)[seed] for seed in seeds] for _, b in pairs}
    return old, new


def _name(sample: Sample) -> str:
    return f"{sample.benchmark} {sample.metric}"
