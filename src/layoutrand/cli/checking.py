"""`layoutrand check`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from layoutrand.cli import options
from layoutrand.cli.commit_range import both_ends
from layoutrand.cli.selecting import Benchmarks
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.library.configuration import match_systems
from layoutrand.text.shares import share

if TYPE_CHECKING:
    from layoutrand.analysis.conclusion import Verdict
    from layoutrand.build.build import SystemBuild
    from layoutrand.capture.repository import Mirrors
    from layoutrand.check.question import CheckAnswer, CheckTools
    from layoutrand.config.config import Config
    from layoutrand.execute.measure import Executor
    from layoutrand.execute.run_progress import RunProgress
    from layoutrand.model import LayoutName
    from layoutrand.screens.failing import Failures

FAILED: Final = 1


def check(  # noqa: PLR0913 - one parameter for each option
    base: Annotated[
        str | None,
        typer.Argument(
            metavar="BASE", help="A commit, or both as BASE..HEAD; default: where HEAD left the default branch."
        ),
    ] = None,
    head: Annotated[
        str | None, typer.Argument(metavar="HEAD", help="A commit; default: the work tree, as it is now.")
    ] = None,
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    metric: Annotated[str | None, typer.Option(help="Judge this metric; default: each benchmark's main one.")] = None,
    threshold: Annotated[str, typer.Option(help="Differences within this count as the same.")] = "1%",
    confidence: options.Confidence = 0.95,
    budget: Annotated[str, typer.Option(help="Time for linking and executing rounds, such as 90s, 10m or 1h.")] = "10m",
    most_layouts: Annotated[int, typer.Option(min=3, help="Give up on a benchmark after so many layouts.")] = 200,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 3 for slower or faster, with 4 for cannot-tell; several with commas; none. Default: slower."
        ),
    ] = None,
    as_built: Annotated[
        bool, typer.Option("--as-built/--no-as-built", help="Show what one build of each would have said.")
    ] = True,
    couple: Annotated[
        str | None,
        typer.Option(help="order: as a user will see it; address: the change alone. Default: layout.couple."),
    ] = None,
    format_name: Annotated[
        str, typer.Option("--format", help="What is printed: text, github, gitlab, junit, markdown, json.")
    ] = "text",
    output: Annotated[
        list[str] | None,
        typer.Option("-o", "--output", metavar="FORMAT=FILE", help="Write a format into a file; may be repeated."),
    ] = None,
    retry_failed: options.RetryFailed = False,
    wait: options.Wait = 3600,
    share_machine: options.ShareMachine = False,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    full: Annotated[bool, typer.Option("--full", help="Tables, functions and warnings in full.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Is this change slower, faster or the same? Two commits in the same layouts, until that is decided.

    Example: layoutrand check

    Example: layoutrand check HEAD~3 --budget 5m --fail-if slower,cannot-tell
    """
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.capture.checked_commits import chosen_commits, source_repository
    from layoutrand.capture.worktree import changed_submodules
    from layoutrand.check.check import check as check_commits
    from layoutrand.check.check_words import submodules_sentence
    from layoutrand.check.commit_pair import check_results_usable
    from layoutrand.check.question import CheckQuestion
    from layoutrand.cli.check_output import CheckOutput
    from layoutrand.cli.named_cases import known_benchmarks, refuse_misspelt
    from layoutrand.config.two_commits import coupled_by, declared_inside
    from layoutrand.execute.isolated import isolated
    from layoutrand.screens.failing import Failures

    failing = options.failing_verdicts(fail_if or ["slower"])
    shown = CheckOutput.of("json" if json else format_name, output or [], full=full, failing=failing)
    terminal = options.terminal(json=shown.is_document, quiet=quiet)
    config = options.load_config(directory)
    _check_config(config)
    wanted = known_benchmarks(config, benchmark)
    config = config if couple is None else coupled_by(config, couple)
    failures = Failures(DisplayNames.of(config))
    project = _CheckedProject(directory, config, options.count_jobs(jobs), terminal, confidence, failures)
    where = source_repository(directory, config.build.source, config.build.repo)
    ends = both_ends(base, head)
    commits = chosen_commits(where, project.mirrors(), *ends)
    here = where.root / where.inside if ends[1] is None and where.root is not None else None
    if here is not None and (unseen := changed_submodules(here, config.build.exclude)):
        terminal.warn(submodules_sentence(unseen))
    labels = {each.commit: each.label for each in commits}
    refuse_misspelt(wanted, [config, declared_inside(config, where.inside)], directory, labels, terminal)
    question = CheckQuestion(
        config=config,
        project=directory,
        systems=match_systems(config, system),
        benchmarks=wanted,
        base=commits[0],
        head=commits[1],
        metric=metric,
        threshold=share(threshold, "--threshold", may_be_zero=True),
        confidence=confidence,
        budget_s=options.budget_s(budget),
        most_layouts=most_layouts,
        as_built=as_built,
        retry_before=time.time() if retry_failed else None,
        wait_s=wait,
        share_machine=share_machine,
    )
    check_results_usable(directory)
    with isolated(config.run.isolation) as executor:
        answer = check_commits(question, where, project.tools(executor))
    shown.show(answer, terminal, project.failures)
    return exit_status(answer, failing)


def exit_status(answer: CheckAnswer, failing: Collection[Verdict]) -> int:
    """3 where a verdict on speed fails, 1 where something could not be executed, 4 where nobody can tell."""
    return options.failing_status(failing, answer.has, failed=FAILED if answer.has_failed else 0)


def _check_config(config: Config) -> None:
    """Raise `UsageError` for what has no two commits, or is not executed here."""
    from layoutrand.config.two_commits import checkable

    if not config.benchmarks:
        raise UsageError("layoutrand.toml has no [[benchmarks]], so there is nothing to execute")
    if config.build.generated() is not None or config.suite is not None:
        raise UsageError("check builds two commits of a repository, and the source of a suite is in none")
    if config.remote is not None:
        raise UsageError(
            f"check links and executes on this machine, and [cluster] says {config.cluster.kind}: `layoutrand run` and "
            "`layoutrand compare` work there"
        )
    found, left_out = checkable(config)
    if not found:
        raise UsageError("nothing to check: " + "; ".join(f"system {name} {why}" for name, why in left_out.items()))


@dataclass(frozen=True)
class _CheckedProject:
    """Where a check happens, and what it is told on."""

    directory: Path
    config: Config
    jobs: int
    terminal: Terminal
    confidence: float
    failures: Failures

    def mirrors(self) -> Mirrors:
        """The mirrors of repositories in the cache."""
        from layoutrand.cache.store import Cache, default_root
        from layoutrand.capture.origin import Origins

        return Origins(self.directory, Cache(default_root()), self.terminal.say).mirrors

    def tools(self, executor: Executor) -> CheckTools:
        """What the check works with."""
        from layoutrand.cache.store import Cache, default_root
        from layoutrand.check.question import CheckTools
        from layoutrand.explain.hot_functions import readable_names
        from layoutrand.platform.process import SubprocessRunner

        return CheckTools(
            build=self._build,
            cache=Cache(default_root()),
            executor=executor,
            progress=self._progress,
            say=self.terminal.say,
            clock=time.monotonic,
            readable=lambda symbols: readable_names(symbols, SubprocessRunner(), self.terminal.say),
        )

    def _build(
        self, system: str, config: Config, layouts: Sequence[LayoutName], captures: Mapping[str, str] | None
    ) -> list[SystemBuild]:
        from layoutrand.cli.building import build_with_progress
        from layoutrand.config.two_commits import BASE

        terminal = self.terminal.about(system) if len(self.config.systems) > 1 else self.terminal
        # What was built last is remembered by the names of project and system, and both commits have theirs from check:
        # without this a system would be "built again" because of the flags of another, or the source of another base.
        name = f"{config.project.name}, {system}, {config.systems[BASE].rev}"
        project = config.project.model_copy(update={"name": name})
        remembered = config.model_copy(update={"project": project})
        part = options.ProjectPart(remembered, self.directory, list(config.systems), jobs=self.jobs)
        return build_with_progress(part, layouts, terminal, captures=captures)

    @contextmanager
    def _progress(self) -> Iterator[Callable[[RunProgress], None]]:
        from layoutrand.cli.progress import show_progress

        with show_progress(self.terminal, self.confidence, self.failures.names) as update:

            def advance(progress: RunProgress) -> None:
                update(progress)
                if progress.execution.status != "ok":
                    self.failures.happened(progress.execution, self.terminal)

            yield advance
