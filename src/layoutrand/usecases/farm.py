"""Layouts linked on nodes: dealt out in chunks, taken home as they are finished, given out again when they are lost.

Any `concurrent.futures.Executor` will do. What is finished is taken into the home's cache at once, and waits in the
staging directory until then: so a home that is killed and started again goes on from there, and a chunk that is done
twice is done no differently.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue

from layoutrand.core.capture import Capture
from layoutrand.core.cluster import Remote
from layoutrand.errors import BundleError, ClusterError, StoreError
from layoutrand.model import Binary, BuildFailure, LayoutName
from layoutrand.usecases.binaries import cached_binary, take_linked
from layoutrand.usecases.bundle import export_capture
from layoutrand.usecases.linking import Linking
from layoutrand.usecases.node import VERSION, Answer, Chunk, Reference, link_chunk
from layoutrand.usecases.origin import Say
from layoutrand.world.disk import cache_errors
from layoutrand.world.staging import Staging

_WAKE_S = 0.5


@dataclass
class Farm:
    """Nodes behind an ``executor``, which share the ``staging`` directory; ``say`` takes what the user should know.

    ``takers`` are the threads that bring home what is finished.
    """

    executor: Executor
    staging: Staging
    settings: Remote
    say: Say
    takers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(len(os.sched_getaffinity(0))))
    _bundles: dict[str, str] = field(default_factory=dict)
    _exporting: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Give nothing out any more and wait for nothing, from any thread."""
        self._stopped.set()

    def link(
        self, linking: Linking, layouts: Sequence[LayoutName], reference: Reference, advance: Callable[[], None]
    ) -> dict[LayoutName, Binary | BuildFailure]:
        """Every layout's binary, in the home's cache, or why there is none; ``advance`` is called after each.

        Raises `ClusterError` when stopped.
        """
        batch = _Batch(self, linking, advance)
        try:
            left = batch.take(layouts)  # linked for a home that was killed before it could take them
            if left:
                batch.deal(self._chunks(linking, left, reference))
        except StoreError as error:  # no node can have the capture, or nothing can be taken home: the disk is full
            batch.give_up(layouts, error)
        return batch.results

    def _chunks(self, linking: Linking, layouts: Sequence[LayoutName], reference: Reference) -> list[Chunk]:
        empty = Chunk(
            version=VERSION, staging=str(self.staging.root), cache=self.settings.cache or "",
            bundle=self._bundle(linking), system=linking.capture.system, number=linking.number,
            policy=linking.policy, ld=linking.ld, reference=reference, layouts=(),
        )  # fmt: skip
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
                done = export_capture(linking.cache, capture, self.staging, jobs=linking.jobs)
                moved = done.travelled
                self.say(
                    f"{capture.system}: its capture ({moved.size / 1e6:.1f} MB) is in {self.staging.root}; "
                    f"{moved.moved / 1e6:.1f} MB of {moved.contents} files had to be written"
                )
                self._bundles[capture.id] = done.digest
            return self._bundles[capture.id]


@dataclass
class _Task:
    """A chunk that was given out for the ``attempt``-th time."""

    chunk: Chunk
    attempt: int


class _Batch:
    """The layouts of one artefact on their way."""

    def __init__(self, farm: Farm, linking: Linking, advance: Callable[[], None]) -> None:
        self.results: dict[LayoutName, Binary | BuildFailure] = {}
        self._farm = farm
        self._linking = linking
        self._advance = advance
        self._ended: SimpleQueue[Future[Answer]] = SimpleQueue()
        self._out: dict[Future[Answer], _Task] = {}
        self._lost = 0

    def take(self, layouts: Iterable[LayoutName]) -> list[LayoutName]:
        """Take home what waits in the staging directory; those layouts of which nothing (whole) does."""
        wanted = list(layouts)
        left = []
        # Unpacking, hashing and writing need no lock of the interpreter.
        for layout, binary in zip(wanted, self._farm.takers.map(self._taken, wanted), strict=True):
            if binary is None:
                left.append(layout)
            else:
                self._settle(layout, binary)
        return left

    def _taken(self, layout: LayoutName) -> Binary | None:
        linking, staging = self._linking, self._farm.staging
        key = linking.key(layout)
        try:
            taken = take_linked(
                linking.cache, staging, key=key, system=linking.capture.system, artefact=linking.link.artefact,
                layout=layout,
            )  # fmt: skip
            # Another build of the same may have been quicker.
            return taken or cached_binary(linking.cache, linking.capture.system, linking.link.artefact, layout, key)
        except BundleError as error:
            self._farm.say(str(error))
            staging.drop_result(key)
            return None

    def give_up(self, layouts: Iterable[LayoutName], error: StoreError) -> None:
        """Record as failed what has no result yet."""
        for layout in layouts:
            if layout not in self.results:
                self._settle(layout, self._linking.failure(layout, error))

    def deal(self, chunks: Sequence[Chunk]) -> None:
        """Give the chunks out, and again those that are lost, until each layout has a result."""
        try:
            for chunk in chunks:
                self._give(_Task(chunk, 1))
            while self._out:
                if self._farm.stopped():
                    raise ClusterError("interrupted while nodes were linking")
                try:
                    future = self._ended.get(timeout=_WAKE_S)
                except Empty:
                    continue
                task = self._out.pop(future)
                problem, log = self._outcome(task, future)
                left = tuple(layout for layout in task.chunk.layouts if layout not in self.results)
                if left:
                    self._again(_with_layouts(task, left), problem or "the binaries did not arrive", log)
        finally:
            for future in self._out:
                future.cancel()

    def _give(self, task: _Task) -> None:
        try:
            future = self._farm.executor.submit(link_chunk, task.chunk)
        except Exception as error:  # noqa: BLE001 - executors raise what they like when they are broken or gone
            problem = f"the executor takes nothing any more: {_named(error)}"
            self._fail(task, problem, traceback.format_exc())
            return
        self._out[future] = task
        future.add_done_callback(self._ended.put)

    def _outcome(self, task: _Task, future: Future[Answer]) -> tuple[str, str]:
        """Settle what a task has brought; what is wrong with it and its log, if there is anything."""
        try:
            answer = future.result()
        except CancelledError:
            return "its task was cancelled", ""
        except Exception as error:  # noqa: BLE001 - a lost worker is another exception with every executor
            # A node may be lost when all was done.
            self.take(task.chunk.layouts)
            return f"its task was lost: {_named(error)}", "".join(traceback.format_exception(error))
        if answer.refused:
            return f"node {answer.node} cannot link it: {answer.refused}", answer.refused
        for failed in answer.failed:
            log = self._log(failed.layout, failed.log) if failed.log else None
            message = failed.error.split("\nFull log: ")[0]
            whole = f"on node {answer.node}: {message}" + (f"\nFull log: {log}" if log else "")
            self._settle(failed.layout, self._failure(failed.layout, whole, log))
        left = self.take(layout for layout in answer.made if layout not in self.results)
        return (f"node {answer.node} linked it, but it is not in the staging directory" if left else ""), ""

    def _again(self, task: _Task, problem: str, log: str) -> None:
        if task.attempt > self._farm.settings.retries:
            self._fail(task, problem, log)
            return
        named = ", ".join(str(layout) for layout in task.chunk.layouts)
        artefact = self._linking.link.artefact
        first = problem.splitlines()[0]
        self._farm.say(f"{self._linking.capture.system}: {artefact}, layout {named}: {first}; it is given out again")
        self._give(_Task(task.chunk, task.attempt + 1))

    def _fail(self, task: _Task, problem: str, log: str) -> None:
        """Record the layouts as failed: they were given out as often as they may be.

        One log takes all of a batch, so that failures with one cause are told as one.
        """
        artefact = os.path.basename(self._linking.link.artefact)
        name = f"cluster-{self._linking.capture.system}-{artefact}-{self._linking.capture.id[:12]}.log"
        path = self._linking.cache.logs() / name
        named = ", ".join(str(layout) for layout in task.chunk.layouts)
        with cache_errors("write", path), path.open("a" if self._lost else "w", encoding="utf-8") as file:
            file.write(f"layout {named}: {problem}\n{log}\n")
        self._lost += 1
        times = "once" if task.attempt == 1 else f"{task.attempt} times"
        for layout in task.chunk.layouts:
            self._settle(layout, self._failure(layout, f"given out {times}: {problem}\nFull log: {path}", path))

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


def _with_layouts(task: _Task, layouts: tuple[LayoutName, ...]) -> _Task:
    """The task with these layouts left."""
    return _Task(replace(task.chunk, layouts=layouts), task.attempt)


def _named(error: BaseException) -> str:
    said = str(error).strip()
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
