"""What a shell completes: the command line that it asks about, and the names in the project's layoutrand.toml.

Nothing is ever said here: a file that is wrong or absent completes to nothing.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import typer

from layoutrand.library.project_directory import CONFIG_NAME, project_of

_LINES: Final = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Variables in which the functions of bash, and of zsh and fish, tell the line."""


_AHEAD: Final = re.compile(r"\A(\s*\S+)((?:\s+(?:-v|--verbose|--colou?r(?:=\S*|\s+\S+)))+)(?=\s)")
"""The program and, ahead of its command, what all commands can be told."""


def words() -> list[str]:
    """The words behind the program on the line that a shell wants to be completed; none where none does.

    What all commands can be told is taken out of the line where it stands ahead of the command, as it is of a line that
    is executed: typer knows nothing of it.
    """
    name = next((name for name in _LINES if name in os.environ), None)
    if "_LAYOUTRAND_COMPLETE" not in os.environ or name is None:
        return []
    line = os.environ[name]
    if ahead := _AHEAD.match(line):
        line = os.environ[name] = ahead[1] + line[ahead.end() :]
        if (place := os.environ.get("COMP_CWORD", "")).isdecimal():
            os.environ["COMP_CWORD"] = str(int(place) - len(ahead[2].split()))
    return line.split()[1:]


def systems(context: typer.Context, incomplete: str) -> list[str]:
    """Systems that begin so, those of ``[matrix]`` included."""
    table = _table(context)
    written = table.get("systems")
    names = list(written) if isinstance(written, dict) else []
    if "matrix" in table:
        from layoutrand.config.matrix import expand

        names += expand(table["matrix"], names, lambda _axis, _settings: [])[0]
    return [name for name in names if name.startswith(incomplete)]


def benchmarks(context: typer.Context, incomplete: str) -> list[str]:
    """Benchmarks that begin so, as they are written in the file; those of a suite are not known here."""
    entries = _table(context).get("benchmarks")
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [name for name in names if isinstance(name, str) and name.startswith(incomplete)]


def _table(context: typer.Context) -> Mapping[str, Any]:
    """What the project's file has: of the directory that stands on the line, or of this one.

    A shell asks before it puts the home directory for ``~``. A directory that is refused is None, and has no names.
    """
    from layoutrand.errors import LayoutrandError
    from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

    directory = context.params.get("directory", Path())
    if directory is None:
        return {}
    try:
        file = project_of(Path(os.path.expanduser(directory))) / CONFIG_NAME
        return tomllib.loads(text_of_regular(file, largest=WRITTEN_BY_HAND))
    except (OSError, ValueError, RecursionError, LayoutrandError):
        return {}
