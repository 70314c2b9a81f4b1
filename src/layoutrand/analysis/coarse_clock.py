"""Whether times lie on one or two steps of their clock, and what that takes from means and ratios.

Such a mean may be off by half a step, the same way each time, so intervals that scatter alone makes are too narrow, and
where nothing scatters they have no width at all.  They are made wider here by half a step of each system.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import Final

import numpy as np

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.machine import quantity_of
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection
from layoutrand.instruments.known import simulated
from layoutrand.stats import Interval, are_steps, clock_step
from layoutrand.stats.levels import FloatArray
from layoutrand.text.quantities import SECONDS

_OF_A_CONSTANT: Final = 0.1
"""The largest step, as a share of values that are always the same: these show no step but their digits."""

_ROUNDING: Final = 1e-12
"""Of a ratio: what computing leaves of a width that it has not, and of what is just a step."""


@dataclass(frozen=True)
class ClockSteps:
    """A step in seconds, and half of it as a share of the means of the samples in question; 0 of what scatters more.

    ``possible`` are these shares whether or not a sample scatters more; ``is_alike``, ``may_simulate`` and
    ``is_imported`` as `CoarseClock` has them.
    """

    step_s: float
    halves: tuple[float, ...]
    possible: tuple[float, ...] = ()
    is_alike: bool = False
    may_simulate: bool = True
    is_imported: bool = False

    @property
    def are_seen(self) -> bool:
        """Whether steps are what any of the samples consists of."""
        return any(self.halves)

    def of_groups(self, *groups: Iterable[int]) -> ClockSteps:
        """The steps in the mean of each group of the samples, which are counted from 0."""
        if not self.are_seen and not any(self.possible):
            return replace(self, halves=(0.0,) * len(groups), possible=())
        numbers = [list(group) for group in groups]
        halves, possible = (
            tuple(fmean([each[number] for number in own]) for own in numbers) for each in (self.halves, self.possible)
        )
        return replace(self, halves=halves, possible=possible)

    def behind(self, *ratios: Interval | None) -> ClockSteps:
        """The steps, also of samples that scatter more, where a ratio of theirs has no width all the same."""
        exact = [ratio for ratio in ratios if ratio is not None and ratio.high - ratio.low <= _ROUNDING]
        if not exact or not any(self.possible):
            return self
        return replace(self, halves=self.possible, is_alike=not self.are_seen)

    def warnings(self, *, is_open: bool) -> list[CoarseClock]:
        """What to tell; ``is_open`` where nothing can be concluded."""
        if not self.are_seen:
            return []
        return [CoarseClock(self.step_s, max(self.halves), is_open, self.is_alike, self.may_simulate, self.is_imported)]

    def against(self, threshold: float) -> list[CoarseClock]:
        """What to tell where differences of this share are to be told apart."""
        return self.warnings(is_open=max(self.halves) >= threshold)

    def factors(self) -> tuple[float, float]:
        """What the ratio of the second sample to the first may have to be multiplied by, at the least and at most."""
        old, new = self.halves
        most = (1 + new) / (1 - old) if old < 1 else math.inf
        return max(0.0, 1 - new) / (1 + old) * (1 - _ROUNDING), most * (1 + _ROUNDING)

    def of_ratio(self, interval: Interval | None) -> Interval | None:
        """The interval of the ratio of the second sample to the first, with room for the steps."""
        return interval if interval is None or not self.are_seen else _times(interval, *self.factors())

    def at_best(self, interval: Interval) -> Interval:
        """What further rounds may make of such a ratio at best: no width but the room for the steps."""
        certain = replace(interval, low=interval.centre, high=interval.centre)
        return self.of_ratio(certain) or certain

    def of_log(self, interval: Interval | None) -> Interval | None:
        """The same of the logarithm of that ratio."""
        if interval is None or not self.are_seen:
            return interval
        least, most = (math.log(each) if each > 0 else -math.inf for each in self.factors())
        return replace(interval, low=interval.low + least, high=interval.high + most)

    def of_mean(self, interval: Interval) -> Interval:
        """The interval of the mean of the only sample, with room for half a step."""
        if not self.are_seen:
            return interval
        half = self.halves[0] * abs(interval.centre)
        return replace(interval, low=interval.low - half, high=interval.high + half)


def largest_of(clocks: Iterable[ClockSteps], *, is_open: bool) -> CoarseClock | None:
    """What to tell of several: of the one whose steps weigh most."""
    told = [warning for each in clocks for warning in each.warnings(is_open=is_open)]
    return max(told, key=lambda each: each.half, default=None)


NO_STEPS: Final = ClockSteps(0.0, (0.0, 0.0))
"""Of a ratio that has room for none."""


def clock_steps(*samples: Sample, beside: Iterable[Sample] = ()) -> ClockSteps:
    """The steps of the clock that measured these samples of one quantity; none of what is no time.

    Of each sample the binaries count; what is a step is told by the values of all of them, of their controls, and of
    ``beside``, other samples of the quantity.  One system may print more digits than another, so what varies tells its
    own steps as well, and what is always the same where another sample scatters over more than a step.
    """
    beside = list(beside)
    together = _common_steps(samples, beside)
    scatter = not all(together.halves) or any(_scatters(each, together.step_s) for each in beside)
    found = [_common_steps([each]) if scatter or _varies(each) else NO_STEPS for each in samples]
    coarser = [each for each in found if each.are_seen and each.step_s > together.step_s]
    if not coarser:
        return together
    halves = tuple(max(own, each.halves[0]) for own, each in zip(together.halves, found, strict=True))
    possible = tuple(map(max, together.possible or halves, halves))
    return replace(together, step_s=max(each.step_s for each in coarser), halves=halves, possible=possible)


def _scatters(sample: Sample, step_s: float) -> bool:
    if not sample.binaries or sample.unit not in SECONDS:
        return False
    return not step_s or not are_steps(sample.nested.values, step_s / SECONDS[sample.unit])


def _varies(sample: Sample) -> bool:
    return bool(sample.binaries) and bool(np.ptp(sample.nested.values) > 0)


def _common_steps(samples: Sequence[Sample], beside: Iterable[Sample] = ()) -> ClockSteps:
    """The steps that all of the samples have.

    Where none varies, a step may be finer than the values' only digit: of 30 ms, each time, it is 1 ms.
    """
    first = samples[0]
    may_simulate = all(sample.may_simulate for sample in samples)
    is_imported = any(sample.is_imported for sample in samples)
    nothing = ClockSteps(0.0, (0.0,) * len(samples), may_simulate=may_simulate, is_imported=is_imported)
    if first.unit not in SECONDS or first.instrument in simulated():
        return nothing
    if not all(sample.binaries for sample in samples):
        return nothing
    values = [sample.nested.values for sample in samples]
    if clock_step(np.concatenate(values)) is None or not all(own.mean() for own in values):
        return nothing
    alike = [each for each in beside if each.binaries and each.unit == first.unit]
    together = [*values, *(each.nested.values for each in alike), *map(_of_controls, (*samples, *alike))]
    varies = any(own.size and own.min() < own.max() for own in together)
    step = clock_step(np.concatenate(together), at_most=1.0 if varies else _OF_A_CONSTANT)
    if step is None:
        return nothing
    possible = tuple(step / 2 / abs(float(own.mean())) for own in values)
    halves = tuple(half if are_steps(own, step) else 0.0 for half, own in zip(possible, values, strict=True))
    return replace(nothing, step_s=step * SECONDS[first.unit], halves=halves, possible=possible)


def clock_of(sample: Sample, selection: Selection) -> ClockSteps:
    """The steps of one sample's clock, as all samples of the quantity tell them."""
    quantity = quantity_of(sample)
    others = (each for each in selection.samples if each.system != sample.system and quantity_of(each) == quantity)
    return clock_steps(sample, beside=others)


def of_suite(interval: Interval, clocks: Sequence[ClockSteps]) -> Interval:
    """The interval of the geometric mean of ratios, with room for the steps of the clock in each."""
    if not any(each.are_seen for each in clocks):
        return interval
    ends = list(zip(*(each.factors() for each in clocks), strict=True))
    least, most = (math.prod(each ** (1 / len(clocks)) for each in end) for end in ends)
    return _times(interval, least, most)


def _times(interval: Interval, least: float, most: float) -> Interval:
    return replace(interval, low=interval.low * (least if interval.low > 0 else most), high=interval.high * most)


def _of_controls(sample: Sample) -> FloatArray:
    return np.fromiter(chain.from_iterable(chain.from_iterable(sample.controls.values())), np.float64)
