"""Warnings about executions that were not all made under the same conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from layoutrand.config.conditions import PROCESS_GROUP
from layoutrand.config.execution_warnings import (
    EmulatedExecutions,
    MachineWarning,
    MixedConditions,
    MixedCpus,
    MixedIsolation,
    MixedLaunchers,
    MixedProgramFiles,
)
from layoutrand.config.topology import format_cpus
from layoutrand.model import Execution

_NONE: Final = "none"


def mixed_cpus(executions: Iterable[Execution]) -> list[MachineWarning]:
    """A warning where executions that were pinned were so to different CPUs: ``cpu = "auto"`` may choose anew."""
    counts = Counter(f"CPU {format_cpus(e.conditions['cpus'])}" for e in executions if "cpus" in e.conditions)
    return _mixed(MixedCpus, counts)


def mixed_program_files(executions: Iterable[Execution]) -> list[MachineWarning]:
    """A warning where the files of some programs are copies and of others clones."""
    counts = Counter(e.conditions["program_file"] for e in executions if "program_file" in e.conditions)
    return _mixed(MixedProgramFiles, counts)


def mixed_isolation(executions: Iterable[Execution]) -> list[MachineWarning]:
    """A warning where some executions were held by a control group and others, as all once were, by a process group."""
    counts = Counter(str(e.conditions.get("isolation", PROCESS_GROUP)) for e in executions)
    return _mixed(MixedIsolation, counts)


def launched_executions(executions: Iterable[Execution]) -> list[MachineWarning]:
    """That an emulator executed the programs, and where not the same launcher started all of them."""
    launched = [e.conditions for e in executions]
    found: list[MachineWarning] = []
    emulators = Counter(_name(c["launcher"]) for c in launched if c.get("emulated") and c.get("launcher"))
    if emulators:
        found.append(EmulatedExecutions(tuple(emulators.most_common())))
    given = (c if "launcher" in c else None for c in launched)
    counts = Counter(_NONE if c is None else _which(c["launcher"], c.get("launcher_sha256", "")) for c in given)
    return [*found, *_mixed(MixedLaunchers, counts)]


def _mixed(kind: type[MixedConditions], counts: Counter[str]) -> list[MachineWarning]:
    return [kind(tuple(counts.most_common()))] if len(counts) > 1 else []


def _name(words: Sequence[Any]) -> str:
    return PurePosixPath(str(words[0])).name


def _which(words: Sequence[Any], digest: str) -> str:
    """A launcher by its path and its content."""
    return f"{words[0]} ({digest[:8]})" if words else _NONE
