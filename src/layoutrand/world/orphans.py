"""Processes that a program leaves behind by leaving its session: found because the kernel hands them to us.

A process that daemonises escapes its process group.  Declaring ourselves the subreaper (Linux 3.4) makes every orphan
among our descendants our child, so that after an execution what is new among our children is what the program left.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_TASKS = Path("/proc/self/task")


def adopt_orphans() -> None:
    """Have the kernel give us what our descendants orphan; without effect where it cannot (then init gets them)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> frozenset[int]:
    """Our children, zombies included; empty where the kernel does not list them (CONFIG_PROC_CHILDREN)."""
    found: set[int] = set()
    for task in _TASKS.iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found.update(map(int, (task / "children").read_bytes().split()))
    return frozenset(found)


def end_orphans(known: frozenset[int]) -> int:
    """Kill and reap the children that are not ``known``, and what they orphan in turn; how many there were."""
    ended = 0
    while new := children() - known:
        for pid in new:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:  # it has become another user (setuid): nothing we may do, and nothing to wait for
                known |= {pid}
                continue
            except ProcessLookupError:
                pass
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            ended += 1
    return ended
