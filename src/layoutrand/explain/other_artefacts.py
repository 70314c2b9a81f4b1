"""Which other artefacts of a build may have the cost that the one of a benchmark has not."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from layoutrand.config.command import Places, fill_in
from layoutrand.config.config import Benchmark, Config


def others_of(benchmark: Benchmark, artefact: str, config: Config) -> tuple[tuple[str, ...], str]:
    """The artefacts that are executed beside the benchmark's, likeliest first, and the one that its command starts."""
    program = started_artefact(benchmark.command, artefact, config.build.artefacts)
    return other_artefacts(artefact, program, benchmark.needs(config.build)), program


def started_artefact(command: Sequence[str], artefact: str, artefacts: Sequence[str]) -> str:
    """The artefact that a benchmark's command starts, where ``artefact`` is the benchmark's; "" for none of these.

    It is the first that is named, since what starts programs stands before them.
    """
    places = Places(artefact, posixpath.dirname(artefact) or ".", project="", home="", tmp="")
    for word in command:
        path = fill_in(word, places)
        if path != word and posixpath.normpath(path) in artefacts:
            return posixpath.normpath(path)
    return ""


def other_artefacts(artefact: str, program: str, artefacts: Sequence[str]) -> tuple[str, ...]:
    """All but ``artefact``: the ``program`` that is started first, then libraries, and last other programs.

    A library is loaded by a program, while most programs start no other one.
    """
    others = [each for each in artefacts if each != artefact]
    return tuple(sorted(others, key=lambda each: (each != program, ".so" not in posixpath.basename(each))))
