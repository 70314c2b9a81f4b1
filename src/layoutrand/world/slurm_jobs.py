"""Slurm behind the standard `Executor`: submitit writes, submits and pickles, this waits for the jobs.

submitit learns a job's end from ``sacct``, which says nothing where Slurm keeps no accounts. Here a job has ended when
its result is there; one that ``squeue`` no longer lists and that has left no result is lost.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.errors import ClusterError
from layoutrand.world.disk import tail

_LOG_LINES: Final = 40
_LONGEST_ARRAY: Final = 1000
"""Jobs in one array: Slurm's own default for MaxArraySize is 1001."""


_Outcome = tuple[Any, BaseException | None]


@dataclass(eq=False)
class _Job:
    """A job of submitit's, the future that stands for it, and when it was first missed (s, monotonic)."""

    job: Any
    future: Future[Any]
    missed_at: float | None = None


class SlurmJobs(Executor):
    """Functions executed as jobs of Slurm; those submitted within a moment of each other become one job array."""

    def __init__(self, submitter: Any, *, poll_s: float = 2.0, grace_s: float = 15.0) -> None:
        """Submit through submitit's executor, look every ``poll_s``, and wait ``grace_s`` for a file to be seen."""
        self._submitter = submitter
        self._poll_s = poll_s
        self._grace_s = grace_s
        self._waiting: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self._jobs: list[_Job] = []
        self._nodes: dict[str, str] = {}
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`."""
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise ClusterError("no more jobs are submitted: this is being shut down")
            self._waiting.append((future, fn, args, kwargs))
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="slurm", daemon=True)
                self._thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor.shutdown`; with ``cancel_futures`` jobs are cancelled, running ones too."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                for future, *_ in self._waiting:
                    future.cancel()
                self._waiting.clear()
                arrays = sorted({str(entry.job.job_id).split("_", maxsplit=1)[0] for entry in self._jobs})
                if arrays:
                    _command(["scancel", *arrays])
                for entry in self._jobs:
                    _settle(entry.future, None, ClusterError("its job was cancelled"))
                self._jobs.clear()
            thread = self._thread
        self._wake.set()
        if wait and thread is not None:
            thread.join()

    def _watch(self) -> None:
        """Submit what waits and settle what has ended, until there is nothing left after `shutdown`."""
        while True:
            self._wake.wait(self._poll_s)
            self._submit_waiting()
            self._settle_ended()
            with self._lock:
                if self._closed and not self._jobs and not self._waiting:
                    return

    def _submit_waiting(self) -> None:
        with self._lock:
            self._waiting = [row for row in self._waiting if not row[0].cancelled()]
            waiting, self._waiting = self._waiting[:_LONGEST_ARRAY], self._waiting[_LONGEST_ARRAY:]
            if not waiting:
                return
            try:
                with self._submitter.batch():
                    jobs = [self._submitter.submit(fn, *args, **kwargs) for _, fn, args, kwargs in waiting]
            except Exception as error:  # noqa: BLE001 - whatever submitit or sbatch says, the waiting ones must hear it
                for future, *_ in waiting:
                    _settle(future, None, ClusterError(f"sbatch took no jobs: {error}"))
                return
            self._jobs += [_Job(job, row[0]) for job, row in zip(jobs, waiting, strict=True)]

    def _settle_ended(self) -> None:
        """Settle the jobs that have left a result, and those that Slurm has done with and that have left none.

        Only jobs that ``squeue`` does not list are looked at: a look is a question to the shared directory's server.
        """
        with self._lock:
            jobs = list(self._jobs)
        if not jobs:
            return
        active = self._active()
        ended: dict[int, _Outcome] = {}
        for entry in jobs:
            if active is not None and entry.job.job_id in active:
                entry.missed_at = None
            elif entry.job.paths.result_pickle.exists():
                ended[id(entry)] = _outcome(entry.job)
            elif active is not None:
                entry.missed_at = entry.missed_at or time.monotonic()
                if time.monotonic() - entry.missed_at >= self._grace_s:
                    ended[id(entry)] = (None, ClusterError(self._words(entry.job)))
        with self._lock:
            for entry in [entry for entry in self._jobs if id(entry) in ended]:  # others were cancelled meanwhile
                self._jobs.remove(entry)
                _settle(entry.future, *ended[id(entry)])

    def _active(self) -> Mapping[str, str] | None:
        """Node by id of the jobs that Slurm has not done with, or None if it does not answer."""
        listed = _command(["squeue", "--me", "--noheader", "--array", "--format=%i|%N"])
        if listed is None:
            return None
        nodes = dict(row.split("|", 1) for row in listed.splitlines() if "|" in row)
        self._nodes |= {job: node for job, node in nodes.items() if node}
        return nodes

    def _words(self, job: Any) -> str:
        """What is known of a job that left no result."""
        node = self._nodes.get(job.job_id)
        log = Path(job.paths.stderr)
        try:
            said = tail(log, _LOG_LINES).strip()
        except OSError:
            said = ""
        words = f"Slurm has done with job {job.job_id}{f' on node {node}' if node else ''}, and it left no result"
        return f"{words}; the end of {log}:\n{said}" if said else f"{words}; {log} is empty"


def _outcome(job: Any) -> _Outcome:
    """What the function returned or raised."""
    try:
        return job.result(), None
    except Exception as error:  # noqa: BLE001 - it is the future's
        return None, error


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def _command(argv: list[str]) -> str | None:
    """What one of Slurm's commands prints, or None if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - a list
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
