"""A Python process of ours that answers one call after another, for what is not to happen in this process.

It ends when this process closes it, and when this process dies, however that does: the kernel sends it SIGTERM then.
The terminal's Ctrl-C does not reach it; who waits for an answer passes interrupts on.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, Final

from layoutrand.platform.ending import STOPPING
from layoutrand.platform.interrupts import Interrupts

_LENGTH: Final = struct.Struct(">Q")
_PR_SET_PDEATHSIG: Final = 1
_PATIENCE_S: Final = 10.0
_SAID: Final = 4000
_TRAMPOLINE: Final = "import sys; from importlib import import_module; import_module(sys.argv[1]).main()"


class ChildGone(Exception):
    """The process ended instead of answering; ``status`` is as `subprocess` has it, ``said`` the end of its messages.

    Who asks decides what that means, so it never leaves as it is.
    """

    def __init__(self, status: int, said: str) -> None:
        """Keep both."""
        self.status = status
        self.said = said
        super().__init__(f"ended with status {status}: {said}")


class StandingChild:
    """The process; whoever starts it closes it."""

    def __init__(self, module: str, *words: str) -> None:
        """Start ``main()`` of a module, which calls `answer_calls`, with these words as ``sys.argv[4:]``."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._answers, answers = os.pipe2(os.O_CLOEXEC)
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            # -P: a file of the working directory, such as a project's own queue.py, is no module of ours.
            [sys.executable, "-P", "-c", _TRAMPOLINE, module, str(answers), str(os.getpid()), *words],
            stdin=subprocess.PIPE,
            stdout=self._said,
            stderr=self._said,
            pass_fds=(answers,),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            process_group=0,  # a session of its own would have another share of the processors (autogroups)
        )
        os.close(answers)
        self._ended: tuple[int, str] | None = None

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def ask(self, argument: Any, interrupts: Interrupts) -> Any:
        """What it answers, or raise what it raises; both travel pickled.

        An interrupt has it stop what it does and end.  Raises `ChildGone` where it ended without an answer.
        """
        if self._ended is not None:
            raise ChildGone(*self._ended)
        payload = pickle.dumps(argument)
        with contextlib.suppress(BrokenPipeError):  # its end says why
            self._write(_LENGTH.pack(len(payload)) + payload)
            if not self._is_answering(interrupts):
                self._process.terminate()
                self._is_answering(None)
        if (packed := self._answer()) is None:
            raise ChildGone(*self._end())
        answer, error = pickle.loads(packed)  # noqa: S301 - written by our own process
        if error is not None:
            raise error
        return answer

    def end_soon(self) -> None:
        """Have it stop what it does and end, from any thread; who asks it at the moment hears that it is gone."""
        self._process.terminate()

    def finish(self) -> None:
        """Let it end by itself, for nobody will ask any more."""
        self._end()

    def close(self) -> None:
        """End it; once more does no harm."""
        self._process.terminate()
        self._end()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def _is_answering(self, interrupts: Interrupts | None) -> bool:
        """Whether it answers or ends, as opposed to an interrupt or, without those, the end of our patience."""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        if interrupts is None or interrupts.wakeup is None:
            return bool(poll.poll(None if interrupts else _PATIENCE_S * 1000))
        poll.register(interrupts.wakeup, select.POLLIN)
        while not interrupts.received:
            if any(descriptor == self._answers for descriptor, _ in poll.poll()):
                return True
            interrupts.drain()
        return False

    def _answer(self) -> bytes | None:
        if not select.select([self._answers], [], [], 0)[0]:
            return None
        head = _read(self._answers, _LENGTH.size)
        return None if head is None else _read(self._answers, *_LENGTH.unpack(head))

    def _end(self) -> tuple[int, str]:
        """Wait for its end, which its patience bounds; its status, and what it said."""
        if self._ended is not None:
            return self._ended
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            status = self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        os.close(self._answers)
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _SAID))
        with self._said as said:
            self._ended = status, said.read().decode("utf-8", "backslashreplace").strip()
        return self._ended


def answer_calls(function: Callable[[Any], Any]) -> None:
    """In the process: answer calls until the other side closes, with what ``function`` returns or raises."""
    answers, parent = int(sys.argv[2]), int(sys.argv[3])
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it died before
        return
    while (head := _read(0, _LENGTH.size)) is not None:
        packed = _read(0, *_LENGTH.unpack(head))
        assert packed is not None
        try:
            answer: tuple[Any, Exception | None] = (function(pickle.loads(packed)), None)  # noqa: S301 - from our own parent
        except Exception as error:  # noqa: BLE001 - raised again where the question came from
            answer = (None, error)
        payload = pickle.dumps(answer)
        _write_all(answers, _LENGTH.pack(len(payload)) + payload)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read(descriptor: int, count: int) -> bytes | None:
    """So many bytes, None where they end before."""
    data = b""
    while len(data) < count:
        more = os.read(descriptor, min(count - len(data), 1 << 20))
        if not more:
            return None
        data += more
    return data
