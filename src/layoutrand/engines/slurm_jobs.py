"""Slurm behind the standard executor: submitit writes, submits and pickles, this waits for the jobs.

submitit learns a job's end from ``sacct``, which says nothing where Slurm keeps no accounts. Here a job has ended when
its result is there; one that ``squeue`` no longer lists and that has left no result is lost. One that is preempted or
requeued is listed as pending again, and waited for.

A function whose first argument has a ``token`` (see `slurm_tokens`) is not submitted again while a job for it is on its
way, or has left its result: that job is followed. So a run that was killed goes on with the jobs that it left. Those
that it had no time to note are found in the queue, by what they were asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.engines.engine import TaskExecutor
from layoutrand.engines.lost_jobs import left_error, left_no_result
from layoutrand.engines.slurm_tokens import TokenJournal
from layoutrand.engines.squeue import FORMAT, Queued, advice, parse_queue
from layoutrand.errors import BundleError, ClusterError, ToolNotFound
from layoutrand.platform.owned_files import foreign
from layoutrand.platform.process import ask

_LONGEST_ARRAY: Final = 1000
"""Jobs in one array: Slurm's own default for MaxArraySize is 1001."""
_AT_A_TIME: Final = 200
"""Jobs named in one command."""


_Outcome = tuple[Any, BaseException | None]


@dataclass(eq=False)
class _Task:
    """A function with its arguments, and the future that stands for its outcome."""

    future: Future[Any]
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def token(self) -> str:
        return _token(self.args)


@dataclass(eq=False)
class _Job:
    """A job of submitit's, what it does, and when it was first missed (s, monotonic).

    One that an earlier run ``left`` may have come to nothing before this one has ``seen`` it in the queue.
    """

    job: Any
    task: _Task
    left: bool = False
    seen: bool = False
    missed_at: float | None = None

    @property
    def id(self) -> str:
        return str(self.job.job_id)


class SlurmJobs(TaskExecutor):
    """Functions executed as jobs of Slurm; those submitted within a moment of each other become one job array."""

    def __init__(
        self,
        submitter: Any,
        journal: TokenJournal,
        *,
        exclude: str = "",
        trust_group: bool = False,
        say: Callable[[str], None] = lambda _: None,
        poll_s: float = 2.0,
        grace_s: float = 15.0,
    ) -> None:
        """Submit through submitit's executor, look every ``poll_s``, and wait ``grace_s`` for a file to be seen.

        Jobs with a token are noted in the ``journal``; ``exclude`` are nodes that the user excludes; with
        ``trust_group`` members of the user's group may have written what is unpickled; ``say`` takes what the user
        should know.
        """
        self._submitter = submitter
        self._journal = journal
        self._excluded = [exclude] if exclude else []
        self._trust_group = trust_group
        self._say = say
        self._poll_s = poll_s
        self._grace_s = grace_s
        self._waiting: list[_Task] = []
        self._jobs: list[_Job] = []
        self._nodes: dict[str, str] = {}
        self._told: set[str] = set()
        self._found: dict[str, str] | None = None
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`; a job that is there for the token is followed instead."""
        task = _Task(Future(), fn, args, kwargs)
        with self._lock:
            if self._closed:
                raise ClusterError("no more jobs are submitted: this is being shut down")
            job = self._left(task.token) if task.token else None
            if job is None:
                self._waiting.append(task)
            else:
                self._jobs.append(_Job(job, task, left=True))
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="slurm", daemon=True)
                self._thread.start()
        return task.future

    def avoid(self, node: str) -> bool:
        """Have no job begin on that node any more; False if Slurm has no such node, or jobs could begin on no other."""
        with self._lock:
            if node in self._excluded:
                return True
            options = self._submitter.parameters.get("additional_parameters") or {}
            excluded = ",".join([*self._excluded, node])
            nodes = _nodes(str(options.get("partition", "")))
            if node not in nodes or not nodes.difference(_expanded(excluded)):
                return False
            self._excluded.append(node)
            self._submitter.update_parameters(additional_parameters={**options, "exclude": excluded})
            active = self._active() or {}
            waiting = [entry.id for entry in self._jobs if entry.id in active and active[entry.id].waits]
        for begin in range(0, len(waiting), _AT_A_TIME):
            jobs = ",".join(waiting[begin : begin + _AT_A_TIME])
            _command(["scontrol", "update", f"JobId={jobs}", f"ExcNodeList={excluded}"])  # fails for what has begun
        return True

    def forget_others(self, prefix: str, wanted: Collection[str]) -> int:
        """Cancel and forget the noted jobs whose token has the prefix and is not wanted; how many there were."""
        with self._lock:
            known = {*self._journal.jobs(prefix), *(token for token in self._queued() if token.startswith(prefix))}
            others = sorted(known.difference(wanted))
            left = [self._left(token) for token in others]
            _cancel(str(job.job_id) for job in left if job is not None)
            for token in others:
                self._forget(token)
        return len(others)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor.shutdown`; with ``cancel_futures`` jobs are cancelled, running ones too."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                for task in self._waiting:
                    task.future.cancel()
                self._waiting.clear()
                # Of an array that an earlier run submitted not all need be followed.
                _cancel({entry.id if entry.left else entry.id.split("_", maxsplit=1)[0] for entry in self._jobs})
                for entry in self._jobs:
                    self._end(entry.task, None, ClusterError("its job was cancelled"))
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
            self._waiting = [task for task in self._waiting if not task.future.cancelled()]
            waiting, self._waiting = self._waiting[:_LONGEST_ARRAY], self._waiting[_LONGEST_ARRAY:]
            if not waiting:
                return
            try:
                with self._submitter.batch():
                    jobs = [self._submitter.submit(task.fn, *task.args, **task.kwargs) for task in waiting]
            except Exception as error:  # noqa: BLE001 - whatever submitit or sbatch says, the waiting ones must hear it
                for task in waiting:
                    _settle(task.future, None, ClusterError(f"sbatch took no jobs: {error}"))
                return
            entries = [_Job(job, task) for job, task in zip(jobs, waiting, strict=True)]
            self._jobs += entries
            self._note(entries)

    def _settle_ended(self) -> None:
        """Settle the jobs that have left a result, and those that Slurm has done with and that have left none.

        Only jobs that ``squeue`` does not list are looked at: a look is a question to the shared directory's server.
        """
        with self._lock:
            jobs = list(self._jobs)
        if not jobs:
            return
        active = self._active()
        ended: dict[int, _Outcome | None] = {}
        for entry in jobs:
            if active is not None and entry.id in active:
                entry.missed_at, entry.seen = None, True
            elif _has_result(entry.job):
                result, error = _outcome(entry.job, self._trust_group)
                ended[id(entry)] = result, error and left_error(self._named(entry), Path(entry.job.paths.stderr), error)
            elif active is not None:
                entry.missed_at = entry.missed_at or time.monotonic()
                if time.monotonic() - entry.missed_at >= self._grace_s:
                    anew = entry.left and not entry.seen
                    ended[id(entry)] = None if anew else (None, ClusterError(self._words(entry)))
        with self._lock:
            for entry in [entry for entry in self._jobs if id(entry) in ended]:  # others were cancelled meanwhile
                self._jobs.remove(entry)
                outcome = ended[id(entry)]
                if outcome is None:
                    self._waiting.append(entry.task)
                else:
                    self._end(entry.task, *outcome)
            self._drop_unwanted()
        self._tell_stuck(jobs, active or {})

    def _drop_unwanted(self) -> None:
        """Cancel the jobs of futures that were cancelled."""
        unwanted = [entry for entry in self._jobs if entry.task.future.cancelled()]
        _cancel(entry.id for entry in unwanted)
        for entry in unwanted:
            self._jobs.remove(entry)
            self._forget(entry.task.token)

    def _end(self, task: _Task, result: Any, error: BaseException | None) -> None:
        """Settle a task. Its job is forgotten first: whoever hears of the end may submit the same again at once."""
        self._forget(task.token)
        _settle(task.future, result, error)

    def _active(self) -> Mapping[str, Queued] | None:
        """The jobs that Slurm has not done with by id, or None if it does not answer."""
        listed = _command(["squeue", "--me", "--noheader", "--array", f"--format={FORMAT}"])
        if listed is None:
            return None
        active = parse_queue(listed)
        self._nodes |= {job: queued.node for job, queued in active.items() if queued.node}
        return active

    def _tell_stuck(self, jobs: Iterable[_Job], active: Mapping[str, Queued]) -> None:
        """Say once for each reason that jobs of ours may wait for ever, and what to do."""
        for entry in jobs:
            queued = active.get(entry.id)
            what = advice(queued) if queued else None
            if queued is None or what is None or queued.reason in self._told:
                continue
            self._told.add(queued.reason)
            same = sum(other.id in active and active[other.id].reason == queued.reason for other in jobs) - 1
            others = f" and {same} more" if same else ""
            self._say(f"Slurm does not start job {entry.id}{others} ({queued.reason}): {what}")

    def _left(self, token: str) -> Any:
        """The job that was noted for the token, or None; Slurm may have given its id to another one since."""
        job_id = self._journal.job(token) or self._queued().get(token)
        if job_id is None:
            return None
        try:
            job, found = self._asked(job_id)
        except Exception as error:  # noqa: BLE001 - a pickle of an earlier version raises whatever it likes
            self._say(f"the job that was submitted before for task {token[:12]} is not followed: {error}")
            return None
        return job if found == token else None

    def _queued(self) -> dict[str, str]:
        """Jobs by token that were in the queue before any of ours: an earlier run may not have noted them."""
        if self._found is None:
            active = self._active()
            if active is None:
                return {}
            self._found = {}
            for job_id in active:
                with suppress(Exception):  # not of this directory, or of an earlier version
                    self._found[self._asked(job_id)[1]] = job_id
            self._found.pop("", None)
        return self._found

    def _asked(self, job_id: str) -> tuple[Any, str]:
        """The job of that id in this directory, and its token; raises whatever submitit and pickle do."""
        job = self._submitter.job_class(folder=self._submitter.folder, job_id=job_id)
        folder = job.paths.result_pickle.parent
        if reason := foreign(folder.lstat(), group=self._trust_group):
            raise ClusterError(f"{folder} is not taken: {reason}")
        return job, _token(job.submission().args)

    def _note(self, entries: Iterable[_Job]) -> None:
        try:
            for entry in entries:
                if entry.task.token:
                    self._journal.note(entry.task.token, entry.id)
        except BundleError as error:
            self._say(f"jobs go on, but would not be found by a layoutrand that is started again: {error}")

    def _forget(self, token: str) -> None:
        if not token:
            return
        self._queued().pop(token, None)
        try:
            self._journal.forget(token)
        except BundleError as error:
            self._say(str(error))

    def _words(self, entry: _Job) -> str:
        """What is known of a job that left no result."""
        return left_no_result(self._named(entry), Path(entry.job.paths.stderr))

    def _named(self, entry: _Job) -> str:
        node = self._nodes.get(entry.id)
        return f"job {entry.id}{f' on node {node}' if node else ''}"


def active_jobs() -> frozenset[str] | None:
    """Ids of the user's jobs that Slurm has not done with, or None if it does not answer."""
    listed = _command(["squeue", "--me", "--noheader", "--array", f"--format={FORMAT}"])
    return None if listed is None else frozenset(parse_queue(listed))


def _token(args: tuple[Any, ...]) -> str:
    """The token of the first argument, or ""."""
    token = getattr(args[0], "token", "") if args else ""
    return token if isinstance(token, str) else ""


def _nodes(partition: str) -> frozenset[str]:
    """All nodes of the partition, or of several with commas between them, or of all."""
    listed = _command(
        ["sinfo", "--noheader", "--Node", "--format=%N", *([f"--partition={partition}"] * bool(partition))]
    )
    return frozenset((listed or "").split())


def _expanded(nodes: str) -> frozenset[str]:
    """The nodes that an expression such as ``n[1-3],m1`` stands for."""
    return frozenset((_command(["scontrol", "show", "hostnames", nodes]) or "").split())


def _has_result(job: Any) -> bool:
    """Whether the job's result is to be seen; a server that is away for a moment shows none."""
    try:
        return bool(job.paths.result_pickle.exists())
    except OSError:
        return False


def _outcome(job: Any, trust_group: bool) -> _Outcome:
    """What the function returned or raised; nothing is unpickled that others may have put there."""
    path = job.paths.result_pickle
    try:
        for each in (path.parent, path):
            if reason := foreign(each.lstat(), group=trust_group):
                return None, ClusterError(f"{each} is not taken: {reason}. Delete it and give the same command again")
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


def _cancel(jobs: Iterable[str]) -> None:
    """Cancel jobs or whole arrays; Slurm says nothing about those that have ended."""
    named = sorted(jobs)
    for begin in range(0, len(named), _AT_A_TIME):
        _command(["scancel", *named[begin : begin + _AT_A_TIME]])


def _command(argv: list[str]) -> str | None:
    """What one of Slurm's commands prints, or None if it fails."""
    try:
        done = ask(argv, timeout_s=60)
    except ToolNotFound:
        return None
    return done.stdout.decode("utf-8", "backslashreplace") if done.returncode == 0 else None
