"""`build` on Slurm itself: a controller and two nodes on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutrand.core.cluster import Slurm
from layoutrand.errors import ClusterError
from layoutrand.world.executors import opened
from slurmkit import SlurmCluster, slurm, wait_until
from workshop import Workshop, absent, hashes, main_calling, many_functions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """Two idle nodes."""
    if importlib.util.find_spec("submitit") is None:
        absent('submitit is not installed (pip install "layoutrand[slurm]")')
    with slurm(tmp_path / "slurm") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def shop(gnu: Workshop, tmp_path: Path) -> Workshop:
    """A small program, and [cluster] for the nodes: each has a cache of its own."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    table = (
        f'[cluster]\nkind = "slurm"\nshared = "{tmp_path}/shared"\ncache = "{tmp_path}/$SLURMD_NODENAME"\n'
        'chunk = 2\npartition = "batch"\nminutes = 5\n'
    )
    (gnu.project / "layoutrand.toml").write_text(gnu.toml([BUILD]) + table)
    return gnu


def started(shop: Workshop, *arguments: str, cache: Path | None = None) -> subprocess.Popen[str]:
    """`layoutrand build` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "build", "--json", "-C", str(shop.project), *arguments],
        env={**os.environ, "LAYOUTRAND_CACHE": str(cache or shop.cache)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[dict[object, str], str]:
    """Wait for success; whole-file hashes by layout, and what was said."""
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    document = json.loads(stdout)
    assert document["failures"] == []
    return hashes(document), stderr


def test_jobs_on_two_nodes_make_what_this_machine_makes(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Each node has its own cache, links its share, and the bytes are those of a build without nodes."""
    wanted, _ = finished(started(shop, "--seeds", "12", "--executor", "local", cache=tmp_path / "alone"))
    made, _ = finished(started(shop, "--seeds", "12"))
    assert made == wanted
    used = [name for name in ("n1", "n2") if (tmp_path / name / "captures").is_dir()]
    assert used == ["n1", "n2"]
    metas = [json.loads(path.read_text()) for path in shop.cache.glob("binaries/*/meta.json")]
    assert {meta["node"] for meta in metas if "node" in meta} == {"n1", "n2"}
    again, said = finished(started(shop, "--seeds", "12"))
    assert again == wanted
    assert "given out" not in said


def test_a_node_that_dies_in_mid_task(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Killed with its jobs as soon as it has begun to link: the other node does what it had, and all are there."""
    process = started(shop, "--seeds", "20")
    wait_until(lambda: any((tmp_path / "n1").glob("captures/*/capture.json")), "n1 to begin", cluster)
    cluster.kill_node("n1")
    made, _ = finished(process)
    assert set(made) == {"stock", "identity", *range(1, 21)}
    assert made == finished(started(shop, "--seeds", "20", "--executor", "local", cache=tmp_path / "alone"))[0]


def test_the_home_killed_and_started_again(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Its jobs go on without it; what they make is taken by the next call."""
    process = started(shop, "--seeds", "20")
    wait_until(lambda: any((tmp_path / "shared").glob("results/*/*")), "the first binary", cluster)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until(lambda: not cluster.said("squeue", "-h").strip(), "its jobs to end", cluster)
    made, _ = finished(started(shop, "--seeds", "20"))
    assert set(made) == {"stock", "identity", *range(1, 21)}
    assert not [path for path in (tmp_path / "shared").glob("results/*/*") if path.is_file()]


def test_an_interrupted_build_cancels_its_jobs(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Ctrl-C leaves nothing in the queue."""
    process = started(shop, "--seeds", "60")
    wait_until(lambda: any((tmp_path / "shared").glob("results/*/*")), "the first binary", cluster)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "interrupted" in stderr
    wait_until(lambda: not cluster.said("squeue", "-h", "-t", "PD,R").strip(), "an empty queue", cluster)


def test_a_job_that_leaves_no_result_is_lost(cluster: SlurmCluster, tmp_path: Path) -> None:
    """Killed by Slurm: the future says which job, where, and where its log is; others are not touched."""
    settings = Slurm(kind="slurm", shared="x", minutes=5)
    with opened(settings, tmp_path / "shared") as executor:
        lost, fine = executor.submit(time.sleep, 600), executor.submit(os.getpid)
        assert fine.result(timeout=120) > 0
        wait_until(lambda: "R" in cluster.said("squeue", "-h", "-o", "%t").split(), "the job to run", cluster)
        cluster.said("scancel", *cluster.said("squeue", "-h", "-r", "-o", "%i").split())
        with pytest.raises(ClusterError, match=r"Slurm has done with job \d+_\d+ on node n[12], and it left no result"):
            lost.result(timeout=120)


def test_a_partition_that_does_not_exist(cluster: SlurmCluster, tmp_path: Path) -> None:
    """sbatch's own words."""
    settings = Slurm(kind="slurm", shared="x", partition="nowhere")
    with opened(settings, tmp_path / "shared") as executor:
        future = executor.submit(os.getpid)
        with pytest.raises(ClusterError, match=r"sbatch took no jobs: .*invalid partition"):
            future.result(timeout=60)
