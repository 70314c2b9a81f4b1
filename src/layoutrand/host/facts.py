"""Facts about this machine: those recorded with an experiment, and the settings that doctor looks at.

Everything is read from ``/proc`` and ``/sys`` (below a ``root`` in tests), by psutil where it knows it; what cannot be
read is None, never an error: a fact that a container hides must not stop an experiment.  What changes from execution to
execution is read in `layoutrand.host.watch`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from layoutrand.config.topology import fastest, parse_cpus
from layoutrand.engines.known import engines
from layoutrand.host.code_caches import code_caches
from layoutrand.host.cores import kinds_of_cores, model, signature
from layoutrand.host.pinning import read_topology
from layoutrand.host.virtual import is_virtual
from layoutrand.platform.proc_files import CPUS, load1, number, text, told_by_psutil

ROOT: Final = Path("/")


def host_facts(root: Path = ROOT) -> dict[str, Any]:
    """What is recorded with each experiment, as JSON values; sizes in bytes."""
    uname = platform.uname()
    return {
        "hostname": uname.node,
        "machine": uname.machine,
        "kernel": f"{uname.system} {uname.release}",
        "cpu_model": model(root) or platform.processor() or None,
        "cpu_signature": signature(root),
        "cores": [f"{kind}: CPU {cpus}" for kind, cpus in kinds_of_cores(root).items()],
        "cpus": os.cpu_count(),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "memory_bytes": told_by_psutil(ROOT, lambda psutil: psutil.virtual_memory().total),
        "aslr": number(root / "proc/sys/kernel/randomize_va_space"),
        "governor": governor(root),
        "turbo": turbo(root),
        "transparent_hugepages": text(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        "frequency_driver": text(root / CPUS / "cpu0/cpufreq/scaling_driver"),
        "smt": _smt(root),
        "clocksource": text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        **code_caches(root, fastest(read_topology(root / CPUS))),
        "isolated_cpus": sorted(parse_cpus(text(root / CPUS / "isolated") or "")),
    }


def node_name() -> str:
    """What this node is called: by ``LAYOUTRAND_NODE`` if that is set, else by an engine, else by itself.

    The variable is for workers whose machine has another name in its container, or the same as others.
    """
    variables = ["LAYOUTRAND_NODE", *(engine.node_variable for engine in engines() if engine.node_variable)]
    return next((name for variable in variables if (name := os.environ.get(variable))), platform.node())


def host_settings(root: Path = ROOT) -> dict[str, Any]:
    """What doctor looks at beyond the facts: settings and standing conditions that can be mended or must be known."""
    return {
        "virtual": is_virtual(root),
        "systemd": (root / "run/systemd/system").exists(),
        "governors": _governors(root),
        "boost_of_policies": not (root / CPUS / "cpufreq/boost").exists()
        and any((root / CPUS).glob("cpufreq/policy*/boost")),
        "swap_used_bytes": told_by_psutil(root, lambda psutil: psutil.swap_memory().used) or 0,
        "perf_event_paranoid": number(root / "proc/sys/kernel/perf_event_paranoid"),
        "nmi_watchdog": number(root / "proc/sys/kernel/nmi_watchdog"),
        "hardware_counters": bool(counting_units(root)),
        "on_battery": _on_battery(root),
        "steal_share": told_by_psutil(root, _steal_share),
    }


def host_key(facts: dict[str, Any]) -> str:
    """What makes two hosts the same for comparing results: name, processor and number of CPUs.

    Kernel, governor and the like are recorded, and a change of them is for a warning: they change on one machine
    within a long experiment, and starting afresh without a word would be worse.
    """
    parts = [facts["hostname"], facts["machine"], facts["cpu_model"], facts["cpus"]]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def processor(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What nodes must have in common for their executions to be analysed together, out of their facts."""
    return {name: facts[name] for name in ("machine", "cpu_model", "cpus")}


def host_state(root: Path = ROOT) -> dict[str, Any]:
    """The state of this moment: load1, and the frequency of the first CPU in Hz if known."""
    load = load1(root)
    state: dict[str, Any] = {} if load is None else {"load1": load}
    frequency_khz = number(root / CPUS / "cpu0/cpufreq/scaling_cur_freq")
    if frequency_khz is not None:
        state["frequency_hz"] = frequency_khz * 1000
    return state


def governor(root: Path | str = ROOT, cpu: int = 0) -> str | None:
    """What decides the frequency of this CPU."""
    return text(f"{root}/{CPUS}/cpu{cpu}/cpufreq/scaling_governor")


def turbo(root: Path | str = ROOT) -> bool | None:
    """Whether clocks may rise above the nominal frequency."""
    no_turbo = number(f"{root}/{CPUS}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    folder = f"{root}/{CPUS}/cpufreq"
    try:
        policies = [name for name in os.listdir(folder) if name.startswith("policy")]
    except OSError:
        return None
    boosts = [number(f"{folder}/boost"), *(number(f"{folder}/{name}/boost") for name in policies)]
    known = [boost == 1 for boost in boosts if boost is not None]
    return any(known) if known else None


def _smt(root: Path) -> bool | None:
    """Whether some CPUs are halves of one core."""
    active = number(root / CPUS / "smt/active")
    return None if active is None else active == 1


def counting_units(root: Path) -> list[str]:
    """What counts events of cores: ``cpu``, or one for each kind of core, as ``apple_firestorm_pmu``, with its CPUs.

    What counts events of other parts, such as memory controllers, has none, or a mask of who is to ask it.
    """
    units = (root / "sys/bus/event_source/devices").glob("*")
    return sorted(unit.name for unit in units if unit.name == "cpu" or (unit / "cpus").exists())


def _governors(root: Path) -> list[str]:
    """Every governor that is in force on some CPU."""
    found = (text(path) for path in (root / CPUS).glob("cpu*/cpufreq/scaling_governor"))
    return sorted({name for name in found if name is not None})


def _on_battery(root: Path) -> bool:
    """Whether the machine has a mains supply that gives nothing (or none at all) and a battery that is emptied.

    psutil knows mains supplies by two names, and none that is a USB socket.
    """
    supplies = list((root / "sys/class/power_supply").glob("*"))
    mains = [number(supply / "online") for supply in supplies if text(supply / "type") in {"Mains", "USB"}]
    discharging = any(text(s / "type") == "Battery" and text(s / "status") == "Discharging" for s in supplies)
    return discharging and not any(mains)


def _steal_share(psutil: ModuleType) -> float | None:
    """What the hypervisor took of the CPU time that was asked for, since the machine's start."""
    spent = psutil.cpu_times()
    asked = spent.user + spent.nice + spent.system + spent.irq + spent.softirq + spent.steal
    return spent.steal / asked if asked else None
