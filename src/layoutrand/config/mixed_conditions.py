"""Warnings about executions that were not all made under the same conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from layoutrand.config.conditions import PROCESS_GROUP
from layoutrand.config.execution_warnings import MachineWarning, MixedCpus, MixedIsolation, MixedProgramFiles
from layoutrand.config.topology import format_cpus
from layoutrand.model import Execution


def mixed_cpus(executions: Iterable[Execution]) -> list[MachineWarning]:
    """A warning where executions that were pinned were so to different CPUs: ``cpu = "auto"`` may choose anew."""
    counts = Counter(format_cpus(e.conditions["cpus"]) for e in executions if "cpus" in e.conditions)
    return [MixedCpus(tuple(counts.most_common()))] if len(counts) > 1 else []


def mixed_program_files(executions: Iterable[Execution]) -> list[MachineWarning]:
    """A warning where the files of some programs are copies and of others clones."""
    counts = Counter(e.conditions["program_file"] for e in executions if "program_file" in e.conditions)
    return [MixedProgramFiles(tuple(counts.most_common()))] if len(counts) > 1 else []


def mixed_isolation(executions: Iterable[Execution]) -> list[MachineWarning]:
    """A warning where some executions were held by a control group and others, as all once were, by a process group."""
    counts = Counter(str(e.conditions.get("isolation", PROCESS_GROUP)) for e in executions)
    return [MixedIsolation(tuple(counts.most_common()))] if len(counts) > 1 else []
