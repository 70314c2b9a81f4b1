"""perf record as a profiler: the command lines, and samples by address in what ``perf script`` prints.

Samples say where time is spent and nothing of calls.  Each instruction pointer is turned into an address of the file by
the record of how its process had mapped the file, so that neither address-space randomisation nor names of functions
matter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from layoutrand.errors import NoMeasurement
from layoutrand.instruments.profile import Profile, Segment
from layoutrand.text.digits import LARGEST_COUNT

COUNTER: Final = "cycles:u"
CLOCK: Final = "cpu-clock:u"
"""Where the machine has no counters, perf samples by a timer of the kernel."""

_MAP = re.compile(
    r"\s*\d+\s+PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .*?\]: "
    r"\S+ (.*)"
)
_SAMPLE = re.compile(r"\s*(\d+)\s+([0-9a-f]+)\s*")


def command_prefix(perf: str, event: str, out_file: str) -> tuple[str, ...]:
    """Words to put before a command so that it is sampled."""
    return (perf, "record", "--quiet", "--event", event, "--output", out_file, "--")


def script_command(perf: str, file: str) -> tuple[str, ...]:
    """What prints the samples in ``file``."""
    return (perf, "script", "--input", file, "--show-mmap-events", "--fields", "pid,ip")


def parse_samples(text: str, artefact: Collection[str], segments: Sequence[Segment]) -> Profile:
    """Samples, and by address those in the file with one of the names ``artefact`` (absolute paths).

    ``segments`` say which part of the file has which addresses.  Raises `NoMeasurement` where there is no sample at
    all.
    """
    total = 0.0
    cost: dict[int, float] = {}
    maps: dict[str, list[tuple[int, int, int]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if found := _MAP.fullmatch(line):
            start, size, offset = (_place(found[group], number) for group in (2, 3, 4))
            if found[5] in artefact:
                maps.setdefault(found[1].lstrip("0"), []).append((start, size, offset))
        elif found := _SAMPLE.fullmatch(line):
            total += 1
            address = _address(_place(found[2], number), maps.get(found[1].lstrip("0"), ()), segments)
            if address is not None:
                cost[address] = cost.get(address, 0.0) + 1
    if not total:
        raise NoMeasurement("perf took no samples: the execution is too short, or nothing of it may be sampled here")
    return Profile(total, cost, {})


def _place(digits: str, line: int) -> int:
    place = int(digits, 16)
    if place > LARGEST_COUNT:
        raise NoMeasurement(f"perf script printed an address of more than 64 bits in line {line}")
    return place


def _address(pointer: int, maps: Sequence[tuple[int, int, int]], segments: Sequence[Segment]) -> int | None:
    for start, size, offset in maps:
        if start <= pointer < start + size:
            place = pointer - start + offset
            return next((s.address + place - s.offset for s in segments if s.offset <= place < s.offset + s.size), None)
    return None
