"""What happens on a node: the capture is fetched once, its linker proved to be the right one, and layouts are linked.

`link_task` is what an executor is given. It raises nothing on purpose: what went wrong with the node is an answer,
so that the layouts can be given to another one; what went wrong with a layout would go wrong anywhere.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from layoutrand.build.binaries import cached_binary
from layoutrand.build.linking import Linking, Reference
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.contents import content_of
from layoutrand.cache.store import Cache, default_root
from layoutrand.cluster.bundle import import_capture
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.build_recipe import BUILD_VERSION
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import ClusterError, LayoutrandError, without_log
from layoutrand.host.facts import node_name
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import Binary, BuildFailure, LayoutName
from layoutrand.platform.disk import sha256_file, tail
from layoutrand.platform.process import SubprocessRunner
from layoutrand.version import __version__

_TASKS: Final = 8
"""Changes where tasks are pickled otherwise: a module or class of theirs has another name."""

VERSION: Final = f"{__version__}/{BUILD_VERSION}/{_TASKS}"
"""Of layoutrand, of how it links and of its tasks: the submitting machine and nodes must agree."""

_LOG_LINES: Final = 200


@dataclass(frozen=True)
class LinkingTask:
    """What one task is asked for: some layouts of the ``number``-th artefact of a capture.

    ``bundle`` is the SHA-256 of the manifest in the directory ``shared``, which the group may write with
    ``trust_group``; ``cache`` the node's cache, in which variables of the node's environment are replaced, or "" for
    its default.
    """

    version: str
    shared: str
    trust_group: bool
    cache: str
    bundle: str
    system: str
    number: int
    policy: LayoutPolicy
    ld: Tool
    reference: Reference
    layouts: tuple[LayoutName, ...]

    @property
    def size(self) -> int:
        """How many layouts it asks for."""
        return len(self.layouts)


@dataclass(frozen=True)
class FailedLayout:
    """A layout that came to nothing: why, and the last lines of the log if there is one."""

    layout: LayoutName
    error: str
    log: str


@dataclass(frozen=True)
class MadeLayout:
    """A layout whose binary waits in the shared directory, and the ``seal`` by which it is known there.

    The seal is the SHA-256 of the binary's record, which has the binary's: the answer comes through the engine, so
    whoever may only write to the directory cannot exchange what lies there.
    """

    layout: LayoutName
    seal: str


@dataclass(frozen=True)
class LinkingAnswer:
    """What became of a task on a node: what is ``made`` waits in the shared directory.

    ``refused`` says why the node could not do it (then nothing else is certain), or is "".
    """

    node: str
    made: tuple[MadeLayout, ...]
    failed: tuple[FailedLayout, ...]
    read: int
    refused: str


def link_task(task: LinkingTask) -> LinkingAnswer:
    """Link the layouts of the task and put the binaries into the shared directory."""
    node = node_name()
    try:
        return _link(task, node)
    except LayoutrandError as error:
        return LinkingAnswer(node, (), (), 0, str(error))


def linked_here(
    cache: Cache, shared: SharedDirectory, bundle: str, ld: Tool, policy: LayoutPolicy, wanted: Sequence[Binary]
) -> list[Binary]:
    """These binaries of one system, from this machine's cache or linked now from the capture of that manifest.

    Raises `ClusterError` where one cannot be made here or is not ``wanted`` to the byte.
    """
    with _fetching:
        capture, _ = _imported(cache.root, shared.root, bundle)
        ld = _same_linker(ld)
    numbers = {link.artefact: number for number, link in enumerate(capture.links)}
    found = []
    with cache.thread_scratch("link") as own_scratch:
        for binary in wanted:
            own = replace(capture, system=binary.system)
            linking = Linking(cache, SubprocessRunner(), 1, policy, ld, own, numbers[binary.artefact])
            _prove(linking, Reference(binary.layout, binary.sha256), own_scratch, node_name())
            made = _made(linking, binary.layout, own_scratch)
            assert isinstance(made, Binary)
            found.append(made)
    return found


def _link(task: LinkingTask, node: str) -> LinkingAnswer:
    if task.version != VERSION:
        raise ClusterError(f"layoutrand is {VERSION} there and {task.version} here: install the same one on all nodes")
    shared = SharedDirectory(Path(task.shared), trust_group=task.trust_group)
    with _fetching:  # one thread fetches, the others find it fetched
        linking, read = _linking(task, shared)
    made, failed = [], []
    with linking.cache.thread_scratch("link") as own_scratch:
        _prove(linking, task.reference, own_scratch, node)
        for layout in task.layouts:
            result = _made(linking, layout, own_scratch)
            if isinstance(result, BuildFailure):
                _require_whole(linking)
                log = "" if result.log is None else tail(result.log, _LOG_LINES)
                failed.append(FailedLayout(layout, without_log(result.error, result.log), log))
            else:
                found = linking.cache.load_binary(linking.key(layout), os.path.basename(result.artefact))
                if found is None:
                    raise ClusterError(f"the binary of layout {layout} vanished from {linking.cache.root}")
                meta = {**found.meta, "node": node}
                made.append(MadeLayout(layout, shared.put_result(linking.key(layout), meta, content_of(found.stored))))
    return LinkingAnswer(node, tuple(made), tuple(failed), read, "")


_fetching = threading.Lock()


def _linking(task: LinkingTask, shared: SharedDirectory) -> tuple[Linking, int]:
    """The capture in this node's cache, ready to be linked, and how many bytes were read for it."""
    cache = Cache(Path(os.path.expandvars(task.cache)) if task.cache else default_root())
    ld = _same_linker(task.ld)
    before = _imported.cache_info().misses
    capture, read = _imported(cache.root, shared.root, task.bundle)
    capture = replace(capture, system=task.system)
    fresh = _imported.cache_info().misses > before
    return Linking(cache, SubprocessRunner(), 1, task.policy, ld, capture, task.number), read if fresh else 0


@lru_cache(maxsize=8)
def _imported(cache: Path, shared: Path, bundle: str) -> tuple[Capture, int]:
    """Once per process: to check a capture's files takes longer than a link."""
    capture, travelled = import_capture(Cache(cache), SharedDirectory(shared), bundle)
    return capture, travelled.moved


@lru_cache(maxsize=8)
def _same_linker(wanted: Tool) -> Tool:
    """The linker that the capture was proved with, on this node; raises `ClusterError` if there is another or none."""
    found = shutil.which(wanted.path.name)
    for path in dict.fromkeys([wanted.path, *([Path(found)] if found else [])]):
        if path.is_file() and sha256_file(path) == wanted.sha256:
            return replace(wanted, path=path)
    what = "is another one there" if wanted.path.exists() else "is not there"
    raise ClusterError(f"the linker {wanted.path} ({wanted.version}) {what}: install the same package on all nodes")


def _prove(linking: Linking, reference: Reference, own_scratch: Callable[[], Path], node: str) -> None:
    """Raise `ClusterError` unless a layout that the submitting machine has linked comes out with the same bytes here.

    The linker's file may be the same and the libraries that it loads another version.
    """
    result = _made(linking, reference.layout, own_scratch)
    if isinstance(result, BuildFailure):
        _require_whole(linking)
        raise ClusterError(f"layout {reference.layout}, which was linked here, fails there: {result.error}")
    if result.sha256 != reference.sha256:
        raise ClusterError(
            f"layout {reference.layout} linked on {node} has SHA-256 {result.sha256}, and {reference.sha256} here: "
            "the node's linker or its libraries differ"
        )


def _require_whole(linking: Linking) -> None:
    """Raise `ClusterError` where a link may have failed for want of a captured file; the next task fetches it again."""
    damaged = linking.cache.damaged_files(linking.capture)
    if damaged:
        _imported.cache_clear()
        raise ClusterError(f"{damaged[0]} is damaged or gone")


def _made(linking: Linking, layout: LayoutName, own_scratch: Callable[[], Path]) -> Binary | BuildFailure:
    """The layout's binary from this node's cache, or linked now."""
    found = cached_binary(linking.cache, linking.capture.system, linking.link.artefact, layout, linking.key(layout))
    return found or linking.make(layout, own_scratch)
