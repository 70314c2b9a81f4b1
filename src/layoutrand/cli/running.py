"""`layoutrand run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli import building, options
from layoutrand.cli.terminal import Page, Terminal

if TYPE_CHECKING:
    from layoutrand.core.config import Config
    from layoutrand.usecases.build import SystemBuild
    from layoutrand.usecases.execute import Progress, Summary

Benchmarks = Annotated[list[str] | None, typer.Option("--benchmark", help="Only this benchmark; may be repeated.")]


def run(  # noqa: PLR0913 - one parameter for each option
    seeds: options.Seeds = "30",
    system: options.Systems = None,
    benchmark: Benchmarks = None,
    controls: options.Controls = True,
    retry_failed: Annotated[bool, typer.Option(help="Execute again what failed; the failures stay recorded.")] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for another layoutrand that runs here.")] = 3600,
    jobs: options.Jobs = 0,
    directory: options.Directory = Path(),
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Execute every binary once per benchmark in an interleaved, seeded order; resumes by itself."""
    from layoutrand.core.seeds import parse_seeds
    from layoutrand.usecases.documents import run_document

    terminal = options.terminal(json=json, quiet=quiet)
    config = options.load_config(directory)
    summary, results = build_and_execute(
        config, directory, parse_seeds(seeds), options.choose_systems(config, system), list(benchmark or []),
        controls=controls, retry_failed=retry_failed, wait_s=wait, jobs=options.count_jobs(jobs), terminal=terminal,
    )  # fmt: skip
    if json:
        terminal.document(run_document(summary))
    show_run(summary, terminal)
    for result in results:
        for note in result.notes:
            terminal.warn(note)
    building.show_failures(summary.build_failures, terminal)
    return 1 if summary.failures or summary.build_failures else 0


def build_and_execute(  # noqa: PLR0913 - what a run needs, and where to report
    config: Config, directory: Path, seeds: Sequence[int], systems: Sequence[str], benchmarks: Sequence[str], *,
    controls: bool, retry_failed: bool, wait_s: float, jobs: int, terminal: Terminal,
) -> tuple[Summary, list[SystemBuild]]:  # fmt: skip
    """Build what is missing, then execute what has no result yet."""
    from layoutrand.errors import UsageError
    from layoutrand.usecases.build import all_layouts
    from layoutrand.usecases.execute import execute
    from layoutrand.usecases.run_plan import Request
    from layoutrand.world.measure import measure
    from layoutrand.world.results_file import open_for_writing, results_path

    if not config.benchmarks:
        raise UsageError("layoutrand.toml has no [[benchmarks]], so there is nothing to execute")
    layouts = all_layouts(seeds, controls=controls)
    results = building.build_with_progress(config, directory, systems, layouts, jobs, terminal)
    request = Request(
        config=config, project=directory, binaries=[binary for result in results for binary in result.binaries],
        build_failures=[failure for result in results for failure in result.failures],
        captures={r.system: r.capture.id if r.capture else "" for r in results},
        benchmarks=benchmarks, retry_failed=retry_failed, wait_s=wait_s,
    )  # fmt: skip
    with open_for_writing(results_path(directory)) as store, terminal.progress("executions") as update:

        def advance(progress: Progress) -> None:
            update(progress.done, progress.total)
            if progress.execution.status != "ok":
                terminal.fail(_failure(progress.execution))

        summary = execute(request, store=store, executor=measure, progress=advance, say=terminal.say)
    return summary, results


def show_run(summary: Summary, page: Page) -> None:
    """What was executed."""
    failed = f", {len(summary.failures)} failed" if summary.failures else ""
    unbuilt = f", {summary.unbuilt} have no binary" if summary.unbuilt else ""
    page.line(
        f"{summary.executed} executions now, {summary.already} were there already{failed}{unbuilt}; "
        f"results in {summary.results}"
    )
    if summary.failures and not summary.executed:
        for execution in summary.failures[:10]:
            page.fail(_failure(execution))
        page.line("`layoutrand run --retry-failed` executes failed ones again")


def _failure(execution: object) -> str:
    from layoutrand.model import Execution

    assert isinstance(execution, Execution)
    layout = f"seed {execution.layout}" if isinstance(execution.layout, int) else execution.layout
    log = f"; output in {execution.log}" if execution.log else ""
    return f"system {execution.system}, benchmark {execution.benchmark}, {layout}: {execution.reason}{log}"
