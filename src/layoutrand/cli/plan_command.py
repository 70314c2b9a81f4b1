"""`layoutrand plan`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.cli.terminal import Terminal
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import Which, distinct_layouts, load_selection
from layoutrand.screens.layout_tables import show_selection_problems
from layoutrand.text.shares import share

if TYPE_CHECKING:
    from layoutrand.analysis.plan import BenchmarkPlan

HalfWidth = Annotated[
    list[str] | None, typer.Option("--half-width", help="Relative half-width wanted, such as 1%; may be repeated.")
]
Threshold = Annotated[str, typer.Option(help="Differences within this count as equivalent.")]
Difference = Annotated[
    str | None, typer.Option(help="The true difference that a comparison should find; twice the threshold by default.")
]
Full = Annotated[bool, typer.Option("--full", help="Every number as a table: levels, their costs, all half-widths.")]
Write = Annotated[bool, typer.Option("--write", help="Set run.executions in layoutrand.toml to what the plan says.")]


def plan(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    half_width: HalfWidth = None,
    threshold: Threshold = "1%",
    difference: Difference = None,
    confidence: options.Confidence = 0.95,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    write: Write = False,
    full: Full = False,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """How many layouts decide between two systems or give a mean, from those that are there, and how long they take."""
    from layoutrand.analysis.displayed import displayed
    from layoutrand.analysis.pilot import unplanned
    from layoutrand.analysis.plan import HALF_WIDTHS, USUAL_HALF_WIDTH, make_plans
    from layoutrand.analysis.plan_document import plan_document
    from layoutrand.cache.store import Cache, default_root, link_seconds
    from layoutrand.cli.terminal import terminal_width
    from layoutrand.execute.output_warnings import UnlikeOutputs, alike_in_systems
    from layoutrand.screens.plan_screen import plan_screen

    terminal = options.terminal(json=json, quiet=quiet)
    widths = [share(text, "--half-width") for text in half_width or []] or list(HALF_WIDTHS)
    config = options.load_config(directory)
    systems = match_systems(config, system) if system else []
    selection = load_selection(config, directory, systems, benchmark or [], Which(host, capture or [], any_source))
    selection = selection if json else displayed(selection)
    plans = make_plans(
        selection,
        link_seconds(Cache(default_root())),
        half_widths=widths,
        threshold=share(threshold, "--threshold"),
        confidence=confidence,
        difference=None if difference is None else share(difference, "--difference"),
        n_distinct=distinct_layouts(config, selection),
    )
    if json:
        terminal.document(plan_document(plans, confidence=confidence))
    if full:
        from layoutrand.screens.plan_tables import show_plans

        show_plans(plans, terminal)
    else:
        shown = widths[0] if half_width else USUAL_HALF_WIDTH
        writes = write or config.run.executions == _executions(plans)
        terminal.screen(plan_screen(plans, selection, shown, terminal_width(), writes=writes))
    for name in unplanned(selection):
        terminal.warn(f"{name}: fewer than 2 binaries are no pilot, so there is no plan for it")
    measured = [sample.instrument for sample in selection.samples if sample.is_primary]
    warnings = selection.warnings_for(measured)
    unlike = [each for each in warnings if isinstance(each, UnlikeOutputs) and not full]  # which `analyse` says more of
    show_selection_problems(selection, [each for each in warnings if each not in unlike], terminal)
    alike = alike_in_systems(unlike)
    for told in dict.fromkeys(f"{each.benchmark}: {alike[each].brief}" for each in unlike):
        terminal.warn(told)
    if write:
        _write(directory, plans, terminal)
    return 0


def _executions(plans: Sequence[BenchmarkPlan]) -> int:
    """One number serves all benchmarks: the largest count, since too few executions cost precision, too many time."""
    return max((each.counts.get("execution", 1) for each in plans), default=1)


def _write(directory: Path, plans: Sequence[BenchmarkPlan], terminal: Terminal) -> None:
    from layoutrand.config.settings import with_executions
    from layoutrand.library.project_directory import CONFIG_NAME
    from layoutrand.platform.disk import write_atomically
    from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

    executions = _executions(plans)
    path = directory / CONFIG_NAME
    write_atomically(path, with_executions(text_of_regular(path, largest=WRITTEN_BY_HAND), executions).encode())
    terminal.say(f"run.executions = {executions} written to {path}")
