"""``[cluster]``: where layouts are linked and executed besides here, through an engine that is there already."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from layoutrand.config.strict_table import StrictTable

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]

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


class Local(StrictTable):
    """No machine but this one."""

    kind: Literal["local"] = "local"


class Measure(StrictTable):
    """How executions are given to nodes.

    A task executes ``rounds`` rounds.  All nodes have the processor ``cpu`` (as /proc/cpuinfo calls it), by default
    that of whichever node is first; with ``unlike_cpus`` they may differ, and are analysed together.
    """

    rounds: Count = 1
    cpu: Text | None = None
    unlike_cpus: bool = False


class SlurmMeasure(Measure):
    """Jobs that measure: by themselves on their node if ``exclusive``; ``sbatch`` goes over that of the table above."""

    exclusive: bool = True
    cpus: Count = 1
    minutes: Count = 240
    sbatch: Options = Field(default_factory=dict)


class DaskMeasure(Measure):
    """Tasks that measure take one of the ``resource``, of which each worker has one: so nothing runs beside them."""

    resource: Text = "measure"


class Remote(StrictTable):
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
    sbatch: Options = Field(default_factory=dict)
    measure: SlurmMeasure = SlurmMeasure()


class Dask(Remote):
    """An existing scheduler of Dask; each task takes one of the workers' ``resource`` if that is given."""

    kind: Literal["dask"]
    scheduler: Text
    resource: Text | None = None
    measure: DaskMeasure = DaskMeasure()


Engine = Slurm | Dask
Cluster = Local | Slurm | Dask
KINDS: Final = ("local", "slurm", "dask")
