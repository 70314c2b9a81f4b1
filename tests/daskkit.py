"""Dask on this machine for a test: a scheduler and workers, each a process of its own, over TCP."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workshop import absent


@dataclass
class DaskCluster:
    """A running scheduler, its address, and its workers by name."""

    folder: Path
    address: str
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start_worker(self, name: str, *options: str) -> None:
        """Start a worker with one thread."""
        self.workers[name] = _process(
            self.folder / f"{name}.log",
            "dask_worker",
            self.address,
            "--no-nanny",
            "--nthreads=1",
            f"--name={name}",
            f"--local-directory={self.folder}",
            "--no-dashboard",
            "--host=127.0.0.1",
            *options,
        )

    def kill(self, name: str) -> None:
        """The worker is gone at once."""
        worker = self.workers.pop(name)
        worker.send_signal(signal.SIGKILL)
        worker.wait(10)

    def logs(self) -> str:
        """The end of every log, for a failure's message."""
        return "\n".join(
            f"--- {path}\n{path.read_text(errors='replace')[-3000:]}" for path in self.folder.glob("*.log")
        )


@contextlib.contextmanager
def dask(folder: Path, workers: Sequence[str] = ("w1", "w2"), *options: str) -> Iterator[DaskCluster]:
    """A scheduler with workers of these names; all of it ends with the block."""
    if importlib.util.find_spec("distributed") is None:
        absent('distributed is not installed (pip install "layoutrand[dask]")')
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "scheduler.log"
    scheduler = _process(log, "dask_scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard", "--no-show")
    cluster = DaskCluster(folder, "")
    try:
        cluster.address = _logged(log, r"Scheduler at:\s+(tcp://\S+)", scheduler)
        for name in workers:
            cluster.start_worker(name, *options)
        for name in workers:
            _logged(folder / f"{name}.log", r"Registered to:\s+(tcp://\S+)", cluster.workers[name])
        yield cluster
    finally:
        for process in (*cluster.workers.values(), scheduler):
            process.kill()
            process.wait(10)


def _process(log: Path, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", f"distributed.cli.{module}", *arguments],
            stdout=file,
            stderr=file,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


def _logged(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    """What the pattern finds in the log, as soon as it is there."""
    end = time.monotonic() + 60
    while True:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
        time.sleep(0.05)
