"""What an execution is given beside its command: CPUs, priority, where stack and heap begin, huge pages, limits.

Each is a wish of the configuration; none of them touches the arguments, nor the size of the environment.  Nothing is
imported here that takes long: a process that measures is waited for (`layoutrand.execute.isolated`).
"""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGXFSZ
from typing import Any, Final, Literal

from layoutrand.config.topology import Placement
from layoutrand.text.sizes import size_in_words

Isolation = Literal["auto", "control-group", "process-group"]
"""What holds all that an execution starts together: of "auto" the former where one may be made."""

HugePages = Literal["system", "text"]
"""What lies on huge pages: what the machine puts there, or text as well."""

Drawn = Literal["env-size", "stack-offset", "heap-offset", "mmap-offset"]
"""What can be drawn anew for each execution."""

CONTROL_GROUP: Final = "control-group"
PROCESS_GROUP: Final = "process-group"

STACK_STEP: Final = 16
"""Bytes: the alignment of the stack pointer at a program's start, which any finer offset would be rounded to."""

MAX_STACK_OFFSET: Final = 3584
"""Bytes, exclusive: what a path may grow by below PATH_MAX (4096), with 511 bytes left for the path itself."""

HEAP_STEP: Final = 16
"""Bytes: the alignment of what malloc(3) gives, which any finer offset would be rounded to."""

PAGE: Final = 4096
"""Bytes: where a mapping begins is a multiple of it, or of more where pages are larger (Apple's: 16 KiB)."""

MAX_MEMORY_OFFSET: Final = 2 << 20
"""Bytes, exclusive: the size of a huge page, within which a heap or a mapping may come to lie anywhere."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of one execution; None where nothing is asked for.

    ``priority`` is a nice value, the offsets and the limits are bytes.  ``memory_limit`` is for the private
    writable memory of each process, ``output_limit`` for each file that it writes.  In a control group the former is
    for the memory of all processes together, where it can be, and ``process_limit`` for their number, threads included.
    """

    placement: Placement | None = None
    priority: int | None = None
    stack_offset: int | None = None
    heap_offset: int | None = None
    mmap_offset: int | None = None
    memory_limit: int | None = None
    output_limit: int | None = None
    process_limit: int | None = None
    hugepages: Literal["text"] | None = None

    def facts(self) -> dict[str, Any]:
        """What was asked for, as JSON values."""
        facts = {
            "priority": self.priority,
            "stack_offset": self.stack_offset,
            "heap_offset": self.heap_offset,
            "mmap_offset": self.mmap_offset,
            "hugepages": self.hugepages,
            "memory_limit": self.memory_limit,
            "output_limit": self.output_limit,
            "process_limit": self.process_limit,
        }
        placed = (
            {}
            if self.placement is None
            else {
                "cpus": list(self.placement.cpus),
                "siblings": list(self.placement.siblings),
            }
        )
        return placed | {name: value for name, value in facts.items() if value is not None}


@dataclass(frozen=True)
class Ending:
    """How an execution ended, limits left aside.

    ``written`` is the size of the longer of its two outputs, ``peak`` its greatest resident memory where that is
    known, both in bytes.
    """

    status: str
    reason: str
    signal: int | None = None
    written: int = 0
    peak: float | None = None


def limit_verdict(conditions: Conditions, ending: Ending) -> tuple[str, str]:
    """Status and reason of an execution in the light of its limits.

    Whether the memory limit made a program fail is known to nobody: the kernel refuses the memory and keeps no record
    of it.  So the reason tells that the limit was in force, and the status says no more than what was seen.
    """
    status, reason, output = ending.status, ending.reason, conditions.output_limit
    if output is not None and ending.signal == SIGXFSZ and status == "signal":
        return "output-limit", (
            f"killed by SIGXFSZ: a file that it wrote (its output, or another) reached output_limit = "
            f"{size_in_words(output)}"
        )
    if output is not None and ending.written >= output and status in {"ok", "exit", "signal"}:
        how = f"; {reason}" if reason else ""
        return "output-limit", f"its output reached output_limit = {size_in_words(output)}, and the rest is lost{how}"
    if status not in {"exit", "signal"}:
        return status, reason
    notes = []
    if conditions.memory_limit is not None:
        notes.append(f"memory_limit = {size_in_words(conditions.memory_limit)} was in force")
        if ending.peak is not None:
            notes.append(f"peak resident memory {size_in_words(round(ending.peak))}")
    if output is not None:
        notes.append(f"output_limit = {size_in_words(output)} was in force")
    return status, f"{reason} ({'; '.join(notes)})" if notes else reason


def reason_with_refusals(conditions: Conditions, status: str, reason: str, refused: int) -> str:
    """The reason of an ending, with the processes that could not be started, which may be the cause of a failure."""
    if not refused or status not in {"exit", "signal"}:
        return reason
    return f"{reason} (process_limit = {conditions.process_limit} kept it from starting {refused} more)"
