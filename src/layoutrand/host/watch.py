"""What the machine did around one execution, from counters that the kernel keeps anyway.

*During* an execution layoutrand does nothing: a thread that samples would itself disturb what is being measured.
So every reading but temperature, load and settings is of a cumulative counter, once before and once after, and their
difference is what happened in between: CPU times, steal, context switches, swap, pressure stalls, throttling, and the
time spent at each clock frequency where the driver counts it.  Where it does not (intel_pstate, amd-pstate), the
frequency is the one that the CPUs just used report right after the end, which is an average over their last
milliseconds of work.  What they report beforehand is that of idle CPUs and says nothing, so it is not read.

One reading takes 0.2 to 0.3 ms with two CPUs and some 20 µs for each further CPU with a frequency driver (at most
`MOST_CPUS` of them are looked at).  Looking through all processes takes longer (20 µs each), so it is done at most
every `SCAN_EVERY_S` seconds before an execution, and after one that other processes disturbed.

What cannot be read is left out.  psutil would open and parse some of these files several times over, and
does not know the others.
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.host.clocks import ClockReading, Clocks
from layoutrand.host.facts import governor, turbo
from layoutrand.host.processes import Processes
from layoutrand.host.start_files import StartFiles
from layoutrand.host.throttling import Throttling
from layoutrand.platform import proc_files

MOST_CPUS: Final = 32
SCAN_EVERY_S: Final = 5.0
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ, _STEAL = 0, 1, 2, 5, 6, 7  # columns of /proc/stat; idle and iowait are not busy
_SENSORS: Final = re.compile(
    r"coretemp|k10temp|zenpower|x86_pkg_temp|apm_xgene|sfctemp"
    r"|(cpu|soc|package|cluster|bigcore|littlecore|center)[0-9]*([-_][a-z0-9]+)*[-_]thermal"
)
"""Drivers of x86 and of Arm servers, and what device trees call zones of a processor, such as ``bigcore0-thermal``."""


@dataclass(frozen=True)
class Reading:
    """The counters at one moment; ``busy_s`` and ``steal_s`` are CPU seconds of all CPUs since the machine's start."""

    at_s: float
    own_cpu_s: float
    busy_s: float | None
    steal_s: float | None
    busy_by_cpu_s: Mapping[int, float]
    counters: Mapping[str, float]
    throttled: tuple[int, int] | None
    clocks: ClockReading
    governor: str | None
    turbo: bool | None
    temperature_c: float | None
    load1: float | None


class HostWatch:
    """Reads the machine before and after executions.  ``root`` is /, or a directory that stands for it in a test."""

    def __init__(
        self,
        root: Path = Path("/"),
        *,
        now_s: Callable[[], float] = time.monotonic,
        own_cpu_s: Callable[[], float] | None = None,
        cpus: Sequence[int] | None = None,
    ) -> None:
        """Look once which files there are."""
        self._root = str(root)  # joined as text: a Path for each file takes as long as reading it
        self._now_s = now_s
        self._own_cpu_s = own_cpu_s or _own_cpu_s
        self._allowed = tuple(cpus) if cpus is not None else proc_files.allowed_cpus()
        self._sensor = _sensor(root)
        self._clocks = Clocks(root)
        self._throttling = Throttling(root)
        self._processes = Processes(root, now_s)
        self._start_files = StartFiles(root)

    def before(self, cpus: Sequence[int] | None = None) -> Reading:
        """Read before an execution on these CPUs (None: on any that we may use)."""
        if self._processes.age_s() > SCAN_EVERY_S:
            self._processes.look()
        return self._read(cpus)

    def start_files(self, programs: Iterable[Path], prefix: str = "") -> dict[str, Any]:
        """``start_files``, as `StartFiles.read` has them; nothing where they are not known."""
        found = self._start_files.read(programs, prefix)
        return {} if found is None else {"start_files": found}

    def state(self, before: Reading, cpus: Sequence[int] | None = None, *, unseen_cpu_s: float = 0.0) -> dict[str, Any]:
        """What is recorded of the host, called right after the execution: JSON values.

        ``window_s`` is the time between the two readings.  CPU times in seconds: ``steal_s``, ``own_cpu_s`` (layoutrand
        and all that it started), ``other_cpu_s`` (everybody else).  ``context_switches`` are those of the whole
        machine; the program's own are in its rusage.  ``cpu_pressure_s`` and the like: time in which some process of
        the machine waited for that resource.  ``frequency_hz`` is over the CPUs given, else over the busiest ones.
        The argument ``unseen_cpu_s`` is what processes of ours used meanwhile that this one has not waited for.
        """
        after = self._read(cpus)
        state: dict[str, Any] = {"window_s": round(after.at_s - before.at_s, 6)}
        state |= _settings(before, after)
        own = max(0.0, after.own_cpu_s - before.own_cpu_s) + unseen_cpu_s
        state["own_cpu_s"] = round(own, 4)
        if before.busy_s is not None and after.busy_s is not None:
            state["other_cpu_s"] = round(max(0.0, after.busy_s - before.busy_s - own), 3)
        if before.steal_s is not None and after.steal_s is not None:
            state["steal_s"] = round(after.steal_s - before.steal_s, 3)
        for name, value in after.counters.items():
            if name in before.counters:
                state[name] = round(value - before.counters[name], 6)
        if before.throttled is not None and after.throttled is not None:
            events, ms = (b - a for a, b in zip(before.throttled, after.throttled, strict=True))
            state |= {"throttle_events": events, "throttle_ms": ms}
        used = cpus or _used(before, after)
        frequency = self._clocks.frequency_hz(before.clocks, after.clocks, used[:MOST_CPUS])
        if frequency is not None:
            state["frequency_hz"] = round(frequency)
        return state

    def culprits(self, helper: int | None = None) -> dict[str, Any]:
        """Who else used the CPUs: the first few ``processes``, over the last ``processes_window_s`` seconds.

        ``helper`` is a process of ours beside this one.
        The window reaches back to the last look before the execution, at most `SCAN_EVERY_S` seconds before it.  Of
        processes that have ended in it, what they used is found with a parent that waited for them, or not at all.
        """
        window_s = self._processes.age_s()
        used = self._processes.look(helper)
        return {"processes": used, "processes_window_s": round(window_s, 3)} if used else {}

    def _read(self, cpus: Sequence[int] | None) -> Reading:
        chosen = tuple(cpus or self._allowed)[:MOST_CPUS]
        busy, steal, by_cpu, switches = _proc_stat(f"{self._root}/proc/stat")
        counters = _counters(self._root)
        if switches is not None:
            counters["context_switches"] = switches
        first = chosen[0] if chosen else 0
        milli_c = None if self._sensor is None else proc_files.number(self._sensor)
        return Reading(
            at_s=self._now_s(),
            own_cpu_s=self._own_cpu_s(),
            busy_s=busy,
            steal_s=steal,
            busy_by_cpu_s=by_cpu,
            counters=counters,
            throttled=self._throttling.read(chosen),
            clocks=self._clocks.read(chosen),
            governor=governor(self._root, first),
            turbo=turbo(self._root),
            temperature_c=None if milli_c is None else milli_c / 1000,
            load1=proc_files.load1(self._root),
        )


def _settings(before: Reading, after: Reading) -> dict[str, Any]:
    """Load, temperature, governor and turbo as they were before; beside them what they became where that differs."""
    values: dict[str, Any] = {}
    for name in ("load1", "governor", "turbo", "temperature_c"):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None:
            values[name] = old
            if new is not None and new != old and name != "load1":
                values[f"{name}_after"] = new
    return values


def _own_cpu_s() -> float:
    """CPU time of this process and of all its children that were waited for, orphans of theirs included."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _proc_stat(path: str) -> tuple[float | None, float | None, dict[int, float], int | None]:
    """Busy and steal CPU seconds of all CPUs, busy ones of each, and context switches."""
    busy: float | None = None
    steal: float | None = None
    by_cpu: dict[int, float] = {}
    switches: int | None = None
    for line in (proc_files.text(path, in_one=True) or "").splitlines():
        if not line.startswith(("cpu", "ctxt")):
            continue
        name, *values = line.split(maxsplit=9) or [""]
        if name == "ctxt":
            counts = proc_files.integers(values[:1])
            switches = counts[0] if counts else None
        elif name.startswith("cpu") and len(values) > _STEAL and (ticks := proc_files.integers(values[: _STEAL + 1])):
            used = sum(ticks[column] for column in (_USER, _NICE, _SYSTEM, _IRQ, _SOFTIRQ)) / _TICKS_PER_S
            if name == "cpu":
                busy, steal = used, ticks[_STEAL] / _TICKS_PER_S
            elif (cpu := proc_files.integers([name[3:]])) is not None:
                by_cpu[cpu[0]] = used
    return busy, steal, by_cpu, switches


def _counters(root: str) -> dict[str, float]:
    """Cumulative counters by the names under which their differences are recorded."""
    swap = proc_files.fields(f"{root}/proc/vmstat", ("pswpin", "pswpout"))
    counters: dict[str, float] = {
        name: swap[key] for name, key in (("swap_in_pages", "pswpin"), ("swap_out_pages", "pswpout")) if key in swap
    }
    for resource_name in ("cpu", "memory", "io"):
        first = (proc_files.text(f"{root}/proc/pressure/{resource_name}", in_one=True) or "").partition("\n")[0]
        _, found, total_us = first.partition("total=")
        if found and (stalled_us := proc_files.integers([total_us])) is not None:
            counters[f"{resource_name}_pressure_s"] = stalled_us[0] / 1e6
    return counters


def _used(before: Reading, after: Reading) -> tuple[int, ...]:
    """The CPUs that worked most in between; empty where the time was too short to tell."""
    used = {cpu: busy - before.busy_by_cpu_s.get(cpu, busy) for cpu, busy in after.busy_by_cpu_s.items()}
    most = max(used.values(), default=0.0)
    return tuple(cpu for cpu, busy in used.items() if most > 0 and busy >= most / 2)


def _sensor(root: Path) -> Path | None:
    """The temperature of the processor in thousandths of a degree Celsius; other sensors may be slow to read."""
    for place in sorted((root / "sys/class/hwmon").glob("hwmon*")):
        if (
            _SENSORS.fullmatch(proc_files.text(place / "name") or "")
            and proc_files.number(place / "temp1_input") is not None
        ):
            return place / "temp1_input"
    for place in sorted((root / "sys/class/thermal").glob("thermal_zone*")):
        if _SENSORS.fullmatch(proc_files.text(place / "type") or "") and proc_files.number(place / "temp") is not None:
            return place / "temp"
    return None
