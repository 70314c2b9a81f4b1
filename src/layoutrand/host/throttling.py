"""How often the processor slowed itself down because of heat (Linux: arch/x86/kernel/cpu/mce/therm_throt.c)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from layoutrand.platform import proc_files


class Throttling:
    """The throttle counters of a machine: one for each core, and one for each package that all its CPUs show."""

    def __init__(self, root: Path) -> None:
        """Look whether there are any."""
        self._cpus = root / proc_files.CPUS
        self._present = any(self._cpus.glob("cpu*/thermal_throttle"))
        self._package: dict[int, str] = {}

    def read(self, cpus: Sequence[int]) -> tuple[int, int] | None:
        """(Events, milliseconds) so far of these CPUs and their packages; None where the machine does not count."""
        if not self._present:
            return None
        events = milliseconds = 0
        packages: set[str] = set()
        for cpu in cpus:
            scopes = ["core"]
            package = self._package_of(cpu)
            if package not in packages:
                packages.add(package)
                scopes.append("package")
            for scope in scopes:
                scoped = f"{self._cpus}/cpu{cpu}/thermal_throttle/{scope}_throttle"
                events += proc_files.number(f"{scoped}_count") or 0
                milliseconds += proc_files.number(f"{scoped}_total_time_ms") or 0
        return events, milliseconds

    def _package_of(self, cpu: int) -> str:
        if cpu not in self._package:
            self._package[cpu] = proc_files.text(self._cpus / f"cpu{cpu}/topology/physical_package_id") or ""
        return self._package[cpu]
