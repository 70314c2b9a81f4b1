"""`layoutrand export`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.errors import UsageError
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import Which, load_selection

if TYPE_CHECKING:
    from layoutrand.cli.terminal import Terminal
    from layoutrand.config.config import Config
    from layoutrand.interop.export import Export


def export(  # noqa: PLR0913 - one parameter for each option
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv or json (everything; `analyse --import` reads it), benchstat, pyperf; for services that follow "
            "commits bencher, codspeed, and of the whole history otava-csv, otava-json.",
        ),
    ],
    raw_csv: Annotated[
        bool,
        typer.Option("--raw-csv", help="Cells that a spreadsheet takes for formulas (= + - @) as they are, with no '."),
    ] = False,
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
    """Recorded results as CSV, JSON, Go benchmark lines (benchstat), pyperf's JSON, or for Bencher, Otava, CodSpeed."""
    from layoutrand.config.config import choose
    from layoutrand.config.execution_warnings import disturbed_together
    from layoutrand.interop.export import export as export_selection
    from layoutrand.interop.exports import FORMATS
    from layoutrand.interop.tracking_exports import OVER_COMMITS

    choose("format", [format_name], list(FORMATS))
    if raw_csv and format_name not in {"csv", "otava-csv"}:
        raise UsageError(f"--raw-csv is for csv and otava-csv; {format_name} has no cells")
    terminal = options.terminal(json=False, quiet=quiet)
    config = options.load_config(directory)
    chosen = match_systems(config, system) if system else []
    if format_name in OVER_COMMITS:
        result = _over_commits(
            config, directory, format_name, chosen, (benchmark or [], metric or [], host), terminal, raw_csv=raw_csv
        )
    else:
        selection = load_selection(config, directory, chosen, benchmark or [], Which(host, capture or [], any_source))
        result = export_selection(selection, format_name, metric or [], raw_csv=raw_csv)
    for warning in disturbed_together(result.warnings):
        terminal.warn(str(warning))
    if output is None:
        sys.stdout.write(result.text)
        return 0
    options.write_on_request(output, result.text, terminal)
    options.leave_out_of_source(config, directory, [output], terminal)
    return 0


def _over_commits(
    config: Config,
    directory: Path,
    format_name: str,
    systems: Sequence[str],
    what: tuple[Sequence[str], Sequence[str], str | None],
    terminal: Terminal,
    *,
    raw_csv: bool,
) -> Export:
    """All measured commits of the present branch; ``what`` are benchmarks, metrics and host."""
    from layoutrand.cli.commit_runs import ProjectCommits
    from layoutrand.cli.history_command import load_history
    from layoutrand.interop.export import Export
    from layoutrand.interop.tracking_exports import as_otava

    benchmarks, metrics, host = what
    part = options.ProjectPart(config, directory, systems, benchmarks)
    found = load_history(ProjectCommits(part, terminal), (None, "HEAD"), host, metrics, (0.95, 0.01))
    made = as_otava(found, format_name, raw_csv=raw_csv)
    return Export(made.text, (*found.warnings, *made.warnings))
