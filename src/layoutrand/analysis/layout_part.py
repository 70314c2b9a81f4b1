"""What layout adds in one sample, and whether it matters: a test, the size with its interval, and what both come to.

Three answers, and no other.  *Matters*: binaries differ by more than executions of one do, and perhaps by more than
practically nothing.  *Practically none*: whatever layout adds, it is less than that, however small p is.  *Cannot
tell*: nothing was found, but layouts could differ by as much as the upper bound says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from statistics import fmean
from typing import Any, Final, Literal

import numpy as np

from layoutrand.analysis.blocking import Freed
from layoutrand.analysis.noise_warnings import NoisyStock, NoNoise, UntestedLayout
from layoutrand.analysis.sample import Executions, Sample
from layoutrand.errors import AnalysisError
from layoutrand.instruments.known import simulated
from layoutrand.model import IDENTITY, STOCK, BinaryName
from layoutrand.stats import (
    ControlNoise,
    Interval,
    SpreadTest,
    TestResult,
    component_intervals,
    control_noise,
    intraclass_correlation,
    rounds_control_noise,
    rounds_spread_test,
    spread_test,
    variance_components,
    variance_test,
)
from layoutrand.stats.agreement import agreement_p
from layoutrand.stats.levels import nested
from layoutrand.stats.spread import JUST_FOUND
from layoutrand.text.quantities import finite
from layoutrand.warning import AnyWarning

PRACTICALLY_NONE: Final = 0.001
"""Standard deviation of layouts over the mean below which they are said to add practically nothing: a tenth of the 1 %
that `compare` takes for a difference by default, so that no layout is likely to feign one."""

_FEWEST_ROUNDS: Final = 3
"""Of fewer no exchange within rounds is rarer than one in twenty."""

_MOST_OF_THEM: Final = 0.8
"""Share of the binaries that must have a control in their round, else all executions are taken together."""

_NOISIER: Final = 0.01
"""p from which on controls are said to vary more than binaries: stricter, as it is asked of every benchmark."""

Answer = Literal["matters", "practically none", "cannot tell"]


@dataclass(frozen=True)
class LayoutTest:
    """The test of "layout does not matter": its p-value, its statistic, and what it was made with.

    ``method`` is "rounds" where controls in the same rounds show the noise, "controls" where all of their executions
    do (statistic: ratio of mean absolute deviations), "exact" where a simulated control repeats to the digit, and
    "f" or "permutation" where binaries were executed repeatedly (statistic: F).  Where they were, ``p_value`` is
    no less than that of `agreement_p`, too.
    """

    p_value: float
    statistic: float | None
    method: str


@dataclass(frozen=True)
class LayoutSpread:
    """What layout alone adds: a variance without bias, which may be negative, and the standard deviation over the mean.

    ``method`` is "levels" where binaries were executed repeatedly, or that of the test: the variance over binaries
    minus that over the executions of controls, which is noise alone.
    """

    variance: float
    relative_sd: float | None
    method: str


@dataclass(frozen=True)
class LayoutPart:
    """All that is said of layout in one sample; None stands for what the data cannot tell.

    ``sd`` is the interval of what layout alone adds over the mean; it begins at 0 exactly where the test finds nothing.
    ``upper`` is its end, known without a test, too: layouts add no more than binaries differ by.  ``noise_sd`` is the
    standard deviation of executions over the mean: of binaries that were executed repeatedly their own, else that of
    controls, without what the executions of a round have in common; these are ``noise_of``, as noisy as which the
    executions of all layouts are then taken to be.  ``correlation`` is the share that layout has of the variance of one
    execution.
    """

    answer: Answer | None
    test: LayoutTest | None = None
    spread: LayoutSpread | None = None
    sd: Interval | None = None
    upper: float | None = None
    noise_sd: float | None = None
    noise_of: tuple[BinaryName, ...] = ()
    correlation: Interval | None = None
    warnings: tuple[AnyWarning, ...] = ()


def layout_part(own: Freed, data: Any, names: tuple[str, ...], confidence: float) -> LayoutPart:
    """Judge one sample, out of which what nodes add was taken; ``data`` and ``names`` are its levels, highest first."""
    means = own.sample.binary_means
    if own.sample.one_layout or len(means) < 2:
        return LayoutPart(None)
    if min(means) == max(means):
        method = "levels" if "execution" in names else "controls" if _noise(own) else ""
        return LayoutPart("practically none", spread=LayoutSpread(0.0, 0.0, method) if method else None, upper=0.0)
    found = _by_controls(own, means, names, confidence)
    if found is not None and found.warnings:  # controls that are noisier than binaries bound nothing
        found = _no_less(found, _untested(own, data, confidence, LayoutPart(None)).upper)
    if found is None:
        found = _by_repetition(own, data, names, confidence) if "execution" in names else LayoutPart(None)
        if found.test is None:
            found = _untested(own, data, confidence, found)
    if "execution" in names:
        found = replace(found, noise_sd=_noise_within(own.sample))
    elif found.noise_sd:
        found = replace(found, noise_of=tuple(name for name in (STOCK, IDENTITY) if name in own.sample.controls))
    answer = _answer(found, confidence)
    warnings = found.warnings
    if answer == "practically none":  # whatever the noise is: that it cannot be told from layout leaves nothing open
        warnings = tuple(each for each in warnings if not isinstance(each, NoNoise | UntestedLayout))
    return replace(found, answer=answer, warnings=warnings)


def _noise_within(sample: Sample) -> float | None:
    """The noise that binaries show themselves which were executed repeatedly: what executions of one differ by.

    Their iterations are in it, as in that of controls: an execution is what is measured once.
    """
    components = variance_components([[fmean(run) for run in executions] for _, executions in sample.binaries])
    value = components.unbiased[0]
    return None if value is None or components.mean == 0 else math.sqrt(max(value, 0.0)) / abs(components.mean)


def with_room(part: LayoutPart, half: float) -> LayoutPart:
    """The same of means that may each be off by this share of theirs: what layouts add may be more by it, or less."""
    upper = None if part.upper is None else part.upper + half
    sd = part.sd
    if sd is not None:
        sd = replace(sd, low=max(sd.low - half, JUST_FOUND * sd.low), high=sd.high + half)
    noise = None if part.noise_sd is None or part.noise_sd < half else part.noise_sd
    found = replace(part, upper=upper, sd=sd, noise_sd=noise)
    if part.answer in {None, "matters"}:
        return found
    return replace(
        found, answer="practically none" if upper is not None and upper < PRACTICALLY_NONE else "cannot tell"
    )


def has_rounds(own: Freed) -> bool:
    """Whether layouts are compared with the controls of their own rounds, so that what rounds share is not in it."""
    return _cells(own)[0] is not None


def execution_noise(own: Freed) -> ControlNoise | None:
    """How executions of one binary differ, from those of stock and identity; None where these show nothing of it.

    The one definition of noise, that of the tests here and of `plan`: the variance of one execution, in squared units
    of the sample, pooled over both controls about the mean of each, since they are different binaries; where rounds are
    known, without what executions of a round have in common, which no layout can be taken for.
    """
    cells, scale = _cells(own)
    try:
        if cells is None:
            return control_noise(_noise(own))
        found = rounds_control_noise(cells, are_apart=bool(own.method))
    except AnalysisError:  # as few executions of controls as there are show no noise
        return None
    return replace(found, variance=found.variance * scale * scale)


def _answer(found: LayoutPart, confidence: float) -> Answer:
    if found.upper is not None and found.upper < PRACTICALLY_NONE:
        return "practically none"
    if found.test is not None and found.test.p_value <= 1 - confidence:
        return "matters"
    return "cannot tell"


def _by_controls(own: Freed, means: Sequence[float], names: tuple[str, ...], confidence: float) -> LayoutPart | None:
    """From executions of stock and identity; None where there are none that show the noise."""
    mean = fmean(means)
    cells, scale = _cells(own)
    try:
        if cells is not None:
            found = rounds_spread_test(cells, confidence=confidence, are_apart=bool(own.method))
            return _part(found, "rounds", scale, mean)
        controls = _noise(own)
        if "execution" in names or not controls:
            return None
        found = spread_test(means, controls, confidence=confidence)
    except AnalysisError:  # as few executions of controls as there are show no noise
        return None
    if found.noise == 0 and own.sample.instrument in simulated():
        return _exact(_part(found, "exact", 1.0, mean), found, mean)
    return _part(found, "controls", 1.0, mean)


def _no_less(part: LayoutPart, upper: float | None) -> LayoutPart:
    """With an upper bound that is no less than this."""
    if part.sd is None or part.upper is None:
        return part
    high = math.inf if upper is None else max(part.upper, upper)
    return replace(part, sd=replace(part.sd, high=high), upper=finite(high))


def _exact(part: LayoutPart, found: SpreadTest, mean: float) -> LayoutPart:
    """A simulated processor repeats itself: binaries that differ do so by their layouts, however few there are."""
    sd = part.sd
    if sd is not None and sd.low == 0:
        sd = replace(sd, low=JUST_FOUND * math.sqrt(max(found.variance, 0.0)) / abs(mean))
    return replace(part, test=LayoutTest(0.0, None, "exact"), sd=sd)


def _part(found: SpreadTest, method: str, scale: float, mean: float) -> LayoutPart:
    """The test in words of the sample; ``scale`` turns its unit into that of the mean."""
    variance = found.variance * scale * scale
    test = LayoutTest(found.p_value, finite(found.statistic), method)
    warnings = (NoisyStock(),) if found.p_less <= _NOISIER else ()
    if mean == 0:
        return LayoutPart(None, test, LayoutSpread(variance, None, method), warnings=warnings)
    unit = scale / abs(mean)
    sd = replace(found.sd, centre=found.sd.centre * unit, low=found.sd.low * unit, high=found.sd.high * unit)
    return LayoutPart(
        None,
        test,
        LayoutSpread(variance, sd.centre, method),
        sd,
        upper=finite(sd.high),
        noise_sd=math.sqrt(found.noise) * unit,
        correlation=_share(found),
        warnings=warnings,
    )


def _share(found: SpreadTest) -> Interval | None:
    """Of the variance of one execution: the interval of what layout adds, beside the noise."""
    if found.sd.high == 0:
        return None
    ends = [1.0 if math.isinf(sd) else sd**2 / (sd**2 + found.noise) if sd else 0.0 for sd in _ends(found.sd)]
    return replace(found.sd, centre=ends[0], low=ends[1], high=ends[2])


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.centre, interval.low, interval.high


def _cells(own: Freed) -> tuple[list[list[list[float]]] | None, float]:
    """Executions as ``(pass, round, binary and controls)``, and what their unit is in that of the mean.

    None where the rounds are not known, or few have a control.  On several nodes all of a round were made on one, so
    what it adds cancels where there are two controls, of logarithms as it multiplies.
    """
    sample = own.raw
    seeds = [name for name, _ in sample.binaries if name in sample.rounds]
    controls = [name for name in sample.controls if name in sample.rounds]
    seeds = [name for name in seeds if len(set(sample.rounds[name])) == 1]
    if len(controls) < (2 if own.method else 1) or len(seeds) < _FEWEST_ROUNDS:
        return None, 1.0
    executions: dict[BinaryName, Executions] = dict([*sample.binaries, *sample.controls.items()])
    values = [
        [_in_round(sample, executions, name, seed) for name in (seed, *controls)] for seed in _in_time(sample, seeds)
    ]
    with_control = sum(sum(bool(each) for each in row[1:]) >= (2 if own.method else 1) for row in values)
    if with_control < max(_FEWEST_ROUNDS, _MOST_OF_THEM * len(sample.binaries)):
        return None, 1.0
    scale = 1.0
    if own.method and all(value > 0 for row in values for each in row for value in each):
        scale = abs(fmean(value for row in values for value in row[0]))
        values = [[[math.log(value) for value in each] for each in row] for row in values]
    passes = max(len(row[0]) for row in values)
    missing = math.nan
    return [[[each[k] if k < len(each) else missing for each in row] for row in values] for k in range(passes)], scale


def _in_round(
    sample: Sample, executions: dict[BinaryName, Executions], name: BinaryName, seed: BinaryName
) -> list[float]:
    """What was measured of a binary in the round of a seed, pass after pass."""
    at = sample.rounds[seed][0]
    return [fmean(run) for run, of in zip(executions[name], sample.rounds[name], strict=True) if of == at]


def _in_time(sample: Sample, seeds: list[BinaryName]) -> list[BinaryName]:
    """Seeds in the order of their rounds."""
    return sorted(seeds, key=lambda name: min(sample.started.get(name, (0.0,))))


def _noise(own: Freed) -> list[list[float]]:
    """Executions of controls, as noisy as what binaries that were executed once have beside layout."""
    found = []
    for name, executions in own.sample.controls.items():
        runs = [fmean(iterations) for iterations in executions]
        if len(runs) > 1 and own.has_noise(name):
            mean = fmean(runs)
            found.append([mean + (run - mean) * math.sqrt(own.noise) for run in runs] if own.noise != 1 else runs)
    return found


def _by_repetition(own: Freed, data: Any, names: tuple[str, ...], confidence: float) -> LayoutPart:
    """From repeated executions of each binary, which show the noise themselves."""
    try:
        result, method = _repeated(own, data)
        is_found = result.p_value <= 1 - confidence

        def share(at: float) -> Interval:
            how = "f" if len(names) == 2 else "bootstrap"
            return intraclass_correlation(own.charged(data), confidence=at, method=how)

        def top(at: float) -> Interval | None:
            return component_intervals(own.charged(data), confidence=at, method="kurtosis")[-1]

        correlation = _consistent(share, confidence, is_found=is_found)
        variance = _consistent(top, confidence, is_found=is_found)
    except AnalysisError as error:
        return LayoutPart(None, warnings=(UntestedLayout(str(error)),))
    components = variance_components(data)
    mean = components.mean
    test = LayoutTest(result.p_value, finite(result.statistic), method)
    sd = None if variance is None or mean == 0 else relative_root(variance, mean)
    value = components.unbiased[-1]
    relative = None if mean == 0 or value is None else math.sqrt(max(value, 0.0)) / abs(mean)
    spread = None if value is None else LayoutSpread(value, relative, "levels")
    upper = None if sd is None else finite(sd.high)
    said = () if correlation is None else correlation.warnings
    return LayoutPart(None, test, spread, sd, upper, correlation=correlation, warnings=said)


def _consistent(interval: Callable[[float], Interval | None], confidence: float, *, is_found: bool) -> Interval | None:
    """An interval that begins at 0 exactly where nothing was found: the test leaves all of its error to one side."""
    both = interval(confidence)
    if both is None or not is_found:
        return both if both is None else replace(both, low=0.0, centre=max(both.centre, 0.0))
    low = both.low
    if low <= 0:
        one = interval(2 * confidence - 1) if confidence > 0.5 else None
        low = max(0.0 if one is None else one.low, JUST_FOUND * max(both.centre, both.high if both.high < 1e300 else 0))
    return replace(both, low=low, centre=max(both.centre, low), high=max(both.high, low))


def _repeated(own: Freed, data: Any) -> tuple[TestResult, str]:
    """The test between binaries that were executed repeatedly, and its name; on several nodes within these."""
    if len(own.nodes) < 2:
        method = "f" if nested(data).is_balanced else "permutation"
        return _no_surer(variance_test(data, method=method), own.sample), method
    measured = [[fmean(run) for run in executions] for _, executions in own.raw.binaries]
    blocks = [
        own.raw.nodes.get(name, ("",) * len(runs))[place]
        for name, runs in own.raw.binaries
        for place in range(len(runs))
    ]
    return _no_surer(variance_test(measured, method="permutation", blocks=blocks), own.sample), "permutation"


def _no_surer(result: TestResult, sample: Sample) -> TestResult:
    """With a p-value that is no less where binaries have noise of their own: their executions must agree, too."""
    runs = [[fmean(run) for run in executions] for _, executions in sample.binaries]
    agree = agreement_p(np.array(list(zip_longest(*runs, fillvalue=math.nan))))
    return replace(result, p_value=max(result.p_value, agree or 0.0))


def _untested(own: Freed, data: Any, confidence: float, found: LayoutPart) -> LayoutPart:
    """Nothing shows the noise: layouts add no more than what binaries differ by in all.

    The iterations of one execution are no noise of it: they follow each other, with warm-up or a trend in them, so what
    binaries differ by may be far less than they would make it by chance, and taking them away would leave nothing.
    """
    warnings = found.warnings
    if not warnings and own.sample.instrument not in simulated():
        # A simulator is executed once per binary whatever run.executions says.
        warnings = (NoNoise(own.sample.is_imported),)
    is_once = all(len(executions) == 1 for _, executions in own.sample.binaries)
    try:
        differing = own.charged(own.sample.binary_means if is_once else data)
        top = component_intervals(differing, confidence=confidence, method="kurtosis")[-1]
    except AnalysisError:
        return replace(found, warnings=warnings)
    mean = variance_components(data).mean
    upper = None if top is None or mean == 0 else finite(math.sqrt(max(top.high, 0.0)) / abs(mean))
    return replace(found, upper=upper, warnings=warnings)


def relative_root(variance: Interval, mean: float) -> Interval:
    """The interval of a variance as a standard deviation over the mean, whose own uncertainty is small beside it."""
    centre, low, high = (math.sqrt(max(value, 0.0)) / abs(mean) for value in _ends(variance))
    return replace(variance, centre=centre, low=low, high=high)
