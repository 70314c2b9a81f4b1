"""Experiments whose layouts are chosen: executed as any others, and recorded where no other command looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from layoutrand.execute.execute import execute
from layoutrand.execute.measure import Executor
from layoutrand.execute.run_plan import RunRequest
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.explain.identity_run import ready_results
from layoutrand.results import file


def execute_apart(
    request: RunRequest,
    target: Path,
    executor: Executor,
    *,
    progress: Callable[[RunProgress], None],
    say: Callable[[str], None],
) -> Summary:
    """Execute what is asked for into the file ``target``, while nothing else of the project is executed.

    Raises what `execute` raises.
    """
    ordinary = ready_results(request.project.resolve())
    with (
        file.exclusive_use(ordinary, wait_s=request.choices.wait_s, on_wait=say),
        file.open_for_writing(target) as store,
    ):
        return execute(request, store=store, executor=executor, progress=progress, say=say)
