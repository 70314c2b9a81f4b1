"""Two processes above the one that works, so that what it starts ends with it however it ends, also after kill -9.

The kernel gives orphans to the nearest ancestor that asked for them (a subreaper, Linux 3.4), so who ends them must
stand above the worker and not beside it.  The upper process is the one that the shell knows: it passes on signals that
were sent to it, and ends as the worker ended.  The lower one has a process group of its own: ``kill -9 %1`` and
``timeout -s KILL``, which reach a group, leave it.  The worker is in the group of the upper process, so that terminals,
Ctrl-C and Ctrl-Z do with it what they always do.  Whichever of the three is killed, those that are left kill the
tree; after ``kill -9`` of all at once nobody does before the next command (`layoutrand.platform.orphans`).

Both sleep in one system call until something ends or is sent, and start nothing: a measured program is started, and
waited for, by the worker as ever.  A worker that ends by itself has put everything in order, and what a build left
running then, such as a compiler server, is left alone; one that was interrupted leaves nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable
from typing import Final, NoReturn

from layoutrand.platform.ending import INTERRUPTED

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15
_PR_SET_CHILD_SUBREAPER: Final = 36
_NAME: Final = b"tree-keeper"
"""So that ``pkill -9 layoutrand`` does not reach it."""

_PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT)
_HEARD: Final = (signal.SIGCHLD, *_PASSED_ON)
_OF_THE_KERNEL: Final = 0x80
"""si_code of what a terminal sends, to all processes of a group."""

_PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.005
_LONGER_PAUSE_S: Final = 0.1
_PASSES: Final = 50
_STANDARD: Final = (0, 1, 2)
_NUMBER_BYTES: Final = 8
_ZOMBIE: Final = b"Z"


def keep() -> None:
    """Fork twice, and return in the process that is to work; the others never return, and end when it has ended.

    To be called while there is one thread, and before anything is started.  Where no process can be made it returns in
    this one, and whatever starts a program will say so.
    """
    upper = os.getpid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)  # before there is anybody to orphan
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    reading, writing = os.pipe()
    lower = _forked()
    if lower == 0:
        os.close(reading)
        _keep_below(upper)
        with contextlib.suppress(BrokenPipeError):
            os.write(writing, os.getpid().to_bytes(_NUMBER_BYTES, "big"))
        os.close(writing)
    else:
        os.close(writing)
        worker = int.from_bytes(os.read(reading, _NUMBER_BYTES), "big")
        os.close(reading)
        if lower is not None and worker:
            _keep_above(lower, worker)
        if lower is not None:
            _end_unless_alone(os.waitpid(lower, 0)[1])
        _prctl(_PR_SET_CHILD_SUBREAPER, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _forked() -> int | None:
    """As `os.fork`, None where there can be no more processes."""
    try:
        return os.fork()
    except OSError:
        return None


def _keep_below(upper: int) -> None:
    """Be the lower process; returns in the worker."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    waiting, told = os.pipe()
    worker = _forked()
    if worker == 0:
        os.close(told)
        os.read(waiting, 1)  # nothing is started while a kill of the group would still reach all three
        os.close(waiting)
        return
    os.setpgid(0, 0)  # the worker stays in its group, which could not be named where it is of an outer PID namespace
    os.close(told)
    os.close(waiting)
    if worker is None:
        os._exit(0)
    _prctl(_PR_SET_NAME, _NAME)

    def heard(_sent: signal.struct_siginfo) -> None:
        if os.getppid() != upper:
            end_descendants()
            os._exit(1)

    os.kill(os.getpid(), signal.SIGTERM)  # the upper process may have ended before the kernel was asked to tell
    _sit(worker, heard)


def _end_unless_alone(status: int) -> None:
    """Return where the lower process ended since there could be no worker; end as it did where one was killed."""
    if not os.WIFEXITED(status):
        end_descendants()
        _end_like(status)


def _keep_above(lower: int, worker: int) -> NoReturn:
    """Be the upper process, which passes on what is sent to it; the worker gets itself what a terminal sends."""

    def heard(sent: signal.struct_siginfo) -> None:
        if sent.si_code != _OF_THE_KERNEL:
            _send(worker, sent.si_signo)
        if sent.si_signo == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    while early := signal.sigtimedwait(_PASSED_ON, 0):  # before the worker was in the terminal's group
        _send(worker, early.si_signo)
    _sit(lower, heard)


def _sit(child: int, heard: Callable[[signal.struct_siginfo], None]) -> NoReturn:
    """Sleep until the child ends, and end as it did; where that was for a signal, all that is left ends first."""
    nothing = os.open(os.devnull, os.O_RDWR)  # nobody is to wait for the end of a stream because of us
    for number in _STANDARD:
        os.dup2(nothing, number)
    while (status := _reaped(child)) is None:
        sent = signal.sigwaitinfo(_HEARD)
        if sent.si_signo != signal.SIGCHLD:
            heard(sent)
    is_by_itself = os.WIFEXITED(status) and os.WEXITSTATUS(status) != INTERRUPTED
    if not is_by_itself:
        end_descendants()
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    _end_like(status)


def _reaped(child: int) -> int | None:
    """The wait status of the child, None while it lives; adopted processes that have ended are reaped on the way."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                found = ended[1]
    return found


def end_descendants() -> None:
    """Kill all that this process and its children started, and what they orphaned, until nothing of it is left.

    To be called by a subreaper.  They are stopped first, so that nothing starts more while others are killed.  What
    changes its parent while all are looked at may not be seen; that there are no children left says that there is
    nothing below them either.  What has become another user's cannot be killed, and is left.
    """
    stopped: set[int] = set()
    for _pass in range(_PASSES):
        for pid in (new := _descendants() - stopped):
            _send(pid, signal.SIGSTOP)
        stopped |= new
        if not new:
            break
    deadline = time.monotonic() + _PATIENCE_S
    while _has_children() and time.monotonic() < deadline:
        ours = [pid for pid in _descendants() if _send(pid, signal.SIGKILL)]
        time.sleep(_PAUSE_S if ours else _LONGER_PAUSE_S)


def _has_children() -> bool:
    """Whether there is a child, after all that have ended were reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _descendants() -> set[int]:
    """All processes below this one that have not ended."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b") ")[2].split()[:2]
                if state != _ZOMBIE:
                    below.setdefault(int(parent), []).append(int(name))
    found: set[int] = set()
    looked_at = [os.getpid()]
    while looked_at:
        children = below.pop(looked_at.pop(), [])
        found |= set(children)
        looked_at += children
    return found


def _send(pid: int, number: int) -> bool:
    """Send a signal; whether we may. What has ended needs none."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True


def _end_like(status: int) -> NoReturn:
    """End by the signal that the wait status tells, without another core file."""
    import resource

    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # of what cannot be caught there is no handler
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # the first process of a container is killed by none of its own signals


def _prctl(option: int, value: int | bytes) -> None:
    _libc.prctl(option, value, 0, 0, 0)


_libc: Final = ctypes.CDLL(None)
