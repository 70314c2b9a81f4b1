"""`build` on Dask itself: a scheduler and workers of this machine, each a process of its own, over TCP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from daskkit import dask
from layoutrand.core.cluster import Dask
from layoutrand.errors import ClusterError
from layoutrand.world.executors import opened
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
        env={**os.environ, "LAYOUTRAND_CACHE": str(cache or shop.cache)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


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
    """Also while tasks wait for a worker: there is none with the resource."""
    with dask(tmp_path / "dask", ("w1",)) as cluster:
        process = started(shop, tmp_path, cluster.address, "--seeds", "6")
        end = time.monotonic() + 120
        while not list((tmp_path / "shared").glob("bundles/*.json")):
            assert time.monotonic() < end and process.poll() is None, cluster.logs()
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130, stderr
        assert "Traceback" not in stderr
        cluster.start_worker("w2", "--resources=link=1")
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
    monkeypatch.setattr("layoutrand.world.executors._CONNECT_S", 1)
    settings = Dask(kind="dask", shared="x", scheduler="tcp://127.0.0.1:9")
    words = r"no scheduler of Dask answers at tcp://127\.0\.0\.1:9"
    with pytest.raises(ClusterError, match=words), opened(settings, tmp_path):
        pass
