"""`layoutrand doctor`: what this machine can do, and what stands in the way of good measurements."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from layoutrand.core.toolchain import Toolchain
from layoutrand.errors import HostError, StoreError
from layoutrand.world import toolbox
from layoutrand.world.cache import Cache, default_root
from layoutrand.world.host import host_facts, host_state
from layoutrand.world.process import Runner

Severity = Literal["error", "warning", "note"]

_INSTALL = {
    "gcc": "sudo apt-get install gcc g++ binutils",
    "gcc-lld": "sudo apt-get install lld",
    "gcc-gold": "sudo apt-get install binutils",
    "gcc-mold": "sudo apt-get install mold",
    "gcc-lto": "sudo apt-get install gcc g++ binutils",
    "clang-lto": "sudo apt-get install clang lld llvm",
    "clang-thinlto": "sudo apt-get install clang lld llvm",
    "clang": "sudo apt-get install clang binutils",
    "clang-lld": "sudo apt-get install clang lld",
}


@dataclass(frozen=True)
class Problem:
    """Something in the way: how much, what, and the command (or step) that mends it."""

    severity: Severity
    what: str
    mend: str


@dataclass(frozen=True)
class Ability:
    """One toolchain: whether it is usable here, and with which programs."""

    toolchain: str
    usable: bool
    factors: tuple[str, ...]
    detail: str


@dataclass(frozen=True)
class Diagnosis:
    """What doctor found."""

    abilities: tuple[Ability, ...]
    instruments: dict[str, str | None]
    facts: dict[str, Any]
    state: dict[str, Any]
    problems: tuple[Problem, ...]


def diagnose(project: Path, runner: Runner) -> Diagnosis:
    """Look at toolchains, instruments, the cache and the machine; nothing is changed."""
    chains = [toolbox.load(name, project) for name in toolbox.shipped()]
    abilities = tuple(_ability(chain, runner) for chain in chains)
    instruments = {name: shutil.which(name) for name in ("valgrind", "perf")}
    facts, state = host_facts(), host_state()
    problems = [*_toolchain_problems(abilities), *_instrument_problems(instruments), *_cache_problems()]
    problems += _host_problems(facts, state)
    return Diagnosis(abilities, instruments, facts, state, tuple(problems))


def _ability(chain: Toolchain, runner: Runner) -> Ability:
    try:
        tools = toolbox.find(chain, runner).tools
    except HostError as error:
        return Ability(chain.name, usable=False, factors=(), detail=str(error))
    detail = f"{tools['cc'].version}; {tools['ld'].version}"
    return Ability(chain.name, usable=True, factors=tuple(chain.link.factors), detail=detail)


def _toolchain_problems(abilities: tuple[Ability, ...]) -> list[Problem]:
    severity: Severity = "note" if any(ability.usable for ability in abilities) else "error"
    return [
        Problem(severity, f"toolchain {a.toolchain} is not usable: {a.detail}", _INSTALL.get(a.toolchain, "install it"))
        for a in abilities
        if not a.usable
    ]


def _instrument_problems(instruments: dict[str, str | None]) -> list[Problem]:
    if instruments["valgrind"] is None:
        return [
            Problem("note", "valgrind is absent: no metric = { cachegrind = true }", "sudo apt-get install valgrind")
        ]
    return []


def _cache_problems() -> list[Problem]:
    root = default_root()
    try:
        cache = Cache(root)
        with cache.scratch("doctor") as scratch:
            (scratch / "probe").write_bytes(b"x")
    except (StoreError, OSError) as error:
        return [Problem("error", f"the cache cannot be used: {error}", "export LAYOUTRAND_CACHE=/a/writable/directory")]
    free = shutil.disk_usage(root).free
    if free < 2 << 30:
        return [Problem("warning", f"only {free >> 20} MiB are free in {root}", "layoutrand cache gc --max-size 1G")]
    return []


def _host_problems(facts: dict[str, Any], state: dict[str, Any]) -> list[Problem]:
    problems = []
    governor = facts.get("governor")
    if governor not in (None, "performance"):
        problems.append(Problem(
            "warning", f"the CPU frequency governor is {governor}: clocks change while you measure",
            "sudo cpupower frequency-set -g performance",
        ))  # fmt: skip
    if facts.get("turbo"):
        problems.append(Problem(
            "note", "turbo is on: clocks depend on temperature and on what other cores do",
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
        ))  # fmt: skip
    load, cores = state.get("load1"), os.cpu_count() or 1
    if load is not None and load > 0.5 * cores:
        problems.append(Problem("warning", f"the load is {load:.1f} on {cores} cores", "end or pause other work"))
    if _is_virtual():
        problems.append(Problem(
            "note", "a virtual machine: neighbours disturb wall times; metric = { cachegrind = true } is immune",
            "measure on bare metal where wall time is what matters",
        ))  # fmt: skip
    return problems


def _is_virtual() -> bool:
    try:
        return " hypervisor" in Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return False


def doctor_document(found: Diagnosis) -> dict[str, Any]:
    """``layoutrand/doctor/1``."""
    return {
        "schema": "layoutrand/doctor/1",
        "toolchains": [vars(ability) for ability in found.abilities],
        "instruments": found.instruments,
        "host": found.facts,
        "state": found.state,
        "problems": [vars(problem) for problem in found.problems],
    }
