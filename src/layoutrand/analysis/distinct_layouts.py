"""Programs that have few layouts: where these are all there are, no advice of `analyse` and `compare` asks for more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from layoutrand.analysis.analyse import AnalysisReport
from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.conclusion import all_of, of_layouts, of_pair
from layoutrand.analysis.next_steps import Step
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.warning import AnyWarning


def within_what_there_is(
    results: Sequence[Comparison], n_distinct: Callable[[], Mapping[str, int]]
) -> list[Comparison]:
    """The comparisons, those told of their few layouts that would ask for more.

    ``n_distinct`` are the layouts that the program of a system can have at most, of systems where these are few; it is
    asked only where layouts are asked for, as it takes a look at captures.
    """
    asked = [step for result in results for concluded in all_of(result) for step in concluded.next]
    if not any(step.kind == "more layouts" for step in asked):
        return list(results)
    known = n_distinct()
    return [_told(result, known) for result in results] if known else list(results)


def analysed_within_what_there_is(
    report: AnalysisReport, n_distinct: Callable[[], Mapping[str, int]]
) -> AnalysisReport:
    """The same of analyses."""
    concluded = [of_layouts(each, report.warnings) for each in report.analyses]
    if not any(step.kind == "more layouts" for each in concluded for step in each.next):
        return report
    known = n_distinct()
    told = (
        replace(each, warnings=_with_few(each.warnings, of.next, known[each.system])) if each.system in known else each
        for each, of in zip(report.analyses, concluded, strict=True)
    )
    return replace(report, analyses=tuple(told))


def _told(result: Comparison, known: Mapping[str, int]) -> Comparison:
    there = [known[system] for system in (result.baseline, result.candidate) if system in known]
    if not there:
        return result
    return replace(result, benchmarks=tuple(_with_its_few(result, pair, min(there)) for pair in result.benchmarks))


def _with_its_few(result: Comparison, pair: BenchmarkRatio, n_layouts: int) -> BenchmarkRatio:
    return replace(pair, warnings=_with_few(pair.warnings, of_pair(result, pair).next, n_layouts))


def _with_few(warnings: tuple[AnyWarning, ...], steps: Iterable[Step], n_layouts: int) -> tuple[AnyWarning, ...]:
    """The warnings, with that of few layouts where a step asks for more; one that cannot say how many does."""
    wanted = [step.n_layouts for step in steps if step.kind == "more layouts"]
    is_less = any(count is None or count > n_layouts for count in wanted)
    return (FewDistinctLayouts(n_layouts), *warnings) if is_less else warnings
