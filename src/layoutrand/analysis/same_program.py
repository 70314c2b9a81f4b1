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

    def __str__(self) -> str:
        if self.is_itself:
            return "both sides are the same system"
        if self.n_layouts <= self.own_builds_differ:
            return "both systems have the same capture"
        own = "; only your own builds (stock) differ, which are not compared here" if self.own_builds_differ else ""
        n_same = self.n_layouts - self.own_builds_differ
        if n_same == 1:  # as of a harness that knows no layouts
            return f"the binaries of both are the same to the byte in the one layout that they have in common{own}"
        layouts = f"{n_same} layouts that they have in common, controls included"
        return f"the binaries of both are the same to the byte in all {layouts}{own}"


def same_program(selection: Selection, benchmark: str, baseline: str, candidate: str) -> SameProgram | None:
    """Whether two systems are one program on this benchmark; None where they are not, or nothing tells.

    The same capture with the same arguments is; and so is another one whose files are the same in every layout that
    both have, where the file is all of the program.  Imported results tell by digests that `export` writes.
    """
    if selection.sources:
        told = [selection.programs.digests.get((system, benchmark), {}) for system in (baseline, candidate)]
        return _same_digests(*told)
    executed = [_of(selection, system, benchmark) for system in (baseline, candidate)]
    if not all(executed):
        return None
    captures = [{e.capture for e in own} for own in executed]
    files = [{e.layout: e.binary_sha256 for e in own} for own in executed]
    common = [layout for layout in files[0] if layout in files[1]]
    differing = [layout for layout in common if files[0][layout] != files[1][layout]]
    own_builds_differ = differing == [STOCK]
    if differing and not own_builds_differ:
        return None
    if captures[0] == captures[1]:
        return SameProgram(len(common), own_builds_differ)
    if own_builds_differ and len(common) == 1:
        return None
    programs = selection.programs
    alike = programs.arguments.get(baseline) == programs.arguments.get(candidate)
    if common and alike and benchmark in programs.told_by_file:
        return SameProgram(len(common), own_builds_differ)
    return None


def _same_digests(baseline: Mapping[BinaryName, str], candidate: Mapping[BinaryName, str]) -> SameProgram | None:
    """The same of imported results; None where a layout that both have lacks a digest."""
    common = [layout for layout in baseline if layout in candidate]
    if not common or not all(each[layout] for each in (baseline, candidate) for layout in common):
        return None
    differing = [layout for layout in common if baseline[layout] != candidate[layout]]
    own_builds_differ = differing == [STOCK]
    if differing and (not own_builds_differ or len(common) == 1):
        return None
    return SameProgram(len(common), own_builds_differ)


def _of(selection: Selection, system: str, benchmark: str) -> list[Execution]:
    return [e for e in selection.executions if e.system == system and e.benchmark == benchmark and e.binary_sha256]
