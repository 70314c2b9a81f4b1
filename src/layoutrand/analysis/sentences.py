"""What the numbers of `analyse` and `compare` mean, in sentences that can be quoted."""

from __future__ import annotations

import math
from typing import Final

from layoutrand.analysis.analyse import Analysis
from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.forecasting import forecast_words
from layoutrand.instruments.known import is_elapsed
from layoutrand.stats import Interval
from layoutrand.text.quantities import NO_BOUNDS, SECONDS, change, changes, percent, telling

_SMALLEST_P: Final = 0.0001
"""Below it a p-value is as good as any other."""


def of_analysis(analysis: Analysis) -> str:
    """What the numbers mean, in words."""
    means = [mean for _, mean in analysis.binary_means]
    name = f"{analysis.benchmark}, {analysis.system}, {analysis.metric}"
    if analysis.n_binaries == 1:
        return f"{name}: one layout alone, which says nothing of how layouts differ"
    if min(means) == max(means):
        return f"{name}: the same in all {len(means)} layouts"
    centre = analysis.mean.centre
    if centre == 0:
        return f"{name}: the mean over {len(means)} layouts is 0, so nothing can be given in percent of it"
    ends = shown_by_one(analysis)
    parts = [f"{name}: one binary could have shown anything from {ends} of the mean over {len(means)} layouts"]
    if analysis.layout is not None and analysis.layout.relative_sd is not None:
        noise = ""
        if analysis.stock is not None and analysis.stock.sd and analysis.stock.mean:
            noise = f", beside {percent(analysis.stock.sd / analysis.stock.mean)} between executions of one binary"
        parts.append(
            f"the standard deviation of layout alone is estimated at {percent(analysis.layout.relative_sd)}{noise}"
        )
    parts += _of_findings(analysis)
    if analysis.stock is not None:
        place = change(analysis.stock.mean / centre)
        parts.append(f"your own build lies at {place}, above {analysis.stock.percentile:.0f} % of the layouts")
    return "; ".join(parts)


def shown_by_one(analysis: Analysis) -> str:
    """``-2.1 to +3.4 %``: the lowest and the highest binary against the mean, which is not 0; or ``the same``."""
    means = [mean for _, mean in analysis.binary_means]
    if min(means) == max(means):
        return "the same"
    return f"{' to '.join(changes([end / analysis.mean.centre for end in (min(means), max(means))]))} %"


def _of_findings(analysis: Analysis) -> list[str]:
    found = analysis.findings
    if found is None:
        return []
    parts = []
    if found.test is not None:
        what = "layout, or drift of the machine," if found.drift is not None and found.drift.is_found else "layout"
        matters = found.test.p_value <= 1 - analysis.mean.confidence
        word = f"{what} matters" if matters else f"no sign that {what} matters"
        parts.append(f"{word} ({p_words(found.test.p_value)})")
    if found.shape.has_several_peaks:
        assert found.shape.dip_p_value is not None
        parts.append(
            f"the layouts fall into groups (dip test, {p_words(found.shape.dip_p_value)}), "
            "so their mean describes none of them"
        )
    if found.shape.outliers:
        names = ", ".join(str(each.binary) for each in found.shape.outliers)
        numbered = all(isinstance(each.binary, int) for each in found.shape.outliers)
        kind = ("seed " if len(found.shape.outliers) == 1 else "seeds ") if numbered else ""
        parts.append(f"far from the others, but in the numbers: {kind}{names}")
    return parts


def p_value(value: float) -> str:
    """A p-value for people: no more digits than it deserves."""
    return f"< {_SMALLEST_P:g}" if value < _SMALLEST_P else f"{value:.2g}"


def p_words(value: float) -> str:
    """``p = 0.012`` or ``p < 0.0001``."""
    return f"p {'' if value < _SMALLEST_P else '= '}{p_value(value)}"


def of_ratio(result: Comparison, pair: BenchmarkRatio) -> str:
    """What the ratio of one benchmark says, in words."""
    if pair.ratio is None:
        return f"{pair.benchmark}: no ratio of {result.candidate} to {result.baseline} can be given"
    said = _Words(pair, result)
    if pair.verdict == "equivalent":
        start = f"equivalent within {100 * result.threshold:g} %: {said.statement(pair.ratio.centre)}"
    elif pair.verdict == "undecided":
        start = f"undecided: {said.statement(pair.ratio.centre, measured=True)}"
    else:
        start = said.statement(pair.ratio.centre)
    counts = said.counts()
    interval = f"{100 * pair.ratio.confidence:g} % interval {said.interval(pair.ratio)}"
    parts = [f"{pair.benchmark}: {start} ({interval}, {counts})"]
    if pair.verdict == "undecided":
        parts.append(_to_decide(pair))
    elif pair.sureness is not None and pair.sureness.verdict == "undecided":
        parts.append(f"not sure beside the {pair.sureness.n_judged} verdicts given at once (Holm)")
    if any(pair.one_layout):
        systems = (result.baseline, result.candidate)
        fixed = [name for name, alone in zip(systems, pair.one_layout, strict=True) if alone]
        whose = "" if len(fixed) == len(systems) else f"{fixed[0]} has "
        parts.append(f"{whose}one layout alone, so nothing is said of what other layouts would show")
    elif pair.one_binary is not None and pair.one_binary.minimum < pair.one_binary.maximum:
        ends = said.ends(pair.one_binary.minimum, pair.one_binary.maximum)
        parts.append(f"one binary of each could have shown anything from {ends}")
    return "; ".join(part for part in parts if part)


def of_suite(result: Comparison) -> str:
    """What the geometric mean over the benchmarks says; empty where there is none, or one benchmark."""
    suite = result.suite
    if suite is None or suite.n_benchmarks < 2:
        return ""
    said, is_open = _Words(result.benchmarks[0], result), suite.verdict == "undecided"
    how = "paired by seed" if suite.paired is not None else "not paired"
    statement = said.statement(suite.ratio.centre, measured=is_open)
    parts = [
        f"geometric mean of {suite.n_benchmarks} benchmarks: {suite.verdict}: {statement} "
        f"({100 * result.confidence:g} % interval {said.interval(suite.ratio)}, {how})"
    ]
    if suite.bootstrap is not None:
        parts.append(f"by hierarchical bootstrap {said.interval(suite.bootstrap)}")
    if suite.p_value is not None:
        parts.append(f"randomization test {p_words(suite.p_value)}")
    return "; ".join(parts)


def _to_decide(pair: BenchmarkRatio) -> str:
    if pair.forecast is None:
        return ""
    counted = " or ".join(dict.fromkeys(pair.counted))
    return forecast_words(pair.forecast, min(pair.n_baseline, pair.n_candidate), counted)


class _Words:
    """The words for one benchmark: faster and slower for times and what more is better of, less and more otherwise."""

    def __init__(self, pair: BenchmarkRatio, result: Comparison) -> None:
        self._pair = pair
        is_speed = pair.unit in SECONDS or pair.better == "more"
        self._below, self._above = ("faster", "slower") if is_speed else ("less", "more")
        if pair.better == "more":
            self._below, self._above = self._above, self._below
        self._is_speed = is_speed
        self._result = result

    def statement(self, ratio: float, *, measured: bool = False) -> str:
        """``O3 is 2.1 % faster than O2``; ``measured`` where that may be chance."""
        new, old = self._result.candidate, self._result.baseline
        if ratio == 1:
            return f"{new} and {old} have the same {self._pair.metric}"
        size = self._size(ratio, telling([100 * (ratio - 1)], _digits(ratio)))
        if not self._is_speed:
            return f"{new} {'took' if measured else 'takes'} {size} {self._pair.metric} than {old}"
        by = "" if is_elapsed(self._pair.metric) else f" by {self._pair.metric}"
        return f"{new} {'measured' if measured else 'is'} {size} than {old}{by}"

    def counts(self) -> str:
        """How many binaries, or executions of one layout, of each."""
        pair, result = self._pair, self._result
        old, new = pair.counted
        if old != new:
            candidate = f"{_count(pair.n_candidate, new)} of {result.candidate}"
            return f"{candidate}, {_count(pair.n_baseline, old)} of {result.baseline}"
        if pair.n_baseline == pair.n_candidate:
            return f"{_count(pair.n_baseline, old)} each"
        return f"{pair.n_candidate} and {pair.n_baseline} {old}"

    def _size(self, ratio: float, digits: int) -> str:
        """``2.1 % faster``."""
        return f"{_apart(ratio, digits)} % {self._below if ratio < 1 else self._above}"

    def interval(self, interval: Interval) -> str:
        """``1.4 to 2.8 %`` in the direction of the centre, else with the direction of both ends."""
        low, high = interval.low, interval.high
        if math.isinf(low) or math.isinf(high):
            return NO_BOUNDS
        if low <= 1 <= high:
            return self.ends(low, high)
        near, far = (low, high) if low > 1 else (high, low)
        digits = telling([100 * (near - 1), 100 * (far - 1)], _digits(far))
        return f"{_apart(near, digits)} to {_apart(far, digits)} %"

    def ends(self, low: float, high: float) -> str:
        """``1.7 % slower to 5.9 % faster``, from the worse end to the better; ``0.8 to 0.9 % faster``."""
        digits = max(_digits(low), _digits(high)) if max(abs(low - 1), abs(high - 1)) < 0.01 else 1
        digits = telling([100 * (low - 1), 100 * (high - 1)], digits)
        if (low < 1) == (high < 1):
            near, far = (low, high) if abs(low - 1) < abs(high - 1) else (high, low)
            return f"{_apart(near, digits)} to {self._size(far, digits)}"
        ends = [self._size(low, digits), self._size(high, digits)]
        return " to ".join(ends if self._below == "slower" else ends[::-1])


def _apart(ratio: float, digits: int) -> str:
    """Percent between a ratio and 1, without sign."""
    return f"{abs(100 * (ratio - 1)):.{digits}f}"


def _count(n: int, counted: str) -> str:
    """``30 binaries``, ``1 execution``."""
    return f"{n} {counted}" if n != 1 else f"1 {'binary' if counted == 'binaries' else 'execution'}"


def _digits(ratio: float) -> int:
    return 1 if abs(ratio - 1) >= 0.00995 else 2
