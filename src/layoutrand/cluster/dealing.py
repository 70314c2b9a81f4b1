"""Work dealt to nodes through an engine's executor, and dealt again when it is lost.

A task that is lost is given out again as often as it may be.  What arrived of it is not asked for again, and a task of
which something arrived begins to count anew, so that a node that is lost every hour does not end an experiment of days.
A node that cannot do what it is asked for says so in its answer; where the executor can, it is given nothing more.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from layoutrand.engines.engine import TaskExecutor
from layoutrand.errors import ClusterError

_WAKE_S = 0.5


class Payload(Protocol):
    """What a task is asked for."""

    @property
    def size(self) -> int:
        """How many things it is asked for."""


P = TypeVar("P", bound=Payload)
A = TypeVar("A")
Heard_contra = TypeVar("Heard_contra", contravariant=True)


@dataclass(frozen=True)
class TaskProblem:
    """What is wrong with a task: in words, with a log or "".

    ``node`` is the one that says it cannot do it, or "".  ``gone`` if the executor takes no task at all any more.
    """

    words: str
    log: str = ""
    node: str = ""
    gone: bool = False

    @property
    def brief(self) -> str:
        """The words in one line: the first, and the last where the first only announces what follows."""
        lines = [line.strip() for line in self.words.splitlines() if line.strip()] or [""]
        return f"{lines[0]} {lines[-1]}" if len(lines) > 1 and lines[0].endswith(":") else lines[0]


class Hands(Protocol[P, Heard_contra]):
    """Whoever wants the work done."""

    def take(self) -> None:
        """Take home what has arrived by now; called again and again while tasks are out."""

    def answered(self, answer: Heard_contra) -> TaskProblem | None:
        """Take home what the task has brought; what is wrong with it, if anything is."""

    def left(self, payload: P) -> P | None:
        """The same without what has arrived; None where nothing is left of it."""

    def again(self, payload: P, problem: TaskProblem) -> None:
        """It is given out again."""

    def failed(self, payload: P, attempts: int, problem: TaskProblem) -> None:
        """It is not given out any more."""


@dataclass
class _Task(Generic[P]):
    payload: P
    attempt: int
    refusers: set[str] = field(default_factory=set)


class Dealer(Generic[P, A]):
    """Gives tasks out until nothing is left of any; ``stopped`` says whether to stop before that."""

    def __init__(
        self,
        executor: TaskExecutor,
        function: Callable[[P], A],
        hands: Hands[P, A],
        *,
        retries: int,
        stopped: Callable[[], bool],
        doing: str,
    ) -> None:
        """``doing`` says what nodes do, for whoever interrupts them."""
        self._executor = executor
        self._function = function
        self._hands = hands
        self._retries = retries
        self._stopped = stopped
        self._doing = doing
        self._ended: SimpleQueue[Future[A]] = SimpleQueue()
        self._out: dict[Future[A], _Task[P]] = {}

    def deal(self, payloads: Sequence[P]) -> None:
        """Give the tasks out, and again those that are lost; raises `ClusterError` when stopped."""
        try:
            for payload in payloads:
                self._give(_Task(payload, 1))
            while self._out:
                if self._stopped():
                    raise ClusterError(f"interrupted while nodes were {self._doing}")
                try:
                    future = self._ended.get(timeout=_WAKE_S)
                except Empty:
                    self._hands.take()
                    continue
                self._settle(self._out.pop(future), future)
        finally:
            for future in self._out:
                future.cancel()

    def _settle(self, task: _Task[P], future: Future[A]) -> None:
        problem = self._outcome(future)
        left = self._hands.left(task.payload)
        if left is not None:
            self._again(_Task(left, self._next_attempt(task, left, problem), task.refusers), problem)

    def _outcome(self, future: Future[A]) -> TaskProblem:
        """Take home what a task has brought; what is wrong with it."""
        missing = TaskProblem("its task ended, and what it made did not arrive")
        try:
            answer = future.result()
        except CancelledError:
            return TaskProblem("its task was cancelled")
        except Exception as error:  # noqa: BLE001 - a lost worker is another exception with every executor
            self._hands.take()  # a node may be lost when all was done
            return TaskProblem(f"its task was lost: {_named(error)}", "".join(traceback.format_exception(error)))
        return self._hands.answered(answer) or missing

    def _next_attempt(self, task: _Task[P], left: P, problem: TaskProblem) -> int:
        if left.size < task.payload.size:
            return 1
        if problem.node and problem.node not in task.refusers:
            task.refusers.add(problem.node)
            if self._executor.avoid(problem.node):
                return task.attempt
        return task.attempt + 1

    def _again(self, task: _Task[P], problem: TaskProblem) -> None:
        if task.attempt > self._retries + 1:
            self._hands.failed(task.payload, task.attempt - 1, problem)
            return
        self._hands.again(task.payload, problem)
        self._give(task)

    def _give(self, task: _Task[P]) -> None:
        try:
            future = self._executor.submit(self._function, task.payload)
        except Exception as error:  # noqa: BLE001 - executors raise what they like when they are broken or gone
            words = f"the executor takes nothing any more: {_named(error)}"
            self._hands.failed(task.payload, task.attempt, TaskProblem(words, traceback.format_exc(), gone=True))
            return
        self._out[future] = task
        future.add_done_callback(self._ended.put)


def _named(error: BaseException) -> str:
    said = str(error).strip()
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
