"""Sizes that decide where code and data lie well: of a page and its TLB, a cache line, the first caches of both.

Linux documentation, ABI/testing/sysfs-devices-system-cpu: index0, index1... of a CPU's caches.  Firmware that does not
describe caches leaves files out, and virtual machines may have those of another processor.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from layoutrand.host.cores import kinds_of_cores
from layoutrand.host.instruction_tlb import instruction_tlb
from layoutrand.platform.proc_files import CPUS, number, text

_FILES: Final = {
    "line_bytes": "coherency_line_size",
    "sets": "number_of_sets",
    "ways": "ways_of_associativity",
}


def code_caches(root: Path, cpu: int = 0) -> dict[str, Any]:
    """``page_bytes``, and of this CPU's first-level caches, and its TLB for instructions, what is told, or None.

    CPUID is of the CPU that executes it, so of machines with several kinds of cores the TLB is not known.
    """
    return {
        "page_bytes": os.sysconf("SC_PAGESIZE"),
        "l1i": _first_level(root / CPUS / f"cpu{cpu}/cache", "Instruction"),
        "l1d": _first_level(root / CPUS / f"cpu{cpu}/cache", "Data"),
        "itlb": instruction_tlb(root, cpu) if len(kinds_of_cores(root)) <= 1 else None,
    }


def _first_level(place: Path, kind: str) -> dict[str, int] | None:
    for index in sorted(place.glob("index*")):
        if number(index / "level") == 1 and text(index / "type") in {kind, "Unified"}:
            told = {name: number(index / file) for name, file in _FILES.items()}
            found = {name: value for name, value in told.items() if value is not None and value > 0}
            return found or None
    return None
