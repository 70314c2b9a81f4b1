"""The nodes that ``[cluster]`` asks for, to link or to execute, opened for one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.cache.store import Cache, default_root
from layoutrand.capture.origin import Say
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.config import Config
from layoutrand.engines.engine import Opening, Purpose, Remote, TaskExecutor
from layoutrand.engines.known import engine
from layoutrand.errors import UsageError
from layoutrand.platform import blas_threads

if TYPE_CHECKING:
    from layoutrand.cluster.linking_tasks import LinkingCluster
    from layoutrand.cluster.measuring import MeasuringCluster


@contextmanager
def opened(
    settings: Remote, shared: Path, purpose: Purpose = "link", *, say: Say = lambda _: None
) -> Iterator[TaskExecutor]:
    """The executor that the settings name, for tasks of that purpose; ``shared`` is the shared directory.

    Raises what `Engine.open` raises, and `ClusterError` where others may write to the directory.
    """
    from layoutrand.host.facts import node_name  # of every command only those that use nodes come here

    SharedDirectory(shared, trust_group=settings.trust_group).require_own()
    blas_threads.start_as_usual()
    with engine(settings.kind).open(settings, Opening(shared, purpose, node_name, say)) as executor:
        yield executor


@contextmanager
def linking_cluster(config: Config, project: Path, say: Say) -> Iterator[LinkingCluster | None]:
    """The nodes that link the configuration's layouts, or None for this machine alone.

    Raises `UsageError` in rebuild mode, where there is no capture that could travel, and `ClusterError` where the
    engine cannot be had.
    """
    settings = config.remote
    if settings is None:
        yield None
        return
    if config.build.mode == "rebuild":
        raise UsageError(
            f'[cluster] kind = "{settings.kind}" spreads links of a capture, and in rebuild mode there is none: give '
            "--executor local"
        )
    from layoutrand.cluster.linking_tasks import LinkingCluster

    shared = SharedDirectory(project / settings.shared, trust_group=settings.trust_group)
    with opened(settings, shared.root, say=say) as executor:
        yield LinkingCluster(executor, shared, settings, say)


@contextmanager
def measuring_cluster(config: Config, project: Path, jobs: int, say: Say) -> Iterator[MeasuringCluster | None]:
    """The nodes that execute, or None for this machine alone; ``jobs`` files are sent to them at a time.

    Raises `ClusterError` where the engine cannot be had.
    """
    settings = config.remote
    if settings is None:
        yield None
        return
    from layoutrand.cluster.measuring import MeasuringCluster

    shared = SharedDirectory(project / settings.shared, trust_group=settings.trust_group)
    with opened(settings, shared.root, "measure", say=say) as executor:
        yield MeasuringCluster(executor, shared, settings, Cache(default_root()), jobs)
