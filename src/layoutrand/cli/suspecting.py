"""`layoutrand explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from layoutrand.cli import building, options
from layoutrand.cli.measuring_apart import measuring_apart, tell_executed
from layoutrand.cli.remedying import Remedying
from layoutrand.cli.remedying import remedy as remedy_of
from layoutrand.cli.selecting import AnySource, Benchmarks, Captures, Host
from layoutrand.cli.terminal import Terminal, terminal_width
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import Which, distinct_layouts, load_selection
from layoutrand.screens.explain_tables import show_confirmations, show_explanation, show_treatment, show_unexplained
from layoutrand.screens.layout_tables import show_selection_problems

if TYPE_CHECKING:
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.analysis.selection import Selection
    from layoutrand.build.build import SystemBuild
    from layoutrand.config.config import Config
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.explain.explain import Confirmed, ExplainSetup, Unexplained
    from layoutrand.explain.predicted_layouts import Predicted
    from layoutrand.explain.suspects import Explanation
    from layoutrand.explain.treated import Treatment
    from layoutrand.model import LayoutName

_Found = TypeVar("_Found", bound="Explanation | Predicted | Unexplained")


def explain(  # noqa: PLR0913 - one parameter for each option
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[str | None, typer.Option(help="Explain this metric; default: each benchmark's main one.")] = None,
    confirm: Annotated[
        int | None,
        typer.Option(
            min=3,
            help="Then build and execute so many new layouts with the worse placement of each suspect and as many with "
            "the better one, and see whether the effect stands.",
        ),
    ] = None,
    first_seed: Annotated[
        int | None, typer.Option(min=0, help="First seed of the new layouts; default: after the largest recorded one.")
    ] = None,
    remedy: Annotated[
        bool,
        typer.Option(
            "--remedy",
            help="Where layout matters, try flags and a linker order that may cure it: each is built as a system, and "
            "executed in new layouts beside it.",
        ),
    ] = False,
    remedy_layouts: Annotated[int, typer.Option(help="With --remedy: new layouts of each system, 8 or more.")] = 30,
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
    full: Annotated[
        bool, typer.Option("--full", help="Hot functions, what was looked at, and sentences and warnings in full.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Which functions' placement goes with the slow layouts, and whether that stands in new layouts."""
    from layoutrand.analysis.analyse import known_metrics
    from layoutrand.analysis.displayed import displayed
    from layoutrand.analysis.evidence import evidence, sentences
    from layoutrand.errors import UsageError
    from layoutrand.execute.experiment import is_of_here
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.explain.explain import Unexplained, explain_selection
    from layoutrand.explain.suspects import Explanation
    from layoutrand.explain.suspects_document import explain_document
    from layoutrand.explain.treated import FEWEST, RemedyOrder

    terminal = options.terminal(json=json, quiet=quiet)
    executes = "--confirm" if confirm is not None else "--remedy" if remedy else None
    if first_seed is not None and executes is None:
        raise UsageError("--first-seed is about the new layouts of --confirm and --remedy")
    if remedy_layouts < FEWEST:
        raise UsageError(f"--remedy-layouts {remedy_layouts}: of fewer than {FEWEST} no difference stands out")
    if remedy and (capture or any_source):
        raise UsageError("--remedy builds the present source, so it goes by results of that: not with --capture")
    config = options.load_config(directory)
    if config.remote is not None and executes is not None:  # known before any results are read
        instead = "take [cluster] out of layoutrand.toml to execute and explain here"
        raise UsageError(_elsewhere(executes, "nodes", instead))
    chosen = match_systems(config, system) if system else []
    which = Which(host, capture or [], any_source)
    selection = load_selection(config, directory, chosen, benchmark or [], which)
    known_metrics(selection.samples, [metric] if metric else [])  # before what this machine may not have
    refuse_another_machine(config, selection, terminal, executes)
    part = options.ProjectPart(config, directory, chosen, jobs=options.count_jobs(jobs))
    choices, earlier = RunChoices(wait_s=wait, share_machine=share_machine), earlier_captures(selection, which)
    setup = explain_setup(part, profiler, choices, terminal, earlier)
    can_execute = config.remote is None and is_of_here(selection.experiment, config)
    steps = _Steps(selection, setup, confirm, first_seed, confidence, terminal, in_full=full, can_execute=can_execute)
    if not (capture or any_source):  # `run` executes the present ones
        steps.n_distinct = partial(distinct_layouts, config, displayed(selection))
    if remedy:
        order = RemedyOrder(remedy_layouts, first_new_seed(selection, first_seed), confidence)
        steps.remedying = Remedying(
            config,
            directory,
            order,
            selection.names,
            lambda changed: explain_setup(replace(part, config=changed), profiler, choices, terminal, {}),
        )
    explanations = explain_selection(
        selection, metric, setup, most_functions=functions, level=round(1 - confidence, 12)
    )
    found: list[Explanation | Unexplained] = []
    for each in explanations:
        found.append(each)
        if isinstance(each, Explanation):
            steps.take(len(found) - 1, each)
    steps.conclude()
    unexplained = [each for each in found if isinstance(each, Unexplained)]
    steps.failed = steps.failed or bool(unexplained)
    show_unexplained([under_names(each, selection.names) for each in unexplained], terminal)
    if json:
        terminal.document(explain_document(found, steps.confirmed, steps.treated, confidence, selection.experiment))
    shown = displayed(selection)
    for line in sentences(evidence(shown)) if full else ():
        terminal.line(line)
    told = shown.left_out if not json and (full or steps.has_shown) else ()  # these the lines above have told
    show_selection_problems(shown, [each for each in shown.warnings if each not in told], terminal)
    return 1 if steps.failed else 0


@dataclass
class _Steps:
    """What is done with each explanation, and what came of it by its number."""

    selection: Selection
    setup: ExplainSetup
    confirm: int | None
    first_seed: int | None
    confidence: float
    terminal: Terminal
    in_full: bool
    can_execute: bool
    remedying: Remedying | None = None
    n_distinct: Callable[[], Mapping[str, int]] | None = None
    confirmed: dict[int, Confirmed] = field(default_factory=dict)
    treated: dict[int, Treatment] = field(default_factory=dict)
    failed: bool = False
    has_shown: bool = False
    waiting: list[Explanation] = field(default_factory=list)
    """What `conclude` shows: an answer of several benchmarks has what was found at its top."""

    def take(self, number: int, explanation: Explanation) -> None:
        """Show it, and try its suspects in new layouts; where that is asked for, what came of it stands first."""
        shown = under_names(explanation, self.selection.names)
        if self.remedying is None and self.confirm is None:
            if self.in_full:
                show_explanation(shown, self.terminal, hint=self.can_execute)
                self.terminal.line()
            else:
                self.waiting.append(shown)
            return
        self._confirm(number, explanation)
        if self.remedying is not None:
            self._remedy(number, explanation, self.remedying)
        confirmed = self.confirmed.get(number)
        if confirmed is not None:
            show_confirmations(shown, confirmed, self.terminal, in_full=self.in_full)
        is_tried = confirmed is not None and bool(confirmed.confirmations)
        if self.in_full:
            show_explanation(shown, self.terminal, hint=False, is_tried=is_tried)
        else:
            self._screen([shown], is_tried=is_tried, hint=False)
        self.terminal.line()

    def conclude(self) -> None:
        """Show what was found of all that was not tried in new layouts."""
        if self.waiting:
            self._screen(self.waiting, is_tried=False, hint=self.can_execute)

    def _screen(self, found: Sequence[Explanation], *, is_tried: bool, hint: bool) -> None:
        from layoutrand.analysis.displayed import displayed
        from layoutrand.screens.explain_screen import explain_screen

        shown = displayed(self.selection)
        self.has_shown = True
        lines = explain_screen(found, shown, terminal_width(), is_tried=is_tried, hint=hint, n_distinct=self.n_distinct)
        self.terminal.screen(lines)

    def _confirm(self, number: int, explanation: Explanation) -> None:
        if self.confirm is None or not explanation.suspects:
            return
        made = _confirm(
            explanation, self.selection, self.setup, self.confirm, self.first_seed, self.confidence, self.terminal
        )
        self.confirmed[number] = made
        self.failed = self.failed or bool(made.problems) or bool(made.summary and made.summary.failures)

    def _remedy(self, number: int, explanation: Explanation, how: Remedying) -> None:
        """Try remedies where there is something to cure: of one benchmark no reason to leave out the others."""
        from layoutrand.errors import AnalysisError, BuildError, FeatureUnsupported
        from layoutrand.explain.remedy import why_not_tried
        from layoutrand.explain.remedy_words import problems
        from layoutrand.explain.words import title

        nothing = why_not_tried(explanation, self.confirmed.get(number), self.selection, self.confidence)
        try:
            found = None if nothing else remedy_of(explanation, self.confirmed.get(number), how, self.terminal)
        except FeatureUnsupported as error:
            found, nothing = None, str(error)
        except (AnalysisError, BuildError) as error:
            self.terminal.fail(f"{title(explanation)}: no remedy is tried: {error}")
            self.failed = True
            return
        if found is None:
            self.terminal.line(f"no remedy is tried: {nothing}")
            self.terminal.line()
            return
        show_treatment(replace(found, before=how.names.given(found.before)), self.terminal, in_full=self.in_full)
        self.treated[number] = found
        self.failed = self.failed or bool(found.summary.failures or problems(found))


def _elsewhere(executes: str, whose: str, instead: str) -> str:
    return f"{executes} executes on the machine that it is given on, and the results are those of {whose}: {instead}"


def first_new_seed(selection: Selection, asked: int | None) -> int:
    """The first seed of new layouts."""
    from layoutrand.explain.confirming import first_seed

    return first_seed([e.layout for e in selection.executions if isinstance(e.layout, int)], asked)


def under_names(found: _Found, names: DisplayNames) -> _Found:
    """The same under the names that people read."""
    from layoutrand.explain.explain import Unexplained

    if isinstance(found, Unexplained):
        return names.given(found)
    return replace(found, subject=replace(found.subject, sample=names.given(found.subject.sample)))


def refuse_another_machine(config: Config, selection: Selection, terminal: Terminal, executes: str | None) -> None:
    """Say that profiles are of this machine; raises `UsageError` where new layouts would be executed on it, too."""
    from layoutrand.errors import UsageError
    from layoutrand.execute.experiment import is_of_here, is_pool

    experiment = selection.experiment
    if is_of_here(experiment, config):
        return
    whose = "the nodes" if is_pool(experiment) else experiment.hostname
    if executes is not None:
        raise UsageError(_elsewhere(executes, whose, "give it there"))
    terminal.warn(f"hot functions are looked for on this machine, not on {whose} that executed the layouts")


def earlier_captures(selection: Selection, which: Which) -> Mapping[str, str]:
    """System -> the capture of its results, where these may be older than what would be built now."""
    if not (which.captures or which.any_source):
        return {}
    return {e.system: e.capture for e in selection.executions}


def explain_setup(
    part: options.ProjectPart, profiler: str, choices: RunChoices, terminal: Terminal, captures: Mapping[str, str]
) -> ExplainSetup:
    """What `explain` and `predict` look for hot functions with; layouts are built of ``captures`` where it has them."""
    from layoutrand.cache.store import Cache, default_root
    from layoutrand.config.config import choose
    from layoutrand.execute.measure import measure
    from layoutrand.explain.explain import ExplainSetup
    from layoutrand.explain.hot_functions import ProfilingSetup
    from layoutrand.instruments.profilers import choose_profiler, profiler_options
    from layoutrand.platform.process import SubprocessRunner

    wanted = choose("profiler", [profiler], profiler_options())[0]
    profiling = ProfilingSetup(choose_profiler(wanted), measure, SubprocessRunner(), terminal.say)

    def build(system: str, layouts: Sequence[LayoutName]) -> SystemBuild:
        return building.build_with_progress(replace(part, systems=[system]), layouts, terminal, captures=captures)[0]

    return ExplainSetup(
        config=part.config,
        project=part.directory,
        cache=Cache(default_root()),
        build=build,
        profiling=profiling,
        choices=choices,
    )


def _confirm(
    explanation: Explanation,
    selection: Selection,
    setup: ExplainSetup,
    count: int,
    asked: int | None,
    confidence: float,
    terminal: Terminal,
) -> Confirmed:
    """Confirm the suspects, and say what was executed for it."""
    from layoutrand.explain.explain import confirm

    first = first_new_seed(selection, asked)
    terminal.say(f"confirming: new layouts from seed {first} on")
    of_seed = "seed {0.layout}".format
    with measuring_apart(setup.config, selection.names, confidence, terminal, of_seed) as (executor, advance):
        measuring = replace(setup, profiling=replace(setup.profiling, executor=executor))
        made = confirm(explanation, measuring, count=count, first=first, confidence=confidence, progress=advance)
    if made.summary is not None:
        tell_executed(made.summary, selection.names, terminal)
    return made
