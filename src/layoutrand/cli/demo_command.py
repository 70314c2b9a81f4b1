"""`layoutrand demo`: the built-in example from nothing to a verdict, and what was seen in three sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.library.project_directory import possible
from layoutrand.library.recorded import Which, load_selection
from layoutrand.screens.build_screen import show_failures
from layoutrand.screens.run_screen import show_run

if TYPE_CHECKING:
    from layoutrand.analysis.analyse import AnalysisReport
    from layoutrand.analysis.compare import BenchmarkRatio, Comparison


def demo(
    directory: Annotated[
        Path,
        typer.Option(
            "-C",
            "--directory",
            callback=possible,
            help="Where to put the example; made if it is not there.",
        ),
    ] = Path("layoutrand-demo"),
    seeds: options.Seeds = "30",
    jobs: options.Jobs = 0,
    quiet: options.Quiet = False,
) -> int:
    """All of it on the built-in example, in about a minute: build, run, analyse, compare."""
    from layoutrand.analysis.analyse import analyse
    from layoutrand.analysis.compare import compare
    from layoutrand.build.demo import check_needs, copy_example, left_out
    from layoutrand.cli import reporting, running
    from layoutrand.cli.markdown_report import write_report
    from layoutrand.cli.terminal import terminal_width
    from layoutrand.config.seeds import parse_seeds
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.platform.process import SubprocessRunner
    from layoutrand.screens import failing
    from layoutrand.screens.comparison_screen import comparison_screen
    from layoutrand.screens.layout_screen import analysis_screen

    terminal = options.terminal(json=False, quiet=quiet)
    check_needs(SubprocessRunner())
    copy_example(directory)
    config = options.load_config(directory)
    systems, without = list(config.systems), left_out(config)
    benchmarks = [each.name for each in config.benchmarks if each.name not in without] if without else []
    terminal.line(f"The example, a small language interpreter, is in {directory}; see its layoutrand.toml.")
    if without:
        terminal.line(_not_simulated(without))
    only = "".join(f"--benchmark {name} " for name in benchmarks)

    terminal.line(f"\n$ layoutrand run --seeds {seeds} {only}-C {directory}")
    told = failing.Failures()
    part = options.ProjectPart(config, directory, systems, benchmarks, options.count_jobs(jobs))
    summary, results = running.build_and_execute(part, RunChoices(benchmarks, parse_seeds(seeds)), terminal, told=told)
    show_failures(summary.build_failures, terminal)
    show_run(summary, terminal, told)

    terminal.line(f"\n$ layoutrand analyse {only}-C {directory}")
    selection = load_selection(config, directory, [], benchmarks, Which())
    report = analyse(selection, confidence=0.95, metrics=[])
    primary = [analysis for analysis in report.analyses if analysis.is_primary]
    terminal.screen(analysis_screen(report, primary, terminal_width(), systems))

    terminal.line(f"\n$ layoutrand compare {only}-C {directory}")
    comparison = compare(selection, systems[0], systems[1], confidence=0.95, threshold=0.01, metric=None)
    terminal.screen(comparison_screen([comparison], selection, terminal_width()))

    terminal.line("\nWhat was seen:")
    for sentence in seen(report, comparison):
        terminal.line(f"- {sentence}")
    path = write_report(directory, config, results, summary, report, comparison)
    page = reporting.write_report(directory)
    terminal.line("Now your program: `layoutrand init` in its directory, then run, analyse and compare as here.")
    terminal.line(f"\nReport: {path.absolute()}\nAs a page: {page.absolute()}")
    return 1 if summary.failures or summary.build_failures else 0


def _not_simulated(without: list[str]) -> str:
    from layoutrand.build.demo import absent_simulators

    absent = absent_simulators()
    return (
        f"There is no {absent[0].program} ({absent[0].how_to_install()}), so nothing is simulated: "
        f"{', '.join(without)} is left out, and times alone are measured."
    )


def seen(report: AnalysisReport, comparison: Comparison) -> Iterator[str]:
    """Three sentences: what layout does, what the users' own two builds would have said, and what holds."""
    pair = max(comparison.benchmarks, key=_clearness)
    yield _of_layouts(report, pair)
    yield _of_own_builds(comparison, pair)
    yield _of_the_systems(comparison, pair)


def _clearness(pair: BenchmarkRatio) -> tuple[bool, float]:
    """The benchmark with a verdict, or else the one whose ratio is known best."""
    width = math.inf if pair.ratio is None else pair.ratio.half_width
    return pair.verdict != "undecided", -width


def _of_layouts(report: AnalysisReport, pair: BenchmarkRatio) -> str:
    from layoutrand.analysis.conclusion import of_layouts
    from layoutrand.analysis.sentences import UNFORESEEN, one_more
    from layoutrand.text.quantities import MINUS

    mine = [each for each in report.analyses if (each.benchmark, each.metric) == (pair.benchmark, pair.metric)]
    matters = [each for each in mine if of_layouts(each, report.warnings).verdict == "layout matters"]
    moved = [each for each in matters if one_more(each) not in {"", UNFORESEEN}]
    if not moved:
        return f"whether layout alone moves {pair.benchmark} cannot be told from these executions."
    first = moved[0]
    return (
        f"layout alone moves {first.benchmark}: of the very same code at {first.system}, one more build shows "
        f"{one_more(first).replace('-', MINUS)} against the mean of all (95 %)."
    )


def _of_own_builds(comparison: Comparison, pair: BenchmarkRatio) -> str:
    from layoutrand.analysis.conclusion import of_statistics
    from layoutrand.analysis.conclusion_words import is_speed, verdict_words
    from layoutrand.analysis.verdict_marks import size_in_brief

    own = pair.as_built
    if own is None or not math.isfinite(own.ratio.half_width):
        return "what your own two builds alone would have said is not known: they were not executed often enough."
    verdict = verdict_words(of_statistics(own.verdict), comparison.threshold, of_speed=is_speed(pair))
    would = f"your own two builds alone, one layout each, would have said {size_in_brief(own.ratio)} ({verdict})"
    if pair.verdict == "undecided":
        return f"{would}; over layouts it cannot be told."
    return (
        f"{would}, which {'holds over layouts, too' if own.verdict == pair.verdict else 'does not hold over layouts'}."
    )


def _of_the_systems(comparison: Comparison, pair: BenchmarkRatio) -> str:
    from layoutrand.analysis.conclusion import of_pair
    from layoutrand.analysis.conclusion_words import is_speed, verdict_words
    from layoutrand.analysis.verdict_marks import change_words

    words = verdict_words(of_pair(comparison, pair).verdict, comparison.threshold, of_speed=is_speed(pair))
    size = "" if pair.ratio is None else f", {' '.join(change_words(pair.ratio))}"
    return (
        f"with layout averaged out over {min(pair.n_baseline, pair.n_candidate)} layouts each, {comparison.candidate} "
        f"against {comparison.baseline} on {pair.benchmark}: {words}{size}."
    )
