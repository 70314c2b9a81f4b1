"""Steps in the means over layouts of commits, with stock beside them, and room for the steps of a coarse clock.

The clock may be off by half a step in each mean, the same way each time.  A step in the means that this could be is not
told as one of the program: nobody knows whether there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from layoutrand.analysis.clock_warnings import CoarseClock
from layoutrand.analysis.coarse_clock import NO_STEPS, ClockSteps, largest_of
from layoutrand.config.metric import Better
from layoutrand.history.history_values import HistoryStep, StepVerdict
from layoutrand.stats import Interval, decide
from layoutrand.stats.change_points import SeriesStep, Steps, change_at, find_steps
from layoutrand.stats.levels import FloatArray

_NEAR: Final = 2
"""Times the threshold that an undecided step is at most, to be told as one of about the threshold."""


@dataclass(frozen=True)
class PointValues:
    """Values above 0 of points in the shape of `find_steps`, and the steps of the clock in the mean of each of them.

    ``places`` says which points of the series these are.  Of means of different times ``kept`` has the layouts that all
    of them have, shape (points, layouts): those of a seed are alike where little was changed.
    """

    table: FloatArray
    places: tuple[int, ...]
    clock: ClockSteps = NO_STEPS
    kept: FloatArray | None = None

    @property
    def logs(self) -> FloatArray:
        """What steps add in."""
        return np.log(self.table)

    def room(self, ratio: Interval, span: tuple[int, int], place: int) -> tuple[Interval, ClockSteps]:
        """The ratio of the rows of a span from ``place`` on to those before it, with room for the clock's steps."""
        steps = self.clock.of_groups(range(span[0], place), range(place, span[1])).behind(ratio)
        return steps.of_ratio(ratio) or ratio, steps

    def ratio_at(self, span: tuple[int, int], place: int, confidence: float) -> Interval | None:
        """New over old at a place between the points of a span; None where a side has no values."""
        kept = [number for number, own in enumerate(self.places) if span[0] <= own < span[1]]
        before = sum(self.places[number] < place for number in kept)
        if not 0 < before < len(kept):
            return None
        ratio = _as_ratio(change_at(self.logs[kept], before, confidence=confidence))
        return self.room(ratio, (kept[0], kept[-1] + 1), kept[before])[0]


@dataclass(frozen=True)
class StepQuestion:
    """How sure steps are to be, and from which share on they matter; of a metric that is better so."""

    confidence: float
    threshold: float
    better: Better


@dataclass(frozen=True)
class SeenSteps:
    """Steps of the means and of stock, what both say together, and the rest as `CommitSeries` has it."""

    layouts: Steps
    stocks: Steps | None
    steps: tuple[HistoryStep, ...]
    resolution: float | None
    clock: CoarseClock | None


def seen_steps(layouts: PointValues, stocks: PointValues | None, asked: StepQuestion) -> SeenSteps:
    """The steps of a series, whose points are those of ``layouts``; counted in these."""
    kept = None if layouts.kept is None else np.log(layouts.kept)
    found = find_steps(layouts.logs, confidence=asked.confidence, kept=kept)
    own = None if stocks is None else find_steps(stocks.logs, confidence=asked.confidence)
    judged = [_of_layouts(step, layouts, stocks, found, asked) for step in found.steps]
    steps = [each.step for each in judged if not each.may_be_none]
    left_open = [each.step for each in judged if each.may_be_none]
    if stocks is not None and own is not None:
        steps += _of_stock_alone(stocks, own, layouts, found, asked)
    resolution, behind = _resolution(layouts, found, left_open, asked.confidence)
    clocks = [layouts.clock, behind, *([] if stocks is None else [stocks.clock])]
    # Without a step that is sure, the clock is the reason where even without noise it would hide one.
    finest = [each.factors()[1] - 1 for each in [behind] if each.are_seen and not steps]
    is_open = any(each.is_open for each in judged) or any(each > asked.threshold for each in finest)
    clock = largest_of(clocks, is_open=is_open)
    return SeenSteps(found, own, tuple(sorted(steps, key=lambda step: step.place)), resolution, clock)


def _resolution(
    layouts: PointValues, found: Steps, left_open: Sequence[HistoryStep], confidence: float
) -> tuple[float | None, ClockSteps]:
    """The half-width of a change in the middle, as a share, and the steps of the clock that it has room for.

    Where means have steps, that is told for a coarse clock alone; and it is no less than what this leaves open may be.
    """
    n = len(layouts.table)
    if not found.can_tell or (found.steps and not layouts.clock.are_seen and not left_open):
        return None, NO_STEPS
    edges = [0, *(step.place for step in found.steps), n]
    logs = layouts.logs
    rests = np.concatenate([logs[start:end] - logs[start:end].mean() for start, end in pairwise(edges)])
    size = change_at(rests if found.steps else logs, n // 2, confidence=confidence)
    around = _as_ratio(replace(size, centre=0.0, low=-size.half_width, high=size.half_width))
    ratio, behind = layouts.room(around, (0, n), n // 2)
    largest = max([ratio.high, *(end for step in left_open for end in (step.ratio.high, 2 - step.ratio.low))])
    return (largest - 1 if math.isfinite(largest) else None), behind


@dataclass(frozen=True)
class _Judged:
    """A step of the means; whether steps of the clock leave its verdict open, and whether there may be none at all."""

    step: HistoryStep
    is_open: bool
    may_be_none: bool


def _of_layouts(
    step: SeriesStep, layouts: PointValues, stocks: PointValues | None, found: Steps, asked: StepQuestion
) -> _Judged:
    """A step of the means, with stock beside it, between the neighbouring steps."""
    span = between(step.place, found, len(layouts.table))
    alone = _as_ratio(step.size)
    ratio, clock = layouts.room(alone, span, step.place)
    at_best = clock.at_best(alone)
    said = decide(ratio, asked.threshold, better=asked.better)
    is_near = abs(ratio.centre - 1) <= _NEAR * asked.threshold
    verdict: StepVerdict = "about the threshold" if is_near else "size unknown"
    if said in {"faster", "slower"}:
        verdict = "faster" if said == "faster" else "slower"
    elif said == "equivalent":
        verdict = "small"
    beside = None if stocks is None else stocks.ratio_at(span, step.place, asked.confidence)
    is_open = clock.are_seen and said == decide(at_best, asked.threshold) == "undecided"
    may_be_none = said == "undecided" and _has_one(ratio) and (_has_one(at_best) or not _has_one(alone))
    found_step = HistoryStep(verdict, step.place, step.first, step.last, ratio, beside)
    return _Judged(found_step, is_open or may_be_none, may_be_none)


def _has_one(ratio: Interval) -> bool:
    return ratio.low <= 1 <= ratio.high


def _of_stock_alone(
    stocks: PointValues, own: Steps, layouts: PointValues, found: Steps, asked: StepQuestion
) -> Iterator[HistoryStep]:
    """Steps of stock at which the means show none: layout only where their interval has no room for it.

    Those within the threshold are neither the program's nor of interest, and of those that steps of the clock may be
    nobody knows whether there is one.
    """
    for step in own.steps:
        place, last = stocks.places[step.place], stocks.places[step.last]
        first = stocks.places[step.first - 1] + 1
        beside = [each for each in found.steps if each.first <= last and first <= each.last]
        if any((each.size.centre > 0) == (step.size.centre > 0) for each in beside):
            continue
        if abs(step.size.centre) <= math.log1p(asked.threshold):
            continue
        span = between(step.place, own, len(stocks.table))
        stock, clock = stocks.room(_as_ratio(step.size), span, step.place)
        may_be = clock.at_best(stock)
        if clock.are_seen and decide(may_be, asked.threshold) == "undecided":
            continue
        start, end = between(place, found, len(layouts.table))
        size = _as_ratio(change_at(layouts.logs[start:end], place - start, confidence=asked.confidence))
        ratio, _ = layouts.room(size, (start, end), place)
        inside = ratio.low <= may_be.high and may_be.low <= ratio.high
        verdict: StepVerdict = "cannot tell" if inside else "layout only"
        yield HistoryStep(verdict, place, first, last, ratio, stock)


def between(place: int, found: Steps, n: int) -> tuple[int, int]:
    """The points around a place up to the neighbouring steps."""
    others = [step.place for step in found.steps if step.place != place]
    return max([0, *(each for each in others if each < place)]), min([n, *(each for each in others if each > place)])


def _as_ratio(size: Interval) -> Interval:
    low, high = (math.exp(end) if math.isfinite(end) else (0.0 if end < 0 else end) for end in (size.low, size.high))
    return replace(size, centre=math.exp(size.centre), low=low, high=high)
