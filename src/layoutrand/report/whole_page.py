"""`layoutrand report`: the page that shows all of a selection, made of what `analyse` and `compare` say of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from layoutrand.analysis import layout_words, node_words, sentences
from layoutrand.analysis.analyse import Analysis, AnalysisReport, analyse, choose_metrics
from layoutrand.analysis.compare import Comparison
from layoutrand.analysis.conclusion import all_of, of_layouts
from layoutrand.analysis.distinct_layouts import analysed_within_what_there_is, within_what_there_is
from layoutrand.analysis.evidence import evidence
from layoutrand.analysis.forecasting import range_words
from layoutrand.analysis.selection import Selection
from layoutrand.cache.capture_record import source_without_path
from layoutrand.model import Context
from layoutrand.report import benchmarks, evidence_section, forest, machine_section, ratios, trust
from layoutrand.report.members import SuiteMember
from layoutrand.report.page_parts import BenchmarkCard, Page, TrustLight
from layoutrand.text.document import Chapter, Table
from layoutrand.text.quantities import estimate, fine_percent, two_digits
from layoutrand.warning import AnyWarning

_MOST_STEPS = 3


def report(
    selection: Selection,
    contexts: Sequence[Context],
    baseline: str,
    *,
    confidence: float,
    threshold: float,
    metric: str | None = None,
    n_distinct: Callable[[], Mapping[str, int]] = dict,
) -> Page:
    """The report on each benchmark's main metric, or on ``metric``; ``baseline`` is compared with every other system.

    ``threshold`` is a fraction, and ``n_distinct`` as for `within_what_there_is`.
    What cannot be said (no seed executed, nothing in common) is said on the page.
    Raises `UnknownMetric` for a metric that was never measured.
    """
    chosen = choose_metrics(selection, [metric] if metric else [])
    primary = replace(selection, samples=tuple(sample for sample in chosen if metric or sample.is_primary))
    found = AnalysisReport((), primary, confidence, selection.warnings)
    if any(sample.binaries for sample in primary.samples):
        found = analysed_within_what_there_is(analyse(primary, confidence=confidence, metrics=[]), n_distinct)
    comparisons, missing = ratios.compare_all(primary, baseline, confidence, threshold, metric)
    own = within_what_there_is(comparisons, n_distinct)
    comparisons = [trust.of_the_page(each, found) for each in own]
    problems = [*evidence_section.warnings(found, comparisons), *_left_out(selection, primary, metric)]
    asked = machine_section.Asked(baseline, confidence, threshold, metric)
    sections = [ratios.overview(comparisons, missing)] if comparisons or missing else []
    sections += [_summary(found)] if found.analyses else []
    tables = [found.nodes, *(each.nodes for each in comparisons)]
    sections += [node_words.section(table) for table in tables if table is not None][:1]
    sections += evidence_section.problems(selection, problems)
    sections += machine_section.environment(selection, contexts, asked)
    project = selection.experiment.project or "imported results"
    links = {name: f"benchmark-{number}" for number, name in enumerate(_names(found), 1)}
    cards = _cards(primary, found, own, links)
    banners = [forest.banner(each) for each in own]
    forests = [
        replace(forest.of_comparison(each, number, links), doubts=trust.doubts_of(found, each))
        for number, each in enumerate(own, 1)
    ]
    if found.analyses and not comparisons:
        banners = [forest.layout_banner(found)]
        forests = [each for each in [forest.of_all_layouts(found, links)] if each is not None]
    return Page(
        title=f"{project}: performance over layouts",
        subtitle=evidence_section.subtitle(selection),
        banners=banners,
        lights=_leading(trust.lights(selection, found, comparisons, links), cards, sections),
        findings=[*(missing if not comparisons else ()), *_findings(comparisons, found)],
        forests=forests,
        alerts=evidence_section.alerts(selection, problems),
        facts=evidence_section.head(selection, contexts, confidence, threshold),
        cards=cards,
        sections=sections,
        unfolded=frozenset({"failures"} if selection.failures or selection.build_failures else ()),
        sources=_sources(selection),
        rests_on=evidence_section.rests_on(primary, contexts),
        doubts=trust.doubts(found, comparisons),
    )


def _leading(
    lights: Sequence[TrustLight], cards: Sequence[BenchmarkCard], sections: Sequence[Chapter]
) -> list[TrustLight]:
    """Lights that lead somewhere: where their figure was not drawn, to another's of the kind, or to the warnings."""
    drawn = [figure.anchor for card in cards for figure in card.figures if figure.anchor]
    known = {*drawn, *(section.anchor for section in sections)}
    led = []
    for light in lights:
        kind = light.link.rpartition("-")[2]
        other = next((anchor for anchor in drawn if anchor.rpartition("-")[2] == kind), "warnings")
        led.append(light if light.link in known else replace(light, link=other))
    return led


def _names(found: AnalysisReport) -> list[str]:
    return list(dict.fromkeys(analysis.benchmark for analysis in found.analyses))


def _sources(selection: Selection) -> dict[str, str]:
    """System -> ``commit 19c4d91a2b3c``, in the order in which they are declared; without those that are not known."""
    shown = dict.fromkeys(sample.system for sample in selection.samples)
    return {name: source_without_path(words) for name in shown if (words := selection.made.get(name, ""))}


def _left_out(selection: Selection, primary: Selection, metric: str | None) -> list[str]:
    """Benchmarks with successful executions that are not on the page."""
    shown = {sample.benchmark for sample in primary.samples}
    names = dict.fromkeys(sample.benchmark for sample in selection.samples if sample.benchmark not in shown)
    return [
        f"{name}: no execution measured {metric or 'its main metric'}, so it is not in this report" for name in names
    ]


def _findings(comparisons: Sequence[Comparison], found: AnalysisReport) -> list[str]:
    """What there is to do next, beside what the banners say; that there is nothing to say, and why."""
    if not found.analyses and not comparisons:
        return ["No seed was executed successfully, so nothing can be said about layouts; the failures say why."]
    compared = [each for result in comparisons for each in all_of(result)]
    alone = [of_layouts(analysis, found.warnings) for analysis in found.analyses]
    of_others = evidence(found.selection).of_others
    steps = sentences.next_steps([*compared, *alone], of_others=of_others)
    return [f"Next: {step}." for step in steps[:_MOST_STEPS]]


def _summary(found: AnalysisReport) -> Chapter:
    """One row for each benchmark and system: what a paper would print."""
    columns = (
        "benchmark",
        "system",
        "mean",
        "half-width",
        "sd",
        "one more binary",
        "stock",
        "layout matters?",
        "for ± 1 %",
        "binaries",
        "executions",
        "metric",
    )
    text = (
        f"Of each benchmark and system the mean over layouts, and relative to it the half-width of its "
        f"{100 * found.confidence:g} % interval, the standard deviation between binaries, the range of one more binary "
        f"(in {100 * found.confidence:g} of 100 cases), and where stock lies, with the interval; whether layout "
        "matters, the standard deviation that it adds, with its interval, and p of the test that it adds none; how "
        "many binaries give a mean within 1 %: if they vary as these do, and so that 80 % of samples like this one are "
        "told enough."
    )
    rows = [_summary_row(analysis, found.warnings) for analysis in found.analyses]
    return Chapter(
        "summary",
        "All benchmarks",
        [text],
        tables=[Table("Means over layouts", columns, rows)],
    )


def _summary_row(analysis: Analysis, warnings: Sequence[AnyWarning]) -> tuple[str, ...]:
    centre = analysis.mean.centre
    several = analysis.n_binaries > 1
    spread = (sentences.one_more(analysis) if centre and several else "") or "-"
    width = analysis.mean.relative_half_width
    stock, found = analysis.stock, analysis.findings
    needed = found.needed if found is not None and several and math.isfinite(width) and centre else None
    return (
        analysis.benchmark,
        analysis.system,
        estimate(centre, analysis.mean.low, analysis.mean.high, analysis.unit)[0],
        f"± {two_digits(width)}" if math.isfinite(width) else "-",
        fine_percent(analysis.levels[0].relative_sd) if several else "-",
        spread,
        "-" if stock is None or not centre else sentences.place_of(stock, centre),
        layout_words.cell(found, of_layouts(analysis, warnings)),
        "-" if needed is None else range_words(needed.fewest, needed.n_binaries),
        str(analysis.n_binaries),
        str(analysis.n_executions),
        analysis.metric,
    )


def _cards(
    selection: Selection, found: AnalysisReport, comparisons: Sequence[Comparison], links: Mapping[str, str]
) -> list[BenchmarkCard]:
    """One for each benchmark, those with the largest effect first, as in the forest."""
    samples = {(s.system, s.benchmark, s.instrument, s.metric): s for s in selection.samples}
    chips = forest.chips_by_benchmark(comparisons, found)
    cards = []
    for name, anchor in links.items():
        members = [
            SuiteMember(analysis, samples[analysis.system, name, analysis.instrument, analysis.metric])
            for analysis in found.analyses
            if analysis.benchmark == name
        ]
        said = [
            sentences.of_ratio(result, pair)
            for result in comparisons
            for pair in result.benchmarks
            if pair.benchmark == name
        ]
        said += [sentences.of_analysis(member.analysis, found.warnings) for member in members]
        drawn = benchmarks.of_benchmark(members, selection, found.confidence, anchor, found.warnings)
        own = chips.get(name, [])
        several = len(own) > 1
        cards.append(
            BenchmarkCard(
                anchor,
                name,
                max((effect for _, _, effect in own), default=ratios.LAST),
                [replace(chip, words=f"{of}: {chip.words}") if several else chip for of, chip, _ in own],
                [f"{sentence}." for sentence in said],
                drawn.first,
                drawn.more,
                drawn.absent,
                benchmarks.shares(members, found.warnings),
                [member.analysis.system for member in members],
            )
        )
    return sorted(cards, key=lambda card: -card.order)
