"""One measured execution: a process in its own session, timed from its start until the kernel reports its end.

Between the two readings of the clock this process sleeps in one ``poll``: it writes nothing, draws nothing and
wakes no one.  The child gets exactly the environment it is given, no inherited descriptors, and a session of its own,
so that its process group can be ended as a whole: on a timeout, on Ctrl-C, and after a normal end, where it removes
what the program left running in the background.

The order at the end matters: the clock is read when the pidfd reports the end, then the group is killed while the
leader is still a zombie and so still owns the group's number, and only then is the leader reaped.

CPUs, priority and address-space randomisation are inherited from the thread that starts the child
(`layoutrand.host.pinning`, `layoutrand.host.persona`), limits from this process (`layoutrand.host.limits`), and a
control group from this process, too (`layoutrand.execute.isolated`).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, Final, Protocol

from layoutrand.config.conditions import Conditions, Ending, limit_verdict
from layoutrand.errors import FeatureUnsupported
from layoutrand.host import limits, pinning, stack
from layoutrand.host.persona import without_aslr
from layoutrand.model import RUSAGE_METRICS
from layoutrand.platform import orphans, proc_files
from layoutrand.platform.ending import STOPPING
from layoutrand.platform.interrupts import Interrupts, noted_interrupts

GRACE_S: Final = 2.0
SAME_STOP_S: Final = 1.0
"""Whoever ends a job (Slurm, systemd, a shutdown) signals its processes one after another, the child often first."""
_RSS_MARGIN: Final = 2 << 20  # the kernel's counters lag behind by some pages per CPU


@dataclass(frozen=True)
class Command:
    """What to execute.

    ``env`` is the whole environment; ``stdin`` None is /dev/null; ``timeout_s`` in seconds; ``aslr`` False switches
    address-space randomisation off.  With a stack offset in its ``conditions``, ``argv[0]`` must be an ELF program.
    With ``merge_output`` standard error is the same open file as standard output, so that the file has both in the
    order in which they were written, and that of standard error stays empty.  It ends well with ``expect_status``.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path | None
    stdout: Path
    stderr: Path
    timeout_s: float
    aslr: bool = True
    merge_output: bool = False
    expect_status: int = 0
    conditions: Conditions = field(default_factory=Conditions)


@dataclass(frozen=True)
class Outcome:
    """How one execution went.

    ``status`` is "ok", "exit", "signal", "timeout", "output-limit", "memory-limit" or "start"; ``reason`` says so in
    words, and is "" for "ok".
    ``wall_s`` runs on the monotonic clock.  ``rusage`` is empty where nothing was started, else holds
    `RUSAGE_METRICS`, but without ``max_rss_bytes`` where it cannot be known: Linux counts the memory that the child
    shares with its parent before it begins its own program, so a child that needs less than layoutrand itself
    reports layoutrand's peak.
    ``isolation`` is what is recorded of the group that held it, empty for a process group.  ``measured_by`` is the
    process that measured where that was not this one, and ``unseen_cpu_s`` the CPU time, in seconds, of it and what it
    started: `HostWatch` knows those of this one alone.
    """

    pid: int
    started_at: float
    wall_s: float
    status: str
    reason: str
    returncode: int | None
    signal: int | None
    rusage: Mapping[str, float]
    isolation: Mapping[str, Any] = field(default_factory=dict)
    measured_by: int | None = None
    unseen_cpu_s: float = 0.0


class Executor(Protocol):
    """Executes one command and says how it went: `measure`, the same in a control group, or a fake."""

    def __call__(self, command: Command) -> Outcome:
        """Execute ``command``, its output going to the files that it names."""


def measure(command: Command, *, grace_s: float = GRACE_S, end_tree: Callable[[], None] = lambda: None) -> Outcome:
    """Execute the command once; ``end_tree`` ends what a group of another kind holds of it, before any is waited for.

    A command that cannot be started, fails or overruns its time is an outcome.  Raises `KeyboardInterrupt` after
    Ctrl-C (or ends by the signal after SIGTERM and SIGHUP) once the whole process group is gone, also where the child
    was sent the same signal by someone else and died of it first, `OSError` when an
    input or output file cannot be opened, and `FeatureUnsupported` on a kernel without pidfd (before Linux 5.3) or
    where the command's conditions cannot be met.
    """
    where = command.conditions.placement
    if command.conditions.process_limit is not None:
        raise FeatureUnsupported(
            "process_limit takes a control group that can limit processes; `layoutrand doctor` says how to get one, or "
            "leave it out"
        )
    with contextlib.ExitStack() as opened:
        stdin = opened.enter_context(open(command.stdin or os.devnull, "rb", buffering=0))
        stdout = opened.enter_context(open(command.stdout, "wb", buffering=0))
        stderr = opened.enter_context(open(command.stderr, "wb", buffering=0))
        interrupts = opened.enter_context(noted_interrupts())
        opened.enter_context(pinning.kept_off(where.taken if where else frozenset()))
        rss_floor = _own_peak_bytes() + _RSS_MARGIN
        orphans.adopt_orphans()
        known = orphans.children()
        try:
            started = pinning.start_under(
                where, command.conditions.priority, partial(_start, command, stdin, stdout, stderr)
            )
        except (OSError, ValueError) as error:
            return _not_started(command, error)
        child = _Child(started.process, interrupts, end_tree)
        try:
            limits.limit(started.process.pid, started.owed)
            ended = child.wait(command.timeout_s)
            wall_s = (time.perf_counter_ns() - started.clock_ns) / 1e9
        finally:  # also when this kernel cannot wait: nothing of the child survives
            status, usage = child.end(grace_s)
            orphans.end_orphans(known)  # what left the session to survive it
        overran_s = None if ended else command.timeout_s
        kind, reason, returncode, number = _describe(status, overran_s, command.expect_status)
        rusage = _rusage(usage, rss_floor)
        written = max(os.fstat(file.fileno()).st_size for file in (stdout, stderr))
        ending = Ending(kind, reason, number, written, rusage.get("max_rss_bytes"))
        kind, reason = limit_verdict(command.conditions, ending)
        outcome = Outcome(
            pid=started.process.pid,
            started_at=started.at,
            wall_s=wall_s,
            status=kind,
            reason=reason,
            returncode=returncode,
            signal=number,
            rusage=rusage,
        )
        if interrupts.received or stopped_as_well(outcome, interrupts):
            raise KeyboardInterrupt
        return outcome


@dataclass(frozen=True)
class _Started:
    """A child, when it was started, the reading of the monotonic clock just before, and limits it does not have yet."""

    process: subprocess.Popen[bytes]
    at: float
    clock_ns: int
    owed: limits.Limits


def _start(command: Command, stdin: FileIO, stdout: FileIO, stderr: FileIO) -> _Started:
    """Start the child from the calling thread, whose CPUs, priority and personality it inherits."""
    offset = command.conditions.stack_offset
    program = None if offset is None else stack.lengthened(command.argv[0], command.env, command.cwd, offset)
    with without_aslr(wanted=not command.aslr), limits.inherited(command.conditions) as owed:
        at = time.time()
        clock_ns = time.perf_counter_ns()
        process = subprocess.Popen(  # noqa: S603 - executing the user's command is the purpose
            command.argv,
            executable=program,
            stdin=stdin,
            stdout=stdout,
            stderr=stdout if command.merge_output else stderr,
            cwd=command.cwd,
            env=command.env,
            start_new_session=True,
        )
    return _Started(process, at, clock_ns, owed)


class _Child:
    """A running child: waits without polling, and ends the whole process group exactly once."""

    def __init__(self, process: subprocess.Popen[bytes], interrupts: Interrupts, end_tree: Callable[[], None]) -> None:
        self._process = process
        self._interrupts = interrupts
        self._end_tree = end_tree
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
        self._end_tree()
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


def _not_started(command: Command, error: OSError | ValueError) -> Outcome:
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
        pid=0,
        started_at=time.time(),
        wall_s=0.0,
        status="start",
        reason=f"cannot start {program!r}: {why}",
        returncode=None,
        signal=None,
        rusage={},
    )


def _describe(wait_status: int, overran_s: float | None, wanted: int) -> tuple[str, str, int | None, int | None]:
    """Status, reason, exit status and signal of a process that ended."""
    code = os.waitstatus_to_exitcode(wait_status)
    returncode, number = (code, None) if code >= 0 else (None, -code)
    if overran_s is not None:
        return "timeout", f"still running after {overran_s:g} s (timeout_s), so it was killed", returncode, number
    if number is not None:
        core = " and dumped core" if os.WCOREDUMP(wait_status) else ""
        return "signal", f"killed by {signal_name(number)}{core}", returncode, number
    if returncode == wanted:
        return "ok", "", returncode, None
    instead = f", not {wanted} (expect_status)" if wanted else ""
    return "exit", f"exit status {returncode}{instead}", returncode, None


def stopped_as_well(outcome: Outcome, interrupts: Interrupts) -> bool:
    """Whether it ended by a signal that stops layoutrand, too, or as a shell whose command did, and that arrives."""
    if outcome.status == "timeout":
        return False
    number = outcome.signal if outcome.returncode is None else outcome.returncode - 128
    return number in STOPPING and interrupts.comes_within(SAME_STOP_S)


def signal_name(number: int) -> str:
    """As in "signal 11 (SIGSEGV)"."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:  # real-time signals between SIGRTMIN and SIGRTMAX have no name of their own
        return f"signal {number}"


def _own_peak_bytes() -> int:
    """The peak memory of layoutrand itself, from /proc: getrusage reports its parent's in the same way, psutil none."""
    _, _, found = (proc_files.text("/proc/self/status", in_one=True) or "").partition("\nVmHWM:")
    return int(found.split(maxsplit=1)[0]) * 1024 if found else 0


def _rusage(usage: tuple[float, ...], rss_floor: int) -> dict[str, float]:
    """The fields of struct rusage that Linux fills in; its maximum resident set is in KiB."""
    user, system, max_rss_kib = usage[:3]
    minor, major, voluntary, involuntary = usage[6], usage[7], usage[14], usage[15]
    values = (user, system, max_rss_kib * 1024, minor, major, voluntary, involuntary)
    result = dict(zip(RUSAGE_METRICS, map(float, values), strict=True))
    if result["max_rss_bytes"] <= rss_floor:
        del result["max_rss_bytes"]
    return result
