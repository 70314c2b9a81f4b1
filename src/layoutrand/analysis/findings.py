"""What stands out in one sample: whether layout matters, how sure its variances are, odd layouts, what one would tell.

Nothing here drops a value.  A layout that lies far from the others, or two groups of them, are results; they are
flagged because a mean, and an interval that rests on a bell-shaped sample, say less of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from layoutrand.analysis.analysis_warnings import MachineDrifted, NoisyStock, NoNoise, UntestedLayout
from layoutrand.analysis.blocking import Freed
from layoutrand.analysis.sample import Sample, binary_mean
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import counts, simulated
from layoutrand.model import STOCK, BinaryName
from layoutrand.stats import (
    FiveNumberSummary,
    Interval,
    TestResult,
    binaries_to_reach,
    component_intervals,
    dip_test,
    intraclass_correlation,
    layout_effect,
    outliers,
    serial_test,
    single_binary_ratios,
    variance_components,
    variance_test,
    with_lost,
)
from layoutrand.stats.levels import Nested
from layoutrand.text.quantities import finite
from layoutrand.warning import AnyWarning

HALF_WIDTH: Final = 0.01
"""The precision of a mean that the binaries still needed are given for."""

LEVEL: Final = 0.05
"""Of the tests for whether layout matters and for more than one peak."""

DRIFT_LEVEL: Final = 0.01
_ORDERS: Final = 2_000

FEWEST_FOR_PEAKS: Final = 10
"""Fewer layouts show no groups: of so few uniform ones the dip can hardly be larger than by chance."""


@dataclass(frozen=True)
class LayoutTest:
    """The test of "layout does not matter": its p-value, its statistic F, and what it was made with.

    ``method`` is "f" or "permutation" where binaries were executed repeatedly, "stock" where the executions of stock
    show the noise.
    """

    p_value: float
    statistic: float | None
    method: str


@dataclass(frozen=True)
class Drift:
    """Correlation of the means of binaries executed one after the other, and p of it being chance.

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

    ``dip_p_value`` is that of the hypothesis of one peak; None where there are too few binaries.
    """

    outliers: tuple[Outlier, ...]
    limit: float | None
    dip: float | None
    dip_p_value: float | None

    @property
    def has_several_peaks(self) -> bool:
        """Whether the layouts fall into groups."""
        return self.dip_p_value is not None and self.dip_p_value <= LEVEL


@dataclass(frozen=True)
class OneBinary:
    """What would have been reported from one layout instead of all.

    ``lowest`` and ``highest`` are a binary's mean over the mean of all; ``comparison`` sums up the ratios of one
    binary to another of the same system, which differ in nothing; None where a mean is not above 0.
    """

    lowest: float
    highest: float
    comparison: FiveNumberSummary | None


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

    ``relative_sds`` are the intervals of the levels' relative standard deviations, highest level first;
    ``layout_sd`` that of what layout alone adds, ``correlation`` its share of the variance of one execution.
    """

    relative_sds: tuple[Interval | None, ...]
    layout_sd: Interval | None
    correlation: Interval | None
    test: LayoutTest | None
    shape: Shape
    one_binary: OneBinary | None
    needed: Needed
    warnings: tuple[AnyWarning, ...]
    drift: Drift | None = None


def findings(
    own: Freed, data: Any, names: tuple[str, ...], mean: Interval, started: Mapping[BinaryName, float]
) -> Findings:
    """Judge one sample, out of which what nodes add was taken.

    ``data`` are its measurements as nested sequences and ``names`` their levels, highest first; ``mean`` is its
    interval; ``started`` says when each binary was first executed, as far as that is known.
    """
    sample = own.sample
    means = [binary_mean(executions) for _, executions in sample.binaries]
    correlation, test, layout_sd, warnings = _layout(own, data, names, means, mean.confidence)
    relative_sds = _relative_sds(own.charged(data), data, mean)
    if test is not None and test.method != "stock":
        layout_sd = relative_sds[0]
    drift = _drift(own, means, started)
    if drift is not None and drift.is_found:
        warnings.append(MachineDrifted())
    return Findings(
        relative_sds=relative_sds,
        layout_sd=layout_sd,
        correlation=correlation,
        test=test,
        shape=_shape(sample, means),
        one_binary=None if sample.one_layout else _one_binary(means, mean.centre),
        needed=_needed(mean, len(means)),
        warnings=tuple(warnings),
        drift=drift,
    )


def _layout(
    own: Freed, data: Any, names: tuple[str, ...], means: Sequence[float], confidence: float
) -> tuple[Interval | None, LayoutTest | None, Interval | None, list[AnyWarning]]:
    """Intraclass correlation, test, interval of the layouts' standard deviation, and warnings."""
    sample = own.sample
    if sample.one_layout or len(means) < 2 or min(means) == max(means):
        return None, None, None, []
    if "execution" in names:
        method = "f" if _is_balanced(data) else "permutation"
        try:
            found, method = _repeated(own, data, method)
            share = intraclass_correlation(
                own.charged(data),
                confidence=confidence,
                method="f" if len(names) == 2 else "bootstrap",
            )
        except AnalysisError as error:
            return None, None, None, [UntestedLayout(str(error))]
        return share, LayoutTest(found.p_value, finite(found.statistic), method), None, list(share.warnings)
    stock = _noise(own)
    try:
        effect = layout_effect(stock, own.charged(means), confidence=confidence) if stock is not None else None
    except AnalysisError as error:
        return None, None, None, [UntestedLayout(str(error))]
    if effect is None:
        # A simulator's counts have hardly any noise, and it is executed once per binary whatever run.executions says.
        return None, None, None, [] if sample.instrument in simulated() else [NoNoise()]
    test = LayoutTest(effect.p_value, None, "stock")
    if effect.layout_sd_interval.high == 0:
        return None, test, None, [NoisyStock()]
    return effect.correlation, test, effect.layout_sd_interval, []


def _repeated(own: Freed, data: Any, method: str) -> tuple[TestResult, str]:
    """The test between binaries that were executed repeatedly, and its name; on several nodes within these."""
    if len(own.nodes) < 2:
        return variance_test(data, method=method), method
    measured = [[fmean(run) for run in executions] for _, executions in own.raw.binaries]
    blocks = [
        own.raw.nodes.get(name, ("",) * len(runs))[place]
        for name, runs in own.raw.binaries
        for place in range(len(runs))
    ]
    return variance_test(measured, method="permutation", blocks=blocks), "permutation"


def _noise(own: Freed) -> Nested | None:
    """Executions of stock, as noisy as what binaries that were executed once have beside layout; None for too few."""
    runs = [fmean(iterations) for iterations in own.sample.controls.get(STOCK, ())]
    if len(runs) < 2 or not own.has_noise(STOCK):
        return None
    if own.noise != 1:
        mean = fmean(runs)
        runs = [mean + (run - mean) * math.sqrt(own.noise) for run in runs]
    return with_lost(runs, own.control_lost.get(STOCK, 0))


def _relative_sds(charged: Any, data: Any, mean: Interval) -> tuple[Interval | None, ...]:
    """Intervals of variances, as roots over the mean; the mean's own uncertainty is small beside theirs."""
    components = variance_components(data)
    nothing = (None,) * len(components.unbiased)
    if mean.centre == 0 or not math.isfinite(mean.half_width):
        return nothing
    try:
        found = component_intervals(charged, confidence=mean.confidence, method="f")
    except AnalysisError:  # a single binary: the interval of the mean says so
        return nothing
    return tuple(None if each is None else _root(each, mean.centre) for each in reversed(found))


def _root(variance: Interval, mean: float) -> Interval:
    centre, low, high = (
        math.sqrt(max(value, 0.0)) / abs(mean) for value in (variance.centre, variance.low, variance.high)
    )
    return Interval(
        centre=centre,
        low=low,
        high=high,
        confidence=variance.confidence,
        method=variance.method,
        warnings=variance.warnings,
    )


def _drift(own: Freed, means: Sequence[float], started: Mapping[BinaryName, float]) -> Drift | None:
    """None where the order is not known, for a simulator, which does not drift, and for few binaries.

    Of several nodes each has an order of its own, and what it adds to all of its binaries is no drift.
    """
    sample = own.sample
    if sample.instrument in simulated() or len(means) < FEWEST_FOR_PEAKS:
        return None
    if any(name not in started for name, _ in sample.binaries):
        return None
    order = sorted(range(len(means)), key=lambda place: started[sample.binaries[place][0]])
    blocks = [own.node_of(sample.binaries[place][0]) for place in order] if len(own.nodes) > 1 else None
    found = serial_test([means[place] for place in order], blocks=blocks, n_resamples=_ORDERS)
    return Drift(found.statistic, found.p_value)


def _shape(sample: Sample, means: Sequence[float]) -> Shape:
    far = outliers(means)
    odd = tuple(Outlier(sample.binaries[place][0], means[place], far.scores[place]) for place in far.positions)
    if len(means) < FEWEST_FOR_PEAKS:
        return Shape(odd, finite(far.limit), None, None)
    # Counted events come in steps of one; of durations the step is not known, but seen where they are rounded.
    peaks = dip_test(means, resolution=1.0 if counts(sample.instrument) else None)
    return Shape(odd, finite(far.limit), peaks.statistic, peaks.p_value)


def _one_binary(means: Sequence[float], mean: float) -> OneBinary | None:
    if len(means) < 2 or mean == 0:
        return None
    lowest, highest = sorted((min(means) / mean, max(means) / mean))
    return OneBinary(lowest, highest, single_binary_ratios(means, means) if min(means) > 0 else None)


def _needed(mean: Interval, count: int) -> Needed:
    found = binaries_to_reach(mean, HALF_WIDTH, n_binaries=count)
    if found is None:
        return Needed(HALF_WIDTH, None, None, None)
    return Needed(HALF_WIDTH, found.high, None if found.high is None else found.high - count, found.low)


def _is_balanced(data: Any) -> bool:
    """Whether all nested sequences of a level are of one length."""
    if not data or not isinstance(data[0], Sequence):
        return True
    return len({len(part) for part in data}) == 1 and all(map(_is_balanced, data)) and _is_balanced(_flattened(data))


def _flattened(data: Any) -> Any:
    return [item for part in data for item in part]
