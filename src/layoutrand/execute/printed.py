"""What an execution printed: its digest, which layouts are compared by, and which outputs are kept to be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from layoutrand.config.config import Benchmark
from layoutrand.config.schedule import Slot
from layoutrand.execute.measure import Outcome
from layoutrand.execute.workplace import Sandbox, Workplace
from layoutrand.instruments.program_output import without_numbers
from layoutrand.model import Execution
from layoutrand.platform.disk import sha256_bytes

_MOST: Final = 4
"""Outputs of one system, benchmark and instrument that are kept: of a program that never prints the same, no more."""
_LARGEST: Final = 1 << 20
"""Bytes of an output that is kept."""


def output_sha256(benchmark: Benchmark, outcome: Outcome, workplace: Workplace) -> str:
    """The SHA-256 of what the last execution printed, without the numbers that are measured; "" for none.

    It is of the file that ``expect_stdout`` is compared with.  A suite or a harness has none: it prints times, and
    judges by itself what programs have computed.
    """
    if outcome.status == "start" or benchmark.metric.suite is not None:
        return ""
    numbers = benchmark.metric.numbers().values()
    patterns = [number.regex for number in numbers if number.regex is not None]
    pointers = [(number.pointer, number.json_lines) for number in numbers if number.pointer is not None]
    try:
        if not patterns and not pointers:
            return workplace.stdout_sha256()
        return sha256_bytes(without_numbers(workplace.stdout(), patterns, pointers))
    except OSError:  # the program took the file away, or made something else of it
        return ""


class KeptOutputs:
    """What is kept of executions that went well: of each system, benchmark and instrument the first few unlike outputs.

    Unlike outputs of layouts can then be looked at side by side; there is nothing to compare where a reference output
    says what is right.
    """

    def __init__(self, project: Path, recorded: Iterable[Execution]) -> None:
        """Begin with what earlier calls kept, as far as it is still there."""
        self._known: dict[tuple[str, str, str], set[str]] = {}
        for each in recorded:
            if each.status == "ok" and each.log and (project / each.log).is_dir():
                self._known.setdefault((each.system, each.benchmark, each.instrument), set()).add(each.output_sha256)

    def takes(self, slot: Slot, digest: str, sandbox: Sandbox) -> bool:
        """Whether what the slot's execution printed in its sandbox is to be kept; it is known from then on.

        An empty output is not.
        """
        known = self._known.setdefault((slot.system, slot.benchmark, slot.instrument), set())
        if not digest or digest in known or len(known) >= _MOST or not 0 < sandbox.stdout.stat().st_size <= _LARGEST:
            return False
        known.add(digest)
        return True
