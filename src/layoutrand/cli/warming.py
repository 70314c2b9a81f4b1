"""`layoutrand warmup`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.library.configuration import match_systems
from layoutrand.library.project_directory import CONFIG_NAME
from layoutrand.library.recorded import Which, load_selection

if TYPE_CHECKING:
    from layoutrand.analysis.warmup_choice import Scope
    from layoutrand.analysis.warmup_command import Warmup
    from layoutrand.config.config import Config

Metric = Annotated[str | None, typer.Option(help="Look at this number; default: the main one that is printed.")]
Figures = Annotated[Path | None, typer.Option(help="Where to put the figures; default: .layoutrand/warmup.")]
Write = Annotated[bool, typer.Option("--write", help="Set warmup in layoutrand.toml to what is suggested.")]
ForHost = Annotated[bool, typer.Option("--for-host", help="With --write: only for the host looked at, in [[warmup]].")]
ForSystem = Annotated[bool, typer.Option("--for-system", help="With --write: each system its own, in [[warmup]].")]
Plots = Annotated[
    bool | None, typer.Option("--plots/--no-plots", help="Plots as text; default: where stdout is a terminal.")
]

_LONGEST_NAME = 160


def warmup(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Metric = None,
    figures: Figures = None,
    write: Write = False,
    for_host: ForHost = False,
    for_system: ForSystem = False,
    plots: Plots = None,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Plots of recorded iterations, and how many to drop as warm-up; the suggestion is yours to judge."""
    from layoutrand.analysis.warmup_choice import Scope
    from layoutrand.analysis.warmup_command import examine, warmup_document
    from layoutrand.platform.disk import write_atomically
    from layoutrand.report.warmup_figure import draw
    from layoutrand.screens.warmup_tables import show_plots, show_warmup

    _check_options(write=write, narrowed=for_host or for_system, plots=plots, json=json)
    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    systems = match_systems(config, system) if system else []
    selection = load_selection(config, directory, systems, benchmark or [], Which(host, capture or [], any_source))
    here = selection.experiment.hostname
    found = examine(selection, config, metric)
    folder = figures or directory / ".layoutrand" / "warmup"
    shown = selection.names.given_each(
        replace(each, warnings=selection.names.given_each(each.warnings)) for each in found
    )
    names = dict.fromkeys(each.benchmark for each in found)
    for name in names:
        picture = draw([each for each, of in zip(shown, found, strict=True) if of.benchmark == name])
        try:
            write_atomically(_figure(folder, name), picture.encode())
        except OSError as error:
            raise UsageError(f"cannot write into {folder}: {error.strerror}; --figures names another place") from error
    if json:
        terminal.document(warmup_document(found, here, lambda name: str(_figure(folder, name))))
    show_warmup(shown, terminal)
    if plots or (plots is None and sys.stdout.isatty() and not json):
        show_plots(shown, terminal, width=terminal.out.width)
    terminal.say(f"figures: {_figure(folder, '*')}")
    options.leave_out_of_source(config, directory, [_figure(folder, name) for name in names], terminal)
    if write:
        _write(config, directory, found, Scope(here if for_host else None, by_system=for_system), here, terminal)
    return 0


def _check_options(*, write: bool, narrowed: bool, plots: bool | None, json: bool) -> None:
    if narrowed and not write:
        raise UsageError("--for-host and --for-system say what --write sets; give --write too")
    if plots and json:
        raise UsageError("--plots draws on stdout, where --json leaves one document alone; leave out one of them")


def _figure(folder: Path, benchmark: str) -> Path:
    """Where it is drawn.  Cases of a harness have names that no file can have: what tells them apart is added."""
    name = re.sub(r"[^\w.,=+*-]+", "-", benchmark)[:_LONGEST_NAME]
    return folder / f"{name if name == benchmark else f'{name}-{sha256(benchmark.encode()).hexdigest()[:8]}'}.svg"


def _write(
    config: Config, directory: Path, found: Sequence[Warmup], scope: Scope, here: str, terminal: Terminal
) -> None:
    from layoutrand.analysis.warmup_choice import choose_suggested
    from layoutrand.platform.disk import write_atomically
    from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

    path = directory / CONFIG_NAME
    chosen = choose_suggested(text_of_regular(path, largest=WRITTEN_BY_HAND), str(path), config, found, scope, here)
    write_atomically(path, chosen.text.encode())
    for line in chosen.written:
        terminal.say(f"{line} written to {path}; results are read with it from now on, and none is executed again")
    for warning in chosen.warnings:
        terminal.warn(str(warning))
