"""A process that answers requests of a build's processes for as long as the build lasts.

It imports what the answers need once, and forks a child for each request: requests do not wait for each other, and
none can harm another.  It is no child of the build: umask, limits, preloaded libraries and descriptors of the build
do not reach it, and what a terminal sends to the build does not either.  It ends with who started it, however that
ends, and a child ends with the client that asked (`layoutrand.platform.helper_client`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn, Protocol

from layoutrand.platform.helper_client import ALONE, DONE, PLACE, STATUS

_NAME: Final = "helper"
_BACKLOG: Final = 1024
_LONGEST: Final = 1 << 16
_PATIENCE_S: Final = 5.0
_PR_SET_PDEATHSIG: Final = 1
_STDERR: Final = 2


class Service(Protocol):
    """What a helper does; children are forks, so what one learns its siblings know only by ``news`` and ``learn``."""

    def answer(self, request: str, client: Client) -> int:
        """In a child: do what is asked; the client's exit status."""
        ...

    def news(self) -> bytes:
        """In a child, after its answer: what later children should know."""
        ...

    def learn(self, news: bytes) -> None:
        """In the helper: take in a child's news."""
        ...


@contextmanager
def helper(folder: Path, arguments: Sequence[str], temporary: str) -> Iterator[None]:
    """A helper that listens in ``folder``, which must be private; it and its children are gone afterwards.

    It is this interpreter, and ``layoutrand`` with ``arguments`` and the number of the descriptor that it must hand
    to `serve`. By ``temporary``, its TMPDIR, it is known as part of a build.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{place}/{_NAME}")  # a socket's path must be short
    finally:
        os.close(place)
    listener.listen(_BACKLOG)
    with listener:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-I", "-X", "utf8", "-m", "layoutrand", *arguments, str(listener.fileno())],
            # Nobody else has the other end: it is closed when this process dies, however it dies.
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(listener.fileno(),),
            cwd=folder,
            env={**os.environ, "TMPDIR": temporary, "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
    try:
        yield
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(2 * _PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Client:
    """The process that asked, as a child sees it."""

    def __init__(self, connection: socket.socket) -> None:
        """Talk over ``connection``."""
        self._connection = connection

    def request(self) -> str:
        """What it asks; from now on its standard error is this process's, too."""
        text, messages, _flags, _address = self._connection.recvmsg(_LONGEST, socket.CMSG_SPACE(struct.calcsize("i")))
        for level, kind, data in messages:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                (stderr,) = struct.unpack("i", data)
                os.dup2(stderr, _STDERR)
                os.close(stderr)
        if not text:
            raise KeyboardInterrupt  # it has gone already
        return os.fsdecode(text)

    def sees_our_files(self) -> bool:
        """Whether a path is the same file to it and to us: builds may enter a container half-way."""
        packed = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        theirs = f"/proc/{struct.unpack('3i', packed)[0]}"
        try:
            return all(
                os.path.samestat(os.stat(f"{theirs}/{what}"), os.stat(f"/proc/self/{what}"))
                for what in ("ns/mnt", "root")
            )
        except OSError:
            return False

    def place(self, temporary: Path, target: Path) -> None:
        """Have it rename a file; raises `OSError` as if we did, and `KeyboardInterrupt` if it has gone."""
        self._connection.send(PLACE + os.fsencode(temporary) + b"\0" + os.fsencode(target))
        said = self._connection.recv(_LONGEST)
        if not said:
            raise KeyboardInterrupt
        if said != DONE:
            raise OSError(int(said), os.strerror(int(said)), str(target))

    def leave_alone(self) -> None:
        """Have it do the whole work itself."""
        self._connection.send(ALONE)

    def end(self, status: int) -> None:
        """Have it end."""
        with contextlib.suppress(OSError):  # it has gone
            self._connection.send(STATUS + str(status).encode())


@dataclass
class _Task:
    """A child at work: ``news`` is a pipe that ends when it does."""

    pid: int
    connection: socket.socket
    news: int
    said: list[bytes] = field(default_factory=list)
    deadline: float | None = None

    def ask_to_end(self) -> None:
        """SIGTERM, and SIGKILL for its group if that is not heeded in time; it is not reaped yet, so it is itself."""
        if self.deadline is None:
            self.deadline = time.monotonic() + _PATIENCE_S
            os.kill(self.pid, signal.SIGTERM)
        elif time.monotonic() >= self.deadline:
            self.kill()

    def kill(self) -> None:
        """End it and what it has started, at once."""
        with contextlib.suppress(ProcessLookupError):  # it has just been forked, and leads no group yet
            os.killpg(self.pid, signal.SIGKILL)
        os.kill(self.pid, signal.SIGKILL)


def serve(descriptor: int, service: Service) -> None:
    """Answer until standard input ends, in the process that `helper` started."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # children hear of our end and end, too
    listener = socket.socket(fileno=descriptor)
    listener.setblocking(False)  # a client may go away between poll and accept
    tasks: dict[int, _Task] = {}
    gc.collect()
    gc.freeze()  # a collection in a child would copy the pages of everything there is
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(listener, select.POLLIN)
    while True:
        waiting = any(task.deadline is not None for task in tasks.values())
        ready = {handle for handle, _event in poll.poll(1000 if waiting else None)}
        if 0 in ready:
            listener.close()
            _end(tasks)
            return
        # In this order, since descriptors that are closed by the second may be given out again by the third.
        for task in tasks.values():
            if task.deadline is not None:
                task.ask_to_end()
            elif task.connection.fileno() in ready:  # its client has gone before its answer, or just after
                poll.unregister(task.connection)
                task.ask_to_end()
        for handle in ready & tasks.keys():
            _hear(handle, service, tasks, poll)
        if listener.fileno() in ready:
            _begin(listener, service, tasks, poll)


def _begin(listener: socket.socket, service: Service, tasks: dict[int, _Task], poll: select.poll) -> None:
    try:
        connection, _ = listener.accept()
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ECONNABORTED):
            return
        raise
    connection.setblocking(True)
    ours, theirs = os.pipe()
    helper_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        _live(service, connection, theirs, helper_pid, [listener, *(task.connection for task in tasks.values())], tasks)
    with contextlib.suppress(OSError):  # it did so itself, or is at its end
        os.setpgid(pid, pid)
    os.close(theirs)
    tasks[ours] = _Task(pid, connection, ours)
    poll.register(ours, select.POLLIN)
    poll.register(connection, select.POLLRDHUP)


def _hear(handle: int, service: Service, tasks: dict[int, _Task], poll: select.poll) -> None:
    task = tasks[handle]
    said = os.read(handle, _LONGEST)
    if said:
        task.said.append(said)
        return
    if task.deadline is not None:  # what it has started may not have ended with it
        task.kill()
    os.waitpid(task.pid, 0)
    poll.unregister(handle)
    with contextlib.suppress(KeyError):  # its client went first
        poll.unregister(task.connection)
    task.connection.close()
    os.close(handle)
    del tasks[handle]
    if task.said:
        service.learn(b"".join(task.said))


def _end(tasks: Mapping[int, _Task]) -> None:
    """End all children, and what they have started."""
    for task in tasks.values():
        task.ask_to_end()
    for task in tasks.values():
        assert task.deadline is not None
        while os.waitid(os.P_PID, task.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() >= task.deadline:
                break
            time.sleep(0.01)
        task.kill()
        os.waitpid(task.pid, 0)


def _live(
    service: Service,
    connection: socket.socket,
    news: int,
    parent: int,
    others: Sequence[socket.socket],
    tasks: Mapping[int, _Task],
) -> NoReturn:
    """A child's life. It leaves without the interpreter's end, which would tidy what belongs to the helper."""
    status: int | None = 1
    try:
        signal.signal(signal.SIGTERM, _interrupted)
        os.setpgid(0, 0)
        _end_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        gc.disable()
        for other in others:
            other.close()
        for handle in tasks:
            os.close(handle)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        status = _answer(service, Client(connection))
        with os.fdopen(news, "wb") as file:
            file.write(service.news())
    except KeyboardInterrupt:
        status = None  # the client has gone; or the helper has, and the client notices that nobody answers
    except BaseException:  # noqa: BLE001 - told as the interpreter would
        with contextlib.suppress(OSError):
            os.write(_STDERR, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if status is not None:
            Client(connection).end(status)
        os._exit(0)


def _answer(service: Service, client: Client) -> int:
    request = client.request()
    if client.sees_our_files():
        return service.answer(request, client)
    client.leave_alone()
    return 0  # which it does not wait for


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


_libc = ctypes.CDLL(None, use_errno=True)


def _end_with_parent() -> None:
    """Have the kernel send SIGTERM when the parent is gone."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
