"""Slurm: tasks are jobs, submitted in arrays through submitit."""

from __future__ import annotations

import logging
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from layoutrand.engines.engine import Count, Engine, Measure, Opening, Purpose, Remote, TaskExecutor, Text
from layoutrand.errors import ClusterError
from layoutrand.platform.disk import shared_errors
from layoutrand.platform.owned_files import make_folder_within

SETTLED: Final = frozenset({"array", "chdir", "error", "output", "wrap", "job_name", "time", "partition", "account"})
"""Options of sbatch that layoutrand sets itself or has a key for."""


def _ours(options: dict[str, str | int | bool]) -> dict[str, str | int | bool]:
    for name in options:
        if name.startswith("-"):
            raise ValueError(f"{name!r} is written without its dashes")
        if name.replace("-", "_") in SETTLED:
            raise ValueError(f"{name!r} is set by layoutrand, or has a key of its own under [cluster]")
    return {name.replace("-", "_"): value for name, value in options.items()}


Options = Annotated[dict[str, str | int | bool], AfterValidator(_ours)]


class SlurmMeasure(Measure):
    """Jobs that measure: by themselves on their node if ``exclusive``; ``sbatch`` goes over that of the table above."""

    exclusive: bool = True
    cpus: Count = 1
    minutes: Count = 240
    sbatch: Options = Field(default_factory=dict)


class Slurm(Remote):
    """Jobs of Slurm; ``sbatch`` are more options of sbatch, without their dashes."""

    kind: Literal["slurm"]
    partition: Text | None = None
    account: Text | None = None
    minutes: Count = 60
    at_once: Count = 256
    sbatch: Options = Field(default_factory=dict)
    measure: SlurmMeasure = SlurmMeasure()

    @property
    def measuring_limit_s(self) -> float | None:
        """See `Remote`."""
        return 60.0 * self.measure.minutes


class _SlurmEngine(Engine):
    name = "slurm"
    title = "Slurm"
    table = Slurm
    node_variable = "SLURMD_NODENAME"
    left = {  # noqa: RUF012 - the names that submitit and the journal of tokens give
        "scratch": re.compile(r"[0-9a-f]{32}\.pkl|submission_file_[0-9a-f]+\.sh"),
        "token": re.compile(r"tokens/[0-9a-f]+"),
        "job": re.compile(r"\d+(_\d+)?/[^/]+"),
    }

    @contextmanager
    def open(self, settings: Slurm, opening: Opening) -> Iterator[TaskExecutor]:
        """See `Engine`."""
        submitit = self.library("submitit")
        from layoutrand.engines.slurm_jobs import SlurmJobs
        from layoutrand.engines.slurm_tokens import TokenJournal

        for program in ("sbatch", "squeue", "scancel", "scontrol", "srun"):
            if shutil.which(program) is None:
                raise ClusterError(
                    f"{program} is not on PATH: is this a machine from which jobs of Slurm are submitted?"
                )
        logging.getLogger("submitit").setLevel(logging.ERROR)
        folder = opening.shared / self.name
        with shared_errors("make", folder):
            make_folder_within(opening.shared, folder)
            mode = folder.stat().st_mode & 0o7777
            if not settings.trust_group and mode & 0o077:
                folder.chmod(mode & ~0o077)  # in it submitit makes what is unpickled, as the umask has it
        # -P: a job begins in the directory where it was submitted, and a file of that is no module.
        submitter = submitit.SlurmExecutor(folder=folder / "%j", python=f"{shlex.quote(sys.executable)} -P")
        options = sbatch_options(settings, opening.purpose)
        wanted = settings.measure if opening.purpose == "measure" else settings
        submitter.update_parameters(
            job_name="layoutrand",
            time=wanted.minutes,
            cpus_per_task=wanted.cpus,
            use_srun=False,
            array_parallelism=settings.at_once,
            stderr_to_stdout=False,
            additional_parameters=options,
        )
        journal = TokenJournal(folder / "tokens")
        jobs = SlurmJobs(
            submitter,
            journal,
            exclude=str(options.get("exclude", "")),
            trust_group=settings.trust_group,
            say=opening.say,
        )
        try:
            yield jobs
        finally:
            jobs.shutdown(wait=False, cancel_futures=True)

    def active_jobs(self) -> Collection[str] | None:
        """See `Engine`."""
        from layoutrand.engines.slurm_jobs import active_jobs

        return active_jobs()


def sbatch_options(settings: Slurm, purpose: Purpose) -> dict[str, str | int | bool]:
    """Options of sbatch for that purpose beside time and CPUs; those of [cluster.measure] go over the others."""
    given = {"partition": settings.partition, "account": settings.account}
    options = {**settings.sbatch, **{name: value for name, value in given.items() if value}}
    if purpose == "measure":
        options = {**options, **({"exclusive": True} if settings.measure.exclusive else {}), **settings.measure.sbatch}
    return options


ENGINE: Final = _SlurmEngine()
