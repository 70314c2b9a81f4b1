"""Which recorded results a command is about: the options that choose them, and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from layoutrand.analysis.selection import Selection
    from layoutrand.config.config import Config

Benchmarks = Annotated[list[str] | None, typer.Option("--benchmark", help="Only this benchmark; may be repeated.")]
Host = Annotated[str | None, typer.Option(help="Analyse the results of this machine; default: this one.")]


def load_selection(
    config: Config, directory: Path, systems: Sequence[str], benchmarks: Sequence[str], host: str | None
) -> Selection:
    """The results that belong to the question; raises `UsageError` where there are none at all."""
    from layoutrand.analysis.selection import Question, select
    from layoutrand.results.file import open_for_reading, results_path

    path = results_path(directory)
    if not path.exists():
        raise UsageError(f"there are no results in {path}; `layoutrand run` makes them")
    question = Question(
        config=config, project=directory, systems=systems, benchmarks=benchmarks, captures={}, host=host
    )
    with open_for_reading(path) as store:
        return select(question, store)
