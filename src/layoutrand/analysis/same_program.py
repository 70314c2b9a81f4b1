"""Whether two systems are one program: what was executed of both is the same to the byte, with the same arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutrand.analysis.selection import Selection
from layoutrand.model import STOCK, BinaryName, Execution


@dataclass(frozen=True)
class SameProgram:
    """Why two systems are one program on a benchmark.

    ``n_layouts`` counts the layouts that both were executed in, stock among them.  ``own_builds_differ`` where the
    other binaries, which are compared, are the same, but stock, each system's own build, is not.  ``is_itself`` where
    a system is compared with itself.
    """

    n_layouts: int
    own_builds_differ: bool = False
    is_itself: bool = False

    @property
    def n_same(self) -> int:
        """In how many layouts both are the same to the byte."""
        return self.n_layouts - self.own_builds_differ

    def __str__(self) -> str:
        if self.is_itself:
            return "both sides are the same system"
        if not self.n_same:
            return "both systems have the same capture"
        own = "; only your own builds (stock) differ, which are not compared here" if self.own_builds_differ else ""
        if self.n_same == 1:  # as of a harness that knows no layouts
            return f"the binaries are the same to the byte in the one layout of both{own}"
        layouts = f"{self.n_same} layouts of both, controls included"
        return f"the binaries are the same to the byte in all {layouts}{own}"


def same_program(selection: Selection, benchmark: str, baseline: str, candidate: str) -> SameProgram | None:
    """Whether two systems are one program on this benchmark; None where they are not, or nothing tells.

    The same capture with the same arguments is; and so is another one whose files are the same in every layout that
    both have, where the file is all of the program.  Imported results tell by digests of all that was executed, as
    `export` writes them and SPEC records them.
    """
    programs = selection.programs
    if selection.sources:
        same = _same_files(*(programs.digests.get((system, benchmark), {}) for system in (baseline, candidate)))
        return same if same is not None and same.n_same else None
    executed = [_of(selection, system, benchmark) for system in (baseline, candidate)]
    if not all(executed):
        return None
    files: list[dict[BinaryName, str]] = [{e.layout: e.binary_sha256 for e in own} for own in executed]
    same = _same_files(*files)
    captures = [{e.capture for e in own} for own in executed]
    if same is None or captures[0] == captures[1]:
        return same
    alike = programs.arguments.get(baseline) == programs.arguments.get(candidate)
    return same if same.n_same and alike and benchmark in programs.told_by_file else None


def _same_files(baseline: Mapping[BinaryName, str], candidate: Mapping[BinaryName, str]) -> SameProgram | None:
    """By digests of what was executed in each layout; None where one differs, other than stock, or is not known."""
    common = [layout for layout in baseline if layout in candidate]
    differing = [layout for layout in common if baseline[layout] != candidate[layout]]
    is_known = all(each[layout] for each in (baseline, candidate) for layout in common)
    if not is_known or differing not in ([], [STOCK]):
        return None
    return SameProgram(len(common), own_builds_differ=bool(differing))


def _of(selection: Selection, system: str, benchmark: str) -> list[Execution]:
    return [e for e in selection.executions if e.system == system and e.benchmark == benchmark and e.binary_sha256]
