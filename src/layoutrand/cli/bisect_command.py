"""`layoutrand bisect`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import completing, options
from layoutrand.cli.commit_range import both_ends
from layoutrand.cli.commit_search import SEEDS_APART, CommitSearch
from layoutrand.errors import UsageError
from layoutrand.library.configuration import match_systems
from layoutrand.text.shares import share

if TYPE_CHECKING:
    from layoutrand.config.config import Benchmark, Config

CANNOT_TELL: Final = 4
"""Exit status where there is no answer."""


def bisect(  # noqa: PLR0913 - one parameter for each option
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A commit before the step, or both as GOOD..BAD.")],
    bad: Annotated[str | None, typer.Argument(metavar="BAD", help="A commit after it; default: HEAD.")] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            metavar="NAME",
            autocompletion=completing.benchmarks,
            help="The benchmark; may be left out if there is one.",
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--system",
            metavar="NAME",
            autocompletion=completing.systems,
            help="The system; default: the first that is built here.",
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="Judge by this metric; default: the benchmark's main one.")
    ] = None,
    threshold: Annotated[
        str, typer.Option(help="Ends that may be alike, and are within this, are told to be the same.")
    ] = "1%",
    most_seeds: Annotated[
        int, typer.Option(min=8, max=SEEDS_APART, help="Rounds after which a decision is given up: cannot tell.")
    ] = 200,
    budget: Annotated[
        str | None, typer.Option(help="Time after which no further rounds begin, such as 10m or 1h; default: none.")
    ] = None,
    confidence: options.Confidence = 0.95,
    retry_failed: options.RetryBuilds = False,
    wait: options.Wait = 3600,
    share_machine: options.ShareMachine = False,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Find the commit of a step with few executions: halves the commits between, by means over layouts; resumes."""
    from layoutrand.cli.commit_runs import ProjectCommits, systems_with_commits
    from layoutrand.cli.terminal import terminal_width
    from layoutrand.execute.run_plan import RunChoices
    from layoutrand.history.bisect_words import bisect_cases_document, bisect_document
    from layoutrand.instruments.asked_for import judged_by
    from layoutrand.screens.bisect_screen import bisect_cases_screen, bisect_screen
    from layoutrand.screens.failing import Failures

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    limit = share(threshold, "--threshold", may_be_zero=True)
    name, entry = _benchmark(config, benchmark)
    if metric is not None:
        config = judged_by(config, entry.name, metric)
    chosen = systems_with_commits(config, match_systems(config, [system] if system else None), terminal)[0]
    part = options.ProjectPart(config, directory, [chosen], [entry.name], options.count_jobs(jobs))
    deadline = None if budget is None else time.monotonic() + options.budget_s(budget)
    choices = RunChoices(
        part.benchmarks,
        controls=False,
        retry_failed=retry_failed,
        retry_before=time.time(),
        wait_s=wait,
        share_machine=share_machine,
    )
    commits = ProjectCommits(part, terminal)
    search = CommitSearch(commits, name, limit, most_seeds, Failures(), choices, deadline, metric or "")
    first, last = both_ends(good, bad)
    state = search.begun(first or good, last or "HEAD", confidence)
    if entry.metric.by_case and name == entry.name:
        cases = search.of_each_case(state)
        if json:
            terminal.document(bisect_cases_document(cases, system=chosen, confidence=confidence, threshold=limit))
        else:
            terminal.screen(bisect_cases_screen(cases, chosen, limit, terminal_width()))
        return 0 if cases.is_told else CANNOT_TELL
    answer = search.run(state)
    judged, better = search.judged_by()
    if json:
        terminal.document(bisect_document(answer, system=chosen, benchmark=name, metric=judged, threshold=limit))
    else:
        terminal.screen(bisect_screen(answer, better, chosen, name, limit, terminal_width(), judged))
    return CANNOT_TELL if answer.ending == "cannot tell" else 0


def _benchmark(config: Config, wanted: str | None) -> tuple[str, Benchmark]:
    """The name that is asked for, and its entry of ``[[benchmarks]]``, which has another where it is a case of that."""
    from layoutrand.config.config import choose
    from layoutrand.harnesses.case_names import entry_of

    names = [each.name for each in config.benchmarks]
    cased = [each.name for each in config.benchmarks if each.metric.by_case]
    if wanted is None and len(names) > 1:
        raise UsageError(f"which benchmark? Name it with --benchmark; there are {', '.join(names)}")
    entry = wanted if wanted is None or wanted in names else entry_of(wanted, cased) or wanted
    found = choose("benchmark", [entry] if entry else [], names)
    if not found:
        raise UsageError("layoutrand.toml has no [[benchmarks]], so there is nothing to measure")
    if config.order() in {"sequential", "random"}:
        raise UsageError(
            f'run.order = "{config.order()}" does not execute commits side by side, which bisect rests on; set "blocks"'
        )
    return wanted or found[0], next(each for each in config.benchmarks if each.name == found[0])
