"""What every command can be told about its output: whether in colour, and whether to say more."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from layoutrand.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

_WHEN: Final = ("auto", "always", "never")
_MORE: Final = frozenset({"-v", "--verbose"})
_COLOR: Final = frozenset({"--color", "--colour"})
_END: Final = "--"


@dataclass(frozen=True)
class Appearance:
    """How output looks: in colour "always", "never" or, as "auto", on a terminal; ``is_verbose`` for all there is."""

    color: str = "auto"
    is_verbose: bool = False


_chosen: list[Appearance] = [Appearance()]


def appearance() -> Appearance:
    """What was chosen for this command."""
    return _chosen[0]


def choose(found: Appearance) -> None:
    """Have all output of this process look so; with colours asked for, NO_COLOR of the environment does not count."""
    _chosen[0] = found


def taken_out(arguments: Sequence[str], whole: frozenset[str]) -> tuple[list[str], Appearance]:
    """The arguments without the options that all commands have, and what these say; raises `UsageError`.

    Behind ``--`` nothing is looked at, and behind the name of a command in ``whole``, which executes another one,
    nothing unless there is a ``--``.
    """
    end = arguments.index(_END) if _END in arguments else len(arguments)
    if end == len(arguments):
        end = next((place + 1 for place, word in enumerate(arguments) if word in whole), end)
    kept: list[str] = []
    color, is_verbose = "auto", False
    words = iter(arguments[:end])
    for word in words:
        name, _, value = word.partition("=")
        if word in _MORE:
            is_verbose = True
        elif name in _COLOR:
            color = value or next(words, "")
            if color not in _WHEN:
                raise UsageError(f"{name} {color}".rstrip() + ": choose auto, always or never")
        else:
            kept.append(word)
    return [*kept, *arguments[end:]], Appearance(color, is_verbose)


def console(**settings: Any) -> Console:
    """A console of rich in the colours that were chosen."""
    color = appearance().color
    if color == "always":  # NO_COLOR was meant for those who did not ask
        settings |= {"force_terminal": True, "no_color": False}
    elif color == "never":  # nothing bold either, as of ls, grep and git; NO_COLOR is about colours alone
        settings |= {"color_system": None}
    from rich.console import Console

    return Console(**settings)


def show_log(log: Path, begin: int) -> None:
    """What a program of a build has printed, from that byte of its log on."""
    with log.open("rb") as file:
        file.seek(begin, os.SEEK_SET)
        sys.stderr.write(file.read().decode("utf-8", "backslashreplace"))
