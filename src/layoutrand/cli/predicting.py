"""`layoutrand predict`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.measuring_apart import measuring_apart, tell_executed
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.cli.suspecting import (
    earlier_captures,
    explain_setup,
    first_new_seed,
    refuse_another_machine,
    under_names,
)
from layoutrand.cli.terminal import Terminal
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import Which, load_selection
from layoutrand.screens.explain_tables import show_unexplained

if TYPE_CHECKING:
    from layoutrand.analysis.selection import Selection
    from layoutrand.explain.explain import ExplainSetup
    from layoutrand.explain.predicted_layouts import MeasuredBest, Predicted


LAYOUTS = 10_000
"""Drawn where it is not said how many."""


def predict(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[str | None, typer.Option(help="Predict this metric; default: each benchmark's main one.")] = None,
    layouts: Annotated[
        int, typer.Option("--layouts", min=100, max=100_000, help="Draw so many layouts, without linking them.")
    ] = LAYOUTS,
    measure: Annotated[
        int | None,
        typer.Option(
            "--measure",
            min=5,
            help="Then build the layout that is predicted best, and execute it so often beside your own build.",
        ),
    ] = None,
    functions: Annotated[int, typer.Option(min=1, help="Look at so many hot functions at most.")] = 20,
    profiler: Annotated[
        str, typer.Option(help="What finds hot functions: perf, callgrind, or auto (perf where it has counters).")
    ] = "auto",
    confidence: options.Confidence = 0.95,
    host: Host = None,
    capture: Captures = None,
    any_source: AnySource = False,
    wait: options.Wait = 3600,
    share_machine: options.ShareMachine = False,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """What layouts that nobody has built would measure, by where their hot code lies; and the best of them."""
    from layoutrand.analysis.analyse import known_metrics
    from layoutrand.errors import UsageError
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.explain.explain import Unexplained
    from layoutrand.explain.predicted_layouts import PredictOrder, predict_selection
    from layoutrand.explain.prediction_words import document, next_step

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    if config.remote is not None and measure is not None:
        raise UsageError(
            "--measure executes on the machine that it is given on, and the results are those of nodes: take [cluster] "
            "out of layoutrand.toml to execute and predict here"
        )
    chosen = match_systems(config, system) if system else []
    which = Which(host, capture or [], any_source)
    selection = load_selection(config, directory, chosen, benchmark or [], which)
    known_metrics(selection.samples, [metric] if metric else [])  # before what this machine may not have
    refuse_another_machine(config, selection, terminal, "--measure" if measure is not None else None)
    part = options.ProjectPart(config, directory, chosen, jobs=options.count_jobs(jobs))
    choices = RunChoices(wait_s=wait, share_machine=share_machine)
    setup = explain_setup(part, profiler, choices, terminal, earlier_captures(selection, which))
    order = PredictOrder(layouts, first_new_seed(selection, None), functions, confidence)
    found = predict_selection(selection, metric, setup, order)
    made: dict[int, MeasuredBest] = {}
    failed = any(isinstance(each, Unexplained) for each in found)
    for number, each in enumerate(found):
        if measure is not None and not isinstance(each, Unexplained) and each.holds:
            made[number] = _measured(each, selection, setup, measure, terminal)
            failed = failed or bool(made[number].summary.failures)
    if json:
        terminal.document(document(found, made, confidence))
    for number, each in enumerate(found):
        if not isinstance(each, Unexplained):
            step = next_step(each, LAYOUTS, setup.project)  # commands take names, and no labels
            _show(under_names(each, selection.names), made.get(number), step, terminal)
    show_unexplained([under_names(each, selection.names) for each in found if isinstance(each, Unexplained)], terminal)
    return 1 if failed else 0


def _measured(
    found: Predicted, selection: Selection, setup: ExplainSetup, rounds: int, terminal: Terminal
) -> MeasuredBest:
    from layoutrand.explain.predicted_layouts import measure_best

    of_layout = "layout {0.layout}".format
    with measuring_apart(setup.config, selection.names, found.confidence, terminal, of_layout) as (executor, advance):
        measuring = replace(setup, profiling=replace(setup.profiling, executor=executor))
        made = measure_best(found, measuring, rounds=rounds, progress=advance)
    tell_executed(made.summary, selection.names, terminal)
    return made


def _show(found: Predicted, made: MeasuredBest | None, step: str, page: Terminal) -> None:
    from layoutrand.explain import prediction_words as words

    if made is None:
        lines = [words.answer(found), words.best(found), words.means(found)]
        if step:
            lines.append(f"Next: {step}")
    else:  # what was measured is the answer; what was predicted it stands on
        lines = [
            *words.measured(found, made),
            words.of_one_binary(found, made),
            words.answer(found),
            words.means(found),
        ]
    for line in filter(None, [words.title(found), *lines]):
        page.sentence(line)
    page.line()
