"""`build` on Dask itself: a scheduler and workers of this machine, each a process of its own, over TCP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from distributed import Client

import errands
from daskkit import DaskCluster, dask
from errands import Errand, run_errand
from layoutrand.cluster.open import opened
from layoutrand.engines.known.dask import Dask, DaskMeasure
from layoutrand.errors import ClusterError
from workshop import Workshop, hashes, main_calling, many_functions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"


@pytest.fixture
def shop(gnu: Workshop) -> Workshop:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    return gnu


def started(
    shop: Workshop, tmp_path: Path, address: str, *arguments: str, cache: Path | None = None
) -> subprocess.Popen[str]:
    """`layoutrand build` as a process of its own, with this scheduler."""
    table = (
        f'[cluster]\nkind = "dask"\nscheduler = "{address}"\nshared = "{tmp_path}/shared"\ncache = "{tmp_path}/node"\n'
        'chunk = 2\nresource = "link"\n'
    )
    (shop.project / "layoutrand.toml").write_text(shop.toml([BUILD]) + table)
    return subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "build", "--json", "-C", str(shop.project), *arguments],
        env={**os.environ, "LAYOUTRAND_CACHE": str(cache or shop.cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> dict[object, str]:
    """Wait for success; whole-file hashes by layout."""
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    document = json.loads(stdout)
    assert document["failures"] == []
    return hashes(document)


def test_workers_make_what_this_machine_makes(shop: Workshop, tmp_path: Path) -> None:
    """Two workers that have the resource share the layouts; the bytes are those of a build without them."""
    with dask(tmp_path / "dask", ("w1", "w2"), "--resources=link=1") as cluster:
        made = finished(started(shop, tmp_path, cluster.address, "--seeds", "12"))
        alone = started(
            shop, tmp_path, cluster.address, "--seeds", "12", "--executor", "local", cache=tmp_path / "alone"
        )
        assert made == finished(alone)
    assert len(list((tmp_path / "node" / "captures").iterdir())) == 1


def test_a_worker_killed_in_mid_task(shop: Workshop, tmp_path: Path) -> None:
    """Its tasks go to a worker that comes later, and nothing is missing."""
    with dask(tmp_path / "dask", ("w1",), "--resources=link=1") as cluster:
        process = started(shop, tmp_path, cluster.address, "--seeds", "30")
        end = time.monotonic() + 120
        while not list((tmp_path / "shared").glob("results/*/*")):
            assert time.monotonic() < end and process.poll() is None, cluster.logs()
            time.sleep(0.005)
        cluster.kill("w1")
        cluster.start_worker("w2", "--resources=link=1")
        made = finished(process)
    assert set(made) == {"stock", "identity", *range(1, 31)}


def test_an_interrupted_build_ends_at_once_and_the_next_goes_on(shop: Workshop, tmp_path: Path) -> None:
    """Also while tasks wait for a worker: the one that has the resource does something else."""
    with dask(tmp_path / "dask", ("w1",), "--resources=link=1") as cluster, Client(cluster.address) as other:
        busy = other.submit(time.sleep, 600, resources={"link": 1})
        process = started(shop, tmp_path, cluster.address, "--seeds", "6")
        end = time.monotonic() + 120
        while not list((tmp_path / "shared").glob("bundles/*.json")):
            assert time.monotonic() < end and process.poll() is None, cluster.logs()
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130, stderr
        assert "Traceback" not in stderr
        assert not busy.done()
        cluster.kill("w1")
        busy.cancel()
        cluster.start_worker("w2", "--resources=link=1")
        other.wait_for_workers(1, timeout=60)
        made = finished(started(shop, tmp_path, cluster.address, "--seeds", "6"))
    assert set(made) == {"stock", "identity", *range(1, 7)}


def test_a_task_that_kills_its_workers_is_an_error(tmp_path: Path) -> None:
    """Dask gives it up after a few workers; the future says so."""
    with dask(tmp_path / "dask", ("w1", "w2", "w3", "w4")) as cluster:
        settings = Dask(kind="dask", shared="x", scheduler=cluster.address)
        with opened(settings, tmp_path / "shared") as executor:
            future = executor.submit(os._exit, 1)
            with pytest.raises(Exception, match="workers died while running it"):
                future.result(timeout=120)


def test_no_scheduler_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names it."""
    monkeypatch.setattr("layoutrand.engines.known.dask._CONNECT_S", 1)
    settings = Dask(kind="dask", shared="x", scheduler="tcp://127.0.0.1:9")
    words = r"no scheduler of Dask answers at tcp://127\.0\.0\.1:9"
    with pytest.raises(ClusterError, match=words), opened(settings, tmp_path):
        pass


def test_no_worker_at_all_and_none_with_the_resource(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is named, and how to start one; a link asks for another resource than a measurement."""
    monkeypatch.setattr("layoutrand.engines.known.dask._CONNECT_S", 1)
    with dask(tmp_path / "dask", ()) as cluster:
        settings = Dask(kind="dask", shared="x", scheduler=cluster.address, measure=DaskMeasure(resource="quiet"))
        words = rf'has no worker. Start one on each node: `dask worker {cluster.address} --nthreads 1 --resources "quiet=1"`'
        with pytest.raises(ClusterError, match=words), opened(settings, tmp_path, "measure"):
            pass
        monkeypatch.setattr("layoutrand.engines.known.dask._CONNECT_S", 60)
        cluster.start_worker("w1", "--resources=link=2")
        words = r'no worker of Dask has a resource "quiet" \(w1 at tcp://\S+ has link=2\)\. Start one'
        with opened(settings, tmp_path) as executor:
            assert executor.submit(os.getpid).result(timeout=60) == cluster.workers["w1"].pid
        with pytest.raises(ClusterError, match=words), opened(settings, tmp_path, "measure"):
            pass


def held(dask_worker: Any) -> int:
    """How many tasks a worker has, those that wait too."""
    return len(dask_worker.state.tasks)


def test_a_node_to_be_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits there goes elsewhere, what runs there ends there, nothing is done twice; the last node stays."""
    said: list[str] = []
    log, gate = tmp_path / "log", tmp_path / "gate"
    monkeypatch.setenv("PYTHONPATH", errands.HERE)
    with dask(tmp_path / "dask", ()) as cluster:
        for node in ("n1", "n2"):
            monkeypatch.setenv("LAYOUTRAND_NODE", node)
            cluster.start_worker(node, "--resources=measure=1")
        settings = Dask(kind="dask", shared="x", scheduler=cluster.address)
        with opened(settings, tmp_path, "measure", say=said.append) as executor:
            executor._client.wait_for_workers(2, timeout=60)
            cloudpickle.register_pickle_by_value(sys.modules[__name__])
            futures = [executor.submit(run_errand, Errand(str(k), str(log), str(gate))) for k in range(6)]
            until(lambda: log.exists() and log.read_text().count("n1") == log.read_text().count("n2") == 1, cluster)
            assert executor.avoid("n1")
            until(lambda: sorted(executor._client.run(held).values()) == [1, 5], cluster)
            gate.touch()
            assert sorted(future.result(timeout=60) for future in futures) == ["n1"] + ["n2"] * 5
            rows = [row.split() for row in log.read_text().splitlines()]
            assert sorted(token for token, _ in rows) == [str(k) for k in range(6)]
            assert executor.submit(run_errand, Errand("6", str(log), str(gate))).result(timeout=60) == "n2"
            assert not executor.avoid("n2")
            cluster.kill("n2")
            futures = [executor.submit(run_errand, Errand(str(k), str(log), str(gate))) for k in range(7, 10)]
            until(lambda: any("no worker of Dask is left" in text for text in said), cluster)
            monkeypatch.setenv("LAYOUTRAND_NODE", "n3")
            cluster.start_worker("n3", "--resources=measure=1")
            assert {future.result(timeout=60) for future in futures} == {"n3"}
            # What n2 had done is not done again because n2, which had the results, is gone.
            done = sorted(row.split()[0] for row in log.read_text().splitlines())
            assert done == [str(k) for k in range(10)]


def test_a_cancelled_future_and_an_error(tmp_path: Path) -> None:
    """As with any executor: what was cancelled is not executed, what was raised is raised."""
    with dask(tmp_path / "dask", ("w1",)) as cluster:
        settings = Dask(kind="dask", shared="x", scheduler=cluster.address)
        with opened(settings, tmp_path) as executor:
            first = executor.submit(time.sleep, 1)
            unwanted = executor.submit((tmp_path / "made").touch)
            assert unwanted.cancel()
            with pytest.raises(FileNotFoundError):
                executor.submit(os.stat, str(tmp_path / "nowhere")).result(timeout=60)
            assert first.result(timeout=60) is None
            assert not (tmp_path / "made").exists()


def until(true: Callable[[], bool], cluster: DaskCluster) -> None:
    """Look again and again."""
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end, cluster.logs()
        time.sleep(0.005)
