"""`layoutrand report`: the page that shows all of a selection, made of what `analyse` and `compare` say of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from layoutrand.errors import AnalysisError
from layoutrand.model import Context
from layoutrand.stats import Interval
from layoutrand.text.figures import rows
from layoutrand.text.html_report import Figure, Page, Section, Table
from layoutrand.text.quantities import NO_BOUNDS, quantity
from layoutrand.usecases import report_facts, report_figures, sentences
from layoutrand.usecases.analyse import AnalysisReport, analyse, choose_metrics
from layoutrand.usecases.compare import BenchmarkRatio, Comparison, compare
from layoutrand.usecases.selection import Selection

_MOST_IN_FINDINGS = 8


def report(  # noqa: PLR0913 - what to report on, and three keyword-only options
    selection: Selection,
    contexts: Sequence[Context],
    baseline: str,
    *,
    confidence: float,
    threshold: float,
    metric: str | None = None,
) -> Page:
    """The report on each benchmark's main metric, or on ``metric``; ``baseline`` is compared with every other system.

    ``threshold`` is a fraction.  What cannot be said (no seed executed, nothing in common) is said on the page.
    Raises `AnalysisError` for a metric that was never measured.
    """
    chosen = choose_metrics(selection, [metric] if metric else [])
    primary = replace(selection, samples=tuple(sample for sample in chosen if metric or sample.is_primary))
    found = AnalysisReport((), primary, confidence, selection.warnings)
    if any(sample.binaries for sample in primary.samples):
        found = analyse(primary, confidence=confidence, metrics=[])
    comparisons, missing = _comparisons(primary, baseline, confidence, threshold, metric)
    problems = [*report_facts.warnings(found, comparisons), *_left_out(selection, primary, metric)]
    sections = [_overview(comparisons, missing)] if comparisons or missing else []
    sections += _benchmarks(primary, found, comparisons)
    sections += [*report_facts.problems(selection, problems), *report_facts.environment(selection, contexts, baseline)]
    project = selection.experiment.project or "imported results"
    return Page(
        title=f"{project}: performance over layouts",
        subtitle=report_facts.subtitle(selection),
        findings=_findings(comparisons, found),
        alerts=report_facts.alerts(selection, problems),
        facts=report_facts.head(selection, contexts, confidence, threshold),
        sections=sections,
    )


def _left_out(selection: Selection, primary: Selection, metric: str | None) -> list[str]:
    """Benchmarks with successful executions that are not on the page."""
    shown = {sample.benchmark for sample in primary.samples}
    names = dict.fromkeys(sample.benchmark for sample in selection.samples if sample.benchmark not in shown)
    return [
        f"{name}: no execution measured {metric or 'its main metric'}, so it is not in this report" for name in names
    ]


def _comparisons(
    selection: Selection, baseline: str, confidence: float, threshold: float, metric: str | None
) -> tuple[list[Comparison], list[str]]:
    """The baseline against every other system with results, and why some could not be compared."""
    done: list[Comparison] = []
    missing: list[str] = []
    for system in dict.fromkeys(sample.system for sample in selection.samples):
        if system == baseline:
            continue
        try:
            done.append(compare(selection, baseline, system, confidence=confidence, threshold=threshold, metric=metric))
        except AnalysisError as error:
            missing.append(f"{system} could not be compared with {baseline}: {str(error).splitlines()[0]}")
    return done, missing


def _findings(comparisons: Sequence[Comparison], found: AnalysisReport) -> list[str]:
    lines: list[str] = []
    for result in comparisons:
        verdicts = Counter(pair.verdict for pair in result.benchmarks)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        lines.append(
            f"{result.candidate} against {result.baseline}: {_benchmark_count(len(result.benchmarks))}: {counts} "
            f"(threshold {100 * result.threshold:g} %, {100 * result.confidence:g} % intervals)."
        )
        if result.suite is not None and result.suite.n_benchmarks > 1:
            lines.append(_suite_sentence(result))
    pairs = [sentences.of_ratio(result, pair) for result in comparisons for pair in result.benchmarks]
    if len(pairs) <= _MOST_IN_FINDINGS:
        lines += [f"{sentence}." for sentence in pairs]
    said = [sentences.of_analysis(analysis) for analysis in found.analyses]
    if not comparisons and len(said) <= _MOST_IN_FINDINGS:  # otherwise they stand with the benchmarks
        lines += [f"{sentence}." for sentence in said]
    if found.analyses and not lines:
        return [f"{len(said)} samples of one system; what was found stands with each benchmark."]
    return lines or ["No seed was executed successfully, so nothing can be said about layouts; the failures say why."]


def _benchmark_count(count: int) -> str:
    return f"{count} benchmark" + ("" if count == 1 else "s")


def _suite_sentence(result: Comparison) -> str:
    suite = result.suite
    assert suite is not None
    p_value = "" if suite.p_value is None else f", randomization test p = {suite.p_value:.3g}"
    return (
        f"{result.candidate} / {result.baseline}, geometric mean of {suite.n_benchmarks} benchmarks: "
        f"{_ratio(suite.ratio)}{p_value}: {suite.verdict}."
    )


def _ratio(interval: Interval) -> str:
    if math.isinf(interval.low) and math.isinf(interval.high):
        return f"{interval.centre:.4f} {NO_BOUNDS}"
    return f"{interval.centre:.4f} [{interval.low:.4f}, {interval.high:.4f}]"


def _overview(comparisons: Sequence[Comparison], missing: Sequence[str]) -> Section:
    only = [
        f"Only {system} has results of {', '.join(names)}: not compared."
        for result in comparisons
        for system, names in ((result.baseline, result.only_baseline), (result.candidate, result.only_candidate))
        if names
    ]
    return Section("overview", "Ratios", sentences=[*missing, *only], figures=[_forest(each) for each in comparisons])


def _forest(result: Comparison) -> Figure:
    drawn = [_forest_row(pair) for pair in result.benchmarks if pair.ratio is not None]
    suite = result.suite
    table = [_forest_cells(pair) for pair in result.benchmarks]
    if suite is not None and suite.n_benchmarks > 1:
        name = f"geometric mean of {suite.n_benchmarks}"
        bounds = (suite.ratio.low, suite.ratio.centre, suite.ratio.high)
        drawn.append(rows.Row(name, _short(suite.ratio, suite.verdict), 1, interval=bounds, strong=True))
        table.append((name, "", "", "", _ratio(suite.ratio), suite.verdict))
    directions = {pair.better for pair in result.benchmarks}
    meaning = {"less": ", below 1 is better", "more": ", above 1 is better"}
    name = f"{result.candidate} / {result.baseline}"
    chart = rows.RowChart(
        title=f"Ratios {name}",
        description=f"{len(drawn)} ratios with {100 * result.confidence:g} % intervals; the numbers are in the table.",
        axis=f"ratio {name}{meaning[directions.pop()] if len(directions) == 1 else ''}",
        rows=drawn, band=(1 - result.threshold, 1 + result.threshold), reference=1.0,
    )  # fmt: skip
    caption = (
        f"Means over layouts, with {100 * result.confidence:g} % intervals. Shaded: within the threshold of "
        f"{100 * result.threshold:g} %, where two systems count as equivalent."
    )
    columns = ("benchmark", "metric", f"mean {result.baseline}", f"mean {result.candidate}", "ratio", "verdict")
    return Figure(name, rows.draw(chart), caption, Table(f"Ratios {name}", columns, table))


def _forest_row(pair: BenchmarkRatio) -> rows.Row:
    assert pair.ratio is not None
    bounds = (pair.ratio.low, pair.ratio.centre, pair.ratio.high)
    return rows.Row(pair.benchmark, _short(pair.ratio, pair.verdict), 0, interval=bounds)


def _short(ratio: Interval, verdict: str) -> str:
    if math.isinf(ratio.low) and math.isinf(ratio.high):
        return f"{ratio.centre:.3f} {NO_BOUNDS}, {verdict}"
    return f"{ratio.centre:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] {verdict}"


def _forest_cells(pair: BenchmarkRatio) -> tuple[str, ...]:
    return (
        pair.benchmark, pair.metric, quantity(pair.baseline_mean, pair.unit), quantity(pair.candidate_mean, pair.unit),
        "-" if pair.ratio is None else _ratio(pair.ratio), pair.verdict,
    )  # fmt: skip


def _benchmarks(selection: Selection, found: AnalysisReport, comparisons: Sequence[Comparison]) -> list[Section]:
    sections: list[Section] = []
    samples = {(s.system, s.benchmark, s.instrument, s.metric): s for s in selection.samples}
    for number, name in enumerate(dict.fromkeys(analysis.benchmark for analysis in found.analyses), 1):
        members = [
            report_figures.Member(analysis, samples[analysis.system, name, analysis.instrument, analysis.metric])
            for analysis in found.analyses
            if analysis.benchmark == name
        ]
        said = [
            sentences.of_ratio(result, pair)
            for result in comparisons
            for pair in result.benchmarks
            if pair.benchmark == name
        ]
        said += [sentences.of_analysis(member.analysis) for member in members]
        figures, notes = report_figures.of_benchmark(members, selection, found.confidence)
        ending = [f"{sentence}." for sentence in said]
        sections.append(Section(f"benchmark-{number}", name, paragraphs=notes, sentences=ending, figures=figures))
    return sections
