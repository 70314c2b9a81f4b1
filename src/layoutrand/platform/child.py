"""A function executed by a Python process of its own, which ends when its parent does.

An engine's worker executes tasks in a thread, beside threads of its own.  Who measures wants a process with one thread,
in which signals arrive and whose children are only those of the measurement.  What it started ends with it, however
that ends (`layoutrand.platform.keeper`).
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import IO, Any, Final

from layoutrand.errors import ClusterError

_LENGTH: Final = struct.Struct(">Q")
_SAID: Final = 4000
_TRAMPOLINE: Final = """
import sys
from importlib import import_module
from layoutrand.platform.keeper import keep
keep()
import_module(sys.argv[1]).main()
"""


def call(module: str, argument: Any) -> Any:
    """What ``serve`` in the module's ``main()`` answers to the argument; raises `ClusterError` if it dies instead.

    Both must be picklable.  The answer travels in a file without a name, so that nothing the process prints is in it.
    """
    payload = pickle.dumps(argument)
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            # -P: a file of the working directory, such as a project's own queue.py, is no module of ours.
            [sys.executable, "-P", "-c", _TRAMPOLINE, module, str(answer.fileno())],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            pass_fds=(answer.fileno(),),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            assert process.stdin is not None
            with process.stdin as stdin:  # closed when this process dies, however it dies: the child watches it
                _write(stdin, payload)
                status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        answer.seek(0)
        packed = answer.read()
        if status != 0 or not packed:
            said.seek(max(0, said.seek(0, os.SEEK_END) - _SAID))
            words = said.read().decode("utf-8", "backslashreplace").strip()
            ending = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            raise ClusterError(f"the process that measures {ending}" + (f":\n{words}" if words else ""))
    return pickle.loads(packed)  # noqa: S301 - written by our own process


def _write(stdin: IO[bytes], payload: bytes) -> None:
    try:
        stdin.write(_LENGTH.pack(len(payload)) + payload)
        stdin.flush()
    except BrokenPipeError:
        return  # its status and what it said tell more


def serve(function: Callable[[Any], Any]) -> None:
    """In the process: answer one call, and be interrupted when the parent is gone."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    (length,) = _LENGTH.unpack(_exactly(_LENGTH.size))
    argument = pickle.loads(_exactly(length))  # noqa: S301 - from our own parent
    threading.Thread(target=_watch_parent, daemon=True).start()
    answer = function(argument)
    with os.fdopen(int(sys.argv[2]), "wb") as file:
        file.write(pickle.dumps(answer))


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.read(0, min(count - len(data), 1 << 20))
        if not more:
            raise SystemExit("the parent process is gone")
        data += more
    return data


def _watch_parent() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
