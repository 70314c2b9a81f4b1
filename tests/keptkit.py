"""The processes above a layoutrand that works, and what a kill of them leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil


def keepers(pid):
    """(upper, lower, worker) of a layoutrand that was started as ``pid``, which is the upper one."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(IndexError, psutil.NoSuchProcess):
            lower = psutil.Process(pid).children()[0]
            return pid, lower.pid, lower.children()[0].pid
        time.sleep(0.002)
    raise TimeoutError(f"no worker below {pid}")


def kill_all(process):
    """``kill -9`` of the three at once, so that nobody is left to end what they have started."""
    three = keepers(process.pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in three[:2] if number == signal.SIGSTOP else three:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def is_at_work(pid):
    """Whether there is such a process that has not ended; who has to wait for it may take its time."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def words_of(process):
    """The arguments of a process, none of one that has ended or is just ending."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def marked(mark):
    """The processes that have the mark among their arguments, zombies not counted."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def wait_until(condition, longest_s=30.0):
    """Whether it became true in time."""
    deadline = time.monotonic() + longest_s
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return met
