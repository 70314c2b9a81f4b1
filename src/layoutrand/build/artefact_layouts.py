"""All layouts of one captured artefact: found in the cache, or linked, here or by nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layoutrand.build.binaries import cached_binary
from layoutrand.build.build_setup import BuildSetup, LinkingNodes, threads
from layoutrand.build.build_warnings import LearnedAgain, LinkedAllTheSame
from layoutrand.build.linking import Linking, Reference
from layoutrand.build.permuting import PAYS_FROM, Permuting
from layoutrand.cache.capture_record import Capture, CapturedLink
from layoutrand.capture.libraries import companions
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import Binary, BuildFailure, LayoutName
from layoutrand.platform.process import InTurn
from layoutrand.warning import AnyWarning


@dataclass(frozen=True)
class ArtefactTask:
    """Linking one artefact of one capture, for this build."""

    setup: BuildSetup
    linking: Linking

    @property
    def link(self) -> CapturedLink:
        """The captured link."""
        return self.linking.link

    def cached(self, layouts: Sequence[LayoutName]) -> tuple[dict[LayoutName, Binary], list[LayoutName]]:
        """Those layouts that are in the cache, whole; and those that are there damaged."""
        # Before they are read: another process may be making them at this moment.
        key, cache = self.linking.key, self.setup.cache
        there = [layout for layout in layouts if cache.has_entry(key(layout))]
        names = (self.linking.capture.system, self.link.artefact)
        # Most of it is hashing, which needs no lock of the interpreter.
        with threads(self.setup, self.setup.jobs) as pool:
            found = pool.map(lambda layout: cached_binary(cache, *names, layout, key(layout)), layouts)
            whole = {layout: binary for layout, binary in zip(layouts, found, strict=True) if binary is not None}
        return whole, [layout for layout in there if layout not in whole]

    def make(self, layout: LayoutName, own_scratch: Callable[[], Path]) -> Binary | BuildFailure:
        """Link, verify and store one layout in the thread's own scratch; an error becomes a record that names it."""
        try:
            return self.linking.make(layout, own_scratch)
        finally:
            self.setup.progress.advance()


def artefact_layouts(
    task: ArtefactTask, layouts: Sequence[LayoutName], found: Mapping[LayoutName, Binary]
) -> list[Binary | BuildFailure]:
    """Every layout of one artefact: ``found`` in the cache, or linked now."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    missing = [layout for layout in layouts if layout not in results]
    for _ in found:
        task.setup.progress.advance()
    # One thread more than linkers, so that none of these waits while layouts are drawn and binaries verified; builds
    # that are made meanwhile take turns, too.
    jobs = task.setup.jobs
    if task.linking.permuting is not None:
        task.linking.permuting.expect(sum(isinstance(layout, int) for layout in missing))
    task = replace(task, linking=replace(task.linking, runner=InTurn(task.setup.runner, task.setup.turns)))
    with task.setup.cache.thread_scratch("link") as own_scratch, threads(task.setup, jobs + (jobs > 1)) as pool:
        if task.setup.nodes is not None:
            results |= _on_nodes(task, task.setup.nodes, missing, found, own_scratch)
        else:
            results |= dict(zip(missing, pool.map(lambda layout: task.make(layout, own_scratch), missing), strict=True))
    return [results[layout] for layout in layouts]


def _on_nodes(
    task: ArtefactTask,
    nodes: LinkingNodes,
    missing: Sequence[LayoutName],
    found: Mapping[LayoutName, Binary],
    own_scratch: Callable[[], Path],
) -> dict[LayoutName, Binary | BuildFailure]:
    """The missing layouts, linked by nodes: all but the first that can be, which is linked here for them to repeat."""
    results: dict[LayoutName, Binary | BuildFailure] = dict(found)
    for layout in missing:
        if not task.linking.few() and any(isinstance(result, Binary) for result in results.values()):
            break
        results[layout] = task.make(layout, own_scratch)
    left = [layout for layout in missing if layout not in results]
    first = next((result for result in results.values() if isinstance(result, Binary)), None)
    if left and first is not None:
        reference = Reference(first.layout, first.sha256)
        results |= nodes.link(task.linking, left, reference, task.setup.progress.advance)
    return {layout: results[layout] for layout in missing}


def permuting_of(setup: BuildSetup, capture: Capture, number: int, ld: Tool) -> Permuting | None:
    """What writes the layouts of the capture's ``number``-th artefact without the linker, where that is asked for."""
    policy = setup.config.layout
    here = policy.engine != "link" and setup.nodes is None
    return Permuting(setup.cache, capture, number, policy, ld) if here else None


def remarks_on_writing(task: ArtefactTask) -> list[AnyWarning]:
    """What there is to say of what writes layouts without the linker."""
    permuting = task.linking.permuting
    return [LearnedAgain(task.linking.capture.system, task.link.artefact)] if permuting and permuting.lost else []


def linked_all_the_same(task: ArtefactTask, row: Sequence[Binary | BuildFailure]) -> list[LinkedAllTheSame]:
    """What there is to say of layouts that were to be written without the linker, and were linked."""
    engine, permuting = task.setup.config.layout.engine, task.linking.permuting
    seeds = [each for each in row if isinstance(each, Binary) and isinstance(each.layout, int) and not each.cached]
    linked = sum(binary.engine == "link" for binary in seeds)
    if engine == "link" or not linked:
        return []
    reason = "nodes of a cluster make them" if permuting is None else permuting.refused
    if engine == "auto" and (permuting is None or not reason or linked < PAYS_FROM):
        return []
    return [LinkedAllTheSame(task.linking.capture.system, task.link.artefact, reason, linked)]


def refuse_immovable(
    tasks: Sequence[ArtefactTask], rows: Mapping[str, list[Binary | BuildFailure]]
) -> dict[str, list[Binary | BuildFailure]]:
    """A program with nothing to move has no layouts, unless it needs artefacts that have some."""
    needs = companions(rows)
    few = {task.link.artefact: task.linking.few() for task in tasks if not needs[task.link.artefact]}
    return {
        artefact: [
            BuildFailure(result.system, artefact, result.layout, reason, None)
            if isinstance(result, Binary) and isinstance(result.layout, int) and (reason := few.get(artefact, ""))
            else result
            for result in row
        ]
        for artefact, row in rows.items()
    }
