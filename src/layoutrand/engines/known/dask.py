"""Dask: an existing scheduler, whose workers take tasks one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, Literal

from layoutrand.engines.engine import Engine, Measure, Opening, Remote, TaskExecutor, Text
from layoutrand.errors import ClusterError

_CONNECT_S: Final = 15


class DaskMeasure(Measure):
    """Tasks that measure take one of the ``resource``, of which each worker has one: so nothing runs beside them."""

    resource: Text = "measure"


class Dask(Remote):
    """An existing scheduler of Dask; each task takes one of the workers' ``resource`` if that is given."""

    kind: Literal["dask"]
    scheduler: Text
    resource: Text | None = None
    measure: DaskMeasure = DaskMeasure()


class _DaskEngine(Engine):
    name = "dask"
    title = "Dask"
    table = Dask

    @contextmanager
    def open(self, settings: Dask, opening: Opening) -> Iterator[TaskExecutor]:
        """See `Engine`."""
        distributed = self.library("distributed")
        from layoutrand.engines.dask_tasks import DaskTasks, require_workers

        try:
            client = distributed.Client(settings.scheduler, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"no scheduler of Dask answers at {settings.scheduler}: {error}") from error
        resource = settings.measure.resource if opening.purpose == "measure" else settings.resource
        executor = DaskTasks(client, resource, node_of=opening.node_of, say=opening.say)
        try:
            require_workers(client, resource, _CONNECT_S)
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            with suppress(TimeoutError):
                client.close(timeout=_CONNECT_S)


ENGINE: Final = _DaskEngine()
