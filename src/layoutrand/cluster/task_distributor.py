"""Tasks given to nodes through an engine's executor, and given out again when they are lost.

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


class Task(Protocol):
    """What a task is asked for."""

    @property
    def size(self) -> int:
        """How many things it is asked for."""


T = TypeVar("T", bound=Task)
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


class TaskOwner(Protocol[T, Heard_contra]):
    """Whoever wants the work done."""

    def poll(self) -> None:
        """Take what has arrived by now; called again and again while tasks are out."""

    def answered(self, answer: Heard_contra) -> TaskProblem | None:
        """Take what the task has brought; what is wrong with it, if anything is."""

    def left(self, task: T) -> T | None:
        """The same without what has arrived; None where nothing is left of it."""

    def again(self, task: T, problem: TaskProblem) -> None:
        """It is given out again."""

    def failed(self, task: T, attempts: int, problem: TaskProblem) -> None:
        """It is not given out any more."""


@dataclass
class _Submission(Generic[T]):
    task: T
    attempt: int
    refusers: set[str] = field(default_factory=set)


class TaskDistributor(Generic[T, A]):
    """Gives tasks out until nothing is left of any; ``stopped`` says whether to stop before that."""

    def __init__(
        self,
        executor: TaskExecutor,
        function: Callable[[T], A],
        owner: TaskOwner[T, A],
        *,
        retries: int,
        stopped: Callable[[], bool],
        doing: str,
    ) -> None:
        """``doing`` says what nodes do, for whoever interrupts them."""
        self._executor = executor
        self._function = function
        self._owner = owner
        self._retries = retries
        self._stopped = stopped
        self._doing = doing
        self._ended: SimpleQueue[Future[A]] = SimpleQueue()
        self._out: dict[Future[A], _Submission[T]] = {}

    def distribute(self, tasks: Sequence[T]) -> None:
        """Give the tasks out, and again those that are lost; raises `ClusterError` when stopped."""
        try:
            for task in tasks:
                self._give(_Submission(task, 1))
            while self._out:
                if self._stopped():
                    raise ClusterError(f"interrupted while nodes were {self._doing}")
                try:
                    future = self._ended.get(timeout=_WAKE_S)
                except Empty:
                    self._owner.poll()
                    continue
                self._settle(self._out.pop(future), future)
        finally:
            for future in self._out:
                future.cancel()

    def _settle(self, submission: _Submission[T], future: Future[A]) -> None:
        problem = self._outcome(future)
        left = self._owner.left(submission.task)
        if left is not None:
            self._again(_Submission(left, self._next_attempt(submission, left, problem), submission.refusers), problem)

    def _outcome(self, future: Future[A]) -> TaskProblem:
        """Take what a task has brought; what is wrong with it."""
        missing = TaskProblem("its task ended, and what it made did not arrive")
        try:
            answer = future.result()
        except CancelledError:
            return TaskProblem("its task was cancelled")
        except Exception as error:  # noqa: BLE001 - a lost worker is another exception with every executor
            self._owner.poll()  # a node may be lost when all was done
            return TaskProblem(f"its task was lost: {_named(error)}", "".join(traceback.format_exception(error)))
        return self._owner.answered(answer) or missing

    def _next_attempt(self, submission: _Submission[T], left: T, problem: TaskProblem) -> int:
        if left.size < submission.task.size:
            return 1
        if problem.node and problem.node not in submission.refusers:
            submission.refusers.add(problem.node)
            if self._executor.avoid(problem.node):
                return submission.attempt
        return submission.attempt + 1

    def _again(self, submission: _Submission[T], problem: TaskProblem) -> None:
        if submission.attempt > self._retries + 1:
            self._owner.failed(submission.task, submission.attempt - 1, problem)
            return
        self._owner.again(submission.task, problem)
        self._give(submission)

    def _give(self, submission: _Submission[T]) -> None:
        try:
            future = self._executor.submit(self._function, submission.task)
        except Exception as error:  # noqa: BLE001 - executors raise what they like when they are broken or gone
            words = f"the executor takes nothing any more: {_named(error)}"
            self._owner.failed(
                submission.task, submission.attempt, TaskProblem(words, traceback.format_exc(), gone=True)
            )
            return
        self._out[future] = submission
        future.add_done_callback(self._ended.put)


def _named(error: BaseException) -> str:
    said = str(error).strip()
    if said and isinstance(error, ClusterError):
        return said  # in words already
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
