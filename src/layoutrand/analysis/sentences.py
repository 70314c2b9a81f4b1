"""What the numbers of `analyse` and `compare` mean, in sentences that can be quoted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from layoutrand.analysis import layout_words
from layoutrand.analysis.analyse import Analysis, Control
from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.conclusion import Conclusion, LayoutConclusion, counted, of_layouts, of_pair
from layoutrand.analysis.conclusion import of_suite as suite_conclusion
from layoutrand.analysis.conclusion_words import is_speed, verdict_words
from layoutrand.analysis.next_steps import possible_of, told_once
from layoutrand.analysis.place_among import place_among
from layoutrand.analysis.short_run import short_run_words
from layoutrand.analysis.suite_warnings import NoSuiteBootstrap
from layoutrand.instruments.known import is_from_start_to_end
from layoutrand.stats import Interval
from layoutrand.text.quantities import (
    NO_BOUNDS,
    NO_LOWER_BOUND,
    SECONDS,
    change,
    changes,
    digits_of,
    has_no_lower_bound,
    p_words,
    spans_tenfold,
    telling,
    telling_side,
)
from layoutrand.warning import AnyWarning

UNFORESEEN: Final = "cannot tell"
"""In place of the range of one more binary."""

ONE_LAYOUT: Final = "one layout alone, which says nothing of how layouts differ"

_NOTHING_LEFT: Final = -100
"""In percent of the mean, as it is written."""

_OPEN: Final = frozenset({"cannot tell", "same program"})
"""Verdicts beside which what was measured may be chance."""

_TOLD_WHOLE: Final = frozenset({"beside the others", "false alarm", "same binaries"})
"""Causes whose sentences stand with the verdict; of others the warnings tell more."""


def of_analysis(analysis: Analysis, warnings: Sequence[AnyWarning] = ()) -> str:
    """What the numbers mean, in words; ``warnings`` are those about all that is analysed, as for `of_layouts`."""
    name, concluded = f"{analysis.benchmark}, {analysis.system}, {analysis.metric}", of_layouts(analysis, warnings)
    return f"{name}: {'; '.join([*_of_layouts(analysis, concluded), *_doubts(concluded)])}"


def _of_layouts(analysis: Analysis, concluded: LayoutConclusion) -> list[str]:
    means, centre = [mean for _, mean in analysis.binary_means], analysis.mean.centre
    if analysis.one_layout:
        return [ONE_LAYOUT]
    if analysis.n_binaries == 1:
        return ["cannot tell whether layout matters: one layout alone says nothing of how layouts differ"]
    if min(means) == max(means):
        found, same = analysis.findings, f"the same in all {len(means)} layouts"
        return [f"measured {same}", layout_words.answer(found)] if found and found.clock_is_coarse else [same]
    if centre == 0:
        return [f"the mean over {len(means)} layouts is 0, so nothing can be given in percent of it"]
    parts = [*_of_findings(analysis, concluded)]
    if one := one_more(analysis):
        share = f"in {100 * analysis.mean.confidence:g} of 100 cases"
        what = "what one more binary would show cannot be told" if one == UNFORESEEN else ""
        parts.append(what or f"one more binary would show {one} of the mean over {len(means)} layouts ({share})")
    if analysis.stock is not None:
        place, among = place_of(analysis.stock, centre), place_among(analysis, analysis.stock.mean)
        parts.append(f"your own build (stock) lies at {place} of the mean, measured {among}")
    return parts


def place_of(control: Control, centre: float) -> str:
    """``-0.8 % [-1.9, +0.3]``: a control against the mean over layouts, by the shift and its interval where it has one.

    Without bounds, or a shift, it is what was measured, ``-0.8 %``.
    """
    shift = control.shift
    if shift is None or not (math.isfinite(shift.high) and shift.low > 0):
        return change(control.mean / centre)
    ends = 1 / shift.high, 1 / shift.low
    digits = 1 if math.isclose(*ends, rel_tol=1e-9) else digits_of(50 * (ends[1] - ends[0]))
    low, high = changes(ends, digits)
    place = round(100 / shift.centre - 100, len(low.partition(".")[2]))  # 0 where its interval bears out no more
    return f"{place:+.{len(low.partition('.')[2])}f} % [{low}, {high}]" if place else f"0 % [{low}, {high}]"


def one_more(analysis: Analysis) -> str:
    """``-2.1 to +3.4 %``: the range of one more binary against the mean; ``the same`` where all measure the same.

    A range that reaches down to nothing is no knowledge of it: `UNFORESEEN`.
    """
    one = None if analysis.findings is None else analysis.findings.one_binary
    if one is None or not math.isfinite(one.next.half_width):
        return ""
    if one.lowest == one.highest:
        return "the same"
    low, high = sorted(end / analysis.mean.centre for end in (one.next.low, one.next.high))
    ends = changes([low, high], digits_of(50 * (high - low)))
    if one.lowest >= 0 and float(ends[0]) <= _NOTHING_LEFT:  # a time, a count: none is below 0
        return UNFORESEEN
    return f"{' to '.join(ends)} %"


def _of_findings(analysis: Analysis, concluded: LayoutConclusion) -> list[str]:
    found = analysis.findings
    if found is None:
        return []
    parts = []
    if found.is_machine:
        parts.append(layout_words.INSTEAD)
    else:
        parts.append(layout_words.concluded_answer(found, concluded))
    if found.shape.has_several_peaks:
        assert found.shape.dip_p_value is not None
        parts.append(
            f"the layouts fall into groups (dip test, {p_words(found.shape.dip_p_value)}), "
            "so their mean describes none of them"
        )
    if found.shape.outliers and not found.is_machine:
        names = ", ".join(str(each.binary) for each in found.shape.outliers)
        numbered = all(isinstance(each.binary, int) for each in found.shape.outliers)
        kind = ("seed " if len(found.shape.outliers) == 1 else "seeds ") if numbered else ""
        parts.append(f"far from the others, but in the numbers: {kind}{names}")
    parts += layout_words.whatever_the_shape(found, len(analysis.binary_means), analysis.unit)
    if found.short_run is not None and (found.drift is None or not found.drift.is_found):
        parts.append(short_run_words(found.short_run))
    return [part for part in parts if part]


def of_comparison(result: Comparison) -> str:
    """``O3 against O2: 1 same within 1 %, 1 cannot tell (threshold 1 %, 95 % intervals)``."""
    speeds = {is_speed(pair) for pair in result.benchmarks}
    of_speed = speeds != {False}
    numbers = counted([of_pair(result, pair) for pair in result.benchmarks])
    words = [f"{n} {verdict_words(verdict, result.threshold, of_speed=of_speed)}" for verdict, n in numbers.items()]
    if len(result.benchmarks) == 1:
        words = [word.removeprefix("1 ") for word in words]
    how = f"threshold {100 * result.threshold:g} %, {100 * result.confidence:g} % intervals"
    return f"{result.candidate} against {result.baseline}: {', '.join(words)} ({how})"


def of_ratio(result: Comparison, pair: BenchmarkRatio) -> str:
    """What is concluded from one benchmark, in words: the verdict, what was measured, why there is no verdict."""
    concluded, said = of_pair(result, pair), _Words(pair, result)
    start = f"{pair.benchmark}: {verdict_words(concluded.verdict, result.threshold, of_speed=is_speed(pair))}"
    if concluded.verdict == "same program":
        start += f": {_sentence(concluded, 'same binaries')}"
    if pair.ratio is None:
        return "; ".join([f"{start}: no ratio of {result.candidate} to {result.baseline} can be given"])
    open_ = concluded.verdict in {"cannot tell", "same program"}
    parts = [
        f"{start}{': ' if concluded.verdict != 'same program' else '; '}{said.measured(pair.ratio, is_open=open_)}"
    ]
    parts += [each for each in _why(concluded, pair) if each != _sentence(concluded, "same binaries")]
    if any(pair.one_layout):
        systems = (result.baseline, result.candidate)
        fixed = [name for name, alone in zip(systems, pair.one_layout, strict=True) if alone]
        whose = "" if len(fixed) == len(systems) else f"{fixed[0]} has "
        parts.append(f"{whose}one layout alone, so nothing is said of what other layouts would show")
    parts += _of_median(said, pair)
    parts += _without_layouts(said, pair, result.threshold, is_open=open_)
    return "; ".join(part for part in parts if part)


def _without_layouts(said: _Words, pair: BenchmarkRatio, threshold: float, *, is_open: bool) -> list[str]:
    """What would have been believed from one binary of each system."""
    new, own, single, parts = pair.new_pair, pair.as_built, pair.single_pairs, []
    if new is not None and new.low < new.high and math.isfinite(new.high):
        ends = said.ends(new.low, new.high, coarse=True)
        parts.append(f"one more binary of each would show {ends} (in {100 * new.confidence:g} of 100 cases)")
    if single is not None and single.n_misleading and not is_open:  # there is nothing that they could contradict
        wrong = f"differ by more than {100 * threshold:g} %" if pair.verdict == "equivalent" else "say the opposite"
        parts.append(f"{single.n_misleading:,} of {single.n_pairs:,} pairs of one binary each {wrong}")
    if own is not None and math.isfinite(own.ratio.half_width):
        statement = said.statement(own.ratio.centre, percent_digits(own.ratio), measured=True)
        sure = f"{100 * own.ratio.confidence:g} % interval, of noise alone: {said.interval(own.ratio)}"
        noise = "both repeat exactly" if own.ratio.low == own.ratio.high else sure
        parts.append(f"of your own two builds {statement} ({noise})")
    if pair.could_miss is not None and pair.n_baseline > 1 and pair.ratio is not None:
        fewest = min(pair.n_baseline, pair.n_candidate)
        parts.append(
            f"{fewest:,} layouts: a group of up to {100 * pair.could_miss:.2g} % could have been missed; if one system "
            f"alone had it, each 10 % by which it is slower would change the ratio by {10 * pair.could_miss:.2g} %"
        )
    return parts


def _of_median(said: _Words, pair: BenchmarkRatio) -> list[str]:
    """The second statement, where the mean says little of most layouts."""
    median = pair.median
    if median is None:
        return []
    what = "in the median round" if median.of == "paired" else "by the medians of the layouts"
    statement = said.statement(median.ratio.centre, percent_digits(median.ratio), measured=True)
    return [
        f"as {median.why.in_short}, beside the means: {what} {statement} ({100 * median.ratio.confidence:g} % interval "
        f"{said.interval(median.ratio)}, whatever the distribution)"
    ]


def suite_name(result: Comparison) -> str:
    """What the suite's number is of, for a table: ``geometric mean of 5, of which 2 one program``."""
    one = sum(pair.same_program is not None for pair in result.benchmarks)
    partly = f", of which {one} one program" if 0 < one < len(result.benchmarks) else ""
    return f"geometric mean of {len(result.benchmarks)}{partly}"


def of_suite(result: Comparison) -> str:
    """What the geometric mean over the benchmarks says; empty where there is none, or one benchmark."""
    suite, concluded = result.suite, suite_conclusion(result)
    if suite is None or concluded is None or suite.n_benchmarks < 2:
        return ""
    said, first = _Words(result.benchmarks[0], result), result.benchmarks[0]
    how = "paired by seed" if suite.paired is not None else "not paired"
    verdict = verdict_words(concluded.verdict, result.threshold, of_speed=is_speed(first))
    measured = said.measured(suite.ratio, is_open=concluded.verdict in _OPEN, counts=how)
    parts = [f"geometric mean of {suite.n_benchmarks} benchmarks: {verdict}: {measured}"]
    if isinstance(suite.bootstrap, NoSuiteBootstrap):
        parts.append(str(suite.bootstrap))
    elif suite.bootstrap is not None:
        parts.append(f"by hierarchical bootstrap {said.interval(suite.bootstrap)}")
    if suite.p_value is not None:
        parts.append(f"randomization test {p_words(suite.p_value)}")
    return "; ".join([*parts, *_why(concluded, None)])


def next_steps(conclusions: Sequence[Conclusion | LayoutConclusion], *, of_others: bool) -> list[str]:
    """What to do next, each step once, those that several conclusions name first; ``of_others`` as in `Evidence`."""
    steps = [step for each in conclusions for step in possible_of(each.next, of_others=of_others)]
    # What has figures and no command stands in the sentence of its benchmark.
    steps = [step for step in steps if step.command or not step.has_figures]
    count = Counter(step.kind for step in steps)
    told = sorted(told_once(steps), key=lambda step: (not step.comes_first, -count[step.kind]))
    return list(dict.fromkeys(map(str, told)))


def _why(concluded: Conclusion, pair: BenchmarkRatio | None) -> list[str]:
    """Why there is no verdict, what would give one, and what casts doubt on the numbers, in a word for each cause."""
    parts = [
        str(each)
        for each in concluded.reasons
        if each.cause in _TOLD_WHOLE or (each.effect == "undecides" and each.cause != "interval too wide")
    ]
    if concluded.verdict == "cannot tell" and pair is not None:
        parts += [step.sentence for step in concluded.next if step.has_figures]
    return [*parts, *_doubts(concluded)]


def _doubts(concluded: Conclusion | LayoutConclusion) -> list[str]:
    """``doubtful: drift, disturbed``: the causes of doubt, of which the warnings tell more."""
    causes = [each.cause for each in concluded.reasons if each.effect == "doubts" and each.cause not in _TOLD_WHOLE]
    return [f"doubtful: {', '.join(causes)}"] if causes else []


def _sentence(concluded: Conclusion, cause: str) -> str:
    return next((str(each) for each in concluded.reasons if each.cause == cause), "")


class _Words:
    """The words for one benchmark: how much less or more time, or whatever is measured, the candidate takes."""

    def __init__(self, pair: BenchmarkRatio, result: Comparison) -> None:
        self._pair = pair
        self._result = result
        self._is_time = pair.unit in SECONDS and pair.better == "less"
        self._what = "time" if self._is_time and is_from_start_to_end(pair.metric) else pair.metric

    def measured(self, ratio: Interval, *, is_open: bool, counts: str = "") -> str:
        """The ratio, and in brackets its interval and what it rests on; ``is_open`` where it may be chance."""
        digits = percent_digits(ratio)
        by_round = ", round by round" if self._pair.primary == "paired" else ""
        inner = [f"{100 * ratio.confidence:g} % interval {self.interval(ratio)}", counts or self.counts() + by_round]
        factor = f"{1 / ratio.centre if self._is_time else ratio.centre:.2f}" if ratio.centre > 0 else "1.00"
        if is_speed(self._pair) and not is_open and factor != "1.00":
            inner.insert(0, f"{factor} x as fast")
        return f"{self.statement(ratio.centre, digits, measured=is_open)} ({', '.join(inner)})"

    def statement(self, ratio: float, digits: int, *, measured: bool = False) -> str:
        """``O3 takes 2.1 % less time than O2``; ``measured`` where that may be chance."""
        new, old = self._result.candidate, self._result.baseline
        verb = (("reaches", "reached") if self._pair.better == "more" else ("takes", "took"))[measured]
        if not round(100 * (ratio - 1), digits):
            return f"{new} {verb} {'' if ratio == 1 else 'about '}as much {self._what} as {old}"
        return f"{new} {verb} {self._size(ratio, digits)} {self._what} than {old}"

    def counts(self) -> str:
        """How many binaries, or executions of one layout, of each."""
        pair, result = self._pair, self._result
        old, new = pair.counted
        if old != new:
            candidate = f"{_count(pair.n_candidate, new)} of {result.candidate}"
            return f"{candidate}, {_count(pair.n_baseline, old)} of {result.baseline}"
        if pair.n_baseline == pair.n_candidate:
            return f"{_count(pair.n_baseline, old)} each"
        return f"{pair.n_candidate:,} and {pair.n_baseline:,} {old}"

    def _size(self, ratio: float, digits: int) -> str:
        """``2.1 % less``."""
        return f"{_apart(ratio, digits)} % {'less' if ratio < 1 else 'more'}"

    def interval(self, interval: Interval) -> str:
        """``1.4 to 2.8 % less``; where 1 lies in it ``1.0 % more to 2.0 % less``, from the worse end to the better."""
        if math.isinf(interval.low) or math.isinf(interval.high):
            return NO_BOUNDS
        if has_no_lower_bound(interval.centre, interval.low):
            digits = telling([100 * (interval.high - 1)], digits_of(50 * (interval.high - interval.centre)))
            return f"up to {self._size(interval.high, digits)}, {NO_LOWER_BOUND}"
        if math.isclose(interval.low, interval.high, rel_tol=1e-9):
            return "without width"
        return self.ends(interval.low, interval.high)

    def ends(self, low: float, high: float, *, coarse: bool = False) -> str:
        """As `interval`; ``coarse`` for ends that are single values."""
        if spans_tenfold(low, high):
            return "from a tenth or less to ten times or more"
        fewest = digits_of(50 * abs(high - low))
        if coarse:
            fewest = min(fewest, 2 if max(abs(low - 1), abs(high - 1)) < 0.01 else 1)
        digits = telling_side([100 * (low - 1), 100 * (high - 1)], fewest)
        if (low < 1) == (high < 1):
            near, far = (low, high) if abs(low - 1) < abs(high - 1) else (high, low)
            return f"{_apart(near, digits)} to {self._size(far, digits)}"
        ends = [self._size(low, digits), self._size(high, digits)]
        return " to ".join(ends if self._pair.better == "more" else ends[::-1])


def percent_digits(ratio: Interval) -> int:
    """Digits after the point of a ratio in percent: no finer than its interval bears out, and than tells its ends."""
    if math.isinf(ratio.half_width):
        return 1
    ends = [100 * (ratio.low - 1), 100 * (ratio.high - 1)]
    return telling_side(ends, digits_of(50 * (ratio.high - ratio.low)))


def _apart(ratio: float, digits: int) -> str:
    """Percent between a ratio and 1, without sign."""
    return f"{abs(100 * (ratio - 1)):,.{digits}f}"


def _count(n: int, counted: str) -> str:
    """``30 binaries``, ``1 execution``."""
    return f"{n:,} {counted}" if n != 1 else f"1 {'binary' if counted == 'binaries' else 'execution'}"
