"""Executions that `explain` and `sweep` make for themselves: isolated, with progress, failures told as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from layoutrand.cli.terminal import Terminal
from layoutrand.screens.run_screen import run_message, warn_disturbed

if TYPE_CHECKING:
    from layoutrand.analysis.display_names import DisplayNames
    from layoutrand.config.config import Config
    from layoutrand.execute.measure import Executor
    from layoutrand.execute.run_progress import RunProgress, Summary
    from layoutrand.model import Execution


@contextmanager
def measuring_apart(
    config: Config, names: DisplayNames, confidence: float, terminal: Terminal, what: Callable[[Execution], str]
) -> Iterator[tuple[Executor, Callable[[RunProgress], None]]]:
    """What executes, and what is to be told of its progress; ``what`` says of which execution a failure is."""
    from layoutrand.cli.progress import show_progress
    from layoutrand.execute.isolated import isolated

    with isolated(config.run.isolation) as executor, show_progress(terminal, confidence, names) as update:

        def advance(progress: RunProgress) -> None:
            update(progress)
            if progress.execution.status != "ok":
                terminal.fail(f"{what(progress.execution)}: {progress.execution.reason}")

        yield executor, advance


def tell_executed(summary: Summary, names: DisplayNames, terminal: Terminal) -> None:
    """How much was executed, and what disturbed it."""
    terminal.say(run_message(summary))
    warn_disturbed(names.given_each(summary.disturbed), terminal)
