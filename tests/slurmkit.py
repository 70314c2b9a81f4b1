"""Slurm on this machine for a test: one controller and two nodes on loopback, in a directory of their own."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workshop import absent, not_installed

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "munged")
NODES = ("n1", "n2")

_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={munge}
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
KillWait=5
MinJobAge=10
SchedulerParameters=sched_interval=2,batch_sched_delay=0
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1 RealMemory=500
PartitionName=batch Nodes=n[1-2] Default=YES MaxTime=60 State=UP
"""


@dataclass
class SlurmCluster:
    """A running controller with its nodes."""

    folder: Path
    daemons: dict[str, subprocess.Popen[bytes]]

    @property
    def environment(self) -> dict[str, str]:
        """What Slurm's commands need to find it."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def said(self, *argv: str) -> str:
        """What one of Slurm's commands prints."""
        done = subprocess.run(argv, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr + self.logs()
        return done.stdout

    def states(self) -> dict[str, str]:
        """State of each node."""
        return dict(row.split() for row in self.said("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def start_node(self, name: str) -> None:
        """Start a node's daemon."""
        self.daemons[name] = _daemon(self.folder, "slurmd", "-D", "-N", name)

    def kill_node(self, name: str) -> None:
        """The node is gone at once, and all its jobs with it."""
        daemon = self.daemons.pop(name)
        victims = [daemon.pid, *_descendants_of_jobs(self.folder, name)]
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        daemon.wait(10)

    def restart_controller(self) -> None:
        """Killed, and started again with what it had saved."""
        daemon = self.daemons.pop("slurmctld")
        daemon.kill()
        daemon.wait(10)
        self.daemons["slurmctld"] = _daemon(self.folder, "slurmctld", "-D")

    def kill_rest_of(self, job: str) -> None:
        """What nodes with cgroups do when they have done with a job: its processes are gone, whatever they ignore."""
        wait_until(lambda: not self._killed(job), f"all of job {job} to be gone", self)

    def _killed(self, job: str) -> list[int]:
        """The processes of a job that were there yet, and have SIGKILL now."""
        left = _carrying(f"SLURM_CONF={self.folder / 'slurm.conf'}", f"SLURM_JOB_ID={job}")
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left

    def logs(self) -> str:
        """The end of every log, for a failure's message."""
        return "\n".join(
            f"--- {path}\n{path.read_text(errors='replace')[-3000:]}" for path in self.folder.glob("*.log")
        )


def require_slurm() -> None:
    """Skip with the reason, or fail under CI, where Slurm cannot be started."""
    for program in PROGRAMS:
        if shutil.which(program, path=_search_path()) is None:
            absent(not_installed(program, "slurm-wlm or munge"))
    if sys.platform != "linux":
        absent("Slurm needs Linux")


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[SlurmCluster]:
    """Two nodes, n1 and n2, with one CPU each; all of it ends with the block."""
    require_slurm()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state").mkdir()
    host = socket.gethostname().split(".")[0]
    with _munge(folder) as munge, contextlib.ExitStack() as stack:
        controller, first = _free_ports()
        text = _CONFIGURATION.format(
            host=host,
            user=getpass.getuser(),
            controller=controller,
            first=first,
            last=first + 1,
            folder=folder,
            munge=munge,
        )
        (folder / "slurm.conf").write_text(text)
        for name in NODES:
            (folder / f"spool.{name}").mkdir()
        cluster = SlurmCluster(folder, {})
        stack.callback(_stop, cluster)
        cluster.daemons["slurmctld"] = _daemon(folder, "slurmctld", "-D", "-c")
        for name in NODES:
            cluster.start_node(name)
        wait_until(lambda: _all_idle(cluster), "both nodes to be idle", cluster)
        yield cluster


def wait_until(true: Callable[[], bool], what: str, cluster: SlurmCluster | None = None, seconds: float = 120) -> None:
    """Look again and again: Slurm tells nobody when something has happened."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited {seconds} s for {what}\n{cluster.logs() if cluster else ''}"
        time.sleep(0.1)


def _all_idle(cluster: SlurmCluster) -> bool:
    done = subprocess.run(
        ["sinfo", "-h", "-N", "-o", "%T"], env={**os.environ, **cluster.environment}, capture_output=True, text=True
    )
    return done.returncode == 0 and done.stdout.split() == ["idle", "idle"]


@contextlib.contextmanager
def _munge(folder: Path) -> Iterator[Path]:
    """A munge of the test's own: its key, its socket, and an end with the test."""
    place = folder / "munge"
    place.mkdir(mode=0o755)
    key = place / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    sock = place / "socket"
    daemon = subprocess.Popen(
        [
            _program("munged"),
            "--foreground",
            "--force",
            f"--socket={sock}",
            f"--key-file={key}",
            f"--pid-file={place}/pid",
            f"--seed-file={place}/seed",
            f"--log-file={place}/log",
            "--num-threads=2",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(sock.exists, "munge's socket")
        yield sock
    finally:
        daemon.terminate()
        daemon.wait(10)


def _daemon(folder: Path, program: str, *options: str) -> subprocess.Popen[bytes]:
    with (folder / f"{program}.out.log").open("ab") as log:
        return subprocess.Popen(
            [_program(program), "-f", str(folder / "slurm.conf"), *options],
            stdout=log,
            stderr=log,
            env={**os.environ, "SLURM_CONF": str(folder / "slurm.conf")},
            start_new_session=True,
        )


def _stop(cluster: SlurmCluster) -> None:
    subprocess.run(
        ["scancel", "--me", "--signal=KILL"], env={**os.environ, **cluster.environment}, capture_output=True, timeout=60
    )
    for name in NODES:
        for pid in _descendants_of_jobs(cluster.folder, name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for daemon in cluster.daemons.values():
        daemon.terminate()
    for daemon in cluster.daemons.values():
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait(10)


def _descendants_of_jobs(folder: Path, node: str) -> list[int]:
    """Processes that carry this cluster's configuration and this node's name: its jobs and what looks after them."""
    return _carrying(f"SLURM_CONF={folder / 'slurm.conf'}", f"SLURMD_NODENAME={node}")


def _carrying(*settings: str) -> list[int]:
    """Processes other than this one that have all these settings, NAME=value, in their environment."""
    found = []
    marks = [setting.encode() for setting in settings]
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            with contextlib.suppress(OSError):
                variables = (path / "environ").read_bytes().split(b"\0")
                if all(mark in variables for mark in marks):
                    found.append(int(path.name))
    return found


def _free_ports() -> tuple[int, int]:
    """A port for the controller, and the first of two that follow each other."""
    for _attempt in range(100):
        with contextlib.ExitStack() as stack:
            try:
                first = _bound(stack, 0)
                _bound(stack, first + 1)
                return _bound(stack, 0), first
            except OSError:
                continue
    raise AssertionError("no two free ports follow each other")


def _bound(stack: contextlib.ExitStack, port: int) -> int:
    sock = stack.enter_context(socket.socket())
    sock.bind(("127.0.0.1", port))
    number: int = sock.getsockname()[1]
    return number


def _program(name: str) -> str:
    return shutil.which(name, path=_search_path()) or name


def _search_path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
