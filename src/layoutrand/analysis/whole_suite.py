"""The geometric mean over a suite: paired by seed, by resampling, as a test, and as a distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.suite_warnings import FEWEST_FOR_SUITE, NoSuiteBootstrap
from layoutrand.errors import AnalysisError
from layoutrand.model import BinaryName
from layoutrand.stats import (
    FiveNumberSummary,
    Interval,
    five_number_summary,
    mean_interval,
    randomization_test,
    ratio_interval,
    suite_ratio,
    whole_binary_test,
    with_lost,
)
from layoutrand.stats.benchmark_suite import pair_suites
from layoutrand.stats.incomplete_suite import suite_values
from layoutrand.stats.levels import FloatArray, Nested, nested
from layoutrand.stats.ratio import exponential
from layoutrand.stats.whole_binaries import binary_values

Pairs = Sequence[tuple[Sample, Sample]]
"""(Baseline, candidate) of each benchmark."""

Sides = dict[str, Any]
"""Benchmark -> measurements, for `layoutrand.stats`."""

ALL_BENCHMARKS: Final = "all benchmarks"
"""The name under which a binary's one value stands, where benchmarks lack binaries that others have."""


def paired_suite(pairs: Pairs, confidence: float) -> Interval | None:
    """Round by round, of all rounds of every benchmark; None where they are too few.

    A round of which a benchmark was lost counts with what it has: whole rounds of many benchmarks would be few.
    """
    rounds = _by_round(pairs)
    if rounds is None:
        return None
    try:
        return suite_ratio(*rounds, confidence=confidence, method="paired-log-t")
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
    binary does to all benchmarks at once widens the interval as it should.  None where benchmarks hardly share
    binaries, and where a mean is not above 0.  ``lost`` are the degrees of freedom that the binaries of each system
    lack because what nodes add was taken out of them.
    """
    sides = _each_by_binary(pairs, lost) if len(pairs) > 1 else None
    if sides is None:
        return None
    try:
        return ratio_interval(*sides, confidence=confidence, method="log-t")
    except AnalysisError:
        return None


def _each_by_binary(pairs: Pairs, lost: tuple[int, int] = (0, 0)) -> tuple[Nested, Nested] | None:
    """A value for each binary of baseline and candidate, above 0, where each system's benchmarks share its binaries."""
    tables = []
    for side in (0, 1):
        table = _table([pair[side] for pair in pairs])
        if table is None or not _is_mostly_filled(table):
            return None
        tables.append(table)
    # The unit of the means is that of no quantity; centred, their exponentials cannot overflow.
    centre = float(np.nanmean(tables[0]))
    try:
        old, new = (suite_values(table - centre) for table in tables)
        return with_lost(np.exp(old.values), old.lost + lost[0]), with_lost(np.exp(new.values), new.lost + lost[1])
    except AnalysisError:
        return None


def _is_shared(pairs: Pairs) -> bool:
    """Whether the benchmarks of each system have the same binaries, in the same order."""
    return all(len({tuple(name for name, _ in pair[side].binaries) for pair in pairs}) == 1 for side in (0, 1))


def _is_mostly_filled(table: FloatArray) -> bool:
    """Whether most benchmarks have most binaries: then the binary is what they share."""
    return bool(2 * np.isfinite(table).sum() > table.size)


def _table(samples: Sequence[Sample]) -> FloatArray | None:
    """Logarithms of the binaries' means, (benchmark, binary), nan where there is none; None for a mean not above 0."""
    names = list(dict.fromkeys(name for sample in samples for name, _ in sample.binaries))
    place = {name: number for number, name in enumerate(names)}
    table = np.full((len(samples), len(names)), np.nan)
    for row, sample in zip(table, samples, strict=True):
        for (name, _), mean in zip(sample.binaries, sample.binary_means, strict=True):
            if not mean > 0:
                return None
            row[place[name]] = math.log(mean)
    return table


def _by_round(pairs: Pairs) -> tuple[Sides, Sides] | None:
    """Baselines and candidates over their rounds, in one order; where some lack rounds, one value for each round."""
    common = _common_seeds(pairs)
    if all(len(sample.binaries) == len(common) for pair in pairs for sample in pair):
        return _of_common_seeds(pairs)
    old, new = (_table([pair[side] for pair in pairs]) for side in (0, 1))
    if old is None or new is None:
        return None
    gaps = np.isnan(old) | np.isnan(new)
    centre = float(np.nanmean(old))
    try:
        first, second = (suite_values(np.where(gaps, np.nan, table - centre)) for table in (old, new))
        return (
            {ALL_BENCHMARKS: with_lost(np.exp(first.values), first.lost)},
            {ALL_BENCHMARKS: with_lost(np.exp(second.values), second.lost)},
        )
    except AnalysisError:
        return None


def bootstrap(pairs: Pairs, confidence: float, *, is_by_round: bool) -> Interval | NoSuiteBootstrap:
    """By hierarchical resampling: of the rounds where the suite goes by these, which all benchmarks then share.

    One binary serves all benchmarks, so their measurements of a seed rise and fall together: resampling each benchmark
    by itself, as Li, Chen and Peng do for benchmarks that have nothing in common, would give too narrow an interval.
    Rounds are drawn for both systems at once, so what a node adds to one cancels; else it is to be taken out before.

    Studentised (bootstrap-t): percentiles cover .6 of 2 binaries, .85 of 5 and .93 of 30 at .95.  Of fewer than 10 even
    that has no bounds too often, so there is none.
    """
    try:
        if is_by_round and (rounds := _by_round(pairs)) is not None:
            return _of_rounds(*rounds, confidence)
        sides, draws = _sides_and_draws(pairs)
        fewest = min(nested(binaries).n_top for side in sides for binaries in side.values())
        if fewest < FEWEST_FOR_SUITE:
            return NoSuiteBootstrap(fewest)
        return suite_ratio(*sides, confidence=confidence, method="bootstrap-t", draws=draws)
    except AnalysisError:  # replicates around 0: the ratio by t says what it can
        return NoSuiteBootstrap(None)


def _of_rounds(old: Sides, new: Sides, confidence: float) -> Interval | NoSuiteBootstrap:
    """Whole rounds drawn anew, with both systems and all benchmarks of each.

    What is studentised is therefore the mean of the rounds' ratios: errors of the two systems as if they had nothing in
    common gave intervals that held in .91 of 10 rounds.
    """
    pair = pair_suites(old, new)
    ratios = binary_values(pair.candidates, pair, "candidate") - binary_values(pair.baselines, pair, "baseline")
    if ratios.size < FEWEST_FOR_SUITE:
        return NoSuiteBootstrap(ratios.size)
    logs = mean_interval(ratios, confidence=confidence, method="bootstrap-t")
    return replace(logs, centre=exponential(logs.centre), low=exponential(logs.low), high=exponential(logs.high))


def p_value(pairs: Pairs, matched: Pairs | None) -> float | None:
    """Of no difference between the systems over the suite; None where a mean is not above 0.

    One binary executes all benchmarks, so whole seeds are what chance could have given to the other system: of
    ``matched`` the ratios of rounds have their signs flipped; where it is None, since too few rounds are complete,
    whole binaries are assigned anew.  Only where benchmarks hardly share binaries is each assigned by itself.

    To assign binaries anew takes them for exchangeable, which those of a slow node and of a fast one are not; so what
    nodes add is to be taken out of ``pairs`` before.
    """
    try:
        if matched is not None and (rounds := _by_round(matched)) is not None:
            return whole_binary_test(*rounds, pairing="seed").p_value
        sides, draws = _sides_and_draws(pairs)
        if draws == "shared":
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


def _sides_and_draws(pairs: Pairs) -> tuple[tuple[Sides, Sides], str]:
    """Baselines and candidates, and whether benchmarks share their binaries (``shared``) or not (``separate``)."""
    if _is_shared(pairs):
        return _sides(pairs), "shared"
    values = _each_by_binary(pairs)
    if values is None:
        return _sides(pairs), "separate"
    return ({ALL_BENCHMARKS: values[0]}, {ALL_BENCHMARKS: values[1]}), "shared"


def _sides(pairs: Pairs) -> tuple[Sides, Sides]:
    return {_name(old): measurements(old) for old, _ in pairs}, {_name(new): measurements(new) for _, new in pairs}


def _common_seeds(pairs: Pairs) -> list[BinaryName]:
    samples = [dict(sample.binaries) for pair in pairs for sample in pair]
    return [seed for seed in samples[0] if all(seed in sample for sample in samples)]


def _of_common_seeds(pairs: Pairs) -> tuple[Sides, Sides] | None:
    """Baselines and candidates over the seeds that all samples share, in one order; None for fewer than two."""
    seeds = _common_seeds(pairs)
    if len(seeds) < 2:
        return None
    return {_name(old): _of(seeds, old) for old, _ in pairs}, {_name(new): _of(seeds, new) for _, new in pairs}


def _of(seeds: Sequence[BinaryName], sample: Sample) -> Nested:
    """The measurements of these binaries in this order, at all levels."""
    binaries = dict(sample.binaries)
    return sample.of(tuple((seed, binaries[seed]) for seed in seeds)).nested


def _name(sample: Sample) -> str:
    return f"{sample.benchmark} {sample.metric}"
