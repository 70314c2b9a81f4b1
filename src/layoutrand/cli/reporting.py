"""`layoutrand report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import importing, options
from layoutrand.cli.analysis import Host, load_selection, parse_threshold
from layoutrand.cli.running import Benchmarks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layoutrand.model import Context
    from layoutrand.usecases.selection import Selection

_NAME = "report.html"


def report(  # noqa: PLR0913 - one parameter for each option
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write this file; default: .layoutrand/report.html.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The system that the others are compared with; default: the first.")
    ] = None,
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[
        str | None, typer.Option(help="Report on this metric; default: each benchmark's main one.")
    ] = None,
    threshold: Annotated[str, typer.Option(help="Differences within this count as equivalent.")] = "1%",
    confidence: options.Confidence = 0.95,
    imports: importing.Imports = None,
    format_name: importing.Format = None,
    names_are: importing.NamesAre = None,
    warmup: importing.Warmup = None,
    host: Host = None,
    directory: options.Directory = Path(),
    quiet: options.Quiet = False,
) -> int:
    """One HTML file with all results: figures, findings, failures, how it was measured. It needs no network."""
    from layoutrand.core.config import choose
    from layoutrand.text.html_report import render
    from layoutrand.usecases.report import report as make_report
    from layoutrand.world.foreign import write_text

    terminal = options.terminal(json=False, quiet=quiet)
    limit = parse_threshold(threshold)
    foreign = importing.Request(imports, format_name, names_are, warmup)
    contexts: Sequence[Context] = ()
    if imports:
        selection = foreign.select(system or [], benchmark or [], host, directory)
        systems = list(dict.fromkeys(sample.system for sample in selection.samples))
        target = output or Path(_NAME)
    else:
        foreign.check_unused()
        config = options.load_config(directory)
        systems = options.match_systems(config, system)
        selection = load_selection(config, directory, systems if system else [], benchmark or [], host)
        contexts = _contexts(directory, selection)
        target = output or directory / ".layoutrand" / _NAME
    base = choose("system", [baseline], systems)[0] if baseline is not None else systems[0]
    page = make_report(selection, contexts, base, confidence=confidence, threshold=limit, metric=metric)
    write_text(target, render(page))
    terminal.say(f"wrote {target}")
    return 0


def _contexts(directory: Path, selection: Selection) -> list[Context]:
    from layoutrand.world.results_file import open_for_reading, results_path

    with open_for_reading(results_path(directory)) as store:
        return store.contexts(selection.experiment)
