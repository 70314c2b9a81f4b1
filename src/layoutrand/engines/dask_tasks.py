"""Dask's scheduler behind the standard executor, with nodes that can be avoided.

A token of a function's argument means nothing here: tasks end with the client that asked for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.engines.engine import TaskExecutor
from layoutrand.errors import ClusterError

_LOOK_S: Final = 2.0


@dataclass(eq=False)
class _Task:
    """A function with its arguments, the future that stands for its outcome, and Dask's own, with where it may be.

    There is none of Dask's while there is nowhere to send it.
    """

    future: Future[Any]
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inner: Any = None
    workers: tuple[str, ...] | None = None


def require_workers(client: Any, resource: str | None, wait_s: float) -> None:
    """Raise `ClusterError` unless a worker is there, or comes in time, that has one of the resource."""
    address = client.scheduler.address
    option = f' --resources "{resource}=1"' if resource else ""
    how = f"Start one on each node: `dask worker {address} --nthreads 1{option}`"
    try:
        client.wait_for_workers(1, timeout=wait_s)
    except TimeoutError as error:
        raise ClusterError(f"the scheduler of Dask at {address} has no worker. {how}") from error
    workers = _workers(client)
    if resource and not any(worker["resources"].get(resource, 0) >= 1 for worker in workers.values()):
        listed = "; ".join(
            f"{worker['name']} at {at} has {_supply(worker['resources'])}" for at, worker in sorted(workers.items())[:8]
        )
        more = f"; and {len(workers) - 8} more" if len(workers) > 8 else ""
        raise ClusterError(f'no worker of Dask has a resource "{resource}" ({listed}{more}). {how}')


def _workers(client: Any) -> Mapping[str, Any]:
    """What the scheduler knows of each worker, by address."""
    workers: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    return workers


def _supply(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={count:g}" for name, count in sorted(resources.items())) or "none"


class DaskTasks(TaskExecutor):
    """Functions executed as tasks of Dask, each with one of a resource if that is given."""

    def __init__(
        self, client: Any, resource: str | None, *, node_of: Callable[[], str], say: Callable[[str], None]
    ) -> None:
        """Submit through the client; ``node_of``, called on a worker, names its node."""
        self._client = client
        self._resource = resource
        self._node_of = node_of
        self._say = say
        self._tasks: set[_Task] = set()
        self._nodes: dict[str, str] = {}
        self._avoided: set[str] = set()
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._said_none_left = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`."""
        task = _Task(Future(), fn, args, kwargs)
        with self._lock:
            if self._closed.is_set():
                raise ClusterError("no more tasks are submitted: this is being shut down")
            self._tasks.add(task)
            workers = self._allowed() if self._avoided else None
            if workers != ():  # which would be anywhere to Dask; the watcher sends it when there is one
                self._send(task, workers)
        task.future.add_done_callback(lambda _: self._dropped(task))
        return task.future

    def avoid(self, node: str) -> bool:
        """Have no task begin on that node's workers any more; False if there are no workers but there."""
        with self._lock:
            self._avoided.add(node)
            allowed = self._allowed()
            if not allowed:
                self._avoided.discard(node)
                return False
            self._move(allowed)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="dask", daemon=True)
                self._watcher.start()
        return True

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor.shutdown`; with ``cancel_futures`` tasks are cancelled, running ones too."""
        self._closed.set()
        with self._lock:
            tasks = list(self._tasks)
        if cancel_futures:
            for task in tasks:
                task.future.cancel()
        elif wait:
            for task in tasks:
                with suppress(Exception):  # it is the future's
                    task.future.exception()

    def _send(self, task: _Task, workers: tuple[str, ...] | None) -> None:
        options: dict[str, Any] = {"resources": {self._resource: 1}} if self._resource else {}
        if workers is not None:
            options["workers"] = list(workers)
        task.workers = workers
        task.inner = self._client.submit(task.fn, *task.args, **task.kwargs, pure=False, **options)
        task.inner.add_done_callback(lambda inner: self._ended(task, inner))

    def _ended(self, task: _Task, inner: Any) -> None:
        """Called in a thread of Dask's when a task has ended, or has been cancelled."""
        with self._lock:
            if task.inner is not inner:  # sent again, elsewhere
                return
            self._tasks.discard(task)
            # A result that is asked for is computed again when the worker that has it is lost, even if it was taken.
            task.inner = None
        result, error = _outcome(inner)
        inner.release()
        if not task.future.set_running_or_notify_cancel():
            return
        if error is not None:
            task.future.set_exception(error)
        else:
            task.future.set_result(result)

    def _dropped(self, task: _Task) -> None:
        if task.future.cancelled():
            with self._lock:
                self._tasks.discard(task)
                inner, task.inner = task.inner, None
            if inner is not None:
                inner.cancel()

    def _watch(self) -> None:
        """Send what waits for workers that are gone to others, once a node is avoided."""
        while not self._closed.wait(_LOOK_S):
            with suppress(OSError, TimeoutError), self._lock:  # the scheduler may be away for a moment
                allowed = self._allowed()
                if allowed:
                    self._move(allowed)
                elif self._tasks and not self._said_none_left:
                    self._said_none_left = True
                    self._say("no worker of Dask is left but those that are avoided: tasks wait for one to come")

    def _allowed(self) -> tuple[str, ...]:
        """The workers that are not avoided and have the resource."""
        workers = _workers(self._client)
        new = [at for at in workers if at not in self._nodes]
        if new:
            named = self._client.run(self._node_of, workers=new, on_error="ignore")
            self._nodes |= named
        return tuple(
            sorted(
                at
                for at, worker in workers.items()
                if at in self._nodes
                and self._nodes[at] not in self._avoided
                and (not self._resource or worker["resources"].get(self._resource, 0) >= 1)
            )
        )

    def _move(self, allowed: tuple[str, ...]) -> None:
        """Send again what has not begun and could begin where nothing is wanted, or only where nobody is.

        What begins between the look and the cancellation, some milliseconds, is done in both places.
        """
        here = set(allowed)
        astray = [task for task in self._tasks if task.workers is None or not here.intersection(task.workers)]
        begun = self._begun() if astray else set()
        for task in astray:
            inner = task.inner
            if inner is None:
                self._send(task, allowed)
            elif inner.key not in begun and not inner.done():
                task.inner = None  # so that the end of this one is no end of the task
                inner.cancel()
                self._send(task, allowed)

    def _begun(self) -> set[str]:
        """Keys of the tasks that are being executed."""

        def executing(dask_worker: Any) -> list[str]:
            return [task.key for task in dask_worker.state.executing]

        answers = self._client.run(executing, on_error="ignore")
        return {key for keys in answers.values() for key in keys}


def _outcome(inner: Any) -> tuple[Any, BaseException | None]:
    """What a task of Dask's that has ended returned or raised."""
    if inner.status == "error":
        return None, inner.exception()
    if inner.status != "finished":
        return None, ClusterError(f"Dask has given the task up: it is {inner.status}")
    try:
        return inner.result(), None
    except Exception as error:  # noqa: BLE001 - the worker that holds it may be gone
        return None, error
