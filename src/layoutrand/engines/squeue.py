"""What Slurm's ``squeue`` prints of jobs that are not done with, and what the reasons mean for which a job waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FORMAT: Final = "%i|%t|%N|%r"

_ADVICE: Final = {
    "BadConstraints": "every node is unlike what [cluster] asks for, or excluded: see `sinfo -Nl`",
    "PartitionTimeLimit": "the partition allows less time: give fewer minutes under [cluster] ([cluster.measure])",
    "PartitionNodeLimit": "the partition does not allow so many nodes or CPUs: change [cluster] cpus or sbatch",
    "PartitionDown": "the partition takes no jobs now: `scontrol show partition` says more",
    "PartitionInactive": "the partition starts no jobs now: `scontrol show partition` says more",
    "ReqNodeNotAvail": "the nodes are down, drained or reserved: `sinfo -R` says why",
    "NodeDown": "the node is down: `sinfo -R` says why",
    "JobHeldUser": "it is held: `scontrol release` it",
    "JobHeldAdmin": "an administrator holds it: ask, or cancel it",
    "launch failed requeued held": "the node could not start it: see its slurmd log, then `scontrol release` it",
    "DependencyNeverSatisfied": "what it depends on failed: change `dependency` in [cluster] sbatch",
    "AccountNotAllowed": "the partition does not take the account: change [cluster] account or partition",
    "InvalidAccount": "there is no such account: change [cluster] account",
    "InvalidQOS": "there is no such qos: change `qos` in [cluster] sbatch",
    "QOSNotAllowed": "the partition or the account does not allow the qos: change `qos` in [cluster] sbatch",
    "MaxMemPerLimit": "the partition allows less memory: change `mem` in [cluster] sbatch",
}
_LIMITS: Final = (
    "a limit of your account or qos is reached: `sacctmgr show assoc` names it; it may pass as other jobs end"
)


@dataclass(frozen=True)
class Queued:
    """A job that Slurm has not done with: its state as squeue shortens it (PD, R, ...), node and reason, or ""."""

    state: str
    node: str
    reason: str

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return self.state == "PD"


def parse_queue(listed: str) -> dict[str, Queued]:
    """Jobs by id from what ``squeue --noheader --array --format=FORMAT`` prints."""
    rows = [row.strip().split("|", 3) for row in listed.splitlines()]
    return {row[0]: Queued(*row[1:]) for row in rows if len(row) == 4}


def advice(queued: Queued) -> str | None:
    """What to do about a job that may never begin, or None if it merely waits for its turn."""
    if not queued.waits:
        return None
    reason = queued.reason.strip("()")
    name = reason.split(",", 1)[0].replace("_", " ")
    if name.startswith(("Assoc", "QOS")) and ("Limit" in name or "Max" in name or "Grp" in name):
        return _LIMITS
    return _ADVICE.get(name)
