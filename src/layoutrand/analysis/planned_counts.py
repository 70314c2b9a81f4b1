"""How many binaries decide between two systems of a pilot, and how often each of them is best executed for that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from layoutrand.analysis.next_steps import WITHIN_REACH
from layoutrand.analysis.pilot import combined
from layoutrand.analysis.pilot_sample import PilotSample
from layoutrand.analysis.planned_pair import PlannedPair
from layoutrand.stats import CountRange, binaries_to_decide

_WORTH_IT: Final = 0.9
"""The share of the time, or less, for which it is planned with other executions of each binary than there are."""


@dataclass(frozen=True)
class PlannedCount:
    """Numbers of binaries, and the seconds that they take (of both systems, in a comparison).

    The first number is enough if binaries differ as much as in the pilot, the second one for 80 % of such pilots; None
    where not even 100,000 would do, and its time is infinite.
    """

    binaries: tuple[int | None, int | None]
    seconds: tuple[float, float]


NO_NUMBER: Final = PlannedCount((None, None), (math.inf, math.inf))
"""Where steps of the clock leave open what is asked for."""


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
class PlanQuestion:
    """A pilot, and what it is compared with: the ``baseline``, or None for two like it.

    ``both`` are the two as they were compared.  ``is_baseline`` where other systems stand beside this one, so that
    there is nothing to decide.
    """

    own: PilotSample
    baseline: PilotSample | None
    both: PlannedPair | None
    is_baseline: bool

    @property
    def is_decided(self) -> bool:
        """Whether the results decide already."""
        return self.both is not None and self.both.is_decided

    @property
    def as_executed(self) -> PlanQuestion:
        """The same, planned with as many executions of each binary as there are."""
        baseline = None if self.baseline is None else self.baseline.as_executed
        return replace(self, own=self.own.as_executed, baseline=baseline)

    @property
    def spread(self) -> tuple[float, float]:
        """Standard deviation of the logarithm of the ratio of one binary of each, and its upper limit."""
        if self.baseline is None or self.both is None:
            # Two of the same pilot are one variance twice: as uncertain as it is, not less.
            estimate, upper = (math.sqrt(2 * each) for each in self.own.pilot.variance(self.own.lower))
            return estimate, upper
        spread = self.both.spread
        pilots = [(each.pilot, each.lower) for each in (self.baseline, self.own)]
        estimate, upper = map(math.sqrt, combined([(spread.sd**2, spread.degrees)], pilots))
        return estimate, upper

    @property
    def room(self) -> float:
        """What steps of the clocks leave open.

        It brings the threshold nearer to what is truly the same, and to what differs.
        """
        return (self.baseline or self.own).half + self.own.half

    def to_decide(self, wanted: PlanAim) -> tuple[PlannedCount, PlannedCount]:
        """How many find the difference, and how many show that there is none."""
        estimate, upper = self.spread
        seconds = (self.baseline or self.own).seconds + self.own.seconds
        room = self.room

        def enough(true: float, threshold: float) -> PlannedCount:
            if room and (threshold <= 0 or wanted.threshold < true <= threshold):
                return NO_NUMBER
            found = binaries_to_decide(
                estimate, upper, threshold=threshold, difference=true, confidence=wanted.confidence
            )
            return with_time(found, seconds)

        return enough(wanted.difference, wanted.threshold + room), enough(0.0, wanted.threshold - room)

    def most(self, wanted: PlanAim) -> PlannedCount:
        """As many as decide whichever is true."""
        return max(self.to_decide(wanted), key=lambda each: math.inf if each.binaries[1] is None else each.binaries[1])


def with_time(found: CountRange, seconds: float) -> PlannedCount:
    """Numbers, and the time that they take where one takes so many seconds."""
    low, high = (math.inf if count is None else count * seconds for count in (found.low, found.high))
    return PlannedCount((found.low, found.high), (low, high))


def saves(best: Sequence[PlanQuestion], executed: Sequence[PlanQuestion], wanted: PlanAim) -> bool:
    """Whether other executions of each binary than there are decide in clearly less time, or alone within reach.

    Else it is planned with those that there are, as `compare` and `analyse` count: then all name one number.
    """
    best_far, best_s = _needs(best, wanted)
    far, seconds = _needs(executed, wanted)
    return not best_far and (far or best_s < _WORTH_IT * seconds)


def _needs(design: Sequence[PlanQuestion], wanted: PlanAim) -> tuple[bool, float]:
    """Whether anything that is open, or else anything, is out of reach, and how many seconds it all takes."""
    questions = [each for each in design if not each.is_baseline]
    counts = [each.most(wanted) for each in [each for each in questions if not each.is_decided] or questions]
    return any(is_far(each) for each in counts), sum(each.seconds[1] for each in counts)


def is_far(count: PlannedCount) -> bool:
    """Whether it may take more binaries than are within reach."""
    return count.binaries[1] is None or count.binaries[1] > WITHIN_REACH
