"""Layouts linked on nodes: given out in tasks, collected as they are finished, given out again when they are lost.

What is finished goes into the submitting machine's cache at once, and waits in the shared directory until then: so a
build that is killed and started again goes on from there, and a task that is done twice is done no differently.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from layoutrand.build.binaries import binary_of, cached_binary, linked_record
from layoutrand.build.linking import Linking, Reference
from layoutrand.cache.capture_record import Capture
from layoutrand.capture.origin import Say
from layoutrand.cluster.bundle import export_capture
from layoutrand.cluster.linking_node import VERSION, LinkingAnswer, LinkingTask, link_task
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.cluster.task_distributor import TaskDistributor, TaskProblem
from layoutrand.engines.engine import Remote, TaskExecutor
from layoutrand.errors import BundleError, LayoutrandError, StoreError, with_log
from layoutrand.model import Binary, BuildFailure, LayoutName
from layoutrand.platform.disk import cache_errors
from layoutrand.platform.own_file import write_program

_NO_SEALS: Final[Mapping[LayoutName, str]] = MappingProxyType({})


@dataclass
class LinkingCluster:
    """Nodes behind an ``executor``, which share the ``shared`` directory; ``say`` takes what the user should know.

    ``collectors`` are the threads that collect what is finished.
    """

    executor: TaskExecutor
    shared: SharedDirectory
    settings: Remote
    say: Say
    collectors: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(len(os.sched_getaffinity(0))))
    _bundles: dict[str, str] = field(default_factory=dict)
    _exporting: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Give nothing out any more and wait for nothing, from any thread."""
        self._stopped.set()

    def link(
        self, linking: Linking, layouts: Sequence[LayoutName], reference: Reference, advance: Callable[[], None]
    ) -> dict[LayoutName, Binary | BuildFailure]:
        """Every layout's binary, in this machine's cache, or why there is none; ``advance`` is called after each.

        Raises `ClusterError` when stopped.
        """
        batch = _Batch(self, linking, advance)
        try:
            left = batch.collect(layouts)  # linked for a build that was killed before it could collect them
            if left:
                batch.distribute(self._tasks(linking, left, reference))
        except StoreError as error:  # no node can have the capture, or nothing can be collected: the disk is full
            batch.give_up(layouts, error)
        return batch.results

    def _tasks(self, linking: Linking, layouts: Sequence[LayoutName], reference: Reference) -> list[LinkingTask]:
        empty = LinkingTask(
            version=VERSION,
            shared=str(self.shared.root),
            trust_group=self.shared.trust_group,
            cache=self.settings.cache or "",
            bundle=self._bundle(linking),
            system=linking.capture.system,
            number=linking.number,
            policy=linking.policy,
            ld=linking.ld,
            reference=reference,
            layouts=(),
        )
        size = self.settings.chunk
        return [replace(empty, layouts=tuple(layouts[begin : begin + size])) for begin in range(0, len(layouts), size)]

    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def _bundle(self, linking: Linking) -> str:
        """The capture's bundle, exported once."""
        capture: Capture = linking.capture
        with self._exporting:
            if capture.id not in self._bundles:
                done = export_capture(linking.cache, capture, self.shared, jobs=linking.jobs)
                moved = done.travelled
                self.say(
                    f"{capture.system}: its capture ({moved.size / 1e6:.1f} MB) is in {self.shared.root}; "
                    f"{moved.moved / 1e6:.1f} MB of {moved.contents} files had to be written"
                )
                self._bundles[capture.id] = done.digest
            return self._bundles[capture.id]


class _Batch:
    """The layouts of one artefact on their way."""

    def __init__(self, cluster: LinkingCluster, linking: Linking, advance: Callable[[], None]) -> None:
        self.results: dict[LayoutName, Binary | BuildFailure] = {}
        self._cluster = cluster
        self._linking = linking
        self._advance = advance
        self._lost = 0

    def collect(self, layouts: Iterable[LayoutName], seals: Mapping[LayoutName, str] = _NO_SEALS) -> list[LayoutName]:
        """Collect what waits in the shared directory; those layouts of which nothing (whole) does.

        ``seals`` are those that a node's answer names; what has none is proved here.
        """
        wanted = list(layouts)
        given = [seals.get(layout) for layout in wanted]
        left = []
        # Unpacking, hashing and writing need no lock of the interpreter.
        collected = self._cluster.collectors.map(self._collected, wanted, given)
        for layout, binary in zip(wanted, collected, strict=True):
            if binary is None:
                left.append(layout)
            else:
                self._settle(layout, binary)
        return left

    def _collected(self, layout: LayoutName, seal: str | None) -> Binary | None:
        linking, shared = self._linking, self._cluster.shared
        key = linking.key(layout)
        try:
            taken = collect_linked(linking, shared, layout, seal)
            # Another build of the same may have been quicker.
            return taken or cached_binary(linking.cache, linking.capture.system, linking.link.artefact, layout, key)
        except BundleError as error:
            self._cluster.say(str(error))
            shared.drop_result(key)
            return None

    def give_up(self, layouts: Iterable[LayoutName], error: StoreError) -> None:
        """Record as failed what has no result yet."""
        for layout in layouts:
            if layout not in self.results:
                self._settle(layout, self._linking.failure(layout, error))

    def distribute(self, tasks: Sequence[LinkingTask]) -> None:
        """Give the tasks out, and again those that are lost, until each layout has a result."""
        cluster = self._cluster
        distributor: TaskDistributor[LinkingTask, LinkingAnswer] = TaskDistributor(
            cluster.executor,
            link_task,
            self,
            retries=cluster.settings.retries,
            stopped=cluster.stopped,
            doing="linking",
        )
        distributor.distribute(tasks)

    def left(self, task: LinkingTask) -> LinkingTask | None:
        """The task's layouts that have no result yet: something may have arrived of a task that was lost."""
        waiting = self.collect(layout for layout in task.layouts if layout not in self.results)
        return replace(task, layouts=tuple(waiting)) if waiting else None

    def poll(self) -> None:
        """Nothing: binaries are collected task by task, because to look for each one is a question to a server."""

    def answered(self, answer: LinkingAnswer) -> TaskProblem | None:
        """Settle what a task has brought."""
        if answer.refused:
            return TaskProblem(f"node {answer.node} cannot link it: {answer.refused}", answer.refused, answer.node)
        for failed in answer.failed:
            log = self._log(failed.layout, failed.log) if failed.log else None
            whole = with_log(f"on node {answer.node}: {failed.error}", log)
            self._settle(failed.layout, self._failure(failed.layout, whole, log))
        seals = {made.layout: made.seal for made in answer.made if made.layout not in self.results}
        left = self.collect(seals, seals)
        return TaskProblem(f"node {answer.node} linked it, but it is not in the shared directory") if left else None

    def again(self, task: LinkingTask, problem: TaskProblem) -> None:
        """Say that layouts are given out again, and why."""
        named = ", ".join(str(layout) for layout in task.layouts)
        artefact = self._linking.link.artefact
        self._cluster.say(
            f"{self._linking.capture.system}: {artefact}, layout {named}: {problem.brief}; it is given out again"
        )

    def failed(self, task: LinkingTask, attempts: int, problem: TaskProblem) -> None:
        """Record the layouts as failed: they were given out as often as they may be.

        One log takes all of a batch, so that failures with one cause are told as one.
        """
        artefact = os.path.basename(self._linking.link.artefact)
        name = f"cluster-{self._linking.capture.system}-{artefact}-{self._linking.capture.id[:12]}.log"
        path = self._linking.cache.logs() / name
        named = ", ".join(str(layout) for layout in task.layouts)
        with cache_errors("write", path), path.open("a" if self._lost else "w", encoding="utf-8") as file:
            file.write(f"layout {named}: {problem.words}\n{problem.log}\n")
        self._lost += 1
        times = "once" if attempts == 1 else f"{attempts} times"
        for layout in task.layouts:
            self._settle(layout, self._failure(layout, with_log(f"given out {times}: {problem.words}", path), path))

    def _failure(self, layout: LayoutName, error: str, log: Path | None) -> BuildFailure:
        return BuildFailure(self._linking.capture.system, self._linking.link.artefact, layout, error, log)

    def _log(self, layout: LayoutName, text: str) -> Path:
        path = self._linking.log(layout)
        with cache_errors("write", path):
            path.write_text(text + "\n", "utf-8", "backslashreplace")
        return path

    def _settle(self, layout: LayoutName, result: Binary | BuildFailure) -> None:
        self.results[layout] = result
        self._advance()


def collect_linked(linking: Linking, shared: SharedDirectory, layout: LayoutName, seal: str | None) -> Binary | None:
    """The layout's binary that another machine linked, taken from the shared directory; None if not there.

    Raises `BundleError` if it is not what has the ``seal``, or, where no answer of a node brought one (None), cannot be
    proved here to be that layout.
    """
    key, artefact, system = linking.key(layout), linking.link.artefact, linking.capture.system
    found = shared.result(key, seal)
    if found is None:
        return None
    meta, data = found
    if seal is None:
        meta = _proved(linking, layout, meta, data, shared.result_path(key))
    name = os.path.basename(artefact)
    with linking.cache.scratch("take") as scratch:
        entry = scratch / "entry"
        with cache_errors("write", entry):
            entry.mkdir()
            write_program(entry / name, data)
        meta = {**meta, "system": system, "facts": linking.facts(layout)}
        stored = linking.cache.commit_binary(entry, key, meta, kept=linking.kept_as("link"))
    shared.drop_result(key)
    return binary_of(stored, meta, system, artefact, layout, cached=False)


def _proved(
    linking: Linking, layout: LayoutName, claimed: Mapping[str, Any], data: bytes, path: Path
) -> dict[str, Any]:
    """The record of a binary that nobody vouches for, of which nothing but who took how long is only claimed."""
    try:
        linked = linking.prove(layout, data, claimed["link_s"])
    except LayoutrandError as error:
        raise BundleError(f"{path} came without an answer, and is not layout {layout}: {error}") from error
    return {
        **linked_record(linked, system=linking.capture.system, facts=linking.facts(layout)),
        "node": claimed.get("node", ""),
    }
