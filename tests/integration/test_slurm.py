"""`build` on Slurm itself: a controller and two nodes on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import errands
from errands import Errand, run_errand
from layoutrand.cluster.open import opened
from layoutrand.engines.known.slurm import Slurm, SlurmMeasure
from layoutrand.errors import ClusterError
from slurmkit import SlurmCluster, slurm, wait_until
from workshop import Workshop, absent, hashes, main_calling, many_functions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"
MEASURING = Slurm(kind="slurm", shared="x", minutes=50, measure=SlurmMeasure(minutes=5))


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
        env={**os.environ, "LAYOUTRAND_CACHE": str(cache or shop.cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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


@pytest.mark.hour
def test_a_node_that_dies_in_mid_task(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Killed with its jobs as soon as it has begun to link: the other node does what it had, and all are there."""
    process = started(shop, "--seeds", "20")
    wait_until(lambda: any((tmp_path / "n1").glob("captures/*/capture.json")), "n1 to begin", cluster)
    cluster.kill_node("n1")
    made, _ = finished(process)
    assert set(made) == {"stock", "identity", *range(1, 21)}
    assert made == finished(started(shop, "--seeds", "20", "--executor", "local", cache=tmp_path / "alone"))[0]


@pytest.mark.hour
def test_a_build_killed_and_started_again(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
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


@pytest.mark.hour
def test_a_job_that_leaves_no_result_is_lost(cluster: SlurmCluster, tmp_path: Path) -> None:
    """Killed by Slurm: the future says which job, where, and where its log is; others are not touched."""
    settings = Slurm(kind="slurm", shared="x", minutes=5)
    with opened(settings, tmp_path / "shared") as executor:
        lost, fine = executor.submit(time.sleep, 600), executor.submit(os.getpid)
        assert fine.result(timeout=120) > 0
        wait_until(lambda: "R" in cluster.said("squeue", "-h", "-o", "%t").split(), "the job to run", cluster)
        cluster.said("scancel", *cluster.said("squeue", "-h", "-r", "-o", "%i").split())
        with pytest.raises(ClusterError, match=r"^Slurm cancelled job \d+_\d+ on node n[12], and it left no result"):
            lost.result(timeout=120)


def test_a_partition_that_does_not_exist(cluster: SlurmCluster, tmp_path: Path) -> None:
    """sbatch's own words."""
    settings = Slurm(kind="slurm", shared="x", partition="nowhere")
    with opened(settings, tmp_path / "shared") as executor:
        future = executor.submit(os.getpid)
        with pytest.raises(ClusterError, match=r"sbatch took no jobs: .*invalid partition"):
            future.result(timeout=60)


Submitter = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def submitter(cluster: SlurmCluster, tmp_path: Path) -> Iterator[Submitter]:
    """Submitting processes of their own for tokens, whose jobs do not end before there is a file "gate"."""
    with contextlib.ExitStack() as stack:

        def started(*tokens: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-m", "errands", f"{tmp_path}/shared", f"{tmp_path}/log", f"{tmp_path}/gate", *tokens],
                env={**os.environ, **cluster.environment, "PYTHONPATH": errands.HERE},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.kill)
            return process

        yield started


def begun(log: Path) -> list[str]:
    """The tokens of the errands that were begun."""
    return sorted(row.split()[0] for row in log.read_text().splitlines()) if log.exists() else []


def noted(tmp_path: Path) -> list[str]:
    """The tokens whose jobs are noted."""
    return sorted(path.name for path in (tmp_path / "shared" / "slurm" / "tokens").glob("[0-9a-f]*"))


def test_a_process_killed_in_mid_task_follows_its_jobs(
    cluster: SlurmCluster, submitter: Submitter, tmp_path: Path
) -> None:
    """Two run and two wait when it is killed; started again it has them all, each executed once."""
    tokens = ("a1", "a2", "a3", "a4")
    first = submitter(*tokens)
    wait_until(lambda: len(begun(tmp_path / "log")) == 2 and noted(tmp_path) == list(tokens), "two to begin", cluster)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    (tmp_path / "shared" / "slurm" / "tokens" / "a3").unlink()  # as if it had been killed before that was noted
    (tmp_path / "log.asked").unlink(missing_ok=True)
    again = submitter(*tokens)
    wait_until((tmp_path / "log.asked").exists, "the second to look for its jobs", cluster)  # before they end
    (tmp_path / "gate").touch()
    stdout, stderr = again.communicate(timeout=120)
    assert again.returncode == 0, stderr
    assert len(stdout.split()) == 4
    assert begun(tmp_path / "log") == list(tokens)
    assert noted(tmp_path) == []


def test_jobs_that_ended_while_nobody_waited(cluster: SlurmCluster, submitter: Submitter, tmp_path: Path) -> None:
    """Their results are taken by the next one, nothing is executed again; of two not asked for one is cancelled."""
    first = submitter("a1", "a2", "a3", "b1")
    wait_until(lambda: noted(tmp_path) == ["a1", "a2", "a3", "b1"], "the jobs to be noted", cluster)
    wait_until(lambda: begun(tmp_path / "log") == ["a1", "a2"], "two to begin", cluster)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    with opened(MEASURING, tmp_path / "shared", "measure") as executor:
        assert executor.forget_others("a", {"a1", "a2"}) == 1  # type: ignore[attr-defined]
        (tmp_path / "gate").touch()
        wait_until(lambda: not cluster.said("squeue", "-h").strip(), "the jobs to end", cluster)
        errand = Errand("a1", f"{tmp_path}/log", f"{tmp_path}/gate")
        assert executor.submit(run_errand, errand).result(timeout=60) in {"n1", "n2"}
    assert begun(tmp_path / "log") == ["a1", "a2", "b1"]
    assert noted(tmp_path) == ["a2", "b1"]


@pytest.mark.hour
def test_a_node_to_be_avoided(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits and what is submitted later goes to the other node, which cannot be avoided, too."""
    monkeypatch.setenv("PYTHONPATH", errands.HERE)
    with opened(MEASURING, tmp_path / "shared", "measure") as executor:
        gate = tmp_path / "gate"
        futures = [executor.submit(run_errand, Errand(f"c{k}", f"{tmp_path}/log", str(gate))) for k in range(5)]
        wait_until(lambda: len(begun(tmp_path / "log")) == 2, "two to begin", cluster)
        asked = cluster.said("squeue", "-h", "-r", "-o", "%l").split()
        assert asked == ["5:00"] * 5
        assert "OverSubscribe=NO" in cluster.said("scontrol", "show", "job", "1")
        assert executor.avoid("n1")  # type: ignore[attr-defined]
        assert not executor.avoid("n9")  # type: ignore[attr-defined]
        gate.touch()
        assert sorted(future.result(timeout=120) for future in futures) == ["n1", "n2", "n2", "n2", "n2"]
        assert not executor.avoid("n2")  # type: ignore[attr-defined]
        last = executor.submit(run_errand, Errand("d1", f"{tmp_path}/log", str(gate)))
        assert last.result(timeout=120) == "n2"


def test_a_job_that_can_never_begin(cluster: SlurmCluster, tmp_path: Path) -> None:
    """It waits, as the partition may be changed, and the user hears why."""
    said: list[str] = []
    with opened(Slurm(kind="slurm", shared="x", minutes=500), tmp_path / "shared", say=said.append) as executor:
        executor.submit(os.getpid)
        wait_until(lambda: bool(said), "to hear of it", cluster)
    assert said[0].startswith("Slurm does not start job 1 (PartitionTimeLimit): the partition allows less time: give ")
    assert len(said) == 1


@pytest.mark.hour
def test_a_preempted_job_is_followed(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requeued in mid-task it waits again, is executed again, and is one future all the time."""
    monkeypatch.setenv("PYTHONPATH", errands.HERE)
    with opened(MEASURING, tmp_path / "shared", "measure") as executor:
        future = executor.submit(run_errand, Errand("e1", f"{tmp_path}/log", f"{tmp_path}/gate"))
        wait_until(lambda: begun(tmp_path / "log") == ["e1"], "it to begin", cluster)
        cluster.said("scontrol", "requeue", "1")
        wait_until(lambda: "PD" in cluster.said("squeue", "-h", "-o", "%t"), "it to wait again", cluster)
        # Jobs of submitit's ignore the first signal. Without cgroups no node sends another, and two would write one result.
        cluster.kill_rest_of("1")
        # By itself it would wait two minutes; sooner than some seconds a node takes it for the one that it has ended.
        cluster.said("scontrol", "update", "JobId=1", "StartTime=now+8")
        wait_until(lambda: begun(tmp_path / "log") == ["e1", "e1"], "it to begin again", cluster)
        (tmp_path / "gate").touch()
        assert future.result(timeout=120) in {"n1", "n2"}
