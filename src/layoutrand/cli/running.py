"""`layoutrand run`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import building, options
from layoutrand.cli.attributing import each_factor
from layoutrand.cli.notifying import Notify, notifying
from layoutrand.cli.options import ProjectPart
from layoutrand.cli.selecting import Benchmarks
from layoutrand.cli.terminal import Terminal
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import Which, load_selection, load_with_second
from layoutrand.screens.build_screen import show_failures
from layoutrand.screens.failing import Failures, warn_folded
from layoutrand.screens.run_screen import run_message, show_run
from layoutrand.screens.self_comparison import show_aa
from layoutrand.text.quantities import percent
from layoutrand.text.shares import share
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.analysis.aa import SelfComparison
    from layoutrand.analysis.selection import Selection
    from layoutrand.build.build import SystemBuild
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.execute.run_progress import RunProgress, Summary
    from layoutrand.model import BuildFailure
    from layoutrand.results.experiments import ResultsStore


def run(  # noqa: PLR0913 - one parameter for each option
    seeds: options.Seeds = "30",
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    controls: options.Controls = True,
    retry_failed: options.RetryFailed = False,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Execute all layouts where the first ones all fail alike, too."),
    ] = False,
    mode: options.Mode = None,
    executor: options.Executor = None,
    order: options.Order = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until-half-width",
            help="Add seeds, to 20 at least, until every mean's interval is as narrow, such as 1%.",
        ),
    ] = None,
    most_seeds: Annotated[int, typer.Option(min=2, help="The limit for --until-half-width.")] = 200,
    confidence: options.Confidence = 0.95,
    aa: Annotated[
        bool,
        typer.Option("--aa", help="Compare each system with itself, over these seeds: noise floor and false alarms."),
    ] = False,
    twice: Annotated[
        bool,
        typer.Option("--twice", help="Execute each system as two, in layouts of their own, for --aa to compare."),
    ] = False,
    attribute: Annotated[
        bool,
        typer.Option("--attribute", help="Then each factor of the layout alone, for `analyse --attribute` to compare."),
    ] = False,
    wait: options.Wait = 3600,
    share_machine: options.ShareMachine = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Set the machine for measuring (governor, turbo; needs root), until the end.")
    ] = False,
    notify: Notify = None,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Execute every binary once per benchmark in seeded, complete rounds; resumes by itself."""
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.config.seeds import parse_seeds
    from layoutrand.errors import UsageError
    from layoutrand.execute.run_plan import RunChoices

    terminal = options.terminal(json=json, quiet=quiet)
    with notifying(notify, directory, terminal) as ending:
        config = options.in_order(options.in_mode(options.load_config(directory), mode), order, terminal)
        config = options.on_executor(config, executor)
        if tune and config.remote is not None:
            raise UsageError(
                "--tune sets the machine that it is given on, and nodes execute here: have the engine set them, as "
                'Slurm does with sbatch = { "cpu-freq" = "Performance" } under [cluster.measure]'
            )
        wanted = None if until is None else share(until, "--until-half-width")
        benchmarks, numbers = list(benchmark or []), parse_seeds(seeds)
        if (aa or twice) and wanted is None:
            from layoutrand.analysis.aa import check_seeds_of_aa

            check_seeds_of_aa(numbers)
        part = ProjectPart(config, directory, match_systems(config, system), benchmarks, options.count_jobs(jobs))
        told = Failures(DisplayNames.of(config))

        factors = list(each_factor(part)) if attribute else []

        def execute_seeds(part: ProjectPart = part) -> tuple[Summary, list[SystemBuild]]:
            choices = RunChoices(
                benchmarks,
                numbers,
                controls=controls,
                retry_failed=retry_failed,
                give_up=not keep_going,
                wait_s=wait,
                share_machine=share_machine,
                tune=tune,
                twice=twice,
            )
            return build_and_execute(part, choices, terminal, confidence=confidence, told=told)

        summary, results = execute_seeds()
        while wanted is not None and not _has_failures(summary, terminal):
            more = _more_seeds(part, numbers, wanted, confidence, most_seeds, terminal)
            if not more:
                break
            numbers = [*numbers, *more]
            summary, results = execute_seeds()
        alone: dict[str, Summary] = {}
        for factor, each in factors if summary.total else ():  # of what cannot be built no factor can be executed
            alone[factor] = _of_one_factor(factor, execute_seeds(each)[0], terminal, told)
        selves = None
        if (aa or twice) and summary.total:
            selves = _with_itself(part, numbers, confidence)
        _show_ending(_RunEnding(summary, selves, alone), numbers, results, confidence, terminal, told)
        failed = any(map(_failed, [summary, *alone.values()]))
        ending.status, ending.message = "failed" if failed else "ok", run_message(summary)
        return 1 if failed else 0


def _of_one_factor(factor: str, summary: Summary, terminal: Terminal, told: Failures) -> Summary:
    """Show what was executed with one factor alone."""
    terminal.say(f"{factor} alone: {run_message(summary)}")
    show_failures(summary.build_failures, terminal)
    told.conclude(summary.failures, terminal)
    told.of_cases(summary.failed_cases, terminal)
    return summary


@dataclass(frozen=True)
class _RunEnding:
    """What was executed, of each factor ``alone`` as well; ``selves`` are the rows of an A/A comparison, if any."""

    summary: Summary
    selves: Sequence[SelfComparison] | None
    alone: Mapping[str, Summary]


def _failed(summary: Summary) -> bool:
    return bool(summary.failures or summary.build_failures or summary.waiting)


def _has_failures(summary: Summary, terminal: Terminal) -> bool:
    """Whether something failed: then no seeds are added, because more of them would fail alike."""
    if _failed(summary):
        terminal.warn("--until-half-width: no seeds are added as long as builds or executions fail")
    return _failed(summary)


def _show_ending(
    ended: _RunEnding,
    seeds: Sequence[int],
    results: Sequence[SystemBuild],
    confidence: float,
    terminal: Terminal,
    told: Failures,
) -> None:
    """What was executed, and what to do next."""
    from layoutrand.analysis.aa import aa_document
    from layoutrand.analysis.documents import run_document
    from layoutrand.config.seeds import format_seeds

    summary, selves = ended.summary, ended.selves
    if terminal.json:
        document = run_document(summary)
        if selves is not None:
            document |= {"aa": aa_document(selves), "aa_seeds": format_seeds(seeds)}
        if ended.alone:
            document["alone"] = {factor: run_document(each) for factor, each in ended.alone.items()}
        terminal.document(document)
    show_failures(summary.build_failures, terminal)
    warn_folded((note for result in results for note in result.notes), terminal)
    show_run(summary, terminal, told)
    if summary.total and not _failed(summary) and selves is None:
        step = "layoutrand analyse --attribute" if ended.alone else building.next_of_run(results)
        terminal.say(f"Next: {step}")
    if selves is not None:
        show_aa(told.names.given_each(selves), confidence, terminal, seeds=seeds)


def _more_seeds(
    part: ProjectPart, seeds: Sequence[int], wanted: float, confidence: float, limit: int, terminal: Terminal
) -> list[int]:
    """The seeds to go on with, none when the intervals are narrow enough; says how wide they are."""
    from layoutrand.analysis.stopping import next_seeds, seeds_to_add, widths
    from layoutrand.stats import missed_share
    from layoutrand.stats.growth import FEWEST_TO_STOP

    found = widths(_recorded(part), confidence=confidence)
    if not found:
        terminal.warn("--until-half-width: no benchmark has measurements of its main metric, so no seeds are added")
        return []
    count = seeds_to_add(found, wanted=wanted, seeds=len(seeds), limit=limit)
    widest = found[0]
    subject = f"the widest mean ({widest.system}, {widest.benchmark})"
    state = f"half-width of {subject}: {widest} with {plural(len(seeds), 'seed')}"
    changed = next((each for each in found if each.has_changed), None)
    if changed is not None:
        state += f"; the machine changed meanwhile ({changed.system}, {changed.benchmark}), so narrow is not enough"
    if count:
        terminal.say(f"{state}; {count} more")
    elif widest.relative_half_width > wanted:
        terminal.warn(f"{state}, and {limit} is the limit (--most-seeds): wider than the {percent(wanted)} wanted")
    elif changed is not None:
        terminal.warn(f"{state}, but {limit} is the limit (--most-seeds): measure on a quieter machine")
    elif (fewest := min(width.n_binaries for width in found)) < FEWEST_TO_STOP:
        terminal.warn(
            f"{state}, and {limit} is the limit (--most-seeds): of {fewest} binaries, fewer than {FEWEST_TO_STOP}, "
            "it may be so narrow by chance"
        )
    else:
        missed = percent(missed_share(fewest, confidence=confidence))
        terminal.say(f"{state}; a group of up to {missed} of the layouts could have been missed")
    return next_seeds(seeds, count)


def _with_itself(part: ProjectPart, seeds: Sequence[int], confidence: float) -> list[SelfComparison]:
    """Of these seeds alone, whatever else is recorded: `compare X X` judges all that is."""
    from layoutrand.analysis.aa import compare_with_itself, of_seeds

    which = Which(is_settled=True)
    _, found = load_with_second(part.config, part.directory, part.systems, part.benchmarks, which)
    return compare_with_itself(of_seeds(found, seeds), confidence=confidence)


def _recorded(part: ProjectPart) -> Selection:
    from layoutrand.analysis.displayed import displayed

    return displayed(load_selection(part.config, part.directory, part.systems, part.benchmarks, Which(is_settled=True)))


def build_and_execute(
    part: ProjectPart,
    choices: RunChoices,
    terminal: Terminal,
    *,
    confidence: float = 0.95,
    told: Failures | None = None,
) -> tuple[Summary, list[SystemBuild]]:
    """Build what is missing, then execute what has no result yet; ``told`` learns which failures were shown."""
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.build.build import all_layouts
    from layoutrand.build.by_capture import by_capture, called_by_commits
    from layoutrand.build.divided import divided
    from layoutrand.cli.progress import show_progress
    from layoutrand.cluster.inputs import inputs_of
    from layoutrand.cluster.measuring import execute_on_nodes
    from layoutrand.cluster.open import measuring_cluster
    from layoutrand.config.doubled import seeds_of_both, with_second
    from layoutrand.errors import UsageError
    from layoutrand.execute.execute import execute
    from layoutrand.execute.isolated import isolated
    from layoutrand.execute.run_progress import Summary
    from layoutrand.execute.run_request import make_request, remarks
    from layoutrand.host.launcher import find_launcher
    from layoutrand.host.tune import settle, tuned
    from layoutrand.host.tuning import Tuning
    from layoutrand.instruments.asked_for import check_programs
    from layoutrand.results.file import check_usable, open_for_writing, results_path

    failures = Failures(DisplayNames.of(part.config)) if told is None else told
    config, directory, benchmarks = part.config, part.directory, choices.benchmarks
    if not config.benchmarks:
        raise UsageError("layoutrand.toml has no [[benchmarks]], so there is nothing to execute")
    if config.remote is not None:  # nothing is built for what cannot be carried to nodes
        inputs_of(config, [each for each in config.benchmarks if not benchmarks or each.name in benchmarks], directory)
    check_programs(config, benchmarks)
    if config.remote is None:  # nodes look for theirs
        find_launcher(config.run.launcher, directory)
    check_usable(results_path(directory))
    settle(Tuning(), terminal.warn)  # what a killed `run --tune` has left behind
    seeds = seeds_of_both(choices.seeds) if choices.twice else list(choices.seeds)
    layouts = all_layouts(seeds, controls=choices.controls, listed=config.run.controls)
    part = replace(part, config=config if config.build.mode == "relink" else config.here())
    results = building.build_with_progress(part, layouts, terminal, recalls_failures=choices.recalls_failures)
    if choices.twice:
        config, executed = with_second(config, part.systems), divided(results, choices.seeds)
        failures.names = failures.names.with_systems(DisplayNames.of(config).systems)
    at_captures = called_by_commits(results) if choices.by_capture else {}
    if choices.by_capture:
        config, executed = by_capture(config, results)
        failures.names = failures.names.with_systems(at_captures)
        if not executed:  # no commit could be built: that is told, and nothing is wrong with the project
            return Summary(0, 0, 0, 0, (), _unbuilt(results), results_path(directory)), results
    request = make_request(config, directory, executed if choices.twice or choices.by_capture else results, choices)
    for line in remarks(request):
        terminal.warn(line)
    progress = show_progress(terminal, confidence, DisplayNames.of(config).with_systems(at_captures))
    with open_for_writing(results_path(directory)) as store, progress as update, _telling_of_rows(store, terminal):

        def advance(progress: RunProgress) -> None:
            update(progress)
            if progress.execution.status != "ok":
                failures.happened(progress.execution, terminal)

        with measuring_cluster(config, directory, part.jobs, terminal.say) as cluster:
            if cluster is not None:
                summary = execute_on_nodes(request, store=store, cluster=cluster, progress=advance, say=terminal.say)
                return summary, results
        with isolated(config.run.isolation) as executor:
            summary = execute(
                request,
                store=store,
                executor=executor,
                progress=advance,
                say=terminal.say,
                prepare=partial(tuned, Tuning(), terminal.say, terminal.warn) if choices.tune else nullcontext,
            )
    return summary, results


def _unbuilt(results: Sequence[SystemBuild]) -> tuple[BuildFailure, ...]:
    return tuple(failure for result in results for failure in result.failures)


@contextmanager
def _telling_of_rows(store: ResultsStore, terminal: Terminal) -> Iterator[None]:
    """Say that rows have been sealed, once, and which rows turned out to be damaged."""
    from layoutrand.analysis.damage_warnings import damaged_results

    if store.sealed_now:
        terminal.say(
            f"{store.path} is of an earlier layoutrand: its {store.sealed_now} rows have checksums from now on, and "
            "earlier versions no longer read it"
        )
    elif store.is_updated:
        terminal.say(f"{store.path} is of an earlier layoutrand, and earlier versions no longer read it from now on")
    try:
        yield
    finally:
        for warning in damaged_results(store):
            terminal.warn(str(warning))
