"""`layoutrand help`."""

from __future__ import annotations

from typing import Annotated

import typer
import typer.main

from layoutrand.cli.summaries import SUMMARIES


def _commands(context: typer.Context, incomplete: str) -> list[str]:
    """Commands that begin so, and behind one of them its own, as `layoutrand help` takes them."""
    from layoutrand.cli import make_app

    first, *more = context.params.get("command") or [""]
    if not first:
        return [name for name in SUMMARIES if name.startswith(incomplete)]
    whole = getattr(typer.main.get_command(make_app(first)), "commands", {}).get(first)
    return [] if more else [name for name in getattr(whole, "commands", {}) if name.startswith(incomplete)]


def help_(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMMAND]",
            autocompletion=_commands,
            help="The command, such as run or cache gc.",
        ),
    ] = None,
) -> int:
    """Explain a command, or list them all.

    Example: layoutrand help compare
    """
    from layoutrand.cli import run
    from layoutrand.cli.appearance import appearance

    return run([f"--color={appearance().color}", *(command or []), "--help"])
