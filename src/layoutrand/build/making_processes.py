"""Layouts of one artefact, made by processes of ours: threads of one process hardly draw, write and prove two at once.

Each process reads the capture, and what was learned of the program, from the cache, and makes some layouts at a time as
a thread would: same seed, same bytes.
"""

from __future__ import annotations

import gc
import resource
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from layoutrand.errors import BuildFailed
from layoutrand.platform import blas_threads
from layoutrand.platform.interrupts import Interrupts
from layoutrand.platform.proc_files import told_by_psutil
from layoutrand.platform.standing_child import ChildGone, StandingChild, answer_calls

if TYPE_CHECKING:  # numpy comes after `blas_threads`
    from layoutrand.build.build_setup import BuildProgress
    from layoutrand.build.linking import Linking
    from layoutrand.build.permuting import Permuting
    from layoutrand.config.layout_policy import LayoutPolicy
    from layoutrand.linkers.toolbox import Tool
    from layoutrand.model import Binary, BuildFailure, LayoutName
    from layoutrand.platform.process import Turns

_THREADS_AS_CORES: Final = 1.4
"""How many cores threads of one process use for this work: two threads, 30 layouts of 42,000 sections."""

_WORTH_S: Final = 1.0
"""Twice what a process takes before its first layout."""

_AT_ONCE: Final = 8
_UNINTERRUPTED: Final = Interrupts([], None)  # who waits is no main thread: `stop` ends the process instead


@dataclass(frozen=True)
class LayoutCost:
    """What a layout takes: seconds of CPU time of this process, and seconds of a linker where one made it."""

    process_s: float
    linker_s: float


def processes_worth(layouts: int, costs: Sequence[LayoutCost], jobs: int) -> int:
    """How many processes, of at most ``jobs``, make so many layouts sooner than threads do; 0 where they don't.

    ``costs`` are those of some that were made. All together take at most half of the memory that is free.
    """
    if jobs == 1 or not costs:
        return 0
    process_s = median(cost.process_s for cost in costs)
    linker_s = median(cost.linker_s for cost in costs)
    free = told_by_psutil(Path("/"), lambda psutil: int(psutil.virtual_memory().available))
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = jobs if free is None else min(jobs, free // (2 * own))
    if count < 2 or layouts * (process_s / _THREADS_AS_CORES - (process_s + linker_s) / count) < _WORTH_S:
        return 0
    return int(count)


@dataclass(frozen=True)
class _Place:
    """What a process makes layouts of: the ``number``-th artefact of a capture, as in `Linking`."""

    cache: Path
    capture: str
    system: str
    number: int
    policy: LayoutPolicy
    ld: Tool
    jobs: int
    against: Path | None
    writes: bool


@dataclass(frozen=True)
class _Question:
    """Layouts to be made, in a directory that is the process's own."""

    place: _Place
    layouts: tuple[LayoutName, ...]
    scratch: Path


@dataclass(frozen=True)
class _Answer:
    """What became of them, in their order; and why layouts are linked that were written before, or ""."""

    made: list[Binary | BuildFailure]
    refused: str


class MakingProcesses:
    """Processes that make layouts, each asked by a thread of its own."""

    def __init__(self, turns: Turns, progress: BuildProgress) -> None:
        """In ``turns`` that they share with others; nothing is started yet."""
        self._turns, self._progress = turns, progress
        self._lock = threading.Lock()
        self._children: list[StandingChild] = []
        self._is_stopped = False

    def make(
        self,
        linking: Linking,
        layouts: Sequence[LayoutName],
        count: int,
        pool: ThreadPoolExecutor,
        own_scratch: Callable[[], Path],
    ) -> dict[LayoutName, Binary | BuildFailure]:
        """Every layout's binary, in the cache, or why there is none, made by ``count`` processes.

        Each is asked by a thread of the pool.  Where one finds that writing is wrong for this program, or none can be
        started, what is left then is not among them.
        """
        work = _Work(linking, deque(layouts), count)
        asking = [pool.submit(self._ask_on, work, own_scratch) for _ in range(count)]
        try:
            wait(asking, return_when=FIRST_EXCEPTION)
        finally:
            if not all(each.done() for each in asking):  # interrupted, or one has failed
                self._stop()
                wait(asking)
            for child in self._children:
                child.finish()
        for each in asking:
            each.result()
        return work.made

    def _stop(self) -> None:
        """End all at once, and start none."""
        with self._lock:
            self._is_stopped = True
            for child in self._children:
                child.end_soon()

    def _ask_on(self, work: _Work, own_scratch: Callable[[], Path]) -> None:
        """In a thread: have a process of its own make what is left, a few at a time."""
        child: StandingChild | None = None
        while some := work.some():
            with self._turns.taken():
                try:
                    if (child := child or self._started()) is None:
                        return
                    answer: _Answer = child.ask(_Question(work.place, some, own_scratch()), _UNINTERRUPTED)
                except ChildGone as gone:
                    child, answer = None, work.lost(some, gone)
                except OSError as error:
                    self._progress.say(f"no process to make layouts can be started ({error.strerror}): threads do")
                    return
            work.take(some, answer)
            for _ in some:
                self._progress.advance()

    def _started(self) -> StandingChild | None:
        """One more; None where all were stopped."""
        with self._lock:
            if self._is_stopped:
                return None
            child = StandingChild(__name__)
            self._children.append(child)
            return child


class _Work:
    """What is to be made, and what became of it; shared by threads."""

    def __init__(self, linking: Linking, left: deque[LayoutName], count: int) -> None:
        self.made: dict[LayoutName, Binary | BuildFailure] = {}
        self.place = _Place(
            cache=linking.cache.root,
            capture=linking.capture.id,
            system=linking.capture.system,
            number=linking.number,
            policy=linking.policy,
            ld=linking.ld,
            jobs=count,
            against=linking.against,
            writes=linking.permuting is not None and not linking.permuting.refused,
        )
        self._linking, self._left, self._count = linking, left, count
        self._lock = threading.Lock()

    def some(self) -> tuple[LayoutName, ...]:
        """The next to be made, none where nothing is left; few at the end, so that all are busy until then."""
        with self._lock:
            if self.place.writes and self._permuting().refused:
                return ()
            few = max(1, min(_AT_ONCE, len(self._left) // (2 * self._count)))
            return tuple(self._left.popleft() for _ in range(min(few, len(self._left))))

    def take(self, layouts: Sequence[LayoutName], answer: _Answer) -> None:
        """Note what became of them."""
        with self._lock:
            self.made.update(zip(layouts, answer.made, strict=True))
            if self.place.writes and answer.refused:
                self._permuting().refused = answer.refused

    def lost(self, layouts: Sequence[LayoutName], gone: ChildGone) -> _Answer:
        """What a process did not answer."""
        how = f"was killed by signal {-gone.status}" if gone.status < 0 else f"ended with status {gone.status}"
        said = f"\n{gone.said}" if gone.said else ""
        error = BuildFailed(f"a process of layoutrand that makes layouts {how}; the same command makes them{said}")
        return _Answer([self._linking.failure(layout, error) for layout in layouts], "")

    def _permuting(self) -> Permuting:
        assert self._linking.permuting is not None
        return self._linking.permuting


def main() -> None:
    """The side that answers."""
    blas_threads.start_none()
    answer_calls(_Maker())


class _Maker:
    """Makes the layouts that are asked for; the capture is read once."""

    def __init__(self) -> None:
        self._ready: tuple[_Place, Linking] | None = None

    def __call__(self, question: _Question) -> _Answer:
        if self._ready is None or self._ready[0] != question.place:
            self._ready = question.place, _linking(question.place)
        linking = self._ready[1]
        made = [linking.make(layout, lambda: question.scratch) for layout in question.layouts]
        return _Answer(made, linking.permuting.refused if linking.permuting is not None else "")


def _linking(place: _Place) -> Linking:
    """The capture, ready to be linked."""
    from layoutrand.build.linking import Linking
    from layoutrand.build.permuting import PAYS_FROM, Permuting
    from layoutrand.cache.store import Cache
    from layoutrand.platform.process import SubprocessRunner

    cache = Cache(place.cache)
    capture = cache.load_capture(place.capture)
    if capture is None:
        raise BuildFailed(f"capture {place.capture[:12]} of {place.system} has vanished from {place.cache}")
    capture = replace(capture, system=place.system)
    permuting = Permuting(cache, capture, place.number, place.policy, place.ld, PAYS_FROM) if place.writes else None
    if permuting is not None:
        permuting.is_compared = True  # the first is the asking process's
    gc.freeze()  # no search for garbage among a capture's sections at each layout
    return Linking(
        *(cache, SubprocessRunner(), place.jobs, place.policy, place.ld, capture, place.number),
        permuting=permuting,
        against=place.against,
    )
