"""Executors by what ``[cluster]`` names; the engines' libraries are imported when one is asked for."""

from __future__ import annotations

import contextlib
import logging
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

from layoutrand.cluster.shared_directory import staging_errors
from layoutrand.cluster.slurm_tokens import TokenJournal
from layoutrand.config.cluster import Dask, Slurm
from layoutrand.errors import ClusterError
from layoutrand.host.facts import node_name

_CONNECT_S: Final = 15


Task = Literal["link", "measure"]
Say = Callable[[str], None]


@contextmanager
def opened(
    settings: Slurm | Dask, shared: Path, task: Task = "link", *, say: Say = lambda _: None
) -> Iterator[Executor]:
    """The executor that the settings name for that kind of task; what is still on its way at the end is cancelled.

    ``shared`` is the staging directory; ``say`` takes what the user should know, such as that jobs may wait for ever.
    Raises `ClusterError` where the engine or its library is not there, or nothing that could execute such a task.

    The executor has two methods more than the standard one. ``avoid(node)`` has nothing begin on the node of that name
    (`host.facts.node_name`) any more, as far as possible, and returns False where it is not. ``forget_others(prefix,
    wanted)``, of Slurm's alone, cancels jobs that an earlier process left. See `slurm_jobs` for what it leaves.
    """
    with _slurm(settings, shared, task, say) if isinstance(settings, Slurm) else _dask(settings, task, say) as executor:
        yield executor


def _library(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ClusterError(
            f'[cluster] kind = "{extra}" needs the Python package {name}: pip install "layoutrand[{extra}]", or give '
            "--executor local to use this machine alone"
        ) from error


@contextmanager
def _slurm(settings: Slurm, shared: Path, task: Task, say: Say) -> Iterator[Executor]:
    submitit = _library("submitit", "slurm")
    from layoutrand.cluster.slurm import SlurmJobs

    for program in ("sbatch", "squeue", "scancel", "scontrol", "srun"):
        if shutil.which(program) is None:
            raise ClusterError(f"{program} is not on PATH: is this a machine from which jobs of Slurm are submitted?")
    logging.getLogger("submitit").setLevel(logging.ERROR)
    folder = shared / "slurm"
    with staging_errors("make", folder):
        folder.mkdir(parents=True, exist_ok=True)
    _require_own(folder)
    # -P: a job begins in the directory where it was submitted, and a file of that is no module.
    submitter = submitit.SlurmExecutor(folder=folder / "%j", python=f"{shlex.quote(sys.executable)} -P")
    options = sbatch_options(settings, task)
    wanted = settings.measure if task == "measure" else settings
    submitter.update_parameters(
        job_name="layoutrand", time=wanted.minutes, cpus_per_task=wanted.cpus, use_srun=False,
        array_parallelism=settings.at_once, stderr_to_stdout=False, additional_parameters=options,
    )  # fmt: skip
    journal = TokenJournal(folder / "tokens")
    jobs = SlurmJobs(submitter, journal, exclude=str(options.get("exclude", "")), say=say)
    try:
        yield jobs
    finally:
        jobs.shutdown(wait=False, cancel_futures=True)


def _require_own(folder: Path) -> None:
    """Raise `ClusterError` where anybody may write: what submitit leaves there for jobs, and they for us, is code."""
    with staging_errors("read", folder):
        for path in (folder, folder.parent):
            mode = path.stat().st_mode
            if mode & stat.S_IWOTH and (path == folder or not mode & stat.S_ISVTX):
                raise ClusterError(
                    f"everybody may write to {path}, and could have jobs of yours execute anything: "
                    f"chmod o-w {shlex.quote(str(path))}, or name another directory as cluster.shared"
                )


def sbatch_options(settings: Slurm, task: Task) -> dict[str, str | int | bool]:
    """Options of sbatch for that kind of task beside time and CPUs; those of [cluster.measure] go over the others."""
    given = {"partition": settings.partition, "account": settings.account}
    options = {**settings.sbatch, **{name: value for name, value in given.items() if value}}
    if task == "measure":
        options = {**options, **({"exclusive": True} if settings.measure.exclusive else {}), **settings.measure.sbatch}
    return options


@contextmanager
def _dask(settings: Dask, task: Task, say: Say) -> Iterator[Executor]:
    distributed = _library("distributed", "dask")
    from layoutrand.cluster.dask import DaskTasks, require_workers

    try:
        client = distributed.Client(settings.scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"no scheduler of Dask answers at {settings.scheduler}: {error}") from error
    resource = settings.measure.resource if task == "measure" else settings.resource
    executor = DaskTasks(client, resource, node_of=node_name, say=say)
    try:
        require_workers(client, resource, _CONNECT_S)
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(TimeoutError):
            client.close(timeout=_CONNECT_S)
