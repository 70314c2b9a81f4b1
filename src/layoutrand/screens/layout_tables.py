"""The tables and sentences of `analyse`, and what other commands show of theirs in the same way, on any `Display`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from layoutrand.screens.display import Display
from layoutrand.text.name_lists import fitting_names, several_files
from layoutrand.text.quantities import NO_BOUNDS, changes, estimate, p_value, percent, quantity, ratio_words, two_digits
from layoutrand.warning import AnyWarning

if TYPE_CHECKING:
    from layoutrand.analysis.analyse import Analysis, AnalysisReport, Control
    from layoutrand.analysis.evidence import Evidence
    from layoutrand.analysis.findings import Findings, Shape
    from layoutrand.analysis.node_table import NodeTable
    from layoutrand.analysis.selection import Selection, Source
    from layoutrand.stats import Interval

MOST_SENTENCES: Final = 12
"""Of more benchmarks the tables say enough; JSON, CSV and the report have the rest."""

MOST_STEPS: Final = 3
"""What to do next, that is told."""

KEYS: Final = ("benchmark", "system", "metric")

Rows = Sequence[tuple[str, ...]]


def show_analysis(report: AnalysisReport, page: Display, *, every: bool) -> None:
    """Four tables: means, variation by level, single binaries, controls; then one sentence for each benchmark."""
    from layoutrand.analysis.beside import simulated_beside
    from layoutrand.analysis.evidence import evidence

    show_sources(report.selection.sources, page)
    shown = [analysis for analysis in report.analyses if every or analysis.is_primary]
    _show_conclusions(report, shown, page)
    names = [(each.benchmark, each.system, each.metric) for each in shown]
    confidence, over = f"{100 * report.confidence:g} %", _over(shown, report.confidence)
    show(
        page,
        f"Mean over {over.layouts}, {confidence} interval; n: binaries, executions, iterations; "
        f"for 1 %: {over.binaries} in all",
        (*KEYS, "n", "mean", "interval", "±", "for 1 %"),
        [(*name, *_mean_row(each)) for name, each in zip(names, shown, strict=True)],
    )
    show(
        page,
        f"Variation at each level: relative standard deviation, {confidence} interval; p: of no effect of layout",
        (*KEYS, "layout alone", "p", "share", "node", "binary", "binary and execution", "execution", "iteration"),
        [(*name, *_level_row(each)) for name, each in zip(names, shown, strict=True)],
    )
    show(
        page,
        f"{over.odd} that stand out (all are in the numbers)",
        (*KEYS, "one more", "measured", "pairs measured", "outliers", "groups (p)"),
        [(*name, *_single_row(each)) for name, each in zip(names, shown, strict=True)],
    )
    show(
        page,
        "Controls: where they lie among the layouts; layouts / control round by round where rounds have both",
        (*KEYS, "control", "executions", "mean", "sd", "measured", "layouts / control"),
        [(*name, *row) for name, each in zip(names, shown, strict=True) for row in _control_rows(each)],
    )
    show_nodes(report.nodes, page)
    show_evidence(evidence(report.selection), page)
    if beside := simulated_beside(report.selection, [(each.benchmark, each.instrument) for each in shown]):
        page.item(beside)
    several = [(f"{a.system}, {a.benchmark}, {a.metric}", warning) for a in shown for warning in all_warnings(a)]
    show_grouped(several, page)
    show_selection_problems(report.selection, report.warnings, page)


def _show_conclusions(report: AnalysisReport, shown: Sequence[Analysis], page: Display) -> None:
    """A sentence on each, unless they are many; what to do next."""
    from layoutrand.analysis.conclusion import of_layouts
    from layoutrand.analysis.evidence import evidence
    from layoutrand.analysis.sentences import next_steps, of_analysis

    if len(shown) <= MOST_SENTENCES:
        for analysis in shown:
            page.item(of_analysis(analysis, report.warnings))
    else:
        page.item(f"{len(shown)} rows: a sentence on each with --system or --benchmark, or all numbers with --json")
    concluded = [of_layouts(analysis, report.warnings) for analysis in shown]
    for step in next_steps(concluded, of_others=evidence(report.selection).of_others)[:MOST_STEPS]:
        page.item(f"next: {step}")
    page.line()


class _Over(NamedTuple):
    """What the tables of `analyse` are about, for their titles."""

    layouts: str
    binaries: str
    odd: str


def _over(shown: Sequence[Analysis], confidence: float) -> _Over:
    """Layouts, or executions of systems that have one layout alone."""
    fixed = {analysis.one_layout for analysis in shown}
    one_more = f"one more (in {100 * confidence:g} of 100 cases), those measured"
    if fixed == {True}:
        return _Over("executions of one layout", "executions", "Executions of one layout")
    if True in fixed:
        odd = f"Single binaries against the mean: {one_more}; layouts, or executions of one layout,"
        return _Over("layouts, or executions of one layout", "binaries or executions", odd)
    return _Over("layouts", "binaries", f"Single binaries against the mean: {one_more}; layouts")


def show(page: Display, title: str, columns: Sequence[str], rows: Rows) -> None:
    """A table without the columns that say nothing: a metric that is always the same goes into the title.

    One that would say nothing but whose rows they are is left out.
    """
    if all(cell == "-" for row in rows for name, cell in zip(columns, row, strict=True) if name not in KEYS):
        return
    kept = []
    for place, column in enumerate(columns):
        values = {row[place] for row in rows}
        if column == "metric" and len(values) == 1:
            title = f"{title} ({values.pop()})"
        elif place == 0 or values != {"-"}:
            kept.append(place)
    page.table(title, [columns[place] for place in kept], [tuple(row[place] for place in kept) for row in rows])
    page.line()


def show_nodes(table: NodeTable | None, page: Display) -> None:
    """What each node did, and a sentence on each that stands out."""
    from layoutrand.analysis import node_words

    if table is None:
        return
    most = node_words.MOST_FACTS
    rows = [node_words.cells(row, most=most) for row in table.rows]
    show(page, node_words.title(table), node_words.columns(table, most=most), rows)
    for sentence in node_words.sentences(table):
        page.item(sentence)
    page.line()


def show_evidence(of: Evidence | None, page: Display) -> None:
    """Seeds, counts, layout policy, failures and what was left out."""
    from layoutrand.analysis.evidence import sentences

    for sentence in sentences(of) if of is not None else ():
        page.item(sentence)


def show_grouped(several: Sequence[tuple[str, AnyWarning]], page: Display) -> None:
    """Warnings about samples, each once, with the names of those it is about."""
    groups: dict[AnyWarning, list[str]] = {}
    for name, warning in several:
        groups.setdefault(warning, []).append(name)
    for warning, names in groups.items():
        listed = fitting_names(names, 3, between="; ")
        # What names its benchmark itself need not be told which it is of.
        page.warn(
            str(warning) if listed == getattr(warning, "benchmark", None) else f"{listed}: {warning.beside_name()}"
        )


def _mean_row(analysis: Analysis) -> tuple[str, ...]:
    from layoutrand.analysis.forecasting import range_words

    middle = analysis.mean
    counts = [analysis.n_binaries, analysis.n_executions, analysis.n_iterations]
    while len(counts) > 1 and counts[-1] == counts[-2]:
        counts.pop()
    needed = analysis.findings.needed if analysis.findings else None
    enough = "-"
    if needed is not None and not math.isinf(middle.half_width) and middle.centre:
        enough = "enough" if needed.n_more == 0 else range_words(needed.fewest, needed.n_binaries)
    return (
        ", ".join(f"{count:,}" for count in counts),
        *estimate(middle.centre, middle.low, middle.high, analysis.unit),
        two_digits(middle.relative_half_width) if math.isfinite(middle.relative_half_width) else "-",
        enough,
    )


def _level_row(analysis: Analysis) -> tuple[str, ...]:
    from layoutrand.analysis.layout_words import MACHINE, size_of

    found = analysis.findings
    bounds = found.relative_sds if found else (None,) * len(analysis.levels)
    sds = {level.level: _sd(level.relative_sd, bound) for level, bound in zip(analysis.levels, bounds, strict=True)}
    unsteady = found is not None and found.is_machine
    test, share = (found.test, found.correlation) if found and not unsteady else (None, None)
    # Binaries that were executed once differ by their executions, too.
    is_both = "binary" in sds and "execution" in analysis.collapsed
    return (
        "-" if found is None else MACHINE if unsteady else size_of(found.layout),
        "-" if test is None else p_value(test.p_value),
        "-" if share is None else f"{share.centre:.2f} [{share.low:.2f}, {share.high:.2f}]",
        "-" if analysis.node_level is None else percent(analysis.node_level.relative_sd),
        "-" if is_both else sds.get("binary", "-"),
        sds["binary"] if is_both else "-",
        _noise(analysis) if is_both else sds.get("execution", "-"),
        sds.get("iteration", "-"),
    )


def _noise(analysis: Analysis) -> str:
    """Of executions of one binary, as stock and identity show it."""
    found = analysis.findings
    return "-" if found is None else percent(found.layout.noise_sd)


def _sd(value: float | None, bounds: Interval | None) -> str:
    if value is None:
        return "-"
    if bounds is None or math.isinf(bounds.high) or bounds.low == bounds.high == 0:  # nothing can be told from it
        return percent(value)
    return f"{percent(value)} [{100 * bounds.low:.2f}, {100 * bounds.high:.2f}]"


def _single_row(analysis: Analysis) -> tuple[str, ...]:
    from layoutrand.analysis.sentences import one_more

    found = analysis.findings
    if found is None or len(analysis.binary_means) < 2:
        return ("-",) * 5
    one, shape = found.one_binary, found.shape
    pairs = None if one is None else one.comparison
    peaks = shape.dip_p_value
    return (
        one_more(analysis) or "-",
        "-" if one is None else _change(one.lowest, one.highest),
        "-" if pairs is None else _change(pairs.minimum, pairs.maximum),
        "not tested" if shape.limit is None else _outliers(found),
        "not tested" if peaks is None else _groups(shape, peaks),
    )


def _groups(shape: Shape, peaks: float) -> str:
    if shape.of_machine:
        from layoutrand.analysis.layout_words import MACHINE

        return MACHINE
    return f"{'yes' if shape.has_several_peaks else 'no'} ({p_value(peaks)})"


def _outliers(found: Findings) -> str:
    """How many, then which: ``1 (seed 21)``; names of imported binaries stand as they are."""
    shape = found.shape
    far = [str(each.binary) for each in shape.outliers]
    if not far:
        return "0"
    if found.is_machine:
        from layoutrand.analysis.layout_words import MACHINE

        return MACHINE
    listed = fitting_names(far, 3)
    kind = ("seed " if len(far) == 1 else "seeds ") if all(isinstance(o.binary, int) for o in shape.outliers) else ""
    return f"{len(far)} ({kind}{listed})"


def _change(low: float, high: float) -> str:
    digits = 1 if max(abs(low - 1), abs(high - 1)) >= 0.01 else 2
    return f"{' to '.join(changes([low, high], digits))} %"


def all_warnings(analysis: Analysis) -> list[AnyWarning]:
    """Those of the layouts, then why a control has no shift or no noise in its table."""
    of_controls = [each.warnings for each in (analysis.stock, analysis.identity) if each is not None]
    return [*analysis.warnings, *itertools.chain.from_iterable(of_controls)]


def _control_rows(analysis: Analysis) -> Rows:
    pairs = (("stock", analysis.stock), ("identity", analysis.identity))
    return [(name, *_control(control, analysis)) for name, control in pairs if control is not None]


def _control(control: Control, analysis: Analysis) -> tuple[str, ...]:
    from layoutrand.analysis.place_among import place_among

    shift, unit = control.shift, analysis.unit
    return (
        str(control.n_executions),
        quantity(control.mean, unit),
        "-" if control.sd is None else quantity(control.sd, unit),
        place_among(analysis, control.mean),
        "-" if shift is None else " ".join(ratio_words(shift.centre, shift.low, shift.high)),
    )


def interval(ratio: Interval) -> str:
    """The interval of a ratio."""
    if math.isinf(ratio.low) and math.isinf(ratio.high):
        return NO_BOUNDS
    return ratio_words(ratio.centre, ratio.low, ratio.high)[1]


def show_selection_problems(selection: Selection, warnings: Sequence[AnyWarning], page: Display) -> None:
    """What was left out, and what failed: each cause once, with where its first output is."""
    from layoutrand.config.execution_warnings import disturbed_together
    from layoutrand.execute.cases import processes
    from layoutrand.screens.build_screen import show_failures
    from layoutrand.screens.failing import Failures, failed_executions

    for warning in disturbed_together(warnings):
        page.warn(str(warning))
    if selection.sources:
        for failure in selection.failures:
            page.fail(f"{failure.system}, {failure.benchmark}: {failure.reason}; not in the numbers")
    elif selection.failures:
        page.warn(failed_executions(processes(selection.failures)))
        Failures().conclude(selection.failures, page)
    if selection.build_failures:
        n = len(selection.build_failures)
        unbuilt = "1 binary could not be built and is" if n == 1 else f"{n:,} binaries could not be built and are"
        page.warn(f"{unbuilt} not in the numbers")
        show_failures(selection.build_failures, page)


def show_sources(sources: Sequence[Source], page: Display) -> None:
    """One line for each format and its systems, with its files where they are few."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for source in sources:
        groups.setdefault((source.format, source.systems), []).append(source.file)
    for (name, systems), files in groups.items():
        page.item(f"imported: {', '.join(systems)} from {several_files(files)}, {name}")
    if sources:
        page.line()
