"""The tables and sentences of `compare`, on any `Display`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from layoutrand.screens.display import Display
from layoutrand.screens.layout_tables import (
    MOST_SENTENCES,
    MOST_STEPS,
    interval,
    show,
    show_grouped,
    show_nodes,
    show_sources,
)
from layoutrand.text.quantities import alike, p_value, percent, ratio_words

if TYPE_CHECKING:
    from layoutrand.analysis.aa import Halves
    from layoutrand.analysis.compare import BenchmarkRatio, Comparison
    from layoutrand.analysis.conclusion import Conclusion
    from layoutrand.stats import Interval


def show_comparison(result: Comparison, page: Display) -> None:
    """Ratios and verdicts, how sure they are, what pairing won, the suite; sentences that can be quoted."""
    show_comparisons([result], page)


def show_comparisons(
    results: Sequence[Comparison], page: Display, *, taken: Callable[[Conclusion], Conclusion] = lambda each: each
) -> None:
    """One comparison after the other, then what all of them rest on; ``taken`` has steps as they can be taken."""
    from layoutrand.analysis.evidence import sentences

    show_sources(results[0].sources, page)
    for result in results:
        _show_conclusions(result, page, taken)
        _show_ratios(result, page)
        _show_sureness(result, page)
        _show_pairing(result, page)
        _show_suite(result, page)
        show_nodes(result.nodes, page)
        _show_warnings(result, page)
    evidence = [result.evidence for result in results if result.evidence is not None]
    said = [sentences(of) for of in evidence]
    own = [line for of, lines in zip(evidence, said, strict=True) for line in lines[: len(of.systems)]]
    shared = [line for of, lines in zip(evidence, said, strict=True) for line in lines[len(of.systems) :]]
    for sentence in dict.fromkeys([*own, *shared]):
        page.item(sentence)


def show_halves(halves: Halves, page: Display) -> None:
    """A system against itself: the comparison of its two sides, then what else its results tell of it."""
    from layoutrand.analysis.evidence import seed_words
    from layoutrand.screens.self_comparison import SIDES_IN_WORDS, show_aa

    page.item(
        f"A/A: {halves.system} against itself, {SIDES_IN_WORDS[halves.sides]}; whatever differs is noise. "
        f"Side 1: {seed_words(halves.first)}. Side 2: {seed_words(halves.second)}."
    )
    page.line()
    show_comparison(halves.comparison, page)
    page.line()
    show_aa(halves.noise, halves.comparison.confidence, page)


def _show_ratios(result: Comparison, page: Display) -> None:
    from layoutrand.analysis.conclusion import of_pair, of_suite
    from layoutrand.analysis.conclusion_words import is_speed, verdict_words
    from layoutrand.analysis.sentences import suite_name

    suite, over_all = result.suite, of_suite(result)
    rows = [
        (
            pair.benchmark,
            pair.metric,
            _counts(pair),
            *(("-", "-") if pair.ratio is None else _ratio(pair.ratio)),
            verdict_words(concluded.verdict, result.threshold, of_speed=is_speed(pair)),
            _beside_others(pair, concluded),
        )
        for pair, concluded in [(pair, of_pair(result, pair)) for pair in result.benchmarks]
    ]
    metric = rows[0][1]
    if suite is not None and over_all is not None and suite.n_benchmarks > 1:
        rows.append(
            (
                suite_name(result),
                metric,
                "-",
                *_ratio(suite.ratio),
                verdict_words(over_all.verdict, result.threshold, of_speed=is_speed(result.benchmarks[0])),
                "-",
            )
        )
    counted = "executed" if any(any(pair.one_layout) for pair in result.benchmarks) else "binaries"
    family = next((pair.sureness.n_judged for pair in result.benchmarks if pair.sureness), len(result.benchmarks))
    beside = f"; Holm: does the verdict stand beside all {family}" if family > 1 else ""
    show(
        page,
        f"{result.candidate} / {result.baseline}, {100 * result.confidence:g} % intervals, "
        f"threshold {100 * result.threshold:g} %{beside}",
        ("benchmark", "metric", counted, "ratio", "interval", "verdict", "Holm"),
        rows,
    )


def _counts(pair: BenchmarkRatio) -> str:
    old, new = pair.counted
    if old != new:
        return f"{pair.n_candidate} {new} / {pair.n_baseline} {old}"
    count = f"{pair.n_candidate} / {pair.n_baseline}"  # as the ratio has them
    return f"{count} {old}" if any(pair.one_layout) else count


def _beside_others(pair: BenchmarkRatio, concluded: Conclusion) -> str:
    if concluded.verdict in {"cannot tell", "same program"} or pair.sureness is None or pair.sureness.n_judged == 1:
        return "-"
    return "stands" if concluded.beside == concluded.verdict else "cannot tell"


def _show_sureness(result: Comparison, page: Display) -> None:
    from layoutrand.analysis.conclusion import of_pair
    from layoutrand.analysis.forecasting import range_words

    rows = []
    for pair in result.benchmarks:
        sure, one, forecast = pair.sureness, pair.new_pair, pair.forecast
        needed = "-" if of_pair(result, pair).verdict in {"cannot tell", "same program"} else "decided"
        if pair.same_program is None and forecast is not None and not forecast.warnings:
            needed = f"{range_words(forecast.fewest, forecast.n_binaries)} each"
            if forecast.n_more == 0:  # enough for what the forecast is about, and not for what lies between
                needed = f"more than {min(pair.n_baseline, pair.n_candidate):,} each"
        rows.append(
            (
                pair.benchmark,
                pair.metric,
                "-" if sure is None else p_value(sure.no_difference),
                "-" if sure is None or sure.n_judged == 1 else p_value(sure.no_difference_holm),
                "-" if one is None or math.isinf(one.half_width) else _ratio(one)[1],
                "-" if pair.as_built is None else _ratio(pair.as_built.ratio)[0],
                needed,
            )
        )
    show(
        page,
        "How sure: p of no difference, what one more binary of each would show, your own builds, binaries to decide",
        ("benchmark", "metric", "p", "p, Holm", "one more of each", "own builds", "to decide"),
        rows,
    )


def _show_pairing(result: Comparison, page: Display) -> None:
    rows = [
        (
            pair.benchmark,
            pair.metric,
            str(pair.n_pairs),
            _leading(interval(pair.paired), leads=pair.primary == "paired"),
            "-" if pair.unpaired is None else _leading(interval(pair.unpaired), leads=pair.primary == "unpaired"),
            "-" if pair.correlation is None else f"{pair.correlation:+z.2f}",
            percent(pair.variance_reduction, 0),
        )
        for pair in result.benchmarks
        if pair.paired is not None
    ]
    show(
        page,
        "Round by round, and each system by itself (* leads, by the design); what rounds won: correlation, variance",
        ("benchmark", "metric", "rounds", "by round", "by itself", "corr.", "won"),
        rows,
    )


def _ratio(ratio: Interval) -> tuple[str, str]:
    return ratio_words(ratio.centre, ratio.low, ratio.high)


def _leading(text: str, *, leads: bool) -> str:
    return f"{text} *" if leads else text


def _show_suite(result: Comparison, page: Display) -> None:
    suite = result.suite
    if suite is None or suite.distributions is None:
        return
    rows = []
    for name, five in zip((result.baseline, result.candidate), suite.distributions, strict=True):
        values = (five.minimum, five.lower_quartile, five.median, five.upper_quartile, five.maximum)
        rows.append((name, *alike(values, suite.unit)))
    show(
        page,
        f"Geometric mean of the {suite.n_benchmarks} benchmarks, each measured once: its distribution",
        ("system", "minimum", "lower quartile", "median", "upper quartile", "maximum"),
        rows,
    )


def _show_conclusions(result: Comparison, page: Display, taken: Callable[[Conclusion], Conclusion]) -> None:
    """The verdicts, counted; then a sentence on each, or where they are many on those that differ; what to do next."""
    from layoutrand.analysis.conclusion import all_of, of_pair
    from layoutrand.analysis.sentences import next_steps, of_comparison, of_ratio, of_suite

    concluded = [of_pair(result, pair) for pair in result.benchmarks]
    page.item(of_comparison(result))
    few = len(concluded) <= MOST_SENTENCES
    told = [
        of_ratio(result, pair)
        for pair, each in zip(result.benchmarks, concluded, strict=True)
        if few or each.verdict in {"faster", "slower"}
    ]
    for sentence in (of_suite(result), *told[:MOST_SENTENCES]):
        if sentence:
            page.item(sentence)
    if not few:
        page.item(f"of {len(concluded)} benchmarks those that differ are told; the table has all")
    of_others = result.evidence is not None and result.evidence.of_others
    for step in next_steps(list(map(taken, all_of(result))), of_others=of_others)[:MOST_STEPS]:
        page.item(f"next: {step}")
    page.line()


def _show_warnings(result: Comparison, page: Display) -> None:
    of_suite = result.suite.ratio.warnings if result.suite and len(result.benchmarks) > 1 else ()
    told = [(pair.benchmark, warning) for pair in result.benchmarks for warning in pair.warnings]
    show_grouped([*told, *(("geometric mean", each) for each in of_suite)], page)
    for system, names in ((result.baseline, result.only_baseline), (result.candidate, result.only_candidate)):
        if names:
            page.warn(f"only {system} has results of {', '.join(names)}: left out of the suite")
