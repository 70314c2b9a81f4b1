"""Which CPUs a program is pinned to: the choice, from the machine's topology as a value.

A *core* is the set of CPUs that share one (simultaneous multithreading): what runs on a sibling takes half of it away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from layoutrand.errors import UsageError
from layoutrand.text.digits import whole_number

CpuWish = Literal["any", "auto"] | list[int]
"""``run.cpu``: nothing, a core chosen by topology, or these CPUs."""

_NUMBER: Final = {"type": "integer", "minimum": 0}
WISH_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"enum": ["any", "auto"]}, _NUMBER, {"type": "array", "items": _NUMBER, "minItems": 1}]
}
"""What may stand there, as a JSON Schema: `checked_wish` takes more than the type says."""

SAME_TYPE: Final = 0.9
"""Cores whose speeds are within a tenth of the fastest count as of its type: favoured cores of one kind differ by some
per cent, while efficiency cores are slower by a quarter and more."""


@dataclass(frozen=True)
class Topology:
    """The CPUs of a machine, by number.

    ``allowed`` are those that this process may use or, as the isolated ones, may be moved to; ``isolated`` those that
    the kernel's scheduler leaves alone (isolcpus).  ``siblings`` maps a CPU to all CPUs of its core, itself included;
    ``speed`` to any measure of how fast it is (capacity or highest frequency).  Both lack what is not known.
    """

    online: frozenset[int]
    allowed: frozenset[int]
    isolated: frozenset[int] = frozenset()
    siblings: Mapping[int, frozenset[int]] = field(default_factory=dict)
    speed: Mapping[int, int] = field(default_factory=dict)

    def core(self, cpu: int) -> frozenset[int]:
        """The CPUs that share the core of ``cpu``, itself included."""
        return self.siblings.get(cpu, frozenset({cpu})) | {cpu}


@dataclass(frozen=True)
class Placement:
    """Where executions happen: ``cpus`` for the program, and the ``siblings`` that share its cores and stay unused."""

    cpus: tuple[int, ...]
    siblings: tuple[int, ...]

    @property
    def taken(self) -> frozenset[int]:
        """What layoutrand itself keeps off, where it can."""
        return frozenset(self.cpus) | frozenset(self.siblings)


def checked_wish(value: Any) -> Any:
    """``run.cpu`` as it stands in the file, a single CPU as a list of one; raises `ValueError` for what is no wish."""
    cpus = [value] if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(cpus, list) and cpus and all(type(cpu) is int and cpu >= 0 for cpu in cpus):
        return sorted(set(cpus))
    if isinstance(value, str) and value in {"any", "auto"}:
        return value
    raise ValueError('must be "any", "auto", the number of a CPU or an array of such numbers')


def place(wish: CpuWish, topology: Topology) -> Placement | None:
    """The placement that ``run.cpu`` asks for, None for "any"; raises `UsageError` for CPUs that cannot be had."""
    if wish == "any":
        return None
    if wish == "auto":
        return _placement([_best(topology)], topology)
    absent = [cpu for cpu in wish if cpu not in topology.online]
    if absent:
        raise UsageError(
            f"run.cpu: this machine has no CPU {_listed(absent)} (or it is offline); there are "
            f'{format_cpus(topology.online)}. `cpu = "auto"` chooses one'
        )
    refused = [cpu for cpu in wish if cpu not in topology.allowed]
    if refused:
        raise UsageError(
            f"run.cpu: this process may not use CPU {_listed(refused)}, only {format_cpus(topology.allowed)}: taskset, "
            "a cpuset or the container it runs in says so. Choose another, or start layoutrand with more CPUs"
        )
    return _placement(wish, topology)


_MOST_CPUS: Final = 1 << 16
"""More than any kernel can be made for; a larger number in a list is no CPU."""


def parse_cpus(text: str) -> frozenset[int]:
    """The CPUs in a list of the kernel, such as ``0-3,8``; a stride (``0-7:2/4``) is not used in /sys."""
    cpus: set[int] = set()
    for ends in re.findall(r"(\d+)(?:-(\d+))?", text):
        first, last = (whole_number(end or ends[0], _MOST_CPUS) for end in ends)
        if first is not None and last is not None:
            cpus.update(range(first, last + 1))
    return frozenset(cpus)


def format_cpus(cpus: Sequence[int] | frozenset[int]) -> str:
    """The same as text."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _placement(cpus: Sequence[int], topology: Topology) -> Placement:
    shared = frozenset[int]().union(*(topology.core(cpu) for cpu in cpus)) - set(cpus)
    return Placement(tuple(sorted(cpus)), tuple(sorted(shared & topology.online)))


def fastest(topology: Topology) -> int:
    """The first CPU of the fastest type of core, whoever may use it."""
    best = max(topology.speed.values(), default=0)
    same = [cpu for cpu in topology.online if topology.speed.get(cpu, 0) >= SAME_TYPE * best]
    return min(same or topology.online, default=0)


def _best(topology: Topology) -> int:
    """Isolated before others, then the fastest type of core, then away from CPU 0, then the highest number.

    CPU 0 takes interrupts and housekeeping that others are spared, and low numbers get more of them than high ones.
    Of one core the lowest number is taken: its siblings are unused in any case.
    """
    fastest = max((topology.speed.get(cpu, 0) for cpu in topology.allowed), default=0)

    def merit(cpu: int) -> tuple[bool, bool, bool, int, int]:
        core = topology.core(cpu)
        return (
            cpu in topology.isolated,
            topology.speed.get(cpu, 0) >= SAME_TYPE * fastest,
            0 not in core,
            min(core),
            -cpu,
        )

    return max(topology.allowed, key=merit)


def _listed(cpus: Sequence[int]) -> str:
    return " and ".join(map(str, cpus))
