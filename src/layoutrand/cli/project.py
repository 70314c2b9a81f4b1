"""Options of the program itself, and `layoutrand init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from layoutrand import __version__
from layoutrand.cli import options


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"layoutrand {__version__}")
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Build a program in many layouts, run each binary once, and learn how much layout matters."""


def init(
    directory: options.Directory = Path(),
    force: Annotated[bool, typer.Option(help="Replace an existing layoutrand.toml.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """Write a commented layoutrand.toml for the build found here."""
    from layoutrand.capture.init import init as write_config

    path, found = write_config(directory, force=force)
    options.terminal(json=False, quiet=quiet).say(
        f"{path} written for {found.what}, artefact {', '.join(found.artefacts)}. Check artefacts and benchmarks, "
        "then: layoutrand build"
    )
    return 0
