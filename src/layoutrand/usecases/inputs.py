"""Which files of the project executions need: what is carried to nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from layoutrand.core.config import Benchmark, Config
from layoutrand.errors import UsageError

_PROJECT: Final = "{project}"
_PLACE: Final = re.compile(r"\{project\}/([^\0:;,=]*)")


def inputs_of(config: Config, benchmarks: Sequence[Benchmark], project: Path) -> list[str]:
    """Names relative to the project: files and directories that benchmarks, images and prebuilt systems are made of.

    What has an absolute name is not carried.  Raises `UsageError` for a word with ``{project}`` that names no file, of
    which nobody can tell what it needs.
    """
    names = [name for b in benchmarks for name in (b.stdin, b.expect_stdout, *b.files) if name is not None]
    names += [name for benchmark in benchmarks for name in _named(benchmark, project)]
    names += [system.prebuilt for system in config.systems.values() if system.prebuilt is not None]
    if config.build.image is not None:
        names.append(config.build.image.template)
    return [name for name in dict.fromkeys(names) if not os.path.isabs(name)]


def _named(benchmark: Benchmark, project: Path) -> Iterator[str]:
    """What the words of a command name within the project."""
    for word in (*benchmark.command, *benchmark.env.values()):
        if _PROJECT not in word:
            continue
        named = _PLACE.findall(word)
        if len(named) < word.count(_PROJECT) or not all(name and os.path.lexists(project / name) for name in named):
            raise UsageError(
                f"benchmark {benchmark.name!r}: nobody can tell what {word!r} reads from the project's directory, "
                "which nodes do not have: name a file or directory that exists, as in {project}/inputs/a.txt, or list "
                "what is read in `files`, of which each execution has copies in its working directory"
            )
        yield from named
