"""Options that several commands share, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from layoutrand.core.config import Config

CONFIG_NAME = "layoutrand.toml"

Directory = Annotated[
    Path, typer.Option("-C", "--directory", help="The project: the directory that holds layoutrand.toml.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no remarks; warnings and failures stay.")]
Seeds = Annotated[str, typer.Option(help="Layouts to build: 30 (= 1..30), 5..12, or 1,7,9.")]
Systems = Annotated[list[str] | None, typer.Option("--system", help="Only this system; may be repeated.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=0, help="Builds and links at once; 0 for one per core.")]
Controls = Annotated[
    bool, typer.Option("--controls/--no-controls", help="Include stock (your own build) and identity (ours, unmoved).")
]
Confidence = Annotated[float, typer.Option(min=0.5, max=0.9999, help="Confidence of the intervals.")]


def load_config(directory: Path) -> Config:
    """The project's configuration; raises `UsageError` where there is none, with what to do."""
    from layoutrand.core.config import parse

    path = directory / CONFIG_NAME
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise UsageError(
            f"no {CONFIG_NAME} in {directory.absolute()}; `layoutrand init` writes one, -C names another directory"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return parse(text, path=str(path))


def choose_systems(config: Config, wanted: Sequence[str] | None) -> list[str]:
    """The systems named, or all."""
    from layoutrand.core.config import choose

    return choose("system", list(wanted or []), list(config.systems))


def count_jobs(jobs: int) -> int:
    """How many builds and links to do at once: as many as this process may use cores, unless given."""
    import os

    return jobs or len(os.sched_getaffinity(0))


def terminal(*, json: bool, quiet: bool) -> Terminal:
    """Where this command writes."""
    return Terminal(json, quiet)
