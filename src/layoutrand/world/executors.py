"""Executors by what ``[cluster]`` names; the engines' libraries are imported when one is asked for."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from layoutrand.core.cluster import Dask, Slurm
from layoutrand.errors import ClusterError
from layoutrand.world.staging import staging_errors

_CONNECT_S: Final = 15


@contextmanager
def opened(settings: Slurm | Dask, shared: Path) -> Iterator[Executor]:
    """The executor that the settings name; what is still on its way at the end is cancelled.

    ``shared`` is the staging directory. Raises `ClusterError` where the engine or its library is not there.
    """
    with _slurm(settings, shared) if isinstance(settings, Slurm) else _dask(settings) as executor:
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
def _slurm(settings: Slurm, shared: Path) -> Iterator[Executor]:
    submitit = _library("submitit", "slurm")
    from layoutrand.world.slurm_jobs import SlurmJobs

    for program in ("sbatch", "squeue", "scancel", "srun"):
        if shutil.which(program) is None:
            raise ClusterError(f"{program} is not on PATH: is this a machine from which jobs of Slurm are submitted?")
    logging.getLogger("submitit").setLevel(logging.ERROR)
    folder = shared / "slurm"
    with staging_errors("make", folder):
        folder.mkdir(parents=True, exist_ok=True)
    submitter = submitit.SlurmExecutor(folder=folder / "%j")
    given = {"partition": settings.partition, "account": settings.account}
    submitter.update_parameters(
        job_name="layoutrand", time=settings.minutes, cpus_per_task=settings.cpus, use_srun=False,
        array_parallelism=settings.at_once, stderr_to_stdout=False,
        additional_parameters={**settings.sbatch, **{name: value for name, value in given.items() if value}},
    )  # fmt: skip
    jobs = SlurmJobs(submitter)
    try:
        yield jobs
    finally:
        jobs.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _dask(settings: Dask) -> Iterator[Executor]:
    distributed = _library("distributed", "dask")
    try:
        client = distributed.Client(settings.scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"no scheduler of Dask answers at {settings.scheduler}: {error}") from error
    options = {"resources": {settings.resource: 1}} if settings.resource else {}
    executor = client.get_executor(pure=False, **options)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False)
        with contextlib.suppress(TimeoutError):
            client.close(timeout=_CONNECT_S)
