"""What stands out in one sample: whether layout matters, how sure its variances are, odd layouts, what one would tell.

Nothing here drops a value.  A layout that lies far from the others, or two groups of them, are results; they are
flagged because a mean, and an interval that rests on a bell-shaped sample, say less of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from layoutrand.analysis.blocking import Freed
from layoutrand.analysis.layout_part import LayoutPart, LayoutTest, layout_part, relative_root, with_room
from layoutrand.analysis.machine import LEVEL as DRIFT_LEVEL
from layoutrand.analysis.machine import MachineFinding, MachineState, machine_finding
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.short_run import short_run
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import counts
from layoutrand.model import BinaryName
from layoutrand.stats import (
    FiveNumberSummary,
    Interval,
    binaries_to_reach,
    component_intervals,
    dip_test,
    median_interval,
    missed_share,
    next_mean,
    outliers,
    single_binary_ratios,
    skewness_test,
    variance_components,
)
from layoutrand.text.quantities import finite
from layoutrand.warning import AnyWarning

HALF_WIDTH: Final = 0.01
"""The precision of a mean that the binaries still needed are given for."""

LEVEL: Final = 0.05
"""Of the tests for whether layout matters and for more than one peak."""

FEWEST_FOR_PEAKS: Final = 10
"""Fewer layouts show no groups: of so few uniform ones the dip can hardly be larger than by chance."""


@dataclass(frozen=True)
class Drift:
    """Correlation of an execution with those before it, of all systems, and p of it being chance.

    Layouts have no order, so what makes neighbours alike is the machine; it counts as layout in the variance.
    """

    correlation: float
    p_value: float

    @property
    def is_found(self) -> bool:
        """Whether chance alone hardly does that; stricter than the other tests, as it is made of every benchmark."""
        return self.p_value <= DRIFT_LEVEL


@dataclass(frozen=True)
class Outlier:
    """A binary far from the others: its mean, and its distance from the median in robust standard deviations."""

    binary: BinaryName
    mean: float
    score: float


@dataclass(frozen=True)
class Shape:
    """How the binaries' means lie; ``limit`` is the score of an outlier, None where there are too few to tell.

    ``dip_p_value`` is that of the hypothesis of one peak; None where there are too few binaries.  ``skewness`` is above
    0 where slow layouts are further off than fast ones, ``skewness_p_value`` that of a normal distribution.
    ``of_machine`` says that the machine, or the executions of one binary, make groups by themselves.
    """

    outliers: tuple[Outlier, ...]
    limit: float | None
    dip: float | None
    dip_p_value: float | None
    skewness: float = 0.0
    skewness_p_value: float = 1.0
    of_machine: bool = False

    @property
    def is_skewed(self) -> bool:
        """Whether one tail is longer than chance makes it."""
        return self.skewness_p_value <= LEVEL

    @property
    def is_odd(self) -> bool:
        """Whether a mean, and an interval that rests on a bell-shaped sample, say less of it."""
        return bool(self.outliers) or self.has_several_peaks or self.is_skewed

    @property
    def has_several_peaks(self) -> bool:
        """Whether the layouts fall into groups."""
        return self.dip_p_value is not None and self.dip_p_value <= LEVEL and not self.of_machine


@dataclass(frozen=True)
class OneBinary:
    """What would have been reported from one layout instead of all.

    ``lowest`` and ``highest`` are a binary's mean over the mean of all; ``comparison`` sums up the ratios of one
    binary to another of the same system, which differ in nothing; None where a mean is not above 0.  ``next`` is the
    range of the mean of one more binary, in the metric's unit.
    """

    lowest: float
    highest: float
    comparison: FiveNumberSummary | None
    next: Interval


@dataclass(frozen=True)
class Needed:
    """Binaries in all for a relative ``half_width`` of the mean, and those still to make; None if out of reach.

    ``n_binaries`` are enough, in 80 % of experiments, for 80 % of samples like this one; ``fewest`` if the standard
    deviation is what this sample says.
    """

    half_width: float
    n_binaries: int | None
    n_more: int | None
    fewest: int | None


@dataclass(frozen=True)
class Findings:
    """All of them; None stands for what the data cannot tell.

    ``relative_sds`` are the intervals of the levels' relative standard deviations, highest level first; ``layout`` is
    what layout alone adds, and whether it matters.  ``short_run`` is how many executions there are, where they are too
    few to show a drift of the machine.  ``could_miss`` is the largest group, as a share of all layouts, of
    which these may well have none; ``median`` that of the binaries, a second statement where outliers, groups or a
    long tail make the mean and its interval say less.  ``machine`` is what is the machine's, which goes
    before ``layout`` and ``shape``.  ``clock_is_coarse`` where times lie on one or two steps of their clock.
    """

    relative_sds: tuple[Interval | None, ...]
    layout: LayoutPart
    short_run: int | None
    could_miss: float | None
    median: Interval | None
    shape: Shape
    one_binary: OneBinary | None
    needed: Needed
    warnings: tuple[AnyWarning, ...]
    drift: Drift | None = None
    machine: MachineFinding | None = None
    clock_is_coarse: bool = False

    @property
    def is_machine(self) -> bool:
        """Whether the machine alternated so much that nothing can be told of layouts."""
        return self.machine is not None and self.machine.instead_of_layout

    @property
    def layout_sd(self) -> Interval | None:
        """The interval of the standard deviation over the mean that layout alone adds."""
        return self.layout.sd

    @property
    def correlation(self) -> Interval | None:
        """The share that layout has of the variance of one execution."""
        return self.layout.correlation

    @property
    def test(self) -> LayoutTest | None:
        """The test of whether layout matters."""
        return self.layout.test


def findings(own: Freed, data: Any, names: tuple[str, ...], mean: Interval, state: MachineState | None) -> Findings:
    """Judge one sample, out of which what nodes add was taken.

    ``data`` are its measurements as nested sequences and ``names`` their levels, highest first; ``mean`` is its
    interval; ``state`` is what the executions of all systems, in the order of time, say of the machine.
    """
    sample = own.sample
    means = sample.binary_means
    layout = layout_part(own, data, names, mean.confidence)
    warnings = list(layout.warnings)
    shape = _shape(sample, means)
    by_round = layout.test is not None and layout.test.method == "rounds"
    machine = machine_finding(own.raw, state, has_groups=shape.has_several_peaks, by_round=by_round)
    warnings += machine.warnings
    return Findings(
        relative_sds=_relative_sds(own.charged(data), data, mean),
        layout=layout,
        short_run=short_run(own.raw),
        could_miss=None if sample.one_layout else missed_share(len(means), confidence=mean.confidence),
        median=median_interval(means, confidence=mean.confidence) if shape.is_odd else None,
        shape=replace(shape, of_machine=machine.instead_of_groups),
        one_binary=None if sample.one_layout else _one_binary(own, means, mean),
        needed=_needed(mean, len(means)),
        warnings=tuple(warnings),
        drift=None if state is None else Drift(state.correlation, state.p_value),
        machine=machine,
    )


def within_clock(found: Findings, half: float, mean: Interval, n_binaries: int) -> Findings:
    """The findings with room for half a step of the clock, as a share of the mean; themselves where it is 0."""
    if not half:
        return found
    needed = _needed(mean, n_binaries, half)
    return replace(
        found, layout=with_room(found.layout, half), needed=needed, median=None, one_binary=None, clock_is_coarse=True
    )


def _relative_sds(charged: Any, data: Any, mean: Interval) -> tuple[Interval | None, ...]:
    """Intervals of variances, as roots over the mean; the mean's own uncertainty is small beside theirs."""
    components = variance_components(data)
    nothing = (None,) * len(components.unbiased)
    if mean.centre == 0 or not math.isfinite(mean.half_width):
        return nothing
    try:
        found = component_intervals(charged, confidence=mean.confidence, method="kurtosis")
    except AnalysisError:  # a single binary: the interval of the mean says so
        return nothing
    return tuple(None if each is None else relative_root(each, mean.centre) for each in reversed(found))


def _shape(sample: Sample, means: Sequence[float]) -> Shape:
    far = outliers(means)
    odd = tuple(Outlier(sample.binaries[place][0], means[place], far.scores[place]) for place in far.positions)
    lopsided = skewness_test(means)
    skewed = (lopsided.statistic, lopsided.p_value)
    if len(means) < FEWEST_FOR_PEAKS:
        return Shape(odd, finite(far.limit), None, None, *skewed)
    # Counted events come in steps of one; of durations the step is not known, but seen where they are rounded.
    peaks = dip_test(means, resolution=1.0 if counts(sample.instrument) else None)
    return Shape(odd, finite(far.limit), peaks.statistic, peaks.p_value, *skewed)


def _one_binary(own: Freed, means: Sequence[float], interval: Interval) -> OneBinary | None:
    mean = interval.centre
    if len(means) < 2 or mean == 0:
        return None
    lowest, highest = sorted((min(means) / mean, max(means) / mean))
    pairs = single_binary_ratios(means, means) if min(means) > 0 else None
    return OneBinary(lowest, highest, pairs, next_mean(own.charged(means), confidence=interval.confidence))


def _needed(mean: Interval, count: int, half: float = 0.0) -> Needed:
    """Beside half a step of the clock, which no number averages out."""
    found = binaries_to_reach(mean, HALF_WIDTH - half, n_binaries=count) if half < HALF_WIDTH else None
    if found is None:
        return Needed(HALF_WIDTH, None, None, None)
    return Needed(HALF_WIDTH, found.high, None if found.high is None else found.high - count, found.low)
