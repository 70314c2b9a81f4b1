"""`layoutrand warmup`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.analysis import Host, load_selection
from layoutrand.cli.running import Benchmarks
from layoutrand.cli.terminal import Page, Terminal
from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from layoutrand.core.config import Config
    from layoutrand.usecases.warmup import Warmup

Metric = Annotated[str | None, typer.Option(help="Look at this number; default: the main one that is printed.")]
Figures = Annotated[Path | None, typer.Option(help="Where to put the figures; default: .layoutrand/warmup.")]
Write = Annotated[bool, typer.Option("--write", help="Set warmup in layoutrand.toml to what is suggested.")]

_LEVELS = "▁▂▃▄▅▆▇█"
_COLUMNS = 40


def warmup(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Metric = None,
    figures: Figures = None,
    write: Write = False,
    host: Host = None,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Plots of recorded iterations, and how many to drop as warm-up; the suggestion is yours to judge."""
    from layoutrand.usecases.warmup import examine, for_benchmarks, warmup_document
    from layoutrand.usecases.warmup_figure import draw
    from layoutrand.world.disk import write_atomically

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    systems = options.match_systems(config, system) if system else []
    found = examine(load_selection(config, directory, systems, benchmark or [], host), config, metric)
    folder = figures or directory / ".layoutrand" / "warmup"
    for name in dict.fromkeys(each.benchmark for each in found):
        picture = draw([each for each in found if each.benchmark == name])
        try:
            write_atomically(_figure(folder, name), picture.encode())
        except OSError as error:
            raise UsageError(f"cannot write into {folder}: {error.strerror}; --figures names another place") from error
    if json:
        terminal.document(warmup_document(found, lambda name: str(_figure(folder, name))))
    show_warmup(found, terminal)
    terminal.say(f"figures: {_figure(folder, '*')}")
    if write:
        _write(config, directory, for_benchmarks(found), terminal)
    return 0


def _figure(folder: Path, benchmark: str) -> Path:
    return folder / f"{benchmark}.svg"


def show_warmup(found: Sequence[Warmup], page: Page) -> None:
    """One row for each benchmark and system, then what it means."""
    page.table(
        "Iterations to drop",
        (
            "benchmark", "system", "metric", "executions", "iterations", "in force", "suggested", "initialised",
            "independent", "DaCapo", "Georges",
        ),
        [
            (
                each.benchmark, each.system, each.metric, f"{len(each.series)} of {each.n_recorded}",
                str(min(map(len, each.series))), str(each.in_force), _count(each.suggested), _count(each.initialised),
                _count(each.independent), _count(each.dacapo), _count(each.georges),
            )
            for each in found
        ],
    )  # fmt: skip
    page.line()
    for each in found:
        name = f"{each.benchmark}, {each.system}, {each.metric}"
        page.line(f"{name}: {sparkline(each.series[0])} ({_state(each)})")
        for warning in each.warnings:
            page.warn(f"{name}: {warning}")


def _count(value: int | None) -> str:
    return "never" if value is None else str(value)


def _state(each: Warmup) -> str:
    if each.independent is not None:
        return f"iterations look independent from number {each.independent} on"
    if each.initialised is not None:
        return f"initialised from number {each.initialised} on, but iterations depend on each other"
    return "no steady state seen"


def sparkline(values: Sequence[float]) -> str:
    """The run sequence in at most 40 characters, each the mean of a stretch, from the lowest to the highest of them."""
    n = min(_COLUMNS, len(values))
    edges = [len(values) * k // n for k in range(n + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, span = min(means), max(means) - min(means)
    return "".join(_LEVELS[int((mean - low) / span * (len(_LEVELS) - 1) + 0.5) if span else 0] for mean in means)


def _write(
    config: Config, directory: Path, suggestions: Mapping[tuple[str, str], int | None], terminal: Terminal
) -> None:
    """The largest suggestion over a benchmark's systems, since one setting serves all of them."""
    from layoutrand.core.config import parse
    from layoutrand.text.settings import with_warmup
    from layoutrand.world.disk import write_atomically

    path = directory / options.CONFIG_NAME
    text = path.read_text("utf-8")
    written = []
    for (benchmark, metric), suggested in suggestions.items():
        if suggested is None:
            terminal.warn(f"{benchmark}: nothing written, because not every system reaches a steady state")
            continue
        (numbers,) = (each.metric.numbers() for each in config.benchmarks if each.name == benchmark)
        key, own = next((key, number.warmup is not None) for key, number in numbers.items() if number.name == metric)
        text = with_warmup(text, benchmark, suggested, printed=metric if own else None)
        others = [each.name for each in numbers.values() if each.name != metric and each.warmup is None]
        shared = f" (for {', '.join([metric, *others])})" if others and not own else ""
        written.append(f"{benchmark}: {key if own else 'metric'}.warmup = {suggested}{shared}")
    parse(text, path=str(path))
    write_atomically(path, text.encode())
    for line in written:
        terminal.say(f"{line} written to {path}; results are read with it from now on, and none is executed again")
