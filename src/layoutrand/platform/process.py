"""The seam to other programs: every process that is not a measured execution is started here."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import ClassVar, Protocol

from layoutrand.errors import BuildFailed, ToolNotFound
from layoutrand.platform.executable_files import process_starts
from layoutrand.platform.packages import apt_command

_LONGEST_WAIT_S = 2_000_000.0  # poll counts milliseconds in 31 bits


@dataclass(frozen=True)
class Completed:
    """A finished process: its exit status (negative: killed by that signal), what it wrote, and the time that it took.

    ``seconds`` are those between its start and its end, without what it waited for a turn.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float = 0.0

    def text(self) -> str:
        """stderr then stdout as text, undecodable bytes escaped."""
        return (self.stderr + self.stdout).decode("utf-8", "backslashreplace")


class Runner(Protocol):
    """Starts programs; the tests' fake records the calls instead."""

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """Run to the end and collect the output. Raises `ToolNotFound` if the program cannot be started."""
        ...

    def run_logged(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, timeout_s: float) -> int:
        """Run with all output appended to ``log``; the exit status. The whole process group dies with the call."""
        ...

    def run_attached(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
        """Run with the caller's own input and output; the exit status, 128 + n if killed by signal n.

        Ctrl-C and the like are the command's to answer, so that a make deletes what it has not finished.
        """
        ...

    def stop(self) -> None:
        """End every process group of `run_logged`, from any thread, and start no more."""
        ...


class SubprocessRunner:
    """The real `Runner`."""

    listeners: ClassVar[list[Callable[[Path, int], None]]] = []
    """Are told the log of each program that `run_logged` has ended, and from which byte on that is of it."""

    def __init__(self) -> None:
        """Begin with nothing running."""
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """See `Runner.run`."""
        try:
            return _collected(argv, cwd=cwd, env=dict(env))
        except OSError as error:
            raise ToolNotFound(f"cannot start {argv[0]}: {error.strerror}") from error

    def run_logged(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, timeout_s: float) -> int:
        """See `Runner.run_logged`."""
        with log.open("ab") as output:
            begin = output.tell()
            with self._lock:  # so that `stop` misses no process that is being started
                if self._stopped:
                    raise BuildFailed(f"{argv[0]} was not started: layoutrand is being interrupted", log=log)
                try:
                    with process_starts():
                        process = subprocess.Popen(  # noqa: S603 - an argument list, never a shell string
                            list(argv),
                            cwd=cwd,
                            env=dict(env),
                            stdin=subprocess.DEVNULL,
                            stdout=output,
                            stderr=subprocess.STDOUT,
                            start_new_session=True,
                        )
                except OSError as error:
                    raise ToolNotFound(f"cannot start {argv[0]}: {error.strerror}") from error
                self._running.add(process)
            try:
                _await(process, timeout_s)
                return process.wait(0.1)  # `stop` may be waiting for it, too
            except subprocess.TimeoutExpired as error:
                raise BuildFailed(f"{argv[0]} did not finish within {timeout_s:g} s", log=log) from error
            finally:
                _stop(process)
                with self._lock:
                    self._running.discard(process)
                for listener in self.listeners:
                    listener(log, begin)

    def run_attached(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
        """See `Runner.run_attached`."""
        with _signals_left_to_the_child() as started:
            try:
                with process_starts():
                    process = subprocess.Popen(list(argv), cwd=cwd, env=dict(env))  # noqa: S603 - an argument list
            except OSError as error:
                raise ToolNotFound(f"cannot start {argv[0]}: {error.strerror}") from error
            started(process)
            returncode = process.wait()
        return returncode if returncode >= 0 else 128 - returncode

    def stop(self) -> None:
        """See `Runner.stop`."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _stop(process)


def ask(argv: Sequence[str], *, timeout_s: float) -> Completed:
    """What a program answers that is given nothing but its words; raises `ToolNotFound` for one that does not answer.

    That is one that cannot be started, or has not ended within ``timeout_s`` seconds.
    """
    try:
        return _collected(argv, timeout_s=timeout_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolNotFound(str(error)) from error


def _collected(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> Completed:
    """The program run to its end without input; killed where the wait for it ends otherwise."""
    pipe = subprocess.PIPE
    begin = time.perf_counter()
    with process_starts():
        process = subprocess.Popen(  # noqa: S603 - an argument list, never a shell string
            list(argv), cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except BaseException:
            process.kill()
            raise
    return Completed(process.returncode, stdout, stderr, time.perf_counter() - begin)


class Turns:
    """How much may happen at once, for threads that take more than one turn at a time, too, as a `make -j4` does."""

    def __init__(self, at_once: int) -> None:
        """So many turns."""
        self._at_once = self._free = max(1, at_once)
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, wanted: int = 1) -> Iterator[None]:
        """Wait for so many turns, or for all where there are fewer; they are free again at the end."""
        count = min(wanted, self._at_once)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= count)
            self._free -= count
        try:
            yield
        finally:
            with self._changed:
                self._free += count
                self._changed.notify_all()

    @contextmanager
    def one_more(self) -> Iterator[bool]:
        """Whether a turn is free, which is taken then; for who can do without, and waits for none."""
        with self._changed:
            is_free = self._free > 0
            self._free -= is_free
        try:
            yield is_free
        finally:
            with self._changed:
                self._free += is_free
                self._changed.notify_all()


class InTurn:
    """A `Runner` whose threads wait for a turn before they `run` a program."""

    def __init__(self, runner: Runner, turns: Turns) -> None:
        """Run through ``runner``."""
        self._runner = runner
        self._turns = turns

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Completed:
        """See `Runner.run`."""
        with self._turns.taken():
            return self._runner.run(argv, cwd=cwd, env=env)

    def run_logged(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, timeout_s: float) -> int:
        """See `Runner.run_logged`."""
        return self._runner.run_logged(argv, cwd=cwd, env=env, log=log, timeout_s=timeout_s)

    def run_attached(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
        """See `Runner.run_attached`."""
        return self._runner.run_attached(argv, cwd=cwd, env=env)

    def stop(self) -> None:
        """See `Runner.stop`."""
        self._runner.stop()


@contextmanager
def _signals_left_to_the_child() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """While it lasts, signals that would stop layoutrand go to the child that the yielded function is told of.

    All but SIGINT: that comes from the terminal, which sends it to the child, too.
    """
    children: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        early.append(number)
        for child in children:
            child.send_signal(number)

    def started(child: subprocess.Popen[bytes]) -> None:
        children.append(child)
        for number in early:
            child.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield started  # signal handlers run in the main thread alone
        return
    before = {signal.SIGINT: signal.signal(signal.SIGINT, lambda _number, _frame: None)}
    before |= {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _await(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Wait for the end or the timeout, as long as it takes; Popen.wait would ask up to 50 ms too late."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # Linux before 5.3
        process.wait(timeout_s)
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(min(timeout_s, _LONGEST_WAIT_S) * 1000)
    finally:
        os.close(handle)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to end, then end it: a build leaves compilers and sub-makes behind otherwise."""
    for number, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 10.0)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def find_tool(names: Sequence[str], *, path: str, purpose: str) -> Path:
    """The first of the names found on ``path``; raises `ToolNotFound` naming all of them and their purpose."""
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return Path(found).absolute()
    listed = " or ".join(names)
    command = apt_command(names[:1])
    how = f" ({command})" if command else ""
    raise ToolNotFound(f"{listed} not found on PATH, needed as {purpose}; install it{how}, or choose another toolchain")
