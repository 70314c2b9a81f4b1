"""Which files a program has in its memory, from /proc/PID/maps while it runs (psutil tells no inodes)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.platform.interrupts import noted_interrupts

_PAUSE_S: Final = 0.002


@dataclass(frozen=True)
class Loaded:
    """The mapped files of one name, by path and inode, and how the program ended: its status and what it wrote."""

    files: frozenset[tuple[str, int]]
    returncode: int | None
    output: str


def loaded_files(argv: Sequence[str], env: Mapping[str, str], cwd: Path, name: str, *, timeout_s: float) -> Loaded:
    """Execute a program and look, as long as it lasts, which files called ``name`` it has mapped; not what it starts.

    It and what it has started are gone afterwards.  Raises `OSError` where the program cannot be started.
    """
    # Into a file: nobody reads a pipe meanwhile, and a program that fills one would wait for ever.  Ctrl-C does not
    # reach a session of its own, and takes effect when the program is gone.
    with (
        noted_interrupts() as interrupts,
        tempfile.TemporaryFile() as written,
        subprocess.Popen(  # noqa: S603 - the command that layoutrand.toml gives
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        deadline = time.monotonic() + timeout_s
        found: set[tuple[str, int]] = set()
        try:
            while process.poll() is None and time.monotonic() < deadline and not interrupts.received:
                found |= set(_mapped(process.pid, name))
                time.sleep(_PAUSE_S)
            returncode = process.poll()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        written.seek(0)
        output = written.read()
    return Loaded(frozenset(found), returncode, output.decode("utf-8", "backslashreplace"))


def _mapped(pid: int, name: str) -> list[tuple[str, int]]:
    """(Path, inode) of what the process has mapped under that name."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_bytes().splitlines()
    except OSError:  # it ended
        return []
    fields = [line.split(None, 5) for line in lines]
    mapped = {(os.fsdecode(field[5]), int(field[4])) for field in fields if len(field) == 6}
    return [(path, inode) for path, inode in mapped if os.path.basename(path) == name]
