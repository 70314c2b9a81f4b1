"""From a benchmark's definition to the words and the environment of one execution; pure.

The environment is made new, so that nothing of the caller's session (its length above all) reaches the program:
the size of the environment moves the stack and has made one binary look faster than another before.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from layoutrand.layout.keyed import keyed_uniform

SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARGS: Final = "{args}"
ARTEFACT: Final = "{artefact}"
LAUNCHER: Final = "{launcher}"
JOBS: Final = "{jobs}"
"""Of the commands of a build, which have no other placeholder."""
PLACEHOLDERS: Final = frozenset({"args", "artefact", "artefact_dir", "home", "launcher", "project", "tmp"})
PADDING_VARIABLE: Final = "LAYOUTRAND_PAD"
MAX_PADDING: Final = 4096
_ALMOST: Final = 0.8
"""Of `difflib`'s ratio: one letter of four may be missing or be too many."""
_ALONE: Final = re.compile(r"(?<!\{)\{([A-Za-z_]+)\}(?!\})")
_IN_SHELL: Final = re.compile(r"(?P<jobs>-j *|--(?:jobs|parallel)[= ] *)?(?<![${])\{(?P<name>[A-Za-z_]+)\}(?!\})")
_IN_BRACES: Final = re.compile(r"\{[A-Za-z_]+\}")
_DOUBLED: Final = re.compile(r"\{(\{[A-Za-z_]+\})\}")
_PLACEHOLDER: Final = re.compile(r"\{\{([A-Za-z_]+)\}\}|\{([A-Za-z_]+)\}")


@dataclass(frozen=True)
class Places:
    """Where one execution happens, absolute paths: what the placeholders and the environment stand for.

    ``home`` is the user's home directory, ``prebuilt`` the directory of a prebuilt system or "", ``args`` the system's
    own words, and ``launcher`` those of ``run.launcher``.
    """

    artefact: str
    artefact_dir: str
    project: str
    home: str
    tmp: str
    prebuilt: str = ""
    args: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()


def starts_java(words: Sequence[str]) -> bool:
    """Whether a command starts a JVM itself: what a build command never does first."""
    return bool(words) and posixpath.basename(words[0]) == "java"


def placeholders_in(word: str) -> list[str]:
    """The names of what must be placeholders in it; of braces inside others, as programs of awk have, nobody knows."""
    return _ALONE.findall(word)


def meant_for_jobs(command: str) -> list[str]:
    """Names in braces that a build's command has where `JOBS` must be meant: as the number of jobs, or spelt almost so.

    Of others nobody knows: braces are awk's and the shell's, too.

    >>> meant_for_jobs("make -j{n} && ninja -j{jobs}"), meant_for_jobs("make -j${JOBS} && awk '{print}' {job}")
    (['n'], ['job'])
    """
    found = [(match["jobs"], match["name"]) for match in _IN_SHELL.finditer(command)]
    return [
        name
        for jobs, name in found
        if f"{{{name}}}" != JOBS and (jobs or get_close_matches(name.lower(), ["jobs"], cutoff=_ALMOST))
    ]


def literally(word: str) -> str:
    """The word as it must stand in a command, where names in braces are placeholders."""
    return _IN_BRACES.sub(r"{\g<0>}", word)


def literal_in(word: str) -> str:
    """What `literally` was given.

    >>> literal_in(literally("a{b}")), literal_in("[0-9]{2}")
    ('a{b}', '[0-9]{2}')
    """
    return _DOUBLED.sub(r"\1", word)


def fill_in(word: str, places: Places) -> str:
    """Replace all of `PLACEHOLDERS` but ``{args}``; ``{launcher}`` is quoted for a shell.

    ``{{name}}`` is ``{name}`` itself.
    """
    if "{" not in word:
        return word
    values = {
        "artefact": places.artefact,
        "artefact_dir": places.artefact_dir,
        "home": places.prebuilt,
        "launcher": shlex.join(places.launcher),
        "project": places.project,
        "tmp": places.tmp,
    }

    def replace(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        return f"{{{escaped}}}" if escaped else values.get(name, match.group(0))

    return _PLACEHOLDER.sub(replace, word)


def arguments(command: Sequence[str], places: Places) -> tuple[str, ...]:
    """The argument vector of one execution: ``{args}`` and ``{launcher}`` as words become as many as there are.

    A launcher that the command does not place itself stands before all of it.
    """
    words = [] if places_launcher(command) else [*places.launcher]
    several = {ARGS: places.args, LAUNCHER: places.launcher}
    for word in command:
        words += several[word] if word in several else [fill_in(word, places)]
    return tuple(words)


def places_launcher(command: Sequence[str]) -> bool:
    """Whether a command says itself where ``run.launcher`` stands."""
    return any("launcher" in placeholders_in(word) for word in command)


def begins_with_program(command: Sequence[str]) -> bool:
    """Whether the first word names a file of the system that is executed, and not what starts it."""
    return bool({"artefact", "artefact_dir", "home"} & set(placeholders_in(command[0])))


def environment(own: Mapping[str, str], places: Places, padding: int | None) -> dict[str, str]:
    """The whole environment of one execution: a fixed base, the benchmark's ``own`` variables, the padding.

    ``padding`` bytes are the value of `PADDING_VARIABLE`; None leaves the variable out.
    """
    base = {"PATH": SYSTEM_PATH, "HOME": places.home, "LANG": "C.UTF-8", "TMPDIR": places.tmp}
    result = base | {name: fill_in(value, places) for name, value in own.items()}
    if padding is not None:
        result[PADDING_VARIABLE] = "x" * padding
    return result


def padding_size(schedule_seed: int, slot_identity: bytes) -> int:
    """Bytes of padding, 0 ... 4095, that this slot has in every run of the schedule."""
    return keyed_uniform(schedule_seed, "env-size", slot_identity, MAX_PADDING)
