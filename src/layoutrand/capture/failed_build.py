"""What a build that has failed, or linked nothing, said about it, and what may be behind that."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from layoutrand.capture.objects import slim_message
from layoutrand.capture.workspace import Workspace
from layoutrand.capture.worktree import empty_submodules
from layoutrand.config.build_recipe import PROMPT
from layoutrand.errors import BuildFailed, FeatureUnsupported
from layoutrand.link.lto import is_slim
from layoutrand.objects import elf
from layoutrand.platform.disk import tail
from layoutrand.platform.regular_file import PROGRAM, content_of_regular
from layoutrand.text.name_lists import several_paths
from layoutrand.text.telling_line import of_build, of_left_out
from layoutrand.text.toml_words import toml_string

LINES: Final = 5000
"""The last lines of a build's output, in which what it failed for is looked for."""

_OF_LLD: Final = re.compile(r"\berror: undefined symbol: ")

_LITTLE: Final = 1 << 20  # bytes
_LAST_LINES: Final = 20
_BY_SIGNAL: Final = 128
"""From this status on a signal ended a shell, or what it executed."""


def failed_build(what: str, status: int, log: Path, space: Workspace, folder: Path | None) -> BuildFailed:
    """The error with what the build said about it, in names that are the same in every build.

    ``folder`` is the directory that was built, None for a commit of a repository.
    """
    output = _output(log, space)
    said = of_build(output)
    told = f"it says:\n{_indent(said)}" if said else f"the end of its output:\n{_indent(_end(output))}"
    full = _full_disk_hint(space.base)
    hints = f"{_stale_cmake_hint(output)}{_slim_hint(output, space.tree)}{_submodules_hint(folder)}{full}"
    cause = f"exited with status {status}; {told}{hints}"
    error = BuildFailed(f"{what} {cause}", log=log, cause=f"the build {cause}")
    if 0 < status < _BY_SIGNAL and not full:
        error.status = status
    return error


def left_out_by_build(log: Path, space: Workspace, folder: Path | None) -> str:
    """What a build that succeeded says it goes without, and submodules that have no file; "" where there is neither.

    ``folder`` is as of `failed_build`.
    """
    said = of_left_out(_output(log, space))
    told = f"\nThe build says:\n{_indent(said)}" if said else ""
    return f"{told}{_submodules_hint(folder)}"


def _output(log: Path, space: Workspace) -> str:
    output = tail(log, LINES)
    for directory in (space.tree, space.wrappers):
        output = output.replace(f"{directory}/", "")
    return re.sub(rf"{re.escape(str(space.temporary))}/cc\w+", "cc*", output)


def _end(output: str) -> str:
    """The last lines of the command that failed; that command, where it printed nothing."""
    lines = output.splitlines()
    begun = max((place for place, line in enumerate(lines) if line.startswith(PROMPT)), default=-1)
    return "\n".join((lines[begun + 1 :] or lines[begun:])[-_LAST_LINES:])


def _stale_cmake_hint(output: str) -> str:
    """What to do where CMake finds a build of the user's own, which was copied with the source."""
    # in a sentence that CMake breaks into lines where it likes
    found = re.search(r"current\s+CMakeCache\.txt\s+directory\s+(\S*?)/?CMakeCache\.txt\s+is\s+different", output)
    if found is None:
        return ""
    names = ", ".join(map(toml_string, [found[1]] if found[1] else ["CMakeCache.txt", "CMakeFiles"]))
    return f"\nThe source has a build of your own in it, which was copied, too: build.exclude = [{names}] leaves it out"


def _slim_hint(output: str, tree: Path) -> str:
    """What to do where lld was given objects of gcc that have no machine code: to lld they define nothing."""
    if _OF_LLD.search(output) is None:
        return ""
    for path in sorted(tree.rglob("*.o")):
        with suppress(OSError, FeatureUnsupported):  # a link to nowhere; no object of this machine
            if is_slim(elf.read(content_of_regular(path, largest=PROGRAM), name=path.name)):
                return f"\n{slim_message(str(path.relative_to(tree)))}"
    return ""


def _submodules_hint(folder: Path | None) -> str:
    """What to do where submodules were never checked out, as after a clone without ``--recurse-submodules``."""
    empty = [] if folder is None else empty_submodules(folder)
    if not empty:
        return ""
    whose = "a submodule" if len(empty) == 1 else "submodules"
    command = f"git -C {shlex.quote(str(folder))} submodule update --init --recursive"
    return f"\nThe source has {whose} without any file: {several_paths(empty)}. If the build needs it: {command}"


def _full_disk_hint(folder: Path) -> str:
    free = shutil.disk_usage(folder).free
    return f"\nNo space left on device for {folder}, perhaps: only {free >> 10} KiB are free" if free < _LITTLE else ""


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
