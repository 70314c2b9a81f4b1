"""The first screen of the report: verdicts counted, and one row for each benchmark over one axis, sorted by effect."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from layoutrand.analysis import layout_words, sentences
from layoutrand.analysis.analyse import Analysis, AnalysisReport
from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.conclusion import (
    Conclusion,
    LayoutVerdict,
    counted,
    of_layouts,
    of_pair,
    of_statistics,
    of_suite,
)
from layoutrand.analysis.conclusion_words import is_speed, verdict_words
from layoutrand.analysis.place_among import briefly_among
from layoutrand.analysis.verdict_marks import SYMBOLS, change_words, in_a_word, size_in_brief
from layoutrand.report import ratios, tracks
from layoutrand.report.page_parts import Banner, Forest, ForestRow, VerdictChip
from layoutrand.stats import Interval
from layoutrand.text.quantities import MINUS


def key_of(verdict: str) -> str:
    """The verdict as a word of a style sheet and of filters."""
    return verdict.replace(",", "").replace(" ", "-")


def chip_of(result: Comparison, pair: BenchmarkRatio) -> VerdictChip:
    """The verdict on one benchmark, with its symbol."""
    verdict = of_pair(result, pair).verdict
    words = verdict_words(verdict, result.threshold, of_speed=is_speed(pair))
    return VerdictChip(key_of(verdict), f"{SYMBOLS[verdict]} {words}")


def banner(result: Comparison) -> Banner:
    """How many benchmarks of a comparison have which verdict."""
    numbers = counted([of_pair(result, pair) for pair in result.benchmarks])
    of_speed = any(is_speed(pair) for pair in result.benchmarks)
    chips = []
    for verdict, number in numbers.items():
        words = verdict_words(verdict, result.threshold, of_speed=of_speed)
        count = "" if len(result.benchmarks) == 1 else f"{number} "
        chips.append(VerdictChip(key_of(verdict), f"{SYMBOLS[verdict]} {count}{words}"))
    return Banner(f"{result.candidate} against {result.baseline}", chips)


def layout_banner(found: AnalysisReport) -> Banner:
    """How many benchmarks have which answer to whether layout matters."""
    numbers = Counter(of_layouts(each, found.warnings).verdict for each in found.analyses)
    chips = [
        VerdictChip(key_of(verdict), f"{SYMBOLS[verdict]} {'' if len(found.analyses) == 1 else f'{number} '}{verdict}")
        for verdict, number in numbers.most_common()
    ]
    return Banner("How much does code layout matter?", chips)


def of_comparison(result: Comparison, number: int, links: Mapping[str, str]) -> Forest:
    """The forest of one comparison; ``links`` are the anchors of the benchmarks' cards."""
    suite, over_all = result.suite, of_suite(result)
    pairs = [pair.ratio for pair in result.benchmarks if pair.ratio is not None]
    several = suite is not None and suite.n_benchmarks > 1
    every = [*pairs, *([suite.ratio] if several and suite is not None else [])]
    own = [pair.as_built.ratio.centre for pair in result.benchmarks if pair.as_built is not None]
    band = 100 * result.threshold
    scale = tracks.scale_for(
        [_percent(ratio.centre) for ratio in every],
        [_percent(end) for ratio in every for end in (ratio.low, ratio.high)] + [_percent(value) for value in own],
        band,
    )
    rows = [_row(result, pair, scale, links) for pair in result.benchmarks]
    rows.sort(key=lambda row: -row.order)
    if several and suite is not None and over_all is not None:
        rows.append(_suite_row(result, suite.ratio, over_all, scale))
    hollow = " Hollow diamond: what your own two builds alone show." if own else ""
    caption = (
        f"{_percents(result.confidence)} intervals of the change of the mean over layouts. "
        f"Shaded: within the threshold of {_percents(result.threshold)}.{hollow}"
    )
    return Forest(
        f"forest-{number}",
        f"{result.candidate} against {result.baseline}",
        ("benchmark", "verdict", "change", f"{_percents(result.confidence)} interval"),
        tracks.axis(scale),
        _ends(result),
        rows,
        caption,
        ratios.forest_figure(result),
        systems=(result.baseline, result.candidate),
    )


def _row(result: Comparison, pair: BenchmarkRatio, scale: tracks.TrackScale, links: Mapping[str, str]) -> ForestRow:
    concluded, chip = of_pair(result, pair), chip_of(result, pair)
    centre, ends = change_words(pair.ratio)
    remarks = [in_a_word(concluded, pair), _as_built(result, pair, concluded)]
    own = None if pair.as_built is None else _percent(pair.as_built.ratio.centre)
    return ForestRow(
        pair.benchmark,
        chip,
        centre,
        ends,
        _track(pair.ratio, chip.key, scale, 100 * result.threshold, own),
        ratios.effect(pair),
        links.get(pair.benchmark, ""),
        "; ".join(part for part in remarks if part),
    )


def _suite_row(result: Comparison, ratio: Interval, concluded: Conclusion, scale: tracks.TrackScale) -> ForestRow:
    of_speed = is_speed(result.benchmarks[0])
    words = verdict_words(concluded.verdict, result.threshold, of_speed=of_speed)
    chip = VerdictChip(key_of(concluded.verdict), f"{SYMBOLS[concluded.verdict]} {words}")
    centre, ends = change_words(ratio)
    drawn = _track(ratio, chip.key, scale, 100 * result.threshold, None)
    return ForestRow(
        sentences.suite_name(result), chip, centre, ends, drawn, ratios.LAST, "", in_a_word(concluded, None)
    )


def _track(ratio: Interval | None, key: str, scale: tracks.TrackScale, band: float, own: float | None) -> str:
    if ratio is None:
        return tracks.empty(scale, band=band)
    bounds = (_percent(ratio.low), _percent(ratio.centre), _percent(ratio.high))
    return tracks.interval(scale, bounds, f"v-{key}", band=band, hollow=own)


def _as_built(result: Comparison, pair: BenchmarkRatio, concluded: Conclusion) -> str:
    """What the user's own two builds would have said, where that is something else."""
    own = pair.as_built
    if own is None or concluded.verdict == "same program" or not math.isfinite(own.ratio.half_width):
        return ""
    would = of_statistics(own.verdict)
    if would in {concluded.verdict, "cannot tell"}:
        return ""
    words = verdict_words(would, result.threshold, of_speed=is_speed(pair))
    return f"your own builds alone: {size_in_brief(own.ratio)}, {words}"


def _ends(result: Comparison) -> tuple[str, str]:
    """What lies to the left and to the right."""
    pairs = result.benchmarks
    if all(is_speed(pair) and pair.better == "less" for pair in pairs):
        words = ("faster", "slower")
    elif all(pair.better == "more" for pair in pairs):
        words = ("slower", "faster")
    else:
        words = ("less", "more")
    return f"◄ {result.candidate} {words[0]}", f"{result.candidate} {words[1]} ►"


def of_all_layouts(found: AnalysisReport, links: Mapping[str, str]) -> Forest | None:
    """Of one system alone: the range of one more binary around the mean; None where nothing can be drawn."""
    shown = [each for each in found.analyses if each.mean.centre and not each.one_layout and each.n_binaries > 1]
    if not shown:
        return None
    systems = {each.system for each in shown}
    ranges = [_range(each) for each in shown]
    owns = [_percent(each.stock.mean / each.mean.centre) if each.stock is not None else None for each in shown]
    ends = [end for low, high in ranges for end in (low, high)]
    scale = tracks.scale_for([0.0, *(own for own in owns if own is not None)], ends, 0.0)
    rows = []
    for each, (low, high), own in zip(shown, ranges, owns, strict=True):
        verdict = of_layouts(each, found.warnings).verdict
        key = key_of(verdict)
        size = "-" if each.findings is None else layout_words.size_of(each.findings.layout)
        if verdict == "machine, not layout":
            size = "cannot tell"
        place = "" if each.stock is None else f"your own build {briefly_among(each, each.stock.mean)}"
        rows.append(
            ForestRow(
                f"{each.benchmark}, {each.system}" if len(systems) > 1 else each.benchmark,
                VerdictChip(key, f"{SYMBOLS[verdict]} {verdict}"),
                size,
                (sentences.one_more(each) or "-").replace("-", MINUS),
                tracks.interval(scale, (low, 0.0, high), f"v-{key}", band=0.0, hollow=own),
                layout_effect(each, verdict),
                links.get(each.benchmark, ""),
                place,
            )
        )
    rows.sort(key=lambda row: -row.order)
    confidence = _percents(found.confidence)
    hollow = " Hollow diamond: your own build (stock)." if any(own is not None for own in owns) else ""
    caption = f"The range of one more binary around the mean over layouts, in {confidence} of cases.{hollow}"
    columns = ("benchmark", "does layout matter?", "layout adds", "one more binary")
    words = ("◄ less than the mean", "more ►")
    return Forest("forest-1", "How far layouts lie apart", columns, tracks.axis(scale), words, rows, caption)


def layout_effect(analysis: Analysis, verdict: LayoutVerdict) -> float:
    """How much layout adds, to sort by: a standard deviation over the mean; last where that cannot be told."""
    part = None if analysis.findings is None else analysis.findings.layout.sd
    return ratios.LAST if part is None or verdict != "layout matters" else part.centre


def _range(analysis: Analysis) -> tuple[float, float]:
    """Of one more binary, in percent of the mean; without bounds where it is not known."""
    one = None if analysis.findings is None else analysis.findings.one_binary
    if one is None:
        return -math.inf, math.inf
    low, high = sorted(end / analysis.mean.centre for end in (one.next.low, one.next.high))
    if one.lowest > 0:
        low = max(low, 0.0)
    return _percent(low), _percent(high)


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)


def _percents(share: float) -> str:
    return f"{100 * share:g} %"


def chips_by_benchmark(
    comparisons: Sequence[Comparison], found: AnalysisReport
) -> dict[str, list[tuple[str, VerdictChip, float]]]:
    """Benchmark -> (of which comparison or system, its verdict, its effect), as its card shows them."""
    chips: dict[str, list[tuple[str, VerdictChip, float]]] = {}
    for result in comparisons:
        for pair in result.benchmarks:
            chip, (centre, ends) = chip_of(result, pair), change_words(pair.ratio)
            more = "" if pair.ratio is None else f" {centre} {ends}"
            told = VerdictChip(chip.key, f"{chip.words}{more}", of_pair_detail(result, pair))
            name = f"{result.candidate} against {result.baseline}"
            chips.setdefault(pair.benchmark, []).append((name, told, ratios.effect(pair)))
    for each in () if comparisons else found.analyses:
        verdict = of_layouts(each, found.warnings).verdict
        told = VerdictChip(key_of(verdict), f"{SYMBOLS[verdict]} {verdict}")
        chips.setdefault(each.benchmark, []).append((each.system, told, layout_effect(each, verdict)))
    return chips


def of_pair_detail(result: Comparison, pair: BenchmarkRatio) -> str:
    """Why, in a few words."""
    return in_a_word(of_pair(result, pair), pair)
