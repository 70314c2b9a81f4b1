"""Programs that were built to write profiles at fixed places (``--coverage``, ``-fprofile-generate``).

gcc and clang put the absolute path of each ``.gcda`` file into the program: beside the object, in the private copy
that was built. An execution reads the file that is there, adds to it, and writes it back: it depends on all that were
executed before, of whatever layout, and nothing of that lies in the directories that each execution has for itself.
"""

from __future__ import annotations

import os
from pathlib import Path

from layoutrand.execute.run_plan import RunRequest
from layoutrand.platform.regular_file import ANY, open_regular

_PREFIX = "GCOV_PREFIX"
_ENDING = b".gcda\0"
_AT_ONCE = 1 << 22
_LONGEST = 4096
"""Bytes of a path."""


def shared_profiles(request: RunRequest) -> list[str]:
    """A line for each artefact whose executions share profiles, with what gives each execution its own."""
    config, binaries, chosen = request.config, request.built.binaries, request.choices.benchmarks
    sharing: dict[str, list[str]] = {}
    for benchmark in config.benchmarks:
        if _PREFIX not in benchmark.env and (not chosen or benchmark.name in chosen):
            for artefact in benchmark.needs(config.build):
                sharing.setdefault(artefact, []).append(benchmark.name)
    lines = []
    for artefact, names in sharing.items():
        # What all layouts of a program have in common, a file that is whole has, too.
        files = {binary.system: binary.base or binary.path for binary in binaries if binary.artefact == artefact}
        found = {system: path for system, file in files.items() if (path := _named_in(file))}
        if found:
            others = " and the others" if len(names) > 1 else ""
            lines.append(
                f"{', '.join(found)}: {artefact} was built to write profiles (--coverage, -fprofile-generate), to "
                f"{next(iter(found.values()))} and the like: each execution reads what those before it have left, of "
                f'whatever layout, and adds to it; env = {{ {_PREFIX} = "{{tmp}}" }} of benchmark {names[0]!r}{others} '
                "gives each execution its own"
            )
    return lines


def _named_in(path: Path) -> str:
    """The first absolute path of a profile that the file names, "" where there is none.

    Of a file that cannot be read nothing is said: it is told where it is to be executed.
    """
    before = b""
    try:
        with open_regular(path, largest=ANY) as file:
            while some := file.read(_AT_ONCE):  # some programs have gigabytes
                if found := _profile(before + some):
                    return found
                before = some[-_LONGEST:]
    except OSError:
        pass
    return ""


def _profile(data: bytes) -> str:
    """The first absolute path of a profile in a part of a program, "" where there is none."""
    end = data.find(_ENDING)
    while end >= 0:
        begin = data.rfind(b"\0", 0, end) + 1
        if data[begin : begin + 1] == b"/":
            return os.fsdecode(data[begin : end + len(_ENDING) - 1])
        end = data.find(_ENDING, end + 1)
    return ""
