"""The ratio of two systems on one benchmark: by round or each by itself, which is decided by the design alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from layoutrand.analysis.analyse import measurements
from layoutrand.analysis.analysis_warnings import APART, NoRatio, PairedWithout
from layoutrand.analysis.coarse_clock import ClockSteps, clock_steps
from layoutrand.analysis.comparison_warnings import (
    AddedAlone,
    ExecutedApart,
    FewCompleteRounds,
    IncompleteRounds,
    NotByRound,
    RoundsApart,
    TooFewRounds,
)
from layoutrand.analysis.round_design import Primary
from layoutrand.analysis.sample_pair import SamplePair
from layoutrand.analysis.sureness import Sureness, running_sureness, sureness
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import simulated
from layoutrand.stats import Interval, ratio_interval, running_ratio
from layoutrand.stats.levels import Nested
from layoutrand.warning import AnyWarning

Looks = Literal["once", "after every round"]
"""How often the data are looked at: intervals and p-values of a single look hold for no others."""


def of_design(pair: SamplePair, *, of_others: bool = False) -> list[AnyWarning]:
    """What the way in which both systems were executed takes from the comparison; ``of_others`` as in `Evidence`."""
    design = pair.design
    found: list[AnyWarning] = [PairedWithout(design.elsewhere)] if design.elsewhere else []
    if design.cannot_tell:
        return [*found, ExecutedApart(design.alone, design.n_executions, _last_seed(pair), of_others=of_others)]
    if design.primary == "unpaired":
        # One round alone is compared in no way, which is told as that there is no ratio yet.
        few = len(design.pairs) > 0 and design.n_rounds > 1
        return [*found, FewCompleteRounds(len(design.pairs), design.n_rounds, of_others)] if few else found
    if design.is_restricted:
        last = _last_seed(pair)
        return [*found, AddedAlone(design.alone, design.n_executions, last, len(design.pairs), of_others=of_others)]
    if design.not_beside:
        found.append(RoundsApart(design.not_beside))
    without_pair = design.without_pair
    return [*found, IncompleteRounds(without_pair, len(design.pairs))] if any(without_pair) else found


def _last_seed(pair: SamplePair) -> int:
    """The largest seed that either has; of what has one layout alone it is the number of a round."""
    names = [name for sample in pair.measured for name, _ in sample.binaries]
    rounds = [number for sample in pair.measured for own in sample.rounds.values() for number in own]
    return max([*(name for name in names if isinstance(name, int)), *rounds], default=0)


@dataclass(frozen=True)
class BothRatios:
    """The ratio by round and the one of two samples, and why there is none; both have room for the steps of a clock.

    ``too_few`` is why there cannot be one yet, where that is all.
    """

    paired: Interval | None
    unpaired: Interval | None
    not_paired: str
    not_unpaired: str
    clock: ClockSteps
    too_few: TooFewRounds | None = None

    def primary(self, pair: SamplePair) -> tuple[Primary, Interval | None, list[AnyWarning]]:
        """The one that the design asks for; where logarithms of rounds are not defined, the other."""
        if pair.design.primary == "paired" and self.paired is not None:
            return "paired", self.paired, []
        if self.unpaired is None:
            return pair.design.primary, None, [self.too_few or NoRatio(self.not_unpaired)]
        return "unpaired", self.unpaired, [NotByRound(self.not_paired)] if pair.design.primary == "paired" else []


def both_ratios(pair: SamplePair, confidence: float, looks: Looks = "once") -> BothRatios:
    """What the complete rounds say, and what all executions of each system by itself say; where the data are looked at
    after every round nothing but complete rounds counts.
    """
    clock = clock_steps(*pair.measured)
    if looks != "once":
        return _running(pair, confidence, clock)
    paired = unpaired = None
    not_paired = not_unpaired = ""
    try:
        if len(pair.design.pairs) > 1:
            old, new = map(measurements, pair.by_round)
            paired = ratio_interval(old, new, confidence=confidence, method="paired-log-t")
    except AnalysisError as error:
        not_paired = str(error)
    try:
        if pair.comparable:
            old, new = pair.each_by_itself(0), pair.each_by_itself(1)
            unpaired = ratio_interval(old, new, confidence=confidence, method="fieller-welch")
        else:
            not_unpaired = APART
    except AnalysisError as error:
        not_unpaired = str(error)
    clock = clock.behind(paired, unpaired)
    return BothRatios(clock.of_ratio(paired), clock.of_ratio(unpaired), not_paired, not_unpaired, clock)


def _running(pair: SamplePair, confidence: float, clock: ClockSteps) -> BothRatios:
    try:
        if not pair.design.pairs or pair.design.primary == "unpaired":
            return BothRatios(None, None, "", "", clock, TooFewRounds(len(pair.design.pairs)))
        old, new = map(measurements, pair.by_round)
        counts = pair.measured[0].instrument in simulated()
        ratio = running_ratio(old, new, confidence=confidence, is_count=counts)
        clock = clock.behind(ratio)
        return BothRatios(clock.of_ratio(ratio), None, "", "", clock)
    except AnalysisError as error:
        return BothRatios(None, None, str(error), str(error), clock)


def primary_data(pair: SamplePair, primary: Primary) -> tuple[Any, Any]:
    """Baseline and candidate as the primary ratio was computed from them, for `layoutrand.stats`."""
    if primary == "paired":
        old, new = map(measurements, pair.by_round)
        return old, new
    return pair.each_by_itself(0), pair.each_by_itself(1)


def sureness_of(
    pair: SamplePair, primary: Primary, threshold: float, looks: Looks, *, centre: float, clock: ClockSteps
) -> Sureness | None:
    """The p-values that belong to the primary ratio, whose estimate is ``centre``.

    Where times lie on steps of their ``clock``, they are the largest of the ratios that the steps may stand for; None
    where these have no bound.
    """
    old, new = primary_data(pair, primary)
    if not clock.are_seen:
        return _sureness(pair, (old, new), primary, threshold, looks)
    if not math.isfinite(clock.factors()[1]):
        return None
    ends = [_sureness(pair, (old, _times(new, each)), primary, threshold, looks) for each in clock.factors()]
    if ends[0] is None or ends[1] is None:
        return None
    least, most = (each * centre for each in clock.factors())
    difference = 1.0 if least <= 1 <= most else max(each.no_difference for each in ends if each)
    between = [edge for edge in (1 - threshold, 1 + threshold) if least <= edge <= most]
    decision = 1.0 if between else max(each.decision for each in ends if each)
    return replace(
        ends[0],
        no_difference=difference,
        no_difference_holm=difference,
        decision=decision,
        decision_holm=decision,
    )


def _times(data: Nested, factor: float) -> Nested:
    return replace(data, values=data.values * factor)


def _sureness(
    pair: SamplePair, data: tuple[Any, Any], primary: Primary, threshold: float, looks: Looks
) -> Sureness | None:
    if looks != "once":
        is_count = pair.measured[0].instrument in simulated()
        return running_sureness(*data, threshold, is_count=is_count)
    method = "paired-log-t" if primary == "paired" else "fieller-welch"
    return sureness(*data, threshold, method=method)
