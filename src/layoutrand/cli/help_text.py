"""Help as it is written: typer has rich read it as markup, in which ``[cluster]`` is a style and not a word."""

from __future__ import annotations

from typing import Any

import typer.core
from rich.markup import escape


def as_written(command: Any) -> Any:
    """The click command, with brackets escaped in its help and that of its parameters and commands."""
    if not getattr(typer.core, "HAS_RICH", True):  # TYPER_USE_RICH=0: nothing reads help as markup
        return command
    for each in (command, *command.params):
        for name in ("help", "short_help", "epilog"):
            if text := getattr(each, name, None):
                setattr(each, name, escape(text))
    for inner in getattr(command, "commands", {}).values():
        as_written(inner)
    return command
