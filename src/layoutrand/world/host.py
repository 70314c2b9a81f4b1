"""Facts about this machine: those recorded with an experiment, and the small state read before each execution.

Everything is read from ``/proc`` and ``/sys``; what cannot be read is None, never an error: a fact that a container
hides must not stop an experiment.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from pathlib import Path
from typing import Any

from layoutrand.errors import ToolNotFound

_CPUFREQ = Path("/sys/devices/system/cpu/cpu0/cpufreq")


def host_facts() -> dict[str, Any]:
    """What is recorded with each experiment, as JSON values; sizes in bytes."""
    uname = platform.uname()
    return {
        "hostname": uname.node,
        "machine": uname.machine,
        "kernel": f"{uname.system} {uname.release}",
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_allowed": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "aslr": _number(Path("/proc/sys/kernel/randomize_va_space")),
        "governor": _text(_CPUFREQ / "scaling_governor"),
        "turbo": _turbo(),
        "transparent_hugepages": _text(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
    }


def host_key(facts: dict[str, Any]) -> str:
    """What makes two hosts the same for comparing results: name, processor and number of CPUs.

    Kernel, governor and the like are recorded, and a change of them is for a warning: they change on one machine
    within a long experiment, and starting afresh without a word would be worse.
    """
    parts = [facts["hostname"], facts["machine"], facts["cpu_model"], facts["cpus"]]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()


def host_state() -> dict[str, Any]:
    """The state before one execution, some tens of microseconds to read: load1, and the frequency in Hz if known."""
    state: dict[str, Any] = {"load1": round(os.getloadavg()[0], 2)}
    frequency_khz = _number(_CPUFREQ / "scaling_cur_freq")
    if frequency_khz is not None:
        state["frequency_hz"] = frequency_khz * 1000
    return state


def find_valgrind() -> str:
    """The absolute path of valgrind; raises `ToolNotFound` that names the package."""
    found = shutil.which("valgrind")
    if found is None:
        raise ToolNotFound(
            "a benchmark asks for metric.cachegrind, but there is no valgrind in PATH; install the package 'valgrind' "
            "(Debian, Ubuntu: apt-get install valgrind), or set cachegrind = false"
        )
    return str(Path(found).resolve())


def _cpu_model() -> str | None:
    for line in (_text(Path("/proc/cpuinfo")) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model", "cpu"}:  # x86, ARM boards, POWER
            return value.strip()
    return platform.processor() or None


def _turbo() -> bool | None:
    no_turbo = _number(Path("/sys/devices/system/cpu/intel_pstate/no_turbo"))
    if no_turbo is not None:
        return no_turbo == 0
    boost = _number(Path("/sys/devices/system/cpu/cpufreq/boost"))
    return None if boost is None else boost == 1


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdigit() else None
