"""Nodes for a test: processes of their own behind a standard executor, each with a name and a lock of its own."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from layoutrand.build.build import SystemBuild, all_layouts
from layoutrand.cache.store import Cache
from layoutrand.cluster.measuring import MeasuringCluster, execute_on_nodes
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.config.config import Config, parse
from layoutrand.engines.engine import TaskExecutor
from layoutrand.engines.known.dask import Dask
from layoutrand.execute.run_plan import RunChoices, RunRequest
from layoutrand.execute.run_progress import RunProgress, Summary
from layoutrand.execute.run_request import make_request
from layoutrand.model import Execution
from layoutrand.results.file import open_for_reading, open_for_writing, results_path
from workshop import Workshop

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"
BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


class Processes(TaskExecutor, ProcessPoolExecutor):
    """Processes of this machine as nodes."""


def _be(name: str, folder: str, variables: dict[str, str]) -> None:
    os.environ.update({"LAYOUTRAND_NODE": name, "LAYOUTRAND_LOCK_DIR": folder, **variables})


class Machines(TaskExecutor):
    """Tasks taken by whichever node is free; ``meddle`` is called with the node's name, the payload and the work."""

    def __init__(
        self,
        folder: Path,
        names: Sequence[str] = ("n1", "n2"),
        *,
        meddle: Callable[[str, Any, Callable[[Any], Any]], Any] | None = None,
        **variables: str,
    ) -> None:
        self.given: list[Any] = []
        self.avoided: list[str] = []
        self._folder, self._variables = folder, variables
        self._meddle = meddle or (lambda _node, payload, work: work(payload))
        self._tasks: queue.Queue[tuple[Future[Any], Callable[..., Any], Any] | None] = queue.Queue()
        self._threads = [threading.Thread(target=self._node, args=(name,), daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue it."""
        assert not kwargs
        (payload,) = args
        self.given.append(payload)
        future: Future[Any] = Future()
        self._tasks.put((future, fn, payload))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the nodes when what is queued is done."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join(60)

    def _node(self, name: str) -> None:
        lock = self._folder / f"lock of {name}"
        lock.mkdir(parents=True, exist_ok=True)

        def pool() -> ProcessPoolExecutor:
            return ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_be, initargs=(name, str(lock), self._variables)
            )

        own = pool()
        while (task := self._tasks.get()) is not None:
            future, work, payload = task
            if not future.set_running_or_notify_cancel():
                continue

            def really(given: Any, work: Callable[[Any], Any] = work, own: ProcessPoolExecutor = own) -> Any:
                return own.submit(work, given).result()

            try:
                future.set_result(self._meddle(name, payload, really))
            except BaseException as error:
                future.set_exception(error)
                own.shutdown(wait=False)
                own = pool()
        own.shutdown()


@dataclass
class ClusterProject:
    """A project that is executed on nodes."""

    shop: Workshop
    folder: Path
    said: list[str] = field(default_factory=list)
    done: list[RunProgress] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def shared(self) -> Path:
        """The shared directory."""
        return self.folder / "shared"

    def config(self, benchmarks: str = BENCHMARK, measure: str = "", **changes: Any) -> Config:
        """The configuration, with a cluster."""
        table = (
            f'[cluster]\nkind = "dask"\nscheduler = "none"\nshared = "{self.shared}"\ncache = "{self.folder}/node cache"\n'
            f"[cluster.measure]\n{measure}\n"
        )
        return parse(self.shop.toml([BUILD], **changes) + benchmarks + table, path="layoutrand.toml")

    def request(self, config: Config, seeds: Sequence[int], *, controls: bool = True, **changes: Any) -> RunRequest:
        """Everything built here, and what is to be executed."""
        layouts = all_layouts(list(seeds), controls=controls)
        results: list[SystemBuild] = self.shop.build_all(config, layouts=layouts)
        given: dict[str, Any] = {"seeds": list(seeds), "wait_s": 60.0}
        return make_request(config, self.shop.project, results, RunChoices(**{**given, **changes}))

    def run(self, executor: TaskExecutor, seeds: Sequence[int] = (1, 2, 3), **changes: Any) -> Summary:
        """Execute on these nodes."""
        config = changes.pop("config", None) or self.config()
        request = self.request(config, seeds, **changes)
        return self.execute(executor, request)

    def execute(self, executor: TaskExecutor, request: RunRequest, **changes: Any) -> Summary:
        """Execute a request on these nodes."""
        cluster = request.config.cluster
        assert isinstance(cluster, Dask)
        nodes = MeasuringCluster(executor, SharedDirectory(self.shared), cluster, Cache(self.shop.cache), 2, **changes)
        with open_for_writing(results_path(self.shop.project)) as store:
            return execute_on_nodes(
                request, store=store, cluster=nodes, progress=self.done.append, say=self.said.append
            )

    def executions(self) -> list[Execution]:
        """Everything recorded."""
        with open_for_reading(results_path(self.shop.project)) as store:
            return [execution for experiment, _ in store.experiments() for execution in store.executions(experiment)]

    def waiting(self) -> list[Path]:
        """Records that wait to be collected."""
        return [path for path in self.shared.glob("executions/*/*") if path.is_file()]

    def told(self, words: str) -> list[str]:
        """What was said of this."""
        return [line for line in self.said if words in line]
