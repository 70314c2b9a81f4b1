"""CPUs and priority of a program: read the topology, check what is wished, and start a child under it.

Linux keeps affinity and nice value by *thread*, and a child inherits those of the thread that starts it.  So a thread
made for the purpose takes them on, starts the child and ends: the child has them from its first instruction, nothing
has to be put back (a raised nice value could not be, without privilege), and no code runs between fork and exec, which
would cost `subprocess` its vfork: a fork copies layoutrand's page tables, milliseconds that would count as the child's.
What it costs is a change of threads, some hundredths of a millisecond (tests/perf/test_perf_conditions.py).
(A child that asked for a signal at its parent's death would get it at the end of that thread; no child here asks.)
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from layoutrand.config.topology import CpuWish, Placement, Topology, parse_cpus, place
from layoutrand.errors import FeatureUnsupported
from layoutrand.text.digits import whole_number

_SYSTEM: Final = Path("/sys/devices/system/cpu")
_TASKS: Final = Path("/proc/self/task")
_LARGEST: Final = (1 << 63) - 1
"""What the kernel could say of a speed."""

_T = TypeVar("_T")


def placement(wish: CpuWish) -> Placement | None:
    """Where ``run.cpu`` puts executions on this machine; raises `UsageError` for CPUs that cannot be had."""
    return None if wish == "any" else place(wish, read_topology())


def read_topology(root: Path = _SYSTEM) -> Topology:
    """What the kernel says of the CPUs below ``root``; what it does not say is left out."""
    allowed = os.sched_getaffinity(0)
    online = parse_cpus(_text(root / "online")) or frozenset(allowed)
    isolated = parse_cpus(_text(root / "isolated")) & online
    siblings: dict[int, frozenset[int]] = {}
    for cpu in online:
        topology = root / f"cpu{cpu}" / "topology"
        if core := parse_cpus(_text(topology / "core_cpus_list") or _text(topology / "thread_siblings_list")):
            siblings[cpu] = core
    # Isolated CPUs are in no process' mask from the start, but one may be moved there.
    return Topology(
        online=online,
        allowed=frozenset(allowed) | {cpu for cpu in isolated if _may_use(cpu)},
        isolated=isolated,
        siblings=siblings,
        speed=_speeds(root, online),
    )


def check_priority(priority: int) -> None:
    """Raise `FeatureUnsupported` where this process may not give a child the nice value ``priority``."""
    try:
        _in_a_thread(lambda: os.setpriority(os.PRIO_PROCESS, 0, priority))
    except PermissionError as error:
        now = os.getpriority(os.PRIO_PROCESS, 0)
        raise FeatureUnsupported(
            f"run.priority = {priority}: this user may not go below nice value {now}; nothing was executed. Start "
            f"layoutrand with the capability CAP_SYS_NICE (sudo), raise the limit 'nice' in "
            f"/etc/security/limits.conf, or ask for {now} or more"
        ) from error


def start_under(where: Placement | None, priority: int | None, start: Callable[[], _T]) -> _T:
    """Call ``start``, which starts a child, such that the child is on these CPUs and has this nice value.

    Raises what ``start`` raises, and `FeatureUnsupported` where what was possible at the outset is so no more.
    """
    if where is None and priority is None:
        return start()

    def prepared() -> _T:
        try:
            if where is not None:
                os.sched_setaffinity(0, where.cpus)
            if priority is not None:
                os.setpriority(os.PRIO_PROCESS, 0, priority)
        except OSError as error:
            raise FeatureUnsupported(
                f"CPUs or priority of an execution cannot be set any more ({error.strerror}): a CPU went offline, or "
                "the container's CPUs were changed. All finished executions are recorded"
            ) from error
        return start()

    return _in_a_thread(prepared)


@contextlib.contextmanager
def kept_off(cpus: frozenset[int]) -> Iterator[None]:
    """While open, this process' threads stay off these CPUs, each where it may use another one."""
    before: dict[int, set[int]] = {}
    for task in _threads() if cpus else ():
        with contextlib.suppress(ProcessLookupError):  # a thread that has just ended
            mask = os.sched_getaffinity(task)
            if mask & cpus and mask - cpus:
                os.sched_setaffinity(task, mask - cpus)
                before[task] = mask
    try:
        yield
    finally:
        widest = max(before.values(), key=len, default=set[int]())
        for task in _threads() if before else ():
            with contextlib.suppress(ProcessLookupError, OSError):
                # One that was made meanwhile has inherited a narrowed mask.
                os.sched_setaffinity(task, before.get(task, widest))


def _in_a_thread(work: Callable[[], _T]) -> _T:
    results: list[_T] = []
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=guarded, name="start")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _may_use(cpu: int) -> bool:
    try:
        _in_a_thread(lambda: os.sched_setaffinity(0, {cpu}))
    except OSError:
        return False
    return True


def _threads() -> list[int]:
    return [int(name) for name in os.listdir(_TASKS)]


def _speeds(root: Path, cpus: frozenset[int]) -> dict[int, int]:
    """Capacities where they differ; else the highest frequencies, since many machines report no capacity."""
    measures = [_numbers(root, cpus, name) for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq")]
    return next((measure for measure in measures if len(set(measure.values())) > 1), measures[-1])


def _numbers(root: Path, cpus: frozenset[int], name: str) -> dict[int, int]:
    numbers = {cpu: whole_number(_text(root / f"cpu{cpu}" / name), _LARGEST) for cpu in cpus}
    return {cpu: number for cpu, number in numbers.items() if number is not None}


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""
