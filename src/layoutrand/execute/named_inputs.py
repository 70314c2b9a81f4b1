"""Files that a benchmark's command line names, and that were changed after executions that read them.

What ``files``, ``stdin`` and ``expect_stdout`` name is part of a benchmark, by its content.  A path among the words of
a command is not: the program may as well write there.  So executions stay what they were, and it is told.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from os import stat_result
from pathlib import Path
from typing import Final

from layoutrand.config.config import Benchmark
from layoutrand.execute.output_warnings import InputChanged, MixedInputs, UnlikeOutputs
from layoutrand.execute.unlike_outputs import outputs_of
from layoutrand.model import Execution
from layoutrand.platform.regular_file import beginning

_APART: Final = re.compile(r"[\s;|&<>()'\"]+")
"""What stands between the words of a shell's command."""

_ELF: Final = b"\x7fELF"
_OWN: Final = "/.layoutrand/"
_SECONDS: Final = 1.0
"""After the end of an execution, in which a file's time may still be its doing."""


def unlike_work(
    executions: Sequence[Execution], benchmarks: Mapping[str, Benchmark], project: Path
) -> tuple[list[UnlikeOutputs], list[InputChanged]]:
    """Where these executions of a project on this machine may not have done the same: what they print, what they read.

    What is printed is not compared where some have read another input: it is no wonder then.
    """
    read = changed_inputs(executions, benchmarks, project)
    mixed = {each.benchmark for each in read if isinstance(each, MixedInputs)}
    return outputs_of([each for each in executions if each.benchmark not in mixed], project), read


def changed_inputs(
    executions: Iterable[Execution], benchmarks: Mapping[str, Benchmark], project: Path
) -> list[InputChanged]:
    """One warning for each benchmark and file that its executions on this machine name, and that is younger than some.

    Not of programs, which are known by their content, nor of a file that was changed while one of them was executed,
    which so is what it writes.
    """
    project = project.resolve()
    by_command: dict[tuple[str, tuple[str, ...]], dict[float, float]] = {}
    for each in executions:
        if not each.node:  # a file's time is that of this machine
            by_command.setdefault((each.benchmark, each.argv), {})[each.started_at] = each.wall_s
    named: dict[tuple[str, Path], dict[float, float]] = {}
    for (name, argv), times in by_command.items():
        known = _by_content(benchmarks[name], project) if name in benchmarks else set()
        for path in _paths(argv) - known:
            named.setdefault((name, path), {}).update(times)
    changed_at = {path: _changed_at(path) for path in {path for _, path in named}}
    found = []
    for (name, path), times in sorted(named.items()):
        since = changed_at[path]
        if since is None:
            continue
        before = bisect_right(starts := sorted(times), since)
        if before and since > starts[before - 1] + times[starts[before - 1]] + _SECONDS:
            inside = path.relative_to(project) if path.is_relative_to(project) else path
            kind = InputChanged if before == len(starts) else MixedInputs
            found.append(kind(name, str(inside), before, len(starts)))
    return found


def _by_content(benchmark: Benchmark, project: Path) -> set[Path]:
    named = (*benchmark.files, benchmark.stdin, benchmark.expect_stdout)
    return {(project / name).resolve() for name in named if name is not None}


def _paths(argv: Sequence[str]) -> set[Path]:
    """Files in a command line, by absolute paths: words, what stands behind a ``=``, words of what a shell is given.

    >>> sorted(map(str, _paths(["prog", "/a b", "--in=/c", "-x", "cat /d|sort > /e"])))
    ['/a', '/a b', '/c', '/d', '/e']
    """
    words = {part for word in argv for part in (word, *_APART.split(word))}
    words |= {word.partition("=")[2] for word in words}
    return {Path(word).resolve() for word in words if word.startswith("/") and _OWN not in word and "\0" not in word}


def _changed_at(path: Path) -> float | None:
    """When the content of a file was changed, in seconds since the epoch; None where it is none, or a program."""
    try:
        found: stat_result = path.stat()
        if not stat.S_ISREG(found.st_mode) or beginning(path, len(_ELF)) == _ELF:
            return None
    except (OSError, ValueError):
        return None
    return found.st_mtime
