"""`layoutrand export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host, Which, load_selection


def export(  # noqa: PLR0913 - one parameter for each option
    format_name: Annotated[
        str,
        typer.Option("--format", help="csv or json (everything; `analyse --import` reads it), benchstat, pyperf."),
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write this file; default: stdout.")] = None,
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only this metric; may be repeated.")] = None,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    directory: options.Directory = Path(),
    quiet: options.Quiet = False,
) -> int:
    """Recorded results as CSV, JSON, Go benchmark lines (benchstat) or pyperf's JSON."""
    from layoutrand.config.config import choose
    from layoutrand.interop.export import export as export_selection
    from layoutrand.interop.exports import FORMATS
    from layoutrand.platform.foreign import write_text

    choose("format", [format_name], list(FORMATS))
    terminal = options.terminal(json=False, quiet=quiet)
    config = options.load_config(directory)
    chosen = options.match_systems(config, system) if system else []
    selection = load_selection(config, directory, chosen, benchmark or [], Which(host, capture or [], any_source))
    result = export_selection(selection, format_name, metric or [])
    for warning in dict.fromkeys(result.warnings):
        terminal.warn(str(warning))
    if output is None:
        sys.stdout.write(result.text)
        return 0
    write_text(output, result.text)
    terminal.say(f"wrote {output}")
    options.warn_of_source(config, directory, output, terminal)
    return 0
