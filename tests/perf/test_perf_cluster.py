"""What a cluster does for a large experiment: what the submitting machine can take in, measured, and the schedule, simulated.

The experiment is 2 systems x 5,000 seeds = 10,000 binaries, 20 benchmarks each, on 100 nodes.
"""

from __future__ import annotations

import heapq
import os
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes import make_config
from layoutrand.build.linking import Linking
from layoutrand.cache.store import Cache
from layoutrand.cluster.linking_node import LinkingAnswer, MadeLayout, Reference
from layoutrand.cluster.linking_tasks import LinkingCluster
from layoutrand.cluster.measuring import MeasuringCluster, execute_on_nodes
from layoutrand.cluster.measuring_task import MeasuringAnswer, record_key, record_of
from layoutrand.cluster.returned_records import ReturnedRecords
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.cluster.task_inputs import run_name
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.config.schedule import Slot
from layoutrand.engines.engine import TaskExecutor
from layoutrand.engines.known.dask import Dask
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest, make_plan
from layoutrand.host.facts import host_facts
from layoutrand.linkers.toolbox import Tool
from layoutrand.model import IDENTITY, RUSAGE_METRICS, Binary, Execution, Measurement
from layoutrand.platform.disk import sha256_bytes
from layoutrand.results.file import open_for_writing, results_path
from perfkit import report
from workshop import Workshop, main_calling, many_functions

pytestmark = pytest.mark.perf

BINARIES = 1000
CHUNK = 8
NODES, SEEDS, SYSTEMS, BENCHMARKS = 100, 5000, 2, 20
ROUNDS = 100
BUNDLE_BYTES = 41.1e6  # a capture of HotSpot in a shared directory: 156 MB packed by zlib
BINARY_BYTES = 6.0e6  # its libjvm.so, packed
SHARED_BYTES_PER_S = 1e9  # what the shared file system gives to all nodes together
LINK_S = 0.95  # GNU ld, one layout of HotSpot


class Linked(TaskExecutor):
    """Nodes that answer at once: the binaries of a task appear in the shared directory as they are asked for."""

    def __init__(self, prepared: Path, shared: SharedDirectory, linking: Linking) -> None:
        self.prepared, self.shared, self.linking = prepared, shared, linking

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Rename into place what was prepared."""
        (chunk,) = args
        made = []
        for layout in chunk.layouts:
            path = self.shared.result_path(self.linking.key(layout))
            path.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.prepared / str(layout), path)
            with path.open("rb") as file:
                made.append(MadeLayout(layout, file.readline().decode().strip()))
        future: Future[LinkingAnswer] = Future()
        future.set_result(LinkingAnswer("n", tuple(made), (), 0, ""))
        return future


@pytest.mark.parametrize("size", [20_000, 2_000_000])
def test_binaries_per_second_that_are_collected(tmp_path: Path, size: int) -> None:
    """From the answer of a node to the binary in this machine's cache: read, unpacked, checked, written, renamed."""
    shop = Workshop(tmp_path / "project", tmp_path / "cache")
    shop.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    built = shop.built("$CC -c *.c && $CC -o prog main.o u.o", seeds=[])
    capture = built.result.capture
    assert capture is not None
    ld = Tool(Path(capture.tools["ld"]["path"]), capture.tools["ld"]["version"], capture.tools["ld"]["sha256"])
    cache, shared = Cache(shop.cache), SharedDirectory(tmp_path / "shared")
    linking = Linking(cache, shop.runner, 1, LayoutPolicy(), ld, capture, 0)
    seeds = list(range(1, BINARIES + 1 if size < 1_000_000 else BINARIES // 4 + 1))
    (tmp_path / "prepared").mkdir()
    rng = np.random.default_rng(1)
    code = rng.integers(0, 16, size, np.uint8).tobytes()  # packs to about a half, as programs do at worst
    proof = vars(built.by_layout[IDENTITY].verification)
    for seed in seeds:
        data = seed.to_bytes(8, "big") + code
        meta = {
            "system": "sys",
            "artefact": "prog",
            "layout": seed,
            "sha256": sha256_bytes(data),
            "verification": proof,
            "text_sha256": sha256_bytes(data),
            "link_s": 0.1,
        }
        shared.put_result(linking.key(seed), meta, data)
        os.rename(shared.result_path(linking.key(seed)), tmp_path / "prepared" / str(seed))
    settings = Dask(kind="dask", scheduler="none", shared="x", chunk=CHUNK)
    cluster = LinkingCluster(Linked(tmp_path / "prepared", shared, linking), shared, settings, shop.said.append)
    cluster.link(linking, [], Reference(IDENTITY, ""), lambda: None)
    begin = time.perf_counter()
    results = cluster.link(linking, seeds, Reference(IDENTITY, built.by_layout[IDENTITY].sha256), lambda: None)
    seconds = time.perf_counter() - begin
    assert all(isinstance(results[seed], Binary) for seed in seeds)
    report(
        {
            "perf": "binaries that a submitting machine takes in",
            "size": size,
            "binaries": len(seeds),
            "chunk": CHUNK,
            "binaries / s": round(len(seeds) / seconds),
            "answers / s": round(len(seeds) / CHUNK / seconds),
            "MB / s": round(len(seeds) * size / seconds / 1e6, 1),
        }
    )


class Executed(TaskExecutor):
    """Nodes that answer at once: the records of a task appear as it is given out."""

    def __init__(self, prepared: Path, records: ReturnedRecords, keys: dict[Slot, str]) -> None:
        self.prepared, self.records, self.keys = prepared, records, keys
        self.given, self.sent = 0, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Rename into place what was prepared."""
        (task,) = args
        self.given += 1
        self.sent += len(pickle.dumps(task))
        for slot, _ in task.slots:
            os.rename(self.prepared / self.keys[slot], self.records.path(self.keys[slot]))
        future: Future[MeasuringAnswer] = Future()
        future.set_result(MeasuringAnswer(f"n{self.given % NODES}", ""))
        return future


def test_executions_per_second_that_are_recorded(tmp_path: Path) -> None:
    """A whole call: tasks made, given out, and every execution of two systems on 20 benchmarks recorded on the disk."""
    names = [f"b{number}" for number in range(BENCHMARKS)]
    table = "".join(f'[[benchmarks]]\nname = "{name}"\ncommand = ["{{artefact}}"]\n' for name in names)
    plain = make_config(table)
    cluster = Dask(kind="dask", scheduler="none", shared=str(tmp_path / "shared"))
    config = plain.model_copy(update={"cluster": cluster})
    seeds = range(1, ROUNDS + 1)
    binaries = [
        Binary(
            system,
            "prog",
            seed,
            tmp_path / f"{system}{seed}",
            sha256_bytes(f"{system} {seed}".encode()),
            "",
            cached=True,
            link_s=0.0,
            verification=None,
        )
        for system in config.systems
        for seed in seeds
    ]
    for binary in binaries:
        binary.path.write_bytes(f"{binary.system} {binary.layout}".encode())
    request = RunRequest(
        config=config,
        project=tmp_path,
        built=BuiltSystems(binaries=binaries, captures=dict.fromkeys("ab", "c")),
        choices=RunChoices(seeds=seeds, wait_s=0),
    )
    plan = make_plan(request, here=False)
    records = ReturnedRecords(tmp_path / "shared", run_name(plan))
    prepared = ReturnedRecords(tmp_path / "prepared", "run")
    facts = host_facts()
    keys = {}
    for slot in plan.slots:
        key = plan.key(slot)
        execution = Execution(
            **vars(key),
            attempt=1,
            order=slot.order,
            status="ok",
            reason="",
            returncode=0,
            signal=None,
            started_at=1.0,
            wall_s=1.0,
            rusage=dict.fromkeys(RUSAGE_METRICS, 1.0),
            env_size=None,
            argv=("/x/prog",),
            log="",
            conditions={"cpus": [1]},
            host_state={"load1": 0.5, "steal": 0.0},
            disturbances=(),
            measurements=(Measurement("wall_s", "s", 0, 1.0, warmup=False),),
            node="n1",
        )
        keys[slot] = record_key(key, 1)
        prepared.put(keys[slot], record_of(execution, facts, {}))
    records.path("x").parent.mkdir(parents=True)
    engine = Executed(prepared.path("x").parent, records, keys)
    nodes = MeasuringCluster(engine, SharedDirectory(tmp_path / "shared"), cluster, Cache(tmp_path / "cache"), 2)
    with open_for_writing(results_path(tmp_path)) as store:
        start = time.perf_counter()
        summary = execute_on_nodes(request, store=store, cluster=nodes, progress=lambda _: None, say=lambda _: None)
        seconds = time.perf_counter() - start
    assert summary.executed == len(plan.slots) == ROUNDS * SYSTEMS * BENCHMARKS
    report(
        {
            "perf": "executions that a submitting machine takes in",
            "executions": summary.executed,
            "tasks": engine.given,
            "executions / s": round(summary.executed / seconds),
            "tasks / s": round(engine.given / seconds, 1),
            "bytes of a task": engine.sent // engine.given,
        }
    )


@dataclass(frozen=True)
class Outcome:
    """Of a simulated schedule: seconds, tasks begun, and how often each task counted."""

    makespan: float
    begun: int
    counted: np.ndarray[Any, np.dtype[np.int64]]


def simulate(
    work: np.ndarray[Any, Any],
    speeds: np.ndarray[Any, Any],
    *,
    arrive_s: Sequence[float],
    lost: dict[int, float],
    assigned: Sequence[int] | None = None,
    pieces: int = 1,
) -> Outcome:
    """Tasks of these seconds on nodes of these speeds, in order, each to the node that is free first.

    A task consists of ``pieces`` of equal length, and those that are done when a node is lost stay done.  Node k begins at ``arrive_s[k]`` and is gone for good at ``lost[k]``; what it was doing is given out again. With
    ``assigned`` each task belongs to a node beforehand (and goes to the free one only when that is lost).
    """
    work = work.copy()
    own: list[list[int]] = [[] for _ in speeds]
    common: list[int] = []
    for task in reversed(range(len(work))):
        (common if assigned is None else own[assigned[task]]).append(task)
    counted = np.zeros(len(work), np.int64)
    free = [(start, node) for node, start in enumerate(arrive_s)]
    idle: list[tuple[float, int]] = []
    heapq.heapify(free)
    begun, makespan = 0, 0.0
    while free:
        now, node = heapq.heappop(free)
        if now >= lost.get(node, np.inf):
            common += own[node]
            own[node] = []
        elif own[node] or common:
            task = (own[node] or common).pop()
            begun += 1
            end = now + work[task] / speeds[node]
            if end > lost.get(node, np.inf):
                share = max(0.0, lost[node] - now) / (end - now)
                work[task] *= 1 - np.floor(share * pieces) / pieces
                common += [task, *own[node]]
                own[node] = []
                for _, other in idle:  # whoever has nothing to do is asked when the loss is noticed
                    heapq.heappush(free, (max(now, lost[node]), other))
                idle = []
            else:
                counted[task] += 1
                makespan = max(makespan, end)
                heapq.heappush(free, (end, node))
        else:
            idle.append((now, node))
    return Outcome(makespan, begun, counted)


def test_the_schedule_of_ten_thousand_binaries() -> None:
    """Links and executions on 100 nodes of which three are lost: the makespan beside the bound that no schedule beats."""
    rng = np.random.default_rng(8)
    speeds = rng.normal(1, 0.05, NODES).clip(0.8, 1.2)
    arrive = (np.arange(1, NODES + 1) * SYSTEMS * BUNDLE_BYTES / SHARED_BYTES_PER_S).tolist()
    rows = {}
    binaries = SYSTEMS * SEEDS
    for chunk in (1, 8, 64):
        links = rng.lognormal(np.log(LINK_S), 0.1, binaries)
        tasks = np.array([part.sum() for part in np.array_split(links, -(-binaries // chunk))]) + 2.0  # 2 s to start
        rows[f"build, {chunk} layouts a task"] = (tasks, links.sum())
    seconds = rng.lognormal(np.log(120), 0.8, BENCHMARKS)
    pairs = (seconds * rng.lognormal(0, 0.02, (SEEDS, SYSTEMS, BENCHMARKS))).sum(axis=(1, 2))
    rows["run, a pair of all benchmarks a task"] = (pairs + SYSTEMS * LINK_S + 5.0, pairs.sum())  # 5 s to start
    figures: dict[str, Any] = {}
    for name, (tasks, total) in rows.items():
        bound = total / speeds.sum()
        lost = {node: float(bound * share) for node, share in ((11, 0.2), (42, 0.5), (77, 0.9))}
        ways: dict[str, Sequence[int] | None] = {
            "as nodes get free": None,
            "assigned at random beforehand": rng.permutation(np.arange(len(tasks)) % NODES).tolist(),
        }
        for way, assigned in ways.items():
            pieces = SYSTEMS * BENCHMARKS if name.startswith("run") else 1
            done = simulate(tasks, speeds, arrive_s=arrive, lost=lost, assigned=assigned, pieces=pieces)
            assert (done.counted == 1).all()
            assert done.makespan >= bound
            figures[f"{name}, {way}"] = {
                "makespan (h)": round(done.makespan / 3600, 2),
                "/ bound": round(done.makespan / bound, 3),
                "begun again": done.begun - len(tasks),
                "answers / s": round(len(tasks) / done.makespan, 2),
            }
    report(
        {
            "perf": "10,000 binaries, 20 benchmarks, 100 nodes of which 3 are lost (simulated)",
            **figures,
            "captures to nodes (GB)": round(NODES * SYSTEMS * BUNDLE_BYTES / 1e9, 1),
            "binaries to the submitting machine (GB)": round(binaries * BINARY_BYTES / 1e9, 1),
            "executions": binaries * BENCHMARKS,
        }
    )
