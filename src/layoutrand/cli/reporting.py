"""`layoutrand report` and `layoutrand figures`: the same results as one page, or as files for papers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import import_options, options
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.errors import UsageError
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import Which, distinct_layouts, load_selection
from layoutrand.text.shares import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layoutrand.analysis.selection import Selection
    from layoutrand.model import Context
    from layoutrand.report.page_parts import Page

_NAME = "report.html"

Baseline = Annotated[str | None, typer.Option(help="The system that the others are compared with; default: the first.")]
Metric = Annotated[str | None, typer.Option(help="Report on this metric; default: each benchmark's main one.")]
Threshold = Annotated[str, typer.Option(help="Differences within this count as equivalent.")]
ImportFormat = Annotated[
    str | None,
    typer.Option(
        "--import-format",
        help=f"Format of the files to import: {import_options.FORMATS}. Default: by content.",
    ),
]


@dataclass(frozen=True)
class _Question:
    """What to report on, as the options have it."""

    systems: Sequence[str]
    benchmarks: Sequence[str]
    baseline: str | None
    metric: str | None
    threshold: str
    confidence: float
    which: Which
    directory: Path
    foreign: import_options.ImportOptions


def report(  # noqa: PLR0913 - one parameter for each option
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write this file; default: .layoutrand/report.html.")
    ] = None,
    baseline: Baseline = None,
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Metric = None,
    threshold: Threshold = "1%",
    confidence: options.Confidence = 0.95,
    imports: import_options.Imports = None,
    format_name: import_options.Format = None,
    names_are: import_options.NamesAre = None,
    warmup: import_options.Warmup = None,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    no_script: Annotated[
        bool, typer.Option("--no-script", help="A page in which nothing is executed, as for mail; all can be read.")
    ] = False,
    directory: options.Directory = Path(),
    quiet: options.Quiet = False,
) -> int:
    """One HTML file with all results: figures, findings, failures, how it was measured. It needs no network."""
    from layoutrand.report.html import render

    terminal = options.terminal(json=False, quiet=quiet)
    foreign = import_options.ImportOptions(imports, format_name, names_are, warmup)
    which = Which(host, capture or [], any_source)
    page = _page(
        _Question(system or [], benchmark or [], baseline, metric, threshold, confidence, which, directory, foreign)
    )
    target = output or (Path(_NAME) if imports else directory / ".layoutrand" / _NAME)
    options.write_on_request(target, render(page, script=not no_script), terminal)
    if not imports:
        options.leave_out_of_source(options.load_config(directory), directory, [target], terminal)
    return 0


def write_report(directory: Path) -> Path:
    """What `layoutrand report` writes without options; its path."""
    from layoutrand.platform.foreign import write_text
    from layoutrand.report.html import render

    target = directory / ".layoutrand" / _NAME
    foreign = import_options.ImportOptions(None, None, None, None)
    write_text(target, render(_page(_Question([], [], None, None, "1%", 0.95, Which(), directory, foreign))))
    return target


def figures(  # noqa: PLR0913 - one parameter for each option
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write into this directory; default: .layoutrand/figures.")
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", help="svg, pdf, png, or tex (tables for LaTeX); several as in pdf,tex. Default: svg,tex."
        ),
    ] = None,
    width: Annotated[
        float,
        typer.Option("--width", min=20, max=1000, help="Width of a figure in mm; 88 is a column of most journals."),
    ] = 88.0,
    dpi: Annotated[int, typer.Option(min=36, max=2400, help="Pixels per inch of PNG.")] = 300,
    font: Annotated[
        str | None, typer.Option(help="TrueType font to embed in PDF and PNG; default: Bitstream Vera Sans.")
    ] = None,
    baseline: Baseline = None,
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Metric = None,
    threshold: Threshold = "1%",
    confidence: options.Confidence = 0.95,
    imports: import_options.Imports = None,
    import_format: ImportFormat = None,
    names_are: import_options.NamesAre = None,
    warmup: import_options.Warmup = None,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    directory: options.Directory = Path(),
    quiet: options.Quiet = False,
) -> int:
    """The figures of the report as SVG, PDF or PNG, and its tables as LaTeX: one file each, for papers."""
    from layoutrand.platform.foreign import write_bytes
    from layoutrand.report.figure_files import CAPTIONS, Look, figure_files

    terminal = options.terminal(json=False, quiet=quiet)
    wanted = _formats(formats)
    if import_format is not None and not imports:
        raise UsageError("--import-format is about files to import; name them with --import")
    foreign = import_options.ImportOptions(imports, import_format, names_are, warmup)
    which = Which(host, capture or [], any_source)
    page = _page(
        _Question(system or [], benchmark or [], baseline, metric, threshold, confidence, which, directory, foreign)
    )
    target = output or (Path("figures") if imports else directory / ".layoutrand" / "figures")
    if os.path.exists(target) and not os.path.isdir(target):
        raise UsageError(f"{target} is a file; --output names the directory to write into")
    files = figure_files(page, wanted, Look(width, dpi, font))
    made = options.made_for(target)
    for file in files:
        write_bytes(target / file.name, file.data)
    counts = ", ".join(f"{sum(file.name.endswith(f'.{kind}') for file in files)} {kind}" for kind in wanted)
    terminal.say(f"wrote {len(files)} files into {target}: {counts} and {CAPTIONS}{made}")
    if not imports:
        written = [target / file.name for file in files]
        options.leave_out_of_source(options.load_config(directory), directory, written, terminal)
    return 0


def _formats(given: Sequence[str] | None) -> list[str]:
    from layoutrand.config.config import choose
    from layoutrand.report.figure_files import FORMATS

    asked = [name.strip() for text in given or ["svg,tex"] for name in text.split(",")]
    return choose("format", list(dict.fromkeys(asked)), list(FORMATS))


def _page(question: _Question) -> Page:
    """The results in question as a page; raises what reading and analysing them does."""
    from layoutrand.analysis.displayed import displayed
    from layoutrand.config.config import choose
    from layoutrand.report.whole_page import report as make_report

    limit = share(question.threshold, "--threshold", may_be_zero=True)
    foreign, directory = question.foreign, question.directory
    contexts: Sequence[Context] = ()
    config = None if foreign.files else options.load_config(directory)
    if config is None:
        selection = foreign.select(question.systems, question.benchmarks, question.which.host, directory)
        systems = [sample.system for sample in selection.samples] + [each.system for each in selection.failures]
        systems = list(dict.fromkeys(systems))
    else:
        foreign.check_unused()
        systems = match_systems(config, question.systems)
        chosen = systems if question.systems else []
        selection = load_selection(config, directory, chosen, question.benchmarks, question.which)
        contexts = _contexts(directory, selection)
    base = choose("system", [question.baseline], systems)[0] if question.baseline is not None else systems[0]
    shown = displayed(selection)
    return make_report(
        shown,
        contexts,
        shown.names.system(base),
        confidence=question.confidence,
        threshold=limit,
        metric=question.metric,
        n_distinct=dict if config is None else partial(distinct_layouts, config, shown),
    )


def _contexts(directory: Path, selection: Selection) -> list[Context]:
    from layoutrand.results.file import open_for_reading, results_path

    with open_for_reading(results_path(directory)) as store:
        contexts = store.contexts(selection.experiment)
    # Those of `history --run` and `bisect` are of other systems: the same at commits.
    systems = {execution.system for execution in selection.executions}
    return [each for each in contexts if not each.captures or systems & set(each.captures)]
