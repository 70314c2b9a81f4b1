"""Which files of the project executions need: what is carried to nodes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from layoutrand.config.config import Benchmark, Config
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
    names += _read_by("run.launcher", config.run.launcher, project)
    names += [system.prebuilt for system in config.systems.values() if system.prebuilt is not None]
    if config.build.image is not None:
        names.append(config.build.image.template)
    return [name for name in dict.fromkeys(names) if not os.path.isabs(name)]


def missing_in_directory(config: Config, project: Path) -> list[str]:
    """A sentence for each word of a command that names a file of the project, as if executions were made there.

    They are made in fresh directories, which hold copies of ``files`` and nothing else.
    """
    if config.suite is not None:  # its commands are not the user's, and its executions have files of their own
        return []
    found = []
    for benchmark in config.benchmarks:
        copied = {Path(name).name for name in benchmark.files}
        for place, word in enumerate(benchmark.command):
            name = word.partition("=")[2] if word.startswith("-") and "=" in word else word
            path = Path(name)
            if not name or "{" in name or path.is_absolute() or copied & {*path.parts[:1]}:
                continue
            if place == 0 and "/" not in name and shutil.which(name) is not None:
                continue
            if os.path.isfile(project / path):  # as opposed to Path.is_file it takes a word of any length
                whose = "outside" if ".." in path.parts else "of"
                copy = f"{word.removesuffix(name)}{'./' * (place == 0)}{path.name}"
                lists = "" if path.name in copied else "list it in `files` and "
                found.append(
                    f"benchmark {benchmark.name!r}: each execution has a fresh working directory, so {word!r} does not "
                    f"name the file {whose} the project there: write {word.removesuffix(name)}{{project}}/"
                    f"{os.path.normpath(name)}, or {lists}write {copy}, as the copy that each execution has is called"
                )
    return found


def _named(benchmark: Benchmark, project: Path) -> Iterator[str]:
    """What the words of a command name within the project."""
    yield from _read_by(f"benchmark {benchmark.name!r}", (*benchmark.command, *benchmark.env.values()), project)


def _read_by(whose: str, words: Iterable[str], project: Path) -> Iterator[str]:
    for word in words:
        if _PROJECT not in word:
            continue
        named = _PLACE.findall(word)
        if len(named) < word.count(_PROJECT) or not all(name and os.path.lexists(project / name) for name in named):
            raise UsageError(
                f"{whose}: nobody can tell what {word!r} reads from the project's directory, "
                "which nodes do not have: name a file or directory that exists, as in {project}/inputs/a.txt, or list "
                "what is read in `files`, of which each execution has copies in its working directory"
            )
        yield from named
