"""What stands in the way of good measurements on this machine: each with how bad it is and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from layoutrand.config.disturbance import Disturbance, disturbances, sentence
from layoutrand.text.quantities import percent

Severity = Literal["error", "warning", "note"]

TUNE: Final = "or let `layoutrand run --tune` do it while it measures"
# Nothing is to be paused (kill -STOP): an installation or a daemon that stands still holds its locks, and others up.
_WAIT: Final = "wait until other work has ended, such as an installation or a backup"
_CPUS: Final = "/sys/devices/system/cpu"
_SLOW_CLOCKS: Final = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}
_CLOCKS: Final = {"x86_64": "tsc", "aarch64": "arch_sys_counter", "riscv64": "riscv_clocksource"}
_WORTH_ISOLATING: Final = 4
_MUCH_STEAL: Final = 0.005
_IMMUNE: Final = "metric = { cachegrind = true } is immune"


@dataclass(frozen=True)
class HostProblem:
    """Something in the way: how much, what, and the command (or step) that mends it."""

    severity: Severity
    what: str
    mend: str


def host_problems(
    facts: Mapping[str, Any], settings: Mapping[str, Any], state: Mapping[str, Any], *, may_simulate: bool = True
) -> Iterator[HostProblem]:
    """The worst first; ``facts`` and ``settings`` are those of `layoutrand.host.facts`.

    ``state`` is what `host_state` and a `HostWatch` tell.  What the machine does not tell is no problem.  Counts of a
    simulated processor are advised where ``may_simulate`` says that there can be such.
    """
    virtual = partial(_virtual, may_simulate=may_simulate)
    checks: list[_Check] = [_clock, _work, virtual, _memory, _cores, _counters]
    every = [problem for check in checks for problem in check(facts, settings, state)]
    for severity in ("error", "warning", "note"):
        yield from (problem for problem in every if problem.severity == severity)


_Values = Mapping[str, Any]
_Check = Callable[[_Values, _Values, _Values], Iterator[HostProblem]]


def _clock(facts: _Values, settings: _Values, _state: _Values) -> Iterator[HostProblem]:
    governors = settings.get("governors") or [g for g in [facts.get("governor")] if g]
    if slow := [name for name in governors if name != "performance"]:
        yield HostProblem(
            "warning",
            f"the CPU frequency governor is {', '.join(slow)}: clocks change while you measure",
            f"echo performance | sudo tee {_CPUS}/cpufreq/policy*/scaling_governor; {TUNE}",
        )
    if facts.get("turbo"):
        intel = str(facts.get("frequency_driver") or "intel_pstate").startswith("intel")
        files = f"{_CPUS}/cpufreq/policy*/boost" if settings.get("boost_of_policies") else f"{_CPUS}/cpufreq/boost"
        command = f"echo 1 | sudo tee {_CPUS}/intel_pstate/no_turbo" if intel else f"echo 0 | sudo tee {files}"
        yield HostProblem(
            "note", "turbo is on: clocks depend on temperature and on what other cores do", f"{command}; {TUNE}"
        )
    if facts.get("frequency_driver") is None and not settings.get("virtual"):
        yield HostProblem(
            "note",
            "no frequency driver is loaded: clocks can neither be fixed nor recorded",
            "switch frequency scaling on in the firmware's setup, or measure outside the container",
        )
    if (source := facts.get("clocksource")) in _SLOW_CLOCKS:
        yield HostProblem(
            "warning",
            f"the clock is {source}, which takes microseconds to read: programs that read it often suffer",
            f"echo {_CLOCKS.get(str(facts.get('machine')), 'ONE_OF_available_clocksource')} | sudo tee "
            "/sys/devices/system/clocksource/clocksource0/current_clocksource "
            "(where the kernel found it unstable, it has its reasons: see dmesg)",
        )
    if settings.get("on_battery"):
        yield HostProblem("warning", "the machine runs on battery, so its clocks are limited", "plug it in")


def _work(facts: _Values, settings: _Values, state: _Values) -> Iterator[HostProblem]:
    cpus = facts.get("cpus_allowed") or 1
    load = state.get("load1")
    found = disturbances(state, Disturbance())
    if "busy" in found:
        pids = " ".join(str(process["pid"]) for process in state.get("processes", ()))
        # In a container systemctl may be installed all the same, and ends with an error.
        asked = f"systemctl status {pids}" if settings.get("systemd") else f"ps -fp {pids.replace(' ', ',')}"
        whose = f": `{asked}` says which it is" if pids else ""
        yield HostProblem("warning", sentence("busy", state), f"{_WAIT}, or stop the service that it is of{whose}")
    elif load is not None and load > 0.5 * cpus:
        yield HostProblem("warning", f"the load is {load:.1f} on {cpus} cores", _WAIT)
    if settings.get("swap_used_bytes"):
        mib = settings["swap_used_bytes"] >> 20
        yield HostProblem(
            "warning",
            f"{mib} MiB of memory are swapped out: executions may wait for the disk",
            "sudo swapoff -a && sudo swapon -a (where free memory holds it)",
        )


def _virtual(_facts: _Values, settings: _Values, state: _Values, *, may_simulate: bool) -> Iterator[HostProblem]:
    share = settings.get("steal_share") or 0.0
    immune = f"; {_IMMUNE}" if may_simulate else ""
    now = "steal" in disturbances(state, Disturbance())
    if now or share > _MUCH_STEAL:
        since = f"the hypervisor took {percent(share, 1)} of the CPU time since the start"
        what = sentence("steal", state) if now else since
        yield HostProblem(
            "warning",
            f"{what}: wall times contain the neighbours' work",
            f"measure while they are quiet, or on bare metal{immune}",
        )
    elif settings.get("virtual"):
        yield HostProblem(
            "note",
            f"a virtual machine: neighbours disturb wall times{immune}",
            "measure on bare metal where wall time is what matters",
        )


def _memory(facts: _Values, _settings: _Values, _state: _Values) -> Iterator[HostProblem]:
    if (aslr := facts.get("aslr")) in {0, 1}:
        what = "off" if aslr == 0 else "on in part only (no random heap)"
        yield HostProblem(
            "warning",
            f"address-space randomisation is {what} on the whole machine: executions repeat one placement "
            "of stack, heap and libraries, and its luck counts as the program's",
            "echo 2 | sudo tee /proc/sys/kernel/randomize_va_space (run.aslr switches it off for executions alone)",
        )
    if "[always]" in (facts.get("transparent_hugepages") or ""):
        yield HostProblem(
            "note",
            "transparent huge pages are always on: whether an execution gets some depends on free memory",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )


def _cores(facts: _Values, _settings: _Values, _state: _Values) -> Iterator[HostProblem]:
    if facts.get("smt"):
        yield HostProblem(
            "note",
            "SMT is on: two CPUs share one core, and slow each other down",
            'cpu = "auto" under [run] takes a core by itself, and others are kept off it by '
            f"echo off | sudo tee {_CPUS}/smt/control",
        )
    if len(kinds := facts.get("cores") or []) > 1:
        yield HostProblem(
            "warning",
            f"the cores are of {len(kinds)} kinds ({'; '.join(kinds)}): the scheduler chooses anew in each execution",
            'cpu = "auto" under [run] takes one of the fastest',
        )
    if (facts.get("cpus") or 0) >= _WORTH_ISOLATING and not facts.get("isolated_cpus"):
        last = facts["cpus"] - 1
        yield HostProblem(
            "note",
            "no CPU is isolated: the scheduler may put other work on any of them",
            f"add isolcpus={last} nohz_full={last} to the kernel's command line, and cpu = [{last}] under [run]",
        )


def _counters(_facts: _Values, settings: _Values, _state: _Values) -> Iterator[HostProblem]:
    if not settings.get("hardware_counters"):
        return
    paranoid = settings.get("perf_event_paranoid")
    if paranoid is not None and paranoid > 2:
        yield HostProblem(
            "note",
            f"hardware counters are closed to ordinary users (perf_event_paranoid is {paranoid})",
            f"echo 2 | sudo tee /proc/sys/kernel/perf_event_paranoid; {TUNE}",
        )
    if settings.get("nmi_watchdog"):
        yield HostProblem(
            "note",
            "the NMI watchdog occupies a hardware counter and interrupts every CPU",
            f"echo 0 | sudo tee /proc/sys/kernel/nmi_watchdog; {TUNE}",
        )
