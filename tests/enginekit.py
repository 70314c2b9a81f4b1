"""Engines without what is behind them: packages and programs that execute on this machine, for contract tests."""

from __future__ import annotations

import contextlib
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from layoutrand.engines.slurm_jobs import SlurmJobs

TABLES = {
    "dask": 'scheduler = "tcp://127.0.0.1:1"\n',
    "slurm": "",
}
"""What each engine must be told beside ``kind`` and ``shared``."""

NODE = "n1"
PROGRAMS = {"sbatch": "", "srun": "", "scancel": "", "squeue": "", "sinfo": NODE, "scontrol": NODE}


def behind(name: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Put something simple behind the engine of that name: one node, which executes what it is given at once.

    A function that is called ``waits`` is not begun.
    """
    {"dask": _dask, "slurm": _slurm}[name](folder, patch)


def waits() -> None:
    """What is not begun."""
    raise AssertionError("a task that waits was executed")


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return "finished", fn(*args)
    except Exception as error:
        return "error", error


class _Submitter:
    """As submitit's executor: jobs by number, each with a file for its outcome."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.parameters = folder, {}
        self._jobs = 0

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        yield

    def update_parameters(self, **parameters: Any) -> None:
        self.parameters |= parameters

    def submit(self, fn: Callable[..., Any], *args: Any) -> Any:
        self._jobs += 1
        own = self.folder.parent / str(self._jobs)
        own.mkdir()
        result = own / f"{self._jobs}_0_result.pkl"
        if fn is not waits:
            result.write_bytes(pickle.dumps(_outcome(fn, args)))

        def answer() -> Any:
            status, value = pickle.loads(result.read_bytes())
            if status == "error":
                raise value
            return value

        paths = SimpleNamespace(result_pickle=result, stderr=own / "log.err")
        return SimpleNamespace(job_id=str(self._jobs), paths=paths, result=answer)


def _slurm(folder: Path, patch: pytest.MonkeyPatch) -> None:
    programs = folder / "programs"
    programs.mkdir()
    for name, says in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (programs / name).chmod(0o755)
    patch.setenv("PATH", str(programs), prepend=":")
    package = ModuleType("submitit")
    package.SlurmExecutor = _Submitter  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "submitit", package)
    patch.setitem(SlurmJobs.__init__.__kwdefaults__, "poll_s", 0.01)


class _Answer:
    """As Dask's future."""

    def __init__(self, key: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.key = key
        self._future: Future[Any] = Future()
        self.status, self._value = ("pending", None) if fn is waits else _outcome(fn, args)
        if fn is not waits:
            threading.Thread(target=self._future.set_result, args=(None,)).start()

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        self._future.add_done_callback(lambda _: call(self))

    def result(self) -> Any:
        return self._value

    exception = result

    def done(self) -> bool:
        return self.status != "pending"

    def cancel(self) -> None:
        if not self.done():
            self.status = "cancelled"
            self._future.set_result(None)

    def release(self) -> None:
        pass


class _Client:
    """As Dask's client of a scheduler with one worker, which has all resources."""

    def __init__(self, address: str, **_options: Any) -> None:
        self.scheduler = SimpleNamespace(address=address)
        self._tasks = 0

    def wait_for_workers(self, _count: int, timeout: float) -> None:
        pass

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {"tcp://w": {"name": "w", "resources": {"measure": 1}}}}

    def run(self, fn: Callable[..., Any], workers: Any = None, on_error: str = "") -> dict[str, Any]:
        return {"tcp://w": NODE if workers else []}

    def submit(self, fn: Callable[..., Any], *args: Any, **_options: Any) -> _Answer:
        self._tasks += 1
        return _Answer(str(self._tasks), fn, args)

    def close(self, timeout: float) -> None:
        pass


def _dask(_folder: Path, patch: pytest.MonkeyPatch) -> None:
    package = ModuleType("distributed")
    package.Client = _Client  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "distributed", package)
