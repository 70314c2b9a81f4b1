"""What would have been believed without layouts: the users' own two builds, and single binaries of each system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.coarse_clock import clock_steps
from layoutrand.analysis.round_design import RoundDesign, control_sample, of_control
from layoutrand.analysis.sample import ROUND, Sample, binary_mean
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.errors import AnalysisError
from layoutrand.model import STOCK, BinaryName
from layoutrand.stats import Interval, decide, next_ratio, ratio_interval
from layoutrand.stats.decision import Verdict


@dataclass(frozen=True)
class AsBuilt:
    """Stock of the candidate over stock of the baseline, which are one binary each.

    The interval of ``ratio`` covers executions of these two files; ``verdict`` is what it would have said.  ``luck`` is
    this ratio over that of the layouts: what the two default layouts add to the difference of the systems; None where
    rounds do not tell.
    """

    ratio: Interval
    verdict: Verdict
    luck: Interval | None


@dataclass(frozen=True)
class SinglePairs:
    """Pairs of one binary of each system: how many there are, and how many contradict the verdict.

    Of "faster" and "slower" those whose ratio lies on the other side of 1; of "equivalent" those that differ by more
    than the threshold.  The pairs are those of rounds where the comparison goes by round, else all.
    """

    n_pairs: int
    n_misleading: int


def as_built(pair: SamplePair, confidence: float, threshold: float, *, at_random: bool) -> AsBuilt | None:
    """The comparison of both stocks; None without executions of one of them, and where a system has no layouts."""
    old, new = pair.measured
    stocks = control_sample(old, STOCK), control_sample(new, STOCK)
    if stocks[0] is None or stocks[1] is None or old.one_layout or new.one_layout:
        return None
    design, by_round = of_control(stocks[0], stocks[1], at_random=at_random)
    if design.cannot_tell or by_round is None:
        return None
    try:
        ratio = _ratio(design, (stocks[0], stocks[1]), confidence, by_round=by_round)
    except AnalysisError:  # a mean that is not above 0
        return None
    ratio = clock_steps(stocks[0], stocks[1]).of_ratio(ratio) or ratio
    return AsBuilt(ratio, decide(ratio, threshold, better=old.better), _luck(pair, design, stocks, confidence))


def single_pairs(pair: SamplePair, ratio: Interval, verdict: Verdict, threshold: float) -> SinglePairs | None:
    """How many single binaries of each would have misled; None without a verdict, or with one layout alone."""
    if verdict == "undecided" or any(sample.one_layout for sample in pair.measured):
        return None
    if pair.design.primary == "paired":
        means = [sample.binary_means for sample in pair.by_round]
        old, new = (np.array(side) for side in means)
    else:
        means = [sample.binary_means for sample in pair.samples]
        old, new = np.array(means[0])[:, None], np.array(means[1])[None, :]
    if min(map(min, means)) <= 0:
        return None
    ratios = new / old
    if verdict == "equivalent":
        misleading = abs(ratios - 1) > threshold
    else:
        misleading = ratios > 1 if ratio.centre < 1 else ratios < 1
    return SinglePairs(int(ratios.size), int(misleading.sum()))


def new_pair(pair: SamplePair, confidence: float) -> Interval | None:
    """The range of the ratio of one more binary of each; None where that is not defined, or one layout is all."""
    if any(sample.one_layout for sample in pair.measured):
        return None
    by_round = pair.design.primary == "paired"
    samples = pair.by_round if by_round else pair.samples
    try:
        return next_ratio(*map(measurements, samples), confidence=confidence, pairing="seed" if by_round else "none")
    except AnalysisError:  # a single binary, or a mean that is not above 0
        return None


def _ratio(design: RoundDesign, samples: tuple[Sample, Sample], confidence: float, *, by_round: bool) -> Interval:
    if by_round:
        old, new = (measurements(design.by_round(sample, side)) for side, sample in enumerate(samples))
        return ratio_interval(old, new, confidence=confidence, method="paired-log-t")
    return ratio_interval(*map(measurements, samples), confidence=confidence, method="fieller-welch")


def _luck(
    pair: SamplePair, design: RoundDesign, stocks: tuple[Sample | None, Sample | None], confidence: float
) -> Interval | None:
    """Round by round, the ratio of the stocks over that of the layouts."""
    if design.primary != "paired" or pair.design.primary != "paired":
        return None
    sides: list[dict[BinaryName, float]] = []
    for samples, of in ((pair.measured, pair.design), (stocks, design)):
        for side, sample in enumerate(samples):
            assert sample is not None
            sides.append(_logs(of.by_round(sample, side)))
    common = [key for key in sides[0] if all(key in each for each in sides)]
    if len(common) < 2:
        return None
    layouts, own = ([math.exp(new[key] - old[key]) for key in common] for old, new in (sides[:2], sides[2:]))
    return ratio_interval(layouts, own, confidence=confidence, method="paired-log-t")


def _logs(sample: Sample) -> dict[BinaryName, float]:
    """Round -> mean of the logarithms of its binaries' means, which are above 0."""
    found: dict[BinaryName, list[float]] = {}
    for name, runs in sample.binaries:
        match = ROUND.fullmatch(name) if isinstance(name, str) else None
        if (mean := binary_mean(runs)) > 0:
            found.setdefault(int(match[1]) if match else name, []).append(math.log(mean))
    return {key: fmean(values) for key, values in found.items()}
