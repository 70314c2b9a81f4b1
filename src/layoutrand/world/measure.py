"""One measured execution: a process in its own session, timed from its start until the kernel reports its end.

Between the two readings of the clock this process sleeps in one ``poll``: it writes nothing, draws nothing and
wakes no one.  The child gets exactly the environment it is given, no inherited descriptors, and a session of its own,
so that its process group can be ended as a whole: on a timeout, on Ctrl-C, and after a normal end, where it removes
what the program left running in the background.

The order at the end matters: the clock is read when the pidfd reports the end, then the group is killed while the
leader is still a zombie and so still owns the group's number, and only then is the leader reaped.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.errors import FeatureUnsupported

GRACE_S: Final = 2.0
_STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Command:
    """What to execute.  ``env`` is the whole environment; ``stdin`` None is /dev/null; ``timeout_s`` in seconds."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path | None
    stdout: Path
    stderr: Path
    timeout_s: float


@dataclass(frozen=True)
class Outcome:
    """How one execution went.

    ``status`` is "ok", "exit", "signal", "timeout" or "start"; ``reason`` says so in words, and is "" for "ok".
    ``wall_s`` runs on the monotonic clock.  ``rusage`` is empty where nothing was started, else holds `RUSAGE`.
    """

    pid: int
    started_at: float
    wall_s: float
    status: str
    reason: str
    returncode: int | None
    signal: int | None
    rusage: Mapping[str, float]


RUSAGE: Final = {
    "user_s": "s",
    "system_s": "s",
    "max_rss_bytes": "B",
    "minor_faults": "1",
    "major_faults": "1",
    "voluntary_switches": "1",
    "involuntary_switches": "1",
}
"""What ``wait4`` reports of the process and of those children that it waited for, with units."""


def measure(command: Command, *, grace_s: float = GRACE_S) -> Outcome:
    """Execute the command once.

    A command that cannot be started, fails or overruns its time is an outcome.  Raises `KeyboardInterrupt` after
    Ctrl-C (or ends by the signal after SIGTERM and SIGHUP) once the whole process group is gone, `OSError` when an
    input or output file cannot be opened, and `FeatureUnsupported` on a kernel without pidfd (before Linux 5.3).
    """
    with contextlib.ExitStack() as stack:
        stdin = stack.enter_context(Path(command.stdin or os.devnull).open("rb"))
        stdout = stack.enter_context(command.stdout.open("wb"))
        stderr = stack.enter_context(command.stderr.open("wb"))
        interrupts = stack.enter_context(_noted_interrupts())
        started_at = time.time()
        start = time.perf_counter_ns()
        try:
            process = subprocess.Popen(  # noqa: S603 - executing the user's command is the purpose
                command.argv, stdin=stdin, stdout=stdout, stderr=stderr,
                cwd=command.cwd, env=command.env, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            return _not_started(command, started_at, error)
        child = _Child(process, interrupts)
        try:
            ended = child.wait(command.timeout_s)
            wall_s = (time.perf_counter_ns() - start) / 1e9
        finally:  # also when this kernel cannot wait: nothing of the child survives
            status, usage = child.end(grace_s)
        if interrupts.received:
            raise KeyboardInterrupt
        return _outcome(process.pid, started_at, wall_s, status, usage, None if ended else command.timeout_s)


class _Child:
    """A running child: waits without polling, and ends the whole process group exactly once."""

    def __init__(self, process: subprocess.Popen[bytes], interrupts: _Interrupts) -> None:
        self._process = process
        self._interrupts = interrupts
        self._pidfd: int | None = None

    def wait(self, timeout_s: float) -> bool:
        """Whether the child ended, as opposed to the time or an interrupt; it stays a zombie until `end`."""
        try:
            self._pidfd = os.pidfd_open(self._process.pid)
        except OSError as error:
            raise FeatureUnsupported(
                f"this kernel cannot watch a process by pidfd ({error.strerror}); measuring needs Linux 5.3 or "
                "newer, and a container must not forbid the system call pidfd_open"
            ) from error
        deadline = time.monotonic() + timeout_s
        while not self._poll(self._pidfd, self._interrupts.wakeup, remaining := deadline - time.monotonic()):
            if self._interrupts.received or remaining <= 0:
                return False
            self._interrupts.drain()  # a signal that is not ours, such as SIGWINCH, woke the poll
        return True

    def end(self, grace_s: float) -> tuple[int, tuple[float, ...]]:
        """TERM, a grace period and KILL if it still runs; KILL for the rest of its group; its status and rusage."""
        pid = self._process.pid
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            self._signal_group(signal.SIGTERM)
            if self._pidfd is not None:
                self._poll(self._pidfd, None, grace_s)
        self._signal_group(signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)  # so that Popen never waits for this pid again
        if self._pidfd is not None:
            os.close(self._pidfd)
        return status, tuple(usage)

    @staticmethod
    def _poll(pidfd: int, wakeup: int | None, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        if wakeup is not None:
            poll.register(wakeup, select.POLLIN)
        # poll(2) takes milliseconds in an int; the caller goes on until its own deadline.
        events = poll.poll(min(max(timeout_s, 0) * 1000, 2**31 - 1))
        return any(descriptor == pidfd for descriptor, _ in events)

    def _signal_group(self, number: signal.Signals) -> None:
        # PermissionError: every process left in the group changed its user (setuid); there is nothing we may do.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


@dataclass(frozen=True)
class _Interrupts:
    """Signals noted so far, and a descriptor that becomes readable with the first of them."""

    received: list[int]
    wakeup: int | None

    def drain(self) -> None:
        if self.wakeup is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wakeup, 4096)


@contextlib.contextmanager
def _noted_interrupts() -> Iterator[_Interrupts]:
    """Note the signals that would stop layoutrand, and let them have their usual effect afterwards.

    Python raises KeyboardInterrupt between any two instructions, also between the start of a child and the
    assignment of its handle: the child would run on, unknown to anyone.  So signals only wake the poll, by way of
    Python's wake-up descriptor, and no exception can arise where it would do harm.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _Interrupts([], None)  # signal handlers run in the main thread alone, so nothing can interrupt this one
        return
    received: list[int] = []
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    wakeup_before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    before = {number: signal.getsignal(number) for number in _STOPPING}
    routed = {number: handler for number, handler in before.items() if callable(handler) or handler == signal.SIG_DFL}
    for number in routed:
        signal.signal(number, lambda caught, _frame: received.append(caught))
    try:
        yield _Interrupts(received, reading)
    finally:
        for number, handler in routed.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup_before)
        os.close(reading)
        os.close(writing)
        if received:
            # Whoever installed the handler before decides: Python's own raises KeyboardInterrupt for SIGINT, while
            # SIGTERM and SIGHUP usually end this process, now that the child is gone.
            signal.raise_signal(received[0])


def _not_started(command: Command, started_at: float, error: OSError | ValueError) -> Outcome:
    program = command.argv[0]
    if not isinstance(error, OSError):
        why = f"{error}"
    elif isinstance(error, FileNotFoundError) and "/" not in program:
        why = f"no such program in PATH={command.env.get('PATH', '')}; give its full path, or set env.PATH"
    elif isinstance(error, FileNotFoundError):
        why = "no such file (or the interpreter named in its first line is missing)"
    else:
        why = error.strerror or str(error)
    return Outcome(
        pid=0, started_at=started_at, wall_s=0.0, status="start", reason=f"cannot start {program!r}: {why}",
        returncode=None, signal=None, rusage={},
    )  # fmt: skip


def _outcome(
    pid: int, started_at: float, wall_s: float, wait_status: int, usage: tuple[float, ...], overran_s: float | None
) -> Outcome:
    code = os.waitstatus_to_exitcode(wait_status)
    returncode, number = (code, None) if code >= 0 else (None, -code)
    status, reason = "ok", ""
    if overran_s is not None:
        status, reason = "timeout", f"still running after {overran_s:g} s (timeout_s), so it was killed"
    elif number is not None:
        core = " and dumped core" if os.WCOREDUMP(wait_status) else ""
        status, reason = "signal", f"killed by signal {_signal_name(number)}{core}"
    elif returncode != 0:
        status, reason = "exit", f"exit status {returncode}"
    return Outcome(
        pid=pid, started_at=started_at, wall_s=wall_s, status=status, reason=reason,
        returncode=returncode, signal=number, rusage=_rusage(usage),
    )  # fmt: skip


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:  # real-time signals between SIGRTMIN and SIGRTMAX have no name of their own
        return str(number)


def _rusage(usage: tuple[float, ...]) -> dict[str, float]:
    """The fields of struct rusage that Linux fills in; its maximum resident set is in KiB."""
    user, system, max_rss_kib = usage[:3]
    minor, major, voluntary, involuntary = usage[6], usage[7], usage[14], usage[15]
    values = (user, system, max_rss_kib * 1024, minor, major, voluntary, involuntary)
    return dict(zip(RUSAGE, map(float, values), strict=True))
