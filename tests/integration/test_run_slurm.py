"""`run` on Slurm itself: rounds on two nodes, and whatever happens to these and to the submitting process meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fuzz.mutations import changed
from layoutrand.model import Execution
from layoutrand.results.file import open_for_reading, results_path
from slurmkit import SlurmCluster, slurm, wait_until
from workshop import Workshop, main_calling, many_functions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

BUILD = "$CC -c *.c && $CC -o prog main.o u.o"
QUICK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """Two idle nodes."""
    with slurm(tmp_path / "slurm") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def shop(gnu: Workshop) -> Workshop:
    """A small program."""
    gnu.write(main__c=main_calling("u3"), u__c=many_functions(9, prefix="u"))
    return gnu


def configured(shop: Workshop, tmp_path: Path, benchmarks: str = QUICK, measure: str = "") -> None:
    """Two systems on a cluster whose nodes have caches of their own."""
    systems = {"a": {}, "b": {"cflags": "-O1"}}
    table = (
        f'[cluster]\nkind = "slurm"\nshared = "{tmp_path}/shared"\ncache = "{tmp_path}/$SLURMD_NODENAME"\n'
        f'partition = "batch"\nminutes = 5\n[cluster.measure]\nminutes = 5\n{measure}'
    )
    (shop.project / "layoutrand.toml").write_text(shop.toml([BUILD], systems=systems) + benchmarks + table)


def slow_benchmark(tmp_path: Path, seconds: float) -> str:
    """One that says in a file when it begins, and takes its time."""
    script = f'echo $$ >> "{tmp_path}/begun"; sleep {seconds}; exec "$1"'
    words = json.dumps(["sh", "-c", script, "sh", "{artefact}"])
    return f'[[benchmarks]]\nname = "b"\ncommand = {words}\n'


def started(shop: Workshop, *arguments: str) -> subprocess.Popen[str]:
    """`layoutrand run` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "layoutrand", "run", "--json", "-C", str(shop.project), *arguments],
        env={**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    """Wait for success; the document, and what was said."""
    stdout, stderr = process.communicate(timeout=400)
    assert process.returncode == 0, stderr
    return json.loads(stdout), stderr


def recorded(shop: Workshop) -> list[Execution]:
    """Every execution; each slot once."""
    with open_for_reading(results_path(shop.project)) as store:
        ((experiment, _),) = store.experiments()
        rows = store.executions(experiment)
    keys = {(e.system, e.benchmark, e.layout, e.round, e.repetition) for e in rows}
    assert len(keys) == len(rows)
    assert {e.status for e in rows} == {"ok"}
    return rows


def test_rounds_on_two_nodes(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Each round whole on one node, which is recorded; a second call has nothing to do; analyse finds them."""
    configured(shop, tmp_path)
    document, _ = finished(started(shop, "--seeds", "8"))
    assert (document["executions"], document["executed"], document["waiting"]) == (48, 48, 0)
    assert document["nodes"] == ["n1", "n2"]
    rows = recorded(shop)
    assert len(rows) == 48
    assert all(len({e.node for e in rows if e.round == seed}) == 1 for seed in range(1, 9))
    again, _ = finished(started(shop, "--seeds", "8"))
    assert (again["executed"], again["already"]) == (0, 48)
    analysed = subprocess.run(
        [sys.executable, "-m", "layoutrand", "analyse", "--json", "-C", str(shop.project)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(analysed.stdout)["schema"] == "layoutrand/analyse/1"


def test_files_of_the_project_are_no_modules_of_a_job(
    cluster: SlurmCluster, shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job begins in the directory where `run` was called, and there may be a file of any name."""
    configured(shop, tmp_path)
    for name in ("queue", "pickle", "struct"):
        (shop.project / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(shop.project)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("SBATCH_EXPORT", "PATH,SLURM_CONF,LAYOUTRAND_CACHE")
    document, _ = finished(started(shop, "--seeds", "1", "--no-controls"))
    assert document["executed"] == len(recorded(shop)) == 2


@pytest.mark.hour
def test_a_node_that_dies_while_it_executes(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Its round is gone on with by the other node; what it had finished is not executed again."""
    configured(shop, tmp_path, slow_benchmark(tmp_path, 0.5))
    process = started(shop, "--seeds", "4")
    wait_until(lambda: any((tmp_path / "shared").glob("executions/*/*")), "the first record", cluster, 240)
    victim = busy_node(cluster)
    cluster.kill_node(victim)
    document, _ = finished(process)
    assert document["executed"] == 24
    assert len(recorded(shop)) == 24
    begun = (tmp_path / "begun").read_text().split()
    assert 24 <= len(begun) <= 26


def busy_node(cluster: SlurmCluster) -> str:
    """One that has a job."""
    return cluster.said("squeue", "-h", "-t", "R", "-o", "%N").split()[0]


@pytest.mark.hour
def test_a_job_that_is_requeued_goes_on_where_it_was(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """As by preemption: nothing that was finished is executed twice, and nothing is given out again."""
    configured(shop, tmp_path, slow_benchmark(tmp_path, 0.5), "rounds = 4\n")
    process = started(shop, "--seeds", "4", "--system", "a")
    wait_until(lambda: any((tmp_path / "shared").glob("executions/*/*")), "the first record", cluster, 240)
    job = cluster.said("squeue", "-h", "-t", "R", "-o", "%A").split()[0]
    cluster.said("scontrol", "requeue", job)
    wait_until(lambda: "PENDING" in cluster.said("scontrol", "show", "job", job), "the job to be pending", cluster)
    cluster.said("scontrol", "update", f"JobId={job}", "StartTime=now+8")
    document, said = finished(process)
    assert document["executed"] == len(recorded(shop)) == 12
    assert len((tmp_path / "begun").read_text().split()) <= 13
    assert "given out again" not in said


@pytest.mark.hour
def test_a_run_killed_and_started_again(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """The next call follows the jobs of the first: every execution is made once."""
    configured(shop, tmp_path, slow_benchmark(tmp_path, 0.3))
    process = started(shop, "--seeds", "4")
    wait_until(lambda: any((tmp_path / "shared").glob("executions/*/*")), "the first record", cluster, 240)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    document, _ = finished(started(shop, "--seeds", "4"))
    assert document["executed"] + document["already"] == len(recorded(shop)) == 24
    assert len((tmp_path / "begun").read_text().split()) == 24


@pytest.mark.hour
def test_an_interrupted_run_keeps_what_it_has(cluster: SlurmCluster, shop: Workshop, tmp_path: Path) -> None:
    """Ctrl-C: jobs are cancelled, programs end, and the next call goes on."""
    configured(shop, tmp_path, slow_benchmark(tmp_path, 0.5))
    process = started(shop, "--seeds", "4")
    wait_until(lambda: any((tmp_path / "shared").glob("executions/*/*")), "the first record", cluster, 240)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    wait_until(lambda: not cluster.said("squeue", "-h").strip(), "an empty queue", cluster)
    document, _ = finished(started(shop, "--seeds", "4"))
    assert document["already"] >= 1
    assert document["executed"] + document["already"] == len(recorded(shop)) == 24


@pytest.mark.hour
def test_a_node_with_another_processor_is_given_nothing_more(
    cluster: SlurmCluster, shop: Workshop, tmp_path: Path
) -> None:
    """It refuses what it is given before that is known, and its rounds go to the other one."""
    configured(shop, tmp_path, slow_benchmark(tmp_path, 0.3))
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import os\n"
        "if os.environ.get('SLURMD_NODENAME') == 'n2':\n"
        "    import layoutrand.host.facts as host\n"
        "    host.model = lambda root: 'Another'\n"
    )
    agreements = tmp_path / "shared" / "processors"
    os.environ["PYTHONPATH"] = f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    try:
        cluster.said("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
        process = started(shop, "--seeds", "6")
        wait_until(lambda: any(agreements.glob("*.json")), "n1 to settle the processor", cluster, 240)
        cluster.said("scontrol", "update", "NodeName=n2", "State=RESUME")
        document, said = finished(process)
    finally:
        del os.environ["PYTHONPATH"]
    assert document["executed"] == 36
    assert {e.node for e in recorded(shop)} == {"n1"}
    assert 1 <= said.count("the processor of n2 is Another") <= 5


@dataclass(frozen=True)
class Attacked:
    """A run on nodes, and what may go wrong of it."""

    cluster: SlurmCluster
    shared: Path
    rng: Random

    def submitter_is_killed(self, process: subprocess.Popen[str]) -> None:
        """As by the kernel, for want of memory."""
        process.kill()

    def submitter_is_interrupted(self, process: subprocess.Popen[str]) -> None:
        """Ctrl-C, and the same again while it ends."""
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)

    def job_is_cancelled(self, _process: subprocess.Popen[str]) -> None:
        """By somebody else."""
        self.cluster.said("scancel", "--signal=KILL", "--full", self._running())

    def job_is_requeued(self, _process: subprocess.Popen[str]) -> None:
        """As by preemption, on a node that leaves nothing running."""
        job = self._running()
        self.cluster.said("scontrol", "requeue", job)
        self.cluster.kill_rest_of(job)

    def job_loses_its_processes(self, _process: subprocess.Popen[str]) -> None:
        """All of them at once, so that none says anything."""
        self.cluster.kill_rest_of(self._running())

    def node_dies_and_comes_back(self, _process: subprocess.Popen[str]) -> None:
        """With all that is on it."""
        node = busy_node(self.cluster)
        self.cluster.kill_node(node)
        self.cluster.start_node(node)

    def controller_is_killed_and_comes_back(self, _process: subprocess.Popen[str]) -> None:
        """Slurm answers nobody for a while."""
        self.cluster.restart_controller()

    def staged_file_is_changed(self, _process: subprocess.Popen[str]) -> None:
        """One that a node has written for the submitter, or the submitter for a node."""
        files = [path for path in self.shared.rglob("*") if path.is_file() and not path.is_symlink()]
        path = self.rng.choice(sorted(files))
        with contextlib.suppress(FileNotFoundError):  # it is taken up and removed meanwhile
            data = path.read_bytes()
            numbers = [tuple(self.rng.getrandbits(32) for _ in range(3)) for _ in range(2)]
            path.write_bytes(changed(data, [(a, b, c) for a, b, c in numbers], "bytes"))

    def _running(self) -> str:
        return self.rng.choice(self.cluster.said("squeue", "-h", "-t", "R", "-o", "%A").split())


ATTACKS = (
    Attacked.submitter_is_killed,
    Attacked.submitter_is_interrupted,
    Attacked.job_is_cancelled,
    Attacked.job_is_requeued,
    Attacked.job_loses_its_processes,
    Attacked.node_dies_and_comes_back,
    Attacked.controller_is_killed_and_comes_back,
    Attacked.staged_file_is_changed,
)
ROUNDS_OF_ATTACKS = 3


@pytest.mark.hour
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
def test_nothing_is_lost_or_doubled_under_attack(
    cluster: SlurmCluster, shop: Workshop, tmp_path: Path, attack: Callable[[Attacked, subprocess.Popen[str]], None]
) -> None:
    """Again and again amid a run: it ends in a way of its own, the next call does the rest, and every execution is there once."""
    configured(shop, tmp_path, slow_benchmark(tmp_path, 0.2))
    attacked = Attacked(cluster, tmp_path / "shared", Random(attack.__name__))
    amid = 0
    for number in range(1, ROUNDS_OF_ATTACKS + 1):
        seeds = 4 * number
        process = started(shop, "--seeds", str(seeds))
        wait_until(lambda: bool(cluster.said("squeue", "-h", "-t", "R").strip()), "a job to begin", cluster, 240)
        time.sleep(attacked.rng.random() * 3)
        amid += process.poll() is None
        with contextlib.suppress(IndexError):  # its jobs have ended by now
            attack(attacked, process)
        _, stderr = process.communicate(timeout=400)
        assert process.returncode in {0, 1, 2, 130, -signal.SIGKILL}, stderr
        assert "Traceback" not in stderr
        wait_until(lambda: set(cluster.states().values()) == {"idle"}, "both nodes to be idle", cluster, 240)
        document, said = finished(started(shop, "--seeds", str(seeds), "--retry-failed"))
        assert "Traceback" not in said
        rows = recorded(shop)
        assert document["executed"] + document["already"] == len(rows) == 6 * seeds
    assert amid == ROUNDS_OF_ATTACKS
