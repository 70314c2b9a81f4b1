"""What stands out in the numbers that a ratio rests on: far values, groups, and drift that rounds do not cancel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from layoutrand.analysis.comparison_warnings import (
    FarValues,
    GroupsOfValues,
    QuotientDiffers,
    RatiosDrifted,
    TailOfValues,
)
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.instruments.known import counts, simulated
from layoutrand.model import BinaryName
from layoutrand.stats import Interval, StatsWarning, dip_test, missed_share, outliers, serial_test, skewness_test
from layoutrand.stats.advice import NoVariation
from layoutrand.text.quantities import ratio_words
from layoutrand.warning import AnyWarning

LEVEL: Final = 0.01
"""Of the tests, which are made of every benchmark."""

FEWEST: Final = 10
"""Fewer values show neither groups nor drift."""

_ORDERS: Final = 2_000


def of_quotient(primary: Primary, ratio: Interval, quotient: float) -> list[AnyWarning]:
    """Whether the candidate's mean over the baseline's is another number than the ratio, as both are told."""
    if primary == "unpaired" or not math.isfinite(ratio.half_width):
        return []
    step = 10.0 ** -len(ratio_words(ratio.centre, ratio.low, ratio.high)[0].partition(".")[2])
    found = QuotientDiffers(ratio.centre, ratio.low, ratio.high, quotient)
    return [found] if abs(quotient - ratio.centre) >= step else []


def reasons_to_doubt(
    warnings: Iterable[StatsWarning], instruments: Iterable[str], *, is_told: bool = False
) -> list[StatsWarning]:
    """The warnings but that nothing varies where all is counted: no timer is too coarse there (as in `analyse`).

    Nor where it ``is_told`` that a timer is.
    """
    left_out = is_told or all(map(counts, instruments))
    return [each for each in warnings if not (left_out and isinstance(each, NoVariation))]


def could_miss(pair: SamplePair, confidence: float) -> float | None:
    """The largest share of layouts that a sample of so many may well have none of; None with one layout alone."""
    if any(sample.one_layout for sample in pair.measured):
        return None
    return missed_share(min(len(sample.binaries) for sample in pair.samples), confidence=confidence)


def of_ratios(pair: SamplePair) -> list[AnyWarning]:
    """By round of the rounds' ratios, which are free of what the machine did to both systems; else of each system."""
    if pair.design.primary == "paired":
        old, new = pair.by_round
        means = list(zip(old.binary_means, new.binary_means, strict=True))
        if min(map(min, means)) <= 0:
            return []
        logs = [math.log(b / a) for a, b in means]
        return [*_shape("", logs, [name for name, _ in old.binaries], old), *_drift(pair, logs)]
    found: list[AnyWarning] = []
    for side, sample in zip(("baseline", "candidate"), pair.samples, strict=True):
        found += _shape(side, sample.binary_means, [name for name, _ in sample.binaries], sample)
    return found


def _shape(side: str, values: Sequence[float], names: Sequence[BinaryName], sample: Sample) -> list[AnyWarning]:
    if len(values) < 2 or min(values) == max(values):
        return []
    far = outliers(values)
    found: list[AnyWarning] = [FarValues(side, tuple(names[place] for place in far.positions))] if far.positions else []
    if len(values) >= FEWEST:
        resolution = 1.0 if side and counts(sample.instrument) else None
        dip = dip_test(values, resolution=resolution)
        found += [GroupsOfValues(side, dip.p_value)] if dip.p_value <= LEVEL else []
    lopsided = skewness_test(values)
    found += [TailOfValues(side, lopsided.statistic, lopsided.p_value)] if lopsided.p_value <= LEVEL else []
    return found


def _drift(pair: SamplePair, logs: Sequence[float]) -> list[AnyWarning]:
    """Whether ratios of rounds next to each other are alike: then something changed for one system alone."""
    baseline = pair.measured[0]
    started = [baseline.started.get(each.names[0][0], ()) for each in pair.design.pairs]
    if len(logs) < FEWEST or baseline.instrument in simulated() or not all(started) or min(logs) == max(logs):
        return []
    nodes = [baseline.nodes.get(each.names[0][0], ("",))[0] for each in pair.design.pairs]
    order = sorted(range(len(logs)), key=lambda place: min(started[place]))
    blocks = [nodes[place] for place in order] if len(set(nodes)) > 1 else None
    found = serial_test([logs[place] for place in order], blocks=blocks, n_resamples=_ORDERS)
    return [RatiosDrifted(found.statistic, found.p_value)] if found.p_value <= LEVEL else []
