"""What is told where the loader, the C library or the loader's cache was not the same in all executions."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from layoutrand.analysis.analysis_warnings import LeftOutExecutions
from layoutrand.warning import AnyWarning


def file_names(paths: Collection[str]) -> str:
    """The names of the files, in words."""
    *first, last = sorted(os.path.basename(path) for path in paths)
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class OtherStartFiles(LeftOutExecutions):
    """Of files other than those of most executions; ``files`` are the paths that changed."""

    benchmark: str
    files: tuple[str, ...]

    @property
    def _parts(self) -> tuple[str, str]:
        return f"{self.benchmark}: ", (
            f"another {file_names(self.files)} than most had, since it was changed while this was measured"
        )


@dataclass(frozen=True)
class StartFilesWarning(AnyWarning):
    """Too many executions of each state of ``files`` to leave those of one out.

    It is about one benchmark, measured by one instrument, where all systems ``of`` are looked at: one of which the
    executions are mixed, or two of which each has its own.
    """

    benchmark: str
    instrument: str
    of: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def _what(self) -> str:
        changed = file_names(self.files)
        if len(self.of) > 1:
            return f"{self.benchmark}: {' and '.join(self.of)} were executed with different {changed}"
        return f"{self.benchmark}: the executions of {''.join(self.of)} were made with different {changed}"


@dataclass(frozen=True)
class UnlikeCode(StartFilesWarning):
    """The loader or the C library: other code, which takes its own time, under the program."""

    def __str__(self) -> str:
        return (
            f"{self._what}, which are code themselves: a difference between systems or layouts may be theirs. Execute "
            "more layouts with what is there now: what was before is left out once it is at most a third of the "
            "executions of each system"
        )


@dataclass(frozen=True)
class UnlikeCache(StartFilesWarning):
    """The loader's cache, which changes how many instructions a start takes."""

    def __str__(self) -> str:
        return (
            f"{self._what}, which changes how many instructions each start takes (`ldconfig` writes it): small "
            "differences may be its"
        )


@dataclass(frozen=True)
class StartFilesByNode(AnyWarning):
    """Nodes of which each has its own."""

    benchmark: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.benchmark}: nodes have different {file_names(self.files)}; what that adds is part of what a node "
            "adds, and not of layouts or systems"
        )
