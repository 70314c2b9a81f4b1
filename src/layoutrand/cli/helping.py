"""`layoutrand help`."""

from __future__ import annotations

from typing import Annotated

import typer

from layoutrand.cli import completing


def help_(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMMAND]",
            autocompletion=completing.commands,
            help="The command, such as run or cache gc.",
        ),
    ] = None,
) -> int:
    """Explain a command, or list them all.

    Example: layoutrand help compare
    """
    from layoutrand.cli import run

    return run([*(command or []), "--help"])
