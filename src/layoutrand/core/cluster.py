"""``[cluster]``: where layouts are linked besides this machine, through an engine that is there already."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from layoutrand.core.tables import Table

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]

SETTLED: Final = frozenset({"array", "chdir", "error", "output", "wrap", "job_name", "time", "partition", "account"})
"""Options of sbatch that layoutrand sets itself or has a key for."""


class Local(Table):
    """No machine but this one."""

    kind: Literal["local"] = "local"


class Remote(Table):
    """What every engine needs.

    ``shared`` is a directory that all nodes see under one path; ``cache`` is where each keeps its captures and
    binaries, with variables of the node's environment (its own default cache if not given).  A task links ``chunk``
    layouts with ``cpus`` CPUs; one that is lost is given out again up to ``retries`` times.
    """

    shared: Text
    cache: Text | None = None
    chunk: Count = 8
    cpus: Count = 1
    retries: Annotated[int, Field(ge=0)] = 2


class Slurm(Remote):
    """Jobs of Slurm; ``sbatch`` are more options of sbatch, without their dashes."""

    kind: Literal["slurm"]
    partition: Text | None = None
    account: Text | None = None
    minutes: Count = 60
    at_once: Count = 256
    sbatch: dict[str, str | int | bool] = Field(default_factory=dict)

    @field_validator("sbatch")
    @classmethod
    def _ours(cls, options: dict[str, str | int | bool]) -> dict[str, str | int | bool]:
        for name in options:
            if name.startswith("-"):
                raise ValueError(f"{name!r} is written without its dashes")
            if name.replace("-", "_") in SETTLED:
                raise ValueError(f"{name!r} is set by layoutrand, or has a key of its own under [cluster]")
        return {name.replace("-", "_"): value for name, value in options.items()}


class Dask(Remote):
    """An existing scheduler of Dask; each task takes one of the workers' ``resource`` if that is given."""

    kind: Literal["dask"]
    scheduler: Text
    resource: Text | None = None


Cluster = Local | Slurm | Dask
KINDS: Final = ("local", "slurm", "dask")
