"""Processes without a parent of ours: those that a program left behind, and those of a layoutrand that was killed.

A process that daemonises escapes its process group.  Declaring ourselves the subreaper (Linux 3.4) makes every orphan
among our descendants our child, so that after an execution what is new among our children is what the program left.
Where layoutrand itself was killed, the next one looks for its processes among all.

psutil is not for this: to find children it looks through all processes of the machine, which takes milliseconds after
each execution; it asks whether a number still is that process and kills then, where a pidfd is the process; and it
reaps what somebody else waits for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Final

from layoutrand.platform import proc_files

_PR_SET_CHILD_SUBREAPER = 36
_TASKS: Final = "/proc/self/task"
_LONGEST_END_S = 10.0
_PASSES = 5
_LONGEST_START_S = 1.0
_PAUSE_S = 0.001
_ENVIRONMENT_ENDS = 48
"""Field 51 of /proc/PID/stat, env_end, counted from the one behind the name."""


def adopt_orphans() -> None:
    """Have the kernel give us what our descendants orphan; without effect where it cannot (then init gets them)."""
    with contextlib.suppress(OSError, AttributeError):
        _c_library().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def children() -> frozenset[int]:
    """Our children, zombies included; empty where the kernel does not list them (CONFIG_PROC_CHILDREN)."""
    found: set[int] = set()
    for task in os.listdir(_TASKS):
        own = proc_files.text(f"{_TASKS}/{task}/children")  # None for a thread that has just ended
        found.update(map(int, (own or "").split()))
    return frozenset(found)


def end_orphans(known: frozenset[int]) -> int:
    """Kill and reap the children that are not ``known``, and what they orphan in turn; how many there were.

    All are killed before the first is waited for, so that they have as little time as possible to start more.
    """
    ended = 0
    while new := children() - known:
        for pid in new:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:  # it has become another user (setuid): nothing we may do, and nothing to wait for
                known |= {pid}
            except ProcessLookupError:
                pass
        for pid in new - known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            ended += 1
    return ended


def is_at_work(pid: int) -> bool:
    """Whether there is such a process that has not ended: in many a container nobody waits for those that have."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def end_processes(is_ours: Callable[[Path], bool]) -> int:
    """Kill every process whose directory in /proc ``is_ours`` says so of, and wait for their ends; how many there were.

    ``is_ours`` may raise `OSError` for a process that has just ended, or is another user's: that is left alone.
    """
    ended = 0
    for _pass in range(_PASSES):  # while some were killed others may have been started
        if not (killed := _end_those_there(is_ours)):
            break
        ended += killed
    return ended


def was_given(entry: Path, variables: Collection[bytes]) -> bool:
    """Whether the process of a directory in /proc was started with one of these variables, ``NAME=value``.

    While the kernel lays out a program that was just started, its environment cannot be read yet: then it is looked
    at again.  Raises `OSError` for a process that has ended, or is another user's.
    """
    environment = (entry / "environ").read_bytes()
    if not environment:
        deadline = time.monotonic() + _LONGEST_START_S
        while _is_being_started(entry) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
        environment = (entry / "environ").read_bytes()  # it may have got one since
    return any(each in variables for each in environment.split(b"\0"))


def _is_being_started(entry: Path) -> bool:
    """Whether there is a program, whose environment has no place yet; what has an empty one has a place for it."""
    (entry / "exe").readlink()  # neither the kernel's own nor what has ended has one
    return (entry / "stat").read_bytes().rpartition(b")")[2].split()[_ENVIRONMENT_ENDS] == b"0"


def _end_those_there(is_ours: Callable[[Path], bool]) -> int:
    handles = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(int(entry.name))
            try:  # the handle first: what is then true of the directory is true of the process that it stands for
                if is_ours(entry):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    handles.append(os.dup(handle))
            finally:
                os.close(handle)
    for handle in handles:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(_LONGEST_END_S * 1000)
        os.close(handle)
    return len(handles)
