"""`layoutrand` as a process of its own, without what each start of Python and its imports costs: some 0.4 s.

A template process has imported what commands import, and each call is a fork of it, with its own directory,
environment, streams and exit status, which ends as any Python does.  What is about the start itself, about signals,
or about what is imported when, starts ``python -m layoutrand``; so do variables that a starting Python or an import reads.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from typing import Any

READ_BY_A_START = ("PYTHON", "LC_", "LANG", "TYPER", "_TYPER", "COLUMNS", "TERM", "NO_COLOR", "OPENBLAS", "OMP_")
LATE_IMPORTS = ("scipy.special", "encodings.cp437", "rich.table", "rich.markdown")
NOT_IN_EACH_VERSION = ("typer._adapters",)
ALL_AT_ONCE = 1 << 20
LONGEST_S = 900


def layoutrand(
    *arguments: object, cwd: Any = None, env: Mapping[str, str] | None = None, stdin: str = "", errors: str = "strict"
) -> subprocess.CompletedProcess[str]:
    """Execute the command line; what it printed, and its status."""
    words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in arguments]
    command = [sys.executable, "-m", "layoutrand", *words]
    env = dict(os.environ if env is None else env)
    if not os.path.isdir(cwd or os.getcwd()):  # of a fork that cannot go there one could not tell the status
        raise FileNotFoundError(f"no directory {cwd} to execute layoutrand in")
    if _of_a_start(env) != _template().start:
        return subprocess.run(
            command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, errors=errors, timeout=LONGEST_S
        )
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        status = _template().ask(
            {"words": words, "cwd": os.fspath(cwd or os.getcwd()), "env": env},
            [given.fileno(), out.fileno(), err.fileno()],
        )
        out.seek(0)
        err.seek(0)
        said = (out.read().decode(errors=errors), err.read().decode(errors=errors))
        return subprocess.CompletedProcess(command, status, *said)


def _of_a_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_BY_A_START)}


class _Template:
    """The process that calls are forks of; one for each worker, started by its first call."""

    def __init__(self) -> None:
        self.start = _of_a_start(os.environ)
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ALL_AT_ONCE)
        self.lock = threading.Lock()
        atexit.register(self.end)

    def ask(self, request: dict[str, Any], streams: list[int]) -> int:
        """The status of the command line, negative for a signal, as `subprocess` has it."""
        read, write = os.pipe()
        try:
            with self.lock:
                socket.send_fds(self.ours, [json.dumps(request).encode()], [*streams, write])
        finally:
            os.close(write)
        with os.fdopen(read, "rb") as answer:
            if not select.select([answer], [], [], LONGEST_S)[0]:
                raise TimeoutError(f"layoutrand {' '.join(request['words'])} has not ended after {LONGEST_S} s")
            return int(answer.read())

    def end(self) -> None:
        """The template ends when nobody can ask it any more."""
        self.ours.close()
        self.process.wait(timeout=60)


_TEMPLATES: list[_Template] = []


def _template() -> _Template:
    if not _TEMPLATES:
        _TEMPLATES.append(_Template())
    return _TEMPLATES[0]


def _serve(requests: socket.socket) -> list[str] | None:
    """Fork for each request; in a fork the words of its command line, in the template none, at the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    while True:
        message, fds, *_ = socket.recv_fds(requests, ALL_AT_ONCE, 4)
        if not message:
            return None
        with warnings.catch_warnings():  # numpy has threads, of which a fork has none
            warnings.simplefilter("ignore", DeprecationWarning)
            forked = os.fork() == 0
        if forked:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            return _keep(json.loads(message), fds)
        for fd in fds:
            os.close(fd)


def _keep(request: dict[str, Any], fds: list[int]) -> list[str]:
    """Wait for a fork as a shell does, and tell its status; the words, in that fork."""
    *streams, answer = fds
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os.write(answer, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    os.close(answer)
    for place, fd in enumerate(streams):
        os.dup2(fd, place)
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    words: list[str] = request["words"]
    return words


def _main() -> None:
    import layoutrand
    from layoutrand.__main__ import main

    found = pkgutil.walk_packages(layoutrand.__path__, "layoutrand.")
    for name in [each.name for each in found if "__main__" not in each.name] + list(LATE_IMPORTS):
        importlib.import_module(name)
    for name in NOT_IN_EACH_VERSION:
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    gc.freeze()
    words = _serve(socket.socket(fileno=int(sys.argv[1])))
    if words is not None:
        sys.argv = [str(sys.modules["layoutrand.__main__"].__file__), *words]
        main()


if __name__ == "__main__":
    _main()
