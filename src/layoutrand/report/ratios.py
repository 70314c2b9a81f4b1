"""The baseline against every other system: the tables of ratios, and the forest as a figure for papers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from layoutrand.analysis import sentences
from layoutrand.analysis.compare import BenchmarkRatio, Comparison, adjusted, compare
from layoutrand.analysis.conclusion import Conclusion, Verdict, of_pair, of_suite
from layoutrand.analysis.conclusion_words import is_speed, verdict_words
from layoutrand.analysis.selection import Selection
from layoutrand.errors import AnalysisError
from layoutrand.report import row_figures
from layoutrand.stats import Interval
from layoutrand.text.document import Chapter, Figure, Table
from layoutrand.text.quantities import NO_BOUNDS, alike, in_a_column, p_value, ratio_words

_RATIOS: Final = "Ratios"

LAST: Final = -math.inf
"""Place of what has no effect to be sorted by."""


def compare_all(
    selection: Selection, baseline: str, confidence: float, threshold: float, metric: str | None
) -> tuple[list[Comparison], list[str]]:
    """The baseline against every other system with results, and why some could not be compared.

    All verdicts are one family, as in `compare_several`.
    """
    done: list[Comparison] = []
    missing: list[str] = []
    for system in dict.fromkeys(sample.system for sample in selection.samples):
        if system == baseline:
            continue
        try:
            done.append(compare(selection, baseline, system, confidence=confidence, threshold=threshold, metric=metric))
        except AnalysisError as error:
            missing.append(f"{system} could not be compared with {baseline}: {str(error).splitlines()[0]}")
    family = [pair for each in done for pair in each.benchmarks]
    return [replace(e, benchmarks=adjusted(e.benchmarks, confidence, family=family)) for e in done], missing


def overview(comparisons: Sequence[Comparison], missing: Sequence[str]) -> Chapter:
    """The numbers of the forests, and which benchmarks only one system has."""
    only = [
        f"Only {system} has results of {', '.join(names)}: not compared."
        for result in comparisons
        for system, names in ((result.baseline, result.only_baseline), (result.candidate, result.only_candidate))
        if names
    ]
    suites = [(each, sentences.of_suite(each)) for each in comparisons]
    judged = max((p.sureness.n_judged for result in comparisons for p in result.benchmarks if p.sureness), default=0)
    text = (
        f'{judged} verdicts are given at once, so some may be wrong by chance: "beside the others" is the verdict '
        f"that stands when this is allowed for (Holm), with its p-value of no difference at all."
    )
    tables = [*map(_ratios, comparisons), *_suites(comparisons)]
    return Chapter(
        "overview",
        "Ratios",
        [text] if judged > 1 else [],
        [
            *missing,
            *(f"{sentences.of_comparison(each)}." for each in comparisons),
            *only,
            *(f"{each.candidate} against {each.baseline}, {said}." for each, said in suites if said),
        ],
        tables=tables,
    )


def effect(pair: BenchmarkRatio) -> float:
    """How much worse the candidate is: the logarithm of the ratio, or its opposite where more is better."""
    if pair.ratio is None or not pair.ratio.centre > 0:
        return LAST
    size = math.log(pair.ratio.centre)
    return -size if pair.better == "more" else size


def forest_figure(result: Comparison) -> Figure:
    """The forest of a comparison as a figure for papers, in the colours of the verdicts."""
    shown = sorted((pair for pair in result.benchmarks if pair.ratio is not None), key=lambda pair: -effect(pair))
    drawn = [_row(result, pair) for pair in shown]
    suite = result.suite
    if suite is not None and suite.n_benchmarks > 1:
        bounds = (suite.ratio.low, suite.ratio.centre, suite.ratio.high)
        said, colour = _short(suite.ratio, _of_suite(result)), _colour(of_suite(result))
        drawn.append(row_figures.FigureRow("geometric mean", said, 1, interval=bounds, strong=True, colour=colour))
    directions = {pair.better for pair in result.benchmarks}
    meaning = {"less": ", below 1 is better", "more": ", above 1 is better"}
    name = _name(result)
    chart = row_figures.RowChart(
        title=f"{_RATIOS} {name}",
        description=f"{len(drawn)} ratios with {100 * result.confidence:g} % intervals; the numbers are in the table.",
        axis=f"ratio {name}{meaning[directions.pop()] if len(directions) == 1 else ''}",
        rows=drawn,
        band=(1 - result.threshold, 1 + result.threshold),
        reference=1.0,
    )
    one_layout = any(any(pair.one_layout) for pair in result.benchmarks)
    of = "layouts, or over executions where a system has one layout alone" if one_layout else "layouts"
    caption = (
        f"Means over {of}, with {100 * result.confidence:g} % intervals. Shaded: within the threshold of "
        f"{100 * result.threshold:g} %, where two systems count as equivalent."
    )
    if any(row.hollow is not None for row in drawn):
        caption += " Hollow diamond: what the two default builds alone show."
    return Figure(name, row_figures.draw(chart), caption)


def caption_of_ratios(figure: Figure) -> str:
    """The caption of the table with the numbers of a forest."""
    return f"{_RATIOS} {figure.heading}"


def _name(result: Comparison) -> str:
    return f"{result.candidate} / {result.baseline}"


def _row(result: Comparison, pair: BenchmarkRatio) -> row_figures.FigureRow:
    assert pair.ratio is not None
    bounds = (pair.ratio.low, pair.ratio.centre, pair.ratio.high)
    colour = _colour(of_pair(result, pair))
    own = None if pair.as_built is None else pair.as_built.ratio.centre
    said = _short(pair.ratio, _verdict(result, pair))
    return row_figures.FigureRow(pair.benchmark, said, 0, interval=bounds, colour=colour, hollow=own)


def _colour(concluded: Conclusion | None) -> str:
    """The class of a verdict's colour (`style.VERDICTS`)."""
    return "" if concluded is None else f"v-{concluded.verdict.replace(' ', '-')}"


def _verdict(result: Comparison, pair: BenchmarkRatio) -> str:
    return _words(of_pair(result, pair).verdict, result, pair)


def _of_suite(result: Comparison) -> str:
    concluded = of_suite(result)
    return "-" if concluded is None else _words(concluded.verdict, result, result.benchmarks[0])


def _words(verdict: Verdict, result: Comparison, pair: BenchmarkRatio) -> str:
    return verdict_words(verdict, result.threshold, of_speed=is_speed(pair))


def _short(ratio: Interval, verdict: str) -> str:
    centre, interval = ratio_words(ratio.centre, ratio.low, ratio.high)
    return f"{centre} {interval}{',' if interval == NO_BOUNDS else ''} {verdict}"


def _ratios(result: Comparison) -> Table:
    """The numbers of the forest plot, with the means that they are ratios of."""
    cells = [_cells(result, pair) for pair in result.benchmarks]
    suite = result.suite
    if suite is not None and suite.n_benchmarks > 1:
        by_chance = "" if suite.p_value is None else p_value(suite.p_value)
        cells.append((sentences.suite_name(result), _ratio(suite.ratio), _of_suite(result), "", by_chance, "", "", ""))
    columns = (
        "benchmark",
        "ratio",
        "verdict",
        "beside the others",
        "p",
        f"mean {result.baseline}",
        f"mean {result.candidate}",
        "metric",
    )
    return Table(f"{_RATIOS} {_name(result)}", columns, cells)


def _cells(result: Comparison, pair: BenchmarkRatio) -> tuple[str, ...]:
    sure = pair.sureness
    return (
        pair.benchmark,
        "-" if pair.ratio is None else _ratio(pair.ratio),
        _verdict(result, pair),
        _words(of_pair(result, pair).beside, result, pair),
        "-" if sure is None else p_value(sure.no_difference_holm),
        *in_a_column((pair.baseline_mean, pair.candidate_mean), pair.unit),
        pair.metric,
    )


def _suites(comparisons: Sequence[Comparison]) -> list[Table]:
    """How each system's geometric mean is distributed when every benchmark is measured once, in one binary."""
    cells: dict[tuple[str, ...], None] = {}  # the baseline has a row for each set of benchmarks that it shares
    for result in comparisons:
        suite = result.suite
        if suite is None or suite.distributions is None:
            continue
        for system, five in zip((result.baseline, result.candidate), suite.distributions, strict=True):
            values = (five.minimum, five.lower_quartile, five.median, five.upper_quartile, five.maximum)
            cells[system, str(suite.n_benchmarks), *alike(values, suite.unit)] = None
    columns = ("system", "benchmarks", "lowest", "lower quartile", "median", "upper quartile", "highest")
    return [Table("Geometric mean with each benchmark measured once", columns, list(cells))] if cells else []


def _ratio(interval: Interval) -> str:
    return " ".join(ratio_words(interval.centre, interval.low, interval.high))
