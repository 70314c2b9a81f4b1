"""`run` on Dask itself: a scheduler and workers of this machine, each a process of its own, over TCP."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conflictkit import CONFIG, write_source
from daskkit import DaskCluster, dask
from layoutrand.model import Execution
from layoutrand.results.file import open_for_reading, results_path
from startkit import layoutrand
from workshop import Workshop, main_calling, many_functions, require

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"
QUICK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


@pytest.fixture
def shop(gnu: Workshop) -> Workshop:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    return gnu


def worker(cluster: DaskCluster, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that calls itself by this name and may measure beside others of this machine."""
    (tmp_path / f"lock {name}").mkdir(exist_ok=True)
    monkeypatch.setenv("LAYOUTRAND_NODE", name)
    monkeypatch.setenv("LAYOUTRAND_LOCK_DIR", str(tmp_path / f"lock {name}"))
    cluster.start_worker(name, "--resources=measure=1")


def started(
    shop: Workshop, tmp_path: Path, address: str, *arguments: str, benchmarks: str = QUICK
) -> subprocess.Popen[str]:
    """`layoutrand run` as a process of its own, with this scheduler."""
    table = f'[cluster]\nkind = "dask"\nscheduler = "{address}"\nshared = "{tmp_path}/shared"\ncache = "{tmp_path}/n"\n'
    (shop.project / "layoutrand.toml").write_text(shop.toml([BUILD]) + benchmarks + table)
    return subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "run", "--json", "-C", str(shop.project), *arguments],
        env={**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for success; the document."""
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    document: dict[str, Any] = json.loads(stdout)
    return document


def recorded(shop: Workshop) -> list[Execution]:
    """Every execution; each slot once."""
    with open_for_reading(results_path(shop.project)) as store:
        ((experiment, _),) = store.experiments()
        rows = store.executions(experiment)
    assert len({(e.system, e.benchmark, e.layout, e.round, e.repetition) for e in rows}) == len(rows)
    assert {e.status for e in rows} == {"ok"}
    return rows


def wait_for(true: Callable[[], bool], process: subprocess.Popen[str], cluster: DaskCluster) -> None:
    """Look again and again as long as the process lives."""
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end and process.poll() is None, cluster.logs()
        time.sleep(0.01)


def slow_benchmark(tmp_path: Path) -> str:
    """One that says in a file when it begins, and takes its time."""
    script = f'echo $$ >> "{tmp_path}/begun"; sleep 0.4; exec "$1"'
    return f'[[benchmarks]]\nname = "b"\ncommand = {json.dumps(["sh", "-c", script, "sh", "{artefact}"])}\n'


def test_rounds_on_two_workers(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round whole on one; a worker's resource keeps it to one at a time."""
    with dask(tmp_path / "dask", ()) as cluster:
        worker(cluster, tmp_path, "w1", monkeypatch)
        worker(cluster, tmp_path, "w2", monkeypatch)
        document = finished(started(shop, tmp_path, cluster.address, "--seeds", "8"))
    assert document["nodes"] == ["w1", "w2"]
    rows = recorded(shop)
    assert len(rows) == document["executed"] == 24
    assert all(len({e.node for e in rows if e.round == seed}) == 1 for seed in range(1, 9))
    for node in ("w1", "w2"):
        own = sorted((e for e in rows if e.node == node), key=lambda e: e.started_at)
        assert all(a.started_at + a.wall_s <= b.started_at for a, b in itertools.pairwise(own))


@pytest.mark.hour
def test_what_nodes_executed_is_explained_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted conflict is found in counts that came back from two workers."""
    require("gcc", "gcc")
    require("valgrind", "valgrind")
    project = tmp_path / "project"
    write_source(project)
    env = {"LAYOUTRAND_CACHE": str(tmp_path / "cache")}

    def call(*arguments: str) -> dict[str, Any]:
        done = layoutrand(*arguments, "--json", "-C", project, env={**os.environ, **env})
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    with dask(tmp_path / "dask", ()) as cluster:
        worker(cluster, tmp_path, "w1", monkeypatch)
        worker(cluster, tmp_path, "w2", monkeypatch)
        (project / "layoutrand.toml").write_text(
            CONFIG % "{ cachegrind = true }"
            + f'[cluster]\nkind = "dask"\nscheduler = "{cluster.address}"\n'
            + f'shared = "{tmp_path}/shared"\ncache = "{tmp_path}/n"\n'
        )
        ran = call("run", "--seeds", "24", "--no-controls")
        assert (ran["nodes"], ran["executed"]) == (["w1", "w2"], 24)
        (found,) = call("explain", "--profiler", "callgrind", "--metric", "i1_misses")["benchmarks"]
    first = found["suspects"][0]
    assert (first["kind"], set(first["functions"])) == ("sets", {"ping", "pong"})
    assert first["p_value"] <= 0.01
    assert len(found["binaries"]) == 24


@pytest.mark.hour
def test_a_worker_killed_while_it_executes(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program ends with it; a worker that comes later does the rest, and nothing that was finished again."""
    with dask(tmp_path / "dask", ()) as cluster:
        worker(cluster, tmp_path, "w1", monkeypatch)
        process = started(shop, tmp_path, cluster.address, "--seeds", "4", benchmarks=slow_benchmark(tmp_path))
        wait_for(lambda: any((tmp_path / "shared").glob("executions/*/*")), process, cluster)
        begun = (tmp_path / "begun").read_text().split()
        cluster.kill("w1")
        end = time.monotonic() + 30
        while Path(f"/proc/{begun[-1]}").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        worker(cluster, tmp_path, "w2", monkeypatch)
        document = finished(process)
    assert document["executed"] == len(recorded(shop)) == 12
    assert len((tmp_path / "begun").read_text().split()) <= 14


@pytest.mark.hour
def test_a_run_killed_and_started_again(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler forgets what nobody waits for; what was finished waits and is taken first."""
    with dask(tmp_path / "dask", ()) as cluster:
        worker(cluster, tmp_path, "w1", monkeypatch)
        process = started(shop, tmp_path, cluster.address, "--seeds", "4", benchmarks=slow_benchmark(tmp_path))
        wait_for(lambda: any((tmp_path / "shared").glob("executions/*/*")), process, cluster)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        document = finished(
            started(shop, tmp_path, cluster.address, "--seeds", "4", benchmarks=slow_benchmark(tmp_path))
        )
    assert document["executed"] + document["already"] == len(recorded(shop)) == 12
    assert len((tmp_path / "begun").read_text().split()) <= 15
