"""Layouts of one artefact, made by threads, and by processes of ours where threads would wait for each other too long.

Each process reads the capture, and what was learned of the program, from the cache, and makes some layouts at a time as
a thread would: same seed, same bytes.
"""

from __future__ import annotations

import gc
import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from layoutrand.errors import BuildFailed
from layoutrand.model import BuildFailure
from layoutrand.platform import blas_threads
from layoutrand.platform.interrupts import Interrupts
from layoutrand.platform.proc_files import told_by_psutil
from layoutrand.platform.standing_child import ChildGone, StandingChild, answer_calls

if TYPE_CHECKING:  # numpy comes after `blas_threads`
    from layoutrand.build.build_setup import BuildProgress
    from layoutrand.build.linking import Linking
    from layoutrand.config.layout_policy import LayoutPolicy
    from layoutrand.linkers.toolbox import Tool
    from layoutrand.model import Binary, LayoutName
    from layoutrand.platform.process import Turns

_SHARE_OF_CORES: Final = 0.8
"""What threads of one process use of their cores: of two, 1.6 for a program of 42,000 sections, 1.8 for GNU Go."""

_MOST_CORES: Final = 3.5
"""And how many cores they use at most: of those 42,000 sections one holds the interpreter's lock 28 % of the time."""

_WORTH_S: Final = 1.0
"""Twice what a process takes before its first layout."""

_TRIED: Final = 3
"""Layouts that are made before it is known what one takes: the first of all has the program learned, too."""

_REMEMBERED: Final = 15
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
    if jobs == 1 or len(costs) < _TRIED:
        return 0
    process_s = median(cost.process_s for cost in costs)
    linker_s = median(cost.linker_s for cost in costs)
    if not _pays(layouts, process_s, linker_s, jobs=jobs, count=jobs):
        return 0
    free = told_by_psutil(Path("/"), lambda psutil: int(psutil.virtual_memory().available))
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = jobs if free is None else min(jobs, free // (2 * own))
    return count if _pays(layouts, process_s, linker_s, jobs=jobs, count=count) else 0


def _pays(layouts: int, process_s: float, linker_s: float, *, jobs: int, count: int) -> bool:
    by_threads = process_s / min(_SHARE_OF_CORES * jobs, _MOST_CORES)
    return count > 1 and layouts * (by_threads - (process_s + linker_s) / count) >= _WORTH_S


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


class MadeAtOnce:
    """Layouts of one artefact that threads make side by side; by processes once the first show that this is sooner."""

    def __init__(
        self, linking: Linking, layouts: Sequence[LayoutName], *, jobs: int, turns: Turns, progress: BuildProgress
    ) -> None:
        """Processes work in ``turns`` that they share with others; nothing is begun yet."""
        self._linking, self._jobs, self._turns, self._progress = linking, jobs, turns, progress
        self._left = deque(layouts)
        self._made: dict[LayoutName, Binary | BuildFailure] = {}
        self._costs: deque[LayoutCost] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()
        self._children: list[StandingChild] = []
        self._asking = 0
        self._is_refused = self._is_stopped = False

    def make(
        self, pool: ThreadPoolExecutor, workers: int, own_scratch: Callable[[], Path]
    ) -> dict[LayoutName, Binary | BuildFailure]:
        """Every layout's binary, in the cache, or why there is none; in as many threads of the pool as it has."""
        working = [pool.submit(self._work, own_scratch) for _ in range(workers)]
        try:
            wait(working, return_when=FIRST_EXCEPTION)
        finally:
            if not all(each.done() for each in working):  # interrupted, or one has failed
                self._stop()
                wait(working)
            for child in self._children:
                child.finish()
        for each in working:
            each.result()
        return self._made

    def _work(self, own_scratch: Callable[[], Path]) -> None:
        """In a thread: make what is left, or have a process make it."""
        while some := self._some(1):
            begin = time.thread_time()
            result = self._linking.make(some[0], own_scratch)
            self._note(some, [result], time.thread_time() - begin)
            if processes := self._processes():
                with self._lock:
                    self._asking += 1
                    is_one_more = self._asking <= processes
                if not is_one_more:
                    return
                self._ask_on(own_scratch)

    def _some(self, most: int) -> tuple[LayoutName, ...]:
        """The next to be made, at most so many; none where nothing is left."""
        with self._lock:
            if self._is_stopped:
                return ()
            return tuple(self._left.popleft() for _ in range(min(most, len(self._left))))

    def _note(
        self, layouts: Sequence[LayoutName], made: Sequence[Binary | BuildFailure], process_s: float | None = None
    ) -> None:
        """What became of them, and what one took of this process's time."""
        with self._lock:
            self._made.update(zip(layouts, made, strict=True))
            if process_s is not None and not isinstance(made[0], BuildFailure):
                self._costs.append(LayoutCost(process_s, made[0].link_s if made[0].engine == "link" else 0.0))
        for _ in layouts:
            self._progress.advance()

    def _processes(self) -> int:
        """How many processes are to make what is left; 0 for none."""
        with self._lock:
            if self._is_refused or self._linking.coupled is not None:
                return 0
            return processes_worth(len(self._left), self._costs, self._jobs)

    def _ask_on(self, own_scratch: Callable[[], Path]) -> None:
        """Have a process of this thread's own make what is left, a few at a time, fewer at the end."""
        child: StandingChild | None = None
        while some := self._some(max(1, min(_AT_ONCE, len(self._left) // (2 * self._jobs)))):
            with self._turns.taken():
                try:
                    if (child := child or self._started()) is None:
                        return
                    answer: _Answer = child.ask(_Question(self._place(), some, own_scratch()), _UNINTERRUPTED)
                except ChildGone as gone:
                    child, answer = None, self._lost(some, gone)
                except OSError as error:
                    self._go_on_without(some, error)
                    return
            if answer.refused and self._linking.permuting is not None:
                self._linking.permuting.refused = answer.refused
            self._note(some, answer.made)

    def _place(self) -> _Place:
        linking = self._linking
        return _Place(
            cache=linking.cache.root,
            capture=linking.capture.id,
            system=linking.capture.system,
            number=linking.number,
            policy=linking.policy,
            ld=linking.ld,
            jobs=self._jobs,
            against=linking.against,
            writes=linking.permuting is not None and not linking.permuting.refused,
        )

    def _started(self) -> StandingChild | None:
        """One process more; None where all were stopped."""
        with self._lock:
            if self._is_stopped:
                return None
            child = StandingChild(__name__)
            self._children.append(child)
            return child

    def _lost(self, layouts: Sequence[LayoutName], gone: ChildGone) -> _Answer:
        """What a process did not answer."""
        how = f"was killed by signal {-gone.status}" if gone.status < 0 else f"ended with status {gone.status}"
        said = f"\n{gone.said}" if gone.said else ""
        error = BuildFailed(f"a process of layoutrand that makes layouts {how}; the same command makes them{said}")
        return _Answer([self._linking.failure(layout, error) for layout in layouts], "")

    def _go_on_without(self, layouts: Sequence[LayoutName], error: OSError) -> None:
        """Leave them, and all others that are left, to threads."""
        with self._lock:
            self._left.extendleft(reversed(layouts))
            is_known, self._is_refused = self._is_refused, True
        if not is_known:
            self._progress.say(f"no process can be started ({error.strerror}), so threads make all layouts")

    def _stop(self) -> None:
        """End all processes at once, start none, and make no more."""
        with self._lock:
            self._is_stopped = True
            for child in self._children:
                child.end_soon()


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
        permuting.is_compared = True  # the asking process has made the first
    gc.freeze()  # no search for garbage among a capture's sections at each layout
    return Linking(
        *(cache, SubprocessRunner(), place.jobs, place.policy, place.ld, capture, place.number),
        permuting=permuting,
        against=place.against,
    )
