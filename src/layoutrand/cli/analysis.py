"""`layoutrand analyse` and `layoutrand compare`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import importing, options
from layoutrand.cli.running import Benchmarks
from layoutrand.cli.terminal import Page
from layoutrand.errors import UsageError
from layoutrand.text.quantities import NO_BOUNDS, percent, quantity

if TYPE_CHECKING:
    from layoutrand.core.config import Config
    from layoutrand.stats import Interval
    from layoutrand.usecases.analyse import Analysis, AnalysisReport, Control
    from layoutrand.usecases.compare import BenchmarkRatio, Comparison
    from layoutrand.usecases.selection import Selection

FAIL_IF_MET = 3

Host = Annotated[str | None, typer.Option(help="Analyse the results of this machine; default: this one.")]
AllMetrics = Annotated[bool, typer.Option("--all", help="Every metric measured, not only each benchmark's main one.")]


def analyse(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only this metric; may be repeated.")] = None,
    all_metrics: AllMetrics = False,
    confidence: options.Confidence = 0.95,
    imports: importing.Imports = None,
    format_name: importing.Format = None,
    names_are: importing.NamesAre = None,
    warmup: importing.Warmup = None,
    host: Host = None,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Variance at each level, layout against execution noise, and where stock lies among the layouts."""
    from layoutrand.usecases.analyse import analyse as analyse_selection
    from layoutrand.usecases.documents import analyse_document

    terminal = options.terminal(json=json, quiet=quiet)
    foreign = importing.Request(imports, format_name, names_are, warmup)
    if imports:
        selection = foreign.select(system or [], benchmark or [], host, directory)
    else:
        foreign.check_unused()
        config = options.load_config(directory)
        chosen = options.match_systems(config, system) if system else []
        selection = load_selection(config, directory, chosen, benchmark or [], host)
    report = analyse_selection(selection, confidence=confidence, metrics=metric or [])
    if json:
        terminal.document(analyse_document(report))
    show_analysis(report, terminal, every=all_metrics or bool(metric))
    return 0


def load_selection(
    config: Config, directory: Path, systems: Sequence[str], benchmarks: Sequence[str], host: str | None
) -> Selection:
    """The results that belong to the question; raises `UsageError` where there are none at all."""
    from layoutrand.usecases.selection import Question, select
    from layoutrand.world.results_file import open_for_reading, results_path

    path = results_path(directory)
    if not path.exists():
        raise UsageError(f"there are no results in {path}; `layoutrand run` makes them")
    question = Question(
        config=config, project=directory, systems=systems, benchmarks=benchmarks, captures={}, host=host
    )
    with open_for_reading(path) as store:
        return select(question, store)


def show_analysis(report: AnalysisReport, page: Page, *, every: bool) -> None:
    """Three tables: means, variance by level, controls; then one sentence for each benchmark."""
    from layoutrand.usecases.sentences import of_analysis

    importing.show_sources(report.selection.sources, page)
    shown = [analysis for analysis in report.analyses if every or analysis.is_primary]
    confidence = f"{100 * report.confidence:g} %"
    page.table(
        f"Mean over layouts, {confidence} interval",
        ("benchmark", "system", "metric", "binaries", "mean", "interval", "±", "range over binaries"),
        [_mean_row(analysis) for analysis in shown],
    )
    page.line()
    page.table(
        "Variation at each level (relative standard deviation)",
        (
            "benchmark",
            "system",
            "metric",
            "layout alone",
            *(f"{level} (T)" for level in ("binary", "execution", "iteration")),
        ),
        [_level_row(analysis) for analysis in shown],
    )
    page.line()
    controls = [row for analysis in shown for row in _control_rows(analysis)]
    if controls:
        page.table(
            "Controls: where they lie among the layouts",
            ("benchmark", "system", "metric", "control", "executions", "mean", "sd", "percentile", "layouts / control"),
            controls,
        )
        page.line()
    for analysis in shown:
        page.line(of_analysis(analysis))
    for analysis in shown:
        for warning in analysis.warnings:
            page.warn(f"{analysis.system}, {analysis.benchmark}, {analysis.metric}: {warning}")
    show_selection_problems(report.selection, report.warnings, page)


def _mean_row(analysis: Analysis) -> tuple[str, ...]:
    means = [mean for _, mean in analysis.binary_means]
    middle = analysis.mean
    spread = f"{quantity(min(means), analysis.unit)} ... {quantity(max(means), analysis.unit)}"
    return (
        analysis.benchmark, analysis.system, analysis.metric, str(analysis.n_binaries),
        quantity(middle.centre, analysis.unit), interval(middle, analysis.unit),
        "-" if math.isinf(middle.half_width) else percent(middle.relative_half_width), spread,
    )  # fmt: skip


def _level_row(analysis: Analysis) -> tuple[str, ...]:
    sds = {level.level: level.relative_sd for level in analysis.levels}
    layout = analysis.layout
    return (
        analysis.benchmark, analysis.system, analysis.metric,
        "-" if layout is None else percent(layout.relative_sd),
        *(percent(sds.get(level)) for level in ("binary", "execution", "iteration")),
    )  # fmt: skip


def _control_rows(analysis: Analysis) -> list[tuple[str, ...]]:
    rows = []
    for name, control in (("stock", analysis.stock), ("identity", analysis.identity)):
        if control is not None:
            rows.append((analysis.benchmark, analysis.system, analysis.metric, name, *_control(control, analysis.unit)))
    return rows


def _control(control: Control, unit: str) -> tuple[str, ...]:
    shift = control.shift
    return (
        str(control.n_executions),
        quantity(control.mean, unit),
        "-" if control.sd is None else quantity(control.sd, unit),
        f"{control.percentile:.0f}",
        "-" if shift is None else f"{shift.centre:.4f} [{shift.low:.4f}, {shift.high:.4f}]",
    )


def interval(value: Interval, unit: str | None = None) -> str:
    """An interval with its unit."""
    if math.isinf(value.low) and math.isinf(value.high):
        return NO_BOUNDS
    low, high = (f"{x:.4f}" if unit is None else quantity(x, unit) for x in (value.low, value.high))
    return f"[{low}, {high}]"


def show_selection_problems(selection: Selection, warnings: Sequence[str], page: Page) -> None:
    """What was left out, and what failed."""
    for warning in dict.fromkeys(warnings):
        page.warn(warning)
    if selection.sources:
        for failure in selection.failures:
            page.fail(f"{failure.system}, {failure.benchmark}: {failure.reason}; not in the numbers")
    elif selection.failures:
        page.warn(
            f"{len(selection.failures)} executions failed and are not in the numbers; `layoutrand run` lists them"
        )
    if selection.build_failures:
        page.warn(f"{len(selection.build_failures)} binaries could not be built and are not in the numbers")


def parse_threshold(text: str) -> float:
    """``1%`` or ``0.01`` as a fraction; raises `UsageError`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    if match is None:
        raise UsageError(f"--threshold {text}: write a percentage such as 1% or a fraction such as 0.01")
    value = float(match[1]) / (100 if match[2] else 1)
    if value >= 1:
        raise UsageError(f"--threshold {text}: must be below 100 %")
    return value


def compare(  # noqa: PLR0913 - one parameter for each option
    base: Annotated[str, typer.Argument(help="The system divided by.")],
    candidate: Annotated[str, typer.Argument(help="The system judged.")],
    benchmark: Benchmarks = None,
    metric: Annotated[str | None, typer.Option(help="Compare this metric; default: each benchmark's main one.")] = None,
    threshold: Annotated[str, typer.Option(help="Differences within this count as equivalent.")] = "1%",
    fail_if: Annotated[
        str | None, typer.Option(help="Exit with status 3 if any verdict is this: slower, faster, undecided.")
    ] = None,
    confidence: options.Confidence = 0.95,
    imports: importing.Imports = None,
    format_name: importing.Format = None,
    names_are: importing.NamesAre = None,
    warmup: importing.Warmup = None,
    host: Host = None,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """The ratio of two systems with its interval, for each benchmark and for the suite."""
    from layoutrand.usecases.compare import compare as compare_systems
    from layoutrand.usecases.documents import compare_document

    terminal = options.terminal(json=json, quiet=quiet)
    limit = parse_threshold(threshold)
    if fail_if not in (None, "slower", "faster", "undecided"):
        raise UsageError(f"--fail-if {fail_if}: choose slower, faster or undecided")
    if base == candidate:
        raise UsageError(f"{base} would be compared with itself")
    foreign = importing.Request(imports, format_name, names_are, warmup)
    if imports:
        selection = foreign.select([base, candidate], benchmark or [], host, directory)
    else:
        foreign.check_unused()
        config = options.load_config(directory)
        options.choose_systems(config, [base, candidate])
        selection = load_selection(config, directory, [base, candidate], benchmark or [], host)
    result = compare_systems(selection, base, candidate, confidence=confidence, threshold=limit, metric=metric)
    if json:
        terminal.document(compare_document(result))
    show_comparison(result, terminal)
    show_selection_problems(selection, result.warnings, terminal)
    verdicts = {pair.verdict for pair in result.benchmarks}
    return FAIL_IF_MET if fail_if in verdicts else 0


def show_comparison(result: Comparison, page: Page) -> None:
    """One row a benchmark, the suite, and a sentence that can be quoted."""
    from layoutrand.usecases.sentences import of_ratio

    importing.show_sources(result.sources, page)
    rows = [_ratio_row(pair) for pair in result.benchmarks]
    suite = result.suite
    if suite is not None and suite.n_benchmarks > 1:
        rows.append((
            f"geometric mean of {suite.n_benchmarks}", "", "", f"{suite.ratio.centre:.4f}",
            interval(suite.ratio), "-" if suite.paired is None else interval(suite.paired),
            suite.verdict,
        ))  # fmt: skip
    page.table(
        f"{result.candidate} / {result.baseline}, {100 * result.confidence:g} % intervals, "
        f"threshold {100 * result.threshold:g} %",
        ("benchmark", "metric", "binaries", "ratio", "interval", "paired by seed", "verdict"),
        rows,
    )
    page.line()
    for pair in result.benchmarks:
        page.line(of_ratio(result, pair))
        for warning in pair.warnings:
            page.warn(f"{pair.benchmark}: {warning}")
    for system, names in ((result.baseline, result.only_baseline), (result.candidate, result.only_candidate)):
        if names:
            page.warn(f"only {system} has results of {', '.join(names)}: left out of the suite")


def _ratio_row(pair: BenchmarkRatio) -> tuple[str, ...]:
    ratio, paired = pair.ratio, pair.paired
    return (
        pair.benchmark,
        pair.metric,
        f"{pair.n_baseline} / {pair.n_candidate}" + ("" if pair.counted == "binaries" else f" {pair.counted}"),
        "-" if ratio is None else f"{ratio.centre:.4f}",
        "-" if ratio is None else interval(ratio),
        "-" if paired is None else interval(paired),
        pair.verdict,
    )
