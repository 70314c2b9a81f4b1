"""`layoutrand analyse` and `layoutrand compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import completing, import_options, options, output_formats
from layoutrand.cli.attributing import show_attribution
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.cli.terminal import Terminal, terminal_width
from layoutrand.errors import UsageError
from layoutrand.library.configuration import choose_systems, match_systems
from layoutrand.library.recorded import Which, distinct_layouts, load_selection, load_with_second
from layoutrand.screens.comparison_tables import show_comparisons, show_halves
from layoutrand.screens.layout_tables import show_analysis, show_selection_problems
from layoutrand.text.flat import analysis_rows, comparison_rows, to_csv
from layoutrand.text.shares import share

if TYPE_CHECKING:
    from layoutrand.analysis.evidence import Evidence
    from layoutrand.analysis.selection import Selection
    from layoutrand.config.config import Config


Full = Annotated[bool, typer.Option("--full", help="Tables, sentences and warnings in full, not the answer alone.")]
AllMetrics = Annotated[bool, typer.Option("--all", help="Every metric measured, not only each benchmark's main one.")]


def analyse(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only this metric; may be repeated.")] = None,
    all_metrics: AllMetrics = False,
    confidence: options.Confidence = 0.95,
    imports: import_options.Imports = None,
    format_name: import_options.Format = None,
    names_are: import_options.NamesAre = None,
    warmup: import_options.Warmup = None,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    attribute: Annotated[
        bool,
        typer.Option("--attribute", help="How much each factor of the layout adds, of what `run --attribute` made."),
    ] = False,
    directory: options.Directory = Path(),
    full: Full = False,
    json: options.Json = False,
    csv: output_formats.Csv = False,
    raw_csv: output_formats.RawCsv = False,
    markdown: output_formats.Markdown = False,
    quiet: options.Quiet = False,
) -> int:
    """Variance at each level, layout against execution noise, and where stock lies among the layouts."""
    from layoutrand.analysis.analyse import analyse as analyse_selection
    from layoutrand.analysis.displayed import displayed
    from layoutrand.analysis.distinct_layouts import analysed_within_what_there_is
    from layoutrand.analysis.documents import analyse_document
    from layoutrand.analysis.evidence import evidence
    from layoutrand.screens.layout_screen import analysis_screen

    csv = csv or raw_csv
    terminal = output_formats.terminal(json=json, csv=csv, markdown=markdown, quiet=quiet)
    every = all_metrics or bool(metric)
    foreign = import_options.ImportOptions(imports, format_name, names_are, warmup)
    if attribute:
        if imports or csv or markdown:
            raise UsageError("--attribute is about results of `run --attribute`, as a table or with --json")
        own = options.load_config(directory)
        chosen = match_systems(own, system) if system else []
        part = options.ProjectPart(own, directory, chosen, benchmark or [])
        which = Which(host, capture or [], any_source)
        show_attribution(part, which, metrics=metric or [], confidence=confidence, terminal=terminal)
        return 0
    config: Config | None = None
    if imports:
        selection = foreign.select(system or [], benchmark or [], host, directory)
    else:
        foreign.check_unused()
        config = options.load_config(directory)
        chosen = match_systems(config, system) if system else []
        selection = load_selection(config, directory, chosen, benchmark or [], Which(host, capture or [], any_source))
    selection = selection if json or csv else displayed(selection)  # what programs read keeps the names
    report = analyse_selection(selection, confidence=confidence, metrics=metric or [])
    if config is not None:
        report = analysed_within_what_there_is(report, partial(distinct_layouts, config, selection))
    if json:
        terminal.document(analyse_document(report))
    elif csv:
        sys.stdout.write(to_csv(analysis_rows(analyse_document(report), every=every), raw=raw_csv))
        _say_evidence(evidence(report.selection), terminal)
    if full or json or csv or markdown:
        show_analysis(report, terminal, every=every)
    else:
        shown = [analysis for analysis in report.analyses if every or analysis.is_primary]
        # Of chosen results the command would have to choose them, too.
        known = set() if capture or any_source or host else explainable(config, report.selection)
        terminal.screen(analysis_screen(report, shown, terminal_width(), known))
    _finish(terminal)
    return 0


def explainable(config: Config | None, selection: Selection) -> set[str]:
    """Systems of which `explain` may say more, as people read them: of what is prebuilt nothing was linked."""
    systems = {} if config is None else config.systems
    return {selection.names.system(name) for name, system in systems.items() if system.prebuilt is None}


def compare(  # noqa: PLR0913 - one parameter for each option
    base: Annotated[
        str | None,
        typer.Argument(
            metavar="BASE",
            autocompletion=completing.systems,
            help="The system divided by; where there are two, the first of them.",
        ),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CANDIDATE",
            autocompletion=completing.systems,
            help="The systems judged, each against BASE. BASE itself: what would be said of two that do not differ.",
        ),
    ] = None,
    benchmark: Benchmarks = None,
    metric: Annotated[str | None, typer.Option(help="Compare this metric; default: each benchmark's main one.")] = None,
    threshold: Annotated[str, typer.Option(help="Differences within this count as equivalent.")] = "1%",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 3 for slower or faster, with 4 for cannot-tell; several with commas; none."),
    ] = None,
    holm: Annotated[
        bool, typer.Option("--holm", help="--fail-if looks at the verdicts that stand beside all others.")
    ] = False,
    confidence: options.Confidence = 0.95,
    imports: import_options.Imports = None,
    format_name: import_options.Format = None,
    names_are: import_options.NamesAre = None,
    warmup: import_options.Warmup = None,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    directory: options.Directory = Path(),
    full: Full = False,
    json: options.Json = False,
    csv: output_formats.Csv = False,
    raw_csv: output_formats.RawCsv = False,
    markdown: output_formats.Markdown = False,
    quiet: options.Quiet = False,
) -> int:
    """The ratio of each candidate to the baseline with its interval, for each benchmark and for the suite."""
    from layoutrand.analysis.aa import aa_document, compare_halves, of_second_executions
    from layoutrand.analysis.beside import simulated_beside
    from layoutrand.analysis.compare import compare_several
    from layoutrand.analysis.conclusion import meets
    from layoutrand.analysis.displayed import displayed
    from layoutrand.analysis.distinct_layouts import within_what_there_is
    from layoutrand.analysis.documents import comparisons_document, halves_document
    from layoutrand.analysis.evidence import evidence
    from layoutrand.screens.comparison_screen import comparison_screen, self_screen
    from layoutrand.screens.self_comparison import show_beside

    csv = csv or raw_csv
    terminal = output_formats.terminal(json=json, csv=csv, markdown=markdown, quiet=quiet)
    limit = share(threshold, "--threshold", may_be_zero=True)
    names = [*([] if base is None else [base]), *(others or [])]
    failing = options.failing_verdicts(fail_if or ["none"])
    _check_comparison(names, fail_if, holm=holm)
    foreign = import_options.ImportOptions(imports, format_name, names_are, warmup)
    if imports:
        wanted = list(dict.fromkeys(names)) if len(names) > 1 else []
        config = None
        selection = twice = foreign.select(wanted, benchmark or [], host, directory)
        known = dict.fromkeys(sample.system for sample in selection.samples)
        failed = dict.fromkeys(failure.system for failure in selection.failures)
        names = _compared(names, list({**known, **failed} if names or len(known) < 2 else known))
    else:
        foreign.check_unused()
        config = options.load_config(directory)
        choose_systems(config, names)
        names = _compared(names, list(config.systems))
        which = Which(host, capture or [], any_source)
        selection, twice = load_with_second(config, directory, list(dict.fromkeys(names)), benchmark or [], which)
    if not (json or csv):  # what programs read keeps the names
        names = [selection.names.system(name) for name in names]
        selection, twice = displayed(selection), displayed(twice)
    base, *candidates = names
    in_full = full or json or csv or markdown
    if candidates == [base]:
        halves = compare_halves(twice, base, confidence=confidence, threshold=limit, metric=metric)
        results, document = [halves.comparison], halves_document(halves)
        if in_full:
            show_halves(halves, terminal)
        else:
            terminal.screen(self_screen(halves, twice, terminal_width()))
    else:
        results = compare_several(selection, base, candidates, confidence=confidence, threshold=limit, metric=metric)
        if config is not None:
            results = within_what_there_is(results, partial(distinct_layouts, config, selection))
        document = comparisons_document(results)
        selves = of_second_executions(twice, confidence=confidence, threshold=limit, metric=metric)
        if selves:
            document["aa"] = {"noise_floor": aa_document(selves)}
        if in_full:
            show_comparisons(results, terminal)
            show_beside(selves, confidence, terminal)
        else:
            terminal.screen(comparison_screen(results, selection, terminal_width(), selves))
    pairs = [(pair.benchmark, pair.instrument) for each in results for pair in each.benchmarks]
    if in_full and (beside := simulated_beside(selection, pairs)):
        terminal.item(beside)
    if json:
        terminal.document(document)
    elif csv:
        sys.stdout.write(to_csv(comparison_rows(document), raw=raw_csv))
        _say_evidence(evidence(selection, set(names)), terminal)
    if in_full:
        show_selection_problems(selection, [warning for each in results for warning in each.warnings], terminal)
    _finish(terminal)
    return options.failing_status(failing, lambda verdict: meets(results, verdict, holm=holm))


def _compared(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The baseline and its candidates: those named, or the two that there are.  Raises `UsageError`."""
    from layoutrand.config.config import choose

    choose("system", list(names), list(known))
    if len(names) >= 2 or (not names and len(known) == 2):
        return list(names or known)
    if len(known) < 2:
        (only,) = known or names
        raise UsageError(
            f"{only} is the only system, and there is nothing to compare it with: `layoutrand analyse` says how much "
            f"layout matters to it, `layoutrand compare {only} {only}` what would be said of two that do not differ"
        )
    example = [names[0], next(name for name in known if name != names[0])] if names else known[:2]
    raise UsageError(
        f"which systems? There are {', '.join(known)}; for example `layoutrand compare {' '.join(example)}`: "
        "the second against the first"
    )


def _check_comparison(names: Sequence[str], fail_if: Sequence[str] | None, *, holm: bool) -> None:
    if holm and not fail_if:
        raise UsageError("--holm is about --fail-if; the tables and documents have both verdicts")
    base, candidates = (names[0], names[1:]) if names else ("", [])
    if len(set(candidates)) < len(candidates):
        raise UsageError("a candidate is named twice")
    if base in candidates and len(candidates) > 1:
        raise UsageError(
            f"{base} would be compared with itself among others; `layoutrand compare {base} {base}` alone does that"
        )


def _say_evidence(of: Evidence, terminal: Terminal) -> None:
    """A flat table has no place for what all its rows rest on."""
    from layoutrand.analysis.evidence import sentences

    for sentence in sentences(of):
        terminal.say(sentence)


def _finish(terminal: Terminal) -> None:
    if isinstance(terminal, output_formats.MarkdownPage):
        terminal.finish()
