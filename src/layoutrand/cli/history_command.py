"""`layoutrand history`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import options
from layoutrand.cli.commit_range import range_ends
from layoutrand.cli.selecting import Benchmarks, Host
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.library.configuration import match_systems
from layoutrand.library.recorded import existing_results, layouts_of_captures
from layoutrand.text.shares import share
from layoutrand.warning import plural

if TYPE_CHECKING:
    from layoutrand.build.build import SystemBuild
    from layoutrand.capture.commit_log import CommitLog
    from layoutrand.cli.commit_runs import ProjectCommits
    from layoutrand.cli.options import ProjectPart
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.history.history_values import History
    from layoutrand.history.history_warnings import UnbuiltCommits


def history(  # noqa: PLR0913 - one parameter for each option
    since: Annotated[
        str | None, typer.Option(metavar="REV", help="From this commit on; default: all that were measured.")
    ] = None,
    until: Annotated[str, typer.Option(metavar="REV", help="Up to this commit.")] = "HEAD",
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="OLD..NEW", help="Build and execute the commits from OLD to NEW first; resumes."),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="With --run: only every so many commits, and the last.")] = 1,
    seeds: options.Seeds = "30",
    retry_failed: Annotated[
        bool, typer.Option(help="With --run: build and execute again what failed; failed executions stay recorded.")
    ] = False,
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="This metric; default: each benchmark's main one.")
    ] = None,
    threshold: Annotated[str, typer.Option(help="Steps within this are small.")] = "1%",
    confidence: options.Confidence = 0.95,
    host: Host = None,
    wait: Annotated[
        float,
        typer.Option(
            min=0, callback=options.a_number, help="With --run: seconds to wait for another layoutrand that measures."
        ),
    ] = 3600,
    share_machine: Annotated[
        bool,
        typer.Option("--share-machine", help="With --run: measure even while another layoutrand measures here."),
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to this file, too.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Every commit and every step, as tables.")] = False,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """How results went over commits: means over layouts, steps in them, and what is only where a build landed."""
    from layoutrand.cli.commit_runs import ProjectCommits, systems_with_commits
    from layoutrand.cli.named_cases import known_benchmarks
    from layoutrand.cli.terminal import terminal_width
    from layoutrand.config.seeds import parse_seeds
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.history.history_words import history_document
    from layoutrand.screens.history_screen import history_screen, show_history

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    limit = share(threshold, "--threshold", may_be_zero=True)
    systems = match_systems(config, system)
    if run is not None:
        systems = systems_with_commits(config, systems, terminal)
    wanted = list(benchmark or []) if run is None else known_benchmarks(config, benchmark)
    part = options.ProjectPart(config, directory, systems, wanted, options.count_jobs(jobs))
    project = ProjectCommits(part, terminal)
    if retry_failed and run is None:
        raise UsageError("--retry-failed is for what --run OLD..NEW executes")
    choices = RunChoices(
        part.benchmarks, parse_seeds(seeds), retry_failed=retry_failed, wait_s=wait, share_machine=share_machine
    )
    failed, unbuilt = (False, []) if run is None else _execute(project, run, every, choices)
    if run is not None and since is None:
        since, until = range_ends(run, "--run ")
    found = load_history(project, (since, until), host, list(metric or []), (confidence, limit))
    found = replace(found, warnings=(*unbuilt, *found.warnings))
    if json:
        terminal.document(history_document(found))
    elif full:
        show_history(found, terminal)
    else:
        terminal.screen(history_screen(found, terminal_width()))
    if html is not None:
        _write_page(found, html, part, terminal)
    return 1 if failed else 0


def _execute(project: ProjectCommits, run: str, every: int, choices: RunChoices) -> tuple[bool, list[UnbuiltCommits]]:
    """Build and execute a range, all in the same rounds; whether something failed, and what could not be built."""
    from layoutrand.cli.commit_runs import lost_layouts
    from layoutrand.screens.failing import Failures
    from layoutrand.screens.run_screen import show_run

    terminal, told = project.terminal, Failures()
    log = project.log(fetch=True)
    old, new = (log.resolve(end) for end in range_ends(run, "--run "))
    line = log.first_parents(old, new)
    chosen = list(dict.fromkeys([*line[::every], line[-1]]))
    terminal.say(f"{len(chosen)} commits, {chosen[0][:9]} to {chosen[-1][:9]}")
    summary, results = project.execute(chosen, choices, told)
    unbuilt = _left_out(results, terminal)
    show_run(summary, _RemarksAlone(terminal.json, terminal.quiet), told, again="the same command with --retry-failed")
    captures = {(name, result.capture.id) for (name, _), result in results.items() if result.capture}
    n_built = sum(result.capture is not None for result in results.values())
    if len(captures) < n_built:
        terminal.say(f"{n_built} builds are {plural(len(captures), 'program')}, each executed once")
    return bool(summary.failures or unbuilt or lost_layouts(results)), unbuilt


def _left_out(results: Mapping[tuple[str, str], SystemBuild], terminal: Terminal) -> list[UnbuiltCommits]:
    """Tell why commits could not be built; which these are, of each system where another could build them."""
    from layoutrand.cli.commit_runs import unbuilt
    from layoutrand.history.history_warnings import UnbuiltCommits

    systems = list(dict.fromkeys(system for system, _ in results))
    asked = list(dict.fromkeys(commit for _, commit in results))
    of = {system: unbuilt({key: result for key, result in results.items() if key[0] == system}) for system in systems}
    if all(of[system].keys() == of[systems[0]].keys() for system in systems):
        of = {"": of[systems[0]]}
    for system, why in of.items():
        for commit, cause in why.items():
            terminal.fail(f"{system + ': ' if system else ''}{commit[:9]} is left out: {cause}")
    return [
        UnbuiltCommits(tuple(commit[:9] for commit in why), len(asked), system) for system, why in of.items() if why
    ]


class _RemarksAlone(Terminal):
    """What is executed on the way is no part of the answer."""

    def line(self, text: str = "") -> None:
        """A remark."""
        self.say(text)


def load_history(
    project: ProjectCommits,
    ends: tuple[str | None, str],
    host: str | None,
    metrics: Sequence[str],
    how_sure: tuple[float, float],
) -> History:
    """What is recorded of the commits between two ends; ``how_sure`` are confidence and threshold."""
    from layoutrand.analysis.asked_results import Question
    from layoutrand.history.history import HistoryQuestion
    from layoutrand.history.history import history as make_history
    from layoutrand.results.file import open_for_reading

    part = project.part
    question = Question(
        config=part.config,
        project=part.directory,
        systems=part.systems,
        benchmarks=part.benchmarks,
        captures={},
        host=host,
    )
    log, order, why = _order(project, *ends)
    since, until = ends
    asked = HistoryQuestion(
        question=question,
        log=log,
        order=order,
        of=f"{since}..{until}" if since else f"the history of {until}",
        why=why,
        metrics=metrics,
        confidence=how_sure[0],
        threshold=how_sure[1],
        n_distinct=partial(layouts_of_captures, part.config),
    )
    with open_for_reading(existing_results(part.directory)) as store:
        return make_history(asked, store)


def _order(project: ProjectCommits, since: str | None, until: str) -> tuple[CommitLog | None, list[str], str]:
    """The commits in order; without them, and why, where the repository is not there and none were named."""
    try:
        log = project.log(fetch=False)
        return log, log.order(log.resolve(until), None if since is None else log.resolve(since)), ""
    except UsageError as error:
        if since is not None or until != "HEAD":
            raise
        return None, [], str(error).splitlines()[0]


def _write_page(found: History, target: Path, part: ProjectPart, terminal: Terminal) -> None:
    from layoutrand.report.history_page import history_page
    from layoutrand.report.html import render

    options.write_on_request(target, render(history_page(found)), terminal)
    options.leave_out_of_source(part.config, part.directory, [target], terminal)
