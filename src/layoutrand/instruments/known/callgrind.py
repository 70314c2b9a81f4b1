"""Callgrind: the profiler of valgrind, the command line that starts it, and costs and calls in what it writes.

It counts the instructions that are executed at each address and the calls between addresses, to the digit, whatever
else the machine does.  An instruction is not a unit of time; as a measure of what is executed often it is good enough.
The format is that of the Valgrind manual, "Callgrind Format Specification", without compression of names or positions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

from layoutrand.errors import NoMeasurement
from layoutrand.instruments import valgrind_log
from layoutrand.instruments.instrument import InstrumentFiles
from layoutrand.instruments.profile import Profile, ProfiledExecution, Profiler
from layoutrand.text.digits import LARGEST_COUNT, whole_number

OPTIONS: Final = (
    "--tool=callgrind",
    "--dump-instr=yes",
    "--dump-line=no",
    "--compress-strings=no",
    "--compress-pos=no",
    "--cache-sim=no",
    "--branch-sim=no",
    "--quiet",
    "--trace-children=yes",
    "--vgdb=no",
)
"""Children are followed, so that a script may start the program."""

_COST = re.compile(r"0x([0-9a-f]+) (\d+)")
_CALLS = re.compile(r"calls=(\d+) 0x([0-9a-f]+)")


def command_prefix(valgrind: str, out_file: str, log_file: str) -> tuple[str, ...]:
    """Words to put before a command so that it is profiled; each process writes ``out_file``.pid."""
    quoted = [path.replace("%", "%%") for path in (out_file, log_file)]
    return (valgrind, *OPTIONS, f"--callgrind-out-file={quoted[0]}.%p", f"--log-file={quoted[1]}.%p")


def parse_profile(text: str, artefact: Collection[str]) -> Profile:
    """What one process executed: instructions, and by address those in the file with one of the names ``artefact``.

    Addresses are those of the file, not of where it was loaded.  Raises `NoMeasurement` for a file that is truncated
    or garbled.
    """
    if "\npositions: instr\n" not in text or "\nevents: Ir" not in text:
        raise NoMeasurement(
            "callgrind's out-file does not have instruction counts by address; it is no profile of ours"
        )
    if "\ntotals:" not in text or not text.endswith("\n"):
        raise NoMeasurement("callgrind's out-file is truncated: it does not end with its line 'totals:'")
    total = 0.0
    cost: dict[int, float] = {}
    calls: dict[tuple[int, int], int] = {}
    here = there = False  # whether the code, and the code that is called, is in the artefact
    call: tuple[int, int] | None = None
    begin = text.index("\nevents: Ir") + 1
    for number, line in enumerate(text[begin:].splitlines(), text.count("\n", 0, begin) + 1):
        if found := _COST.match(line):
            address, count = _address(found[1], number), _count(found[2], number)
            if call is not None:  # the line after calls= has what the callee cost, which its own lines have too
                if here and there:
                    calls[address, call[1]] = calls.get((address, call[1]), 0) + call[0]
                call, there = None, here
                continue
            total += count
            if here:
                cost[address] = cost.get(address, 0.0) + count
        elif found := _CALLS.match(line):
            call = _count(found[1], number), _address(found[2], number)
        elif line.startswith("ob="):
            here = there = line[3:] in artefact
        elif line.startswith("cob="):
            there = line[4:] in artefact
    return Profile(total, cost, calls)


def _address(digits: str, line: int) -> int:
    if int(digits, 16) > LARGEST_COUNT:
        raise _garbled(line)
    return int(digits, 16)


def _count(digits: str, line: int) -> int:
    count = whole_number(digits, LARGEST_COUNT)
    if count is None:
        raise _garbled(line)
    return count


def _garbled(line: int) -> NoMeasurement:
    return NoMeasurement(f"callgrind's out-file is garbled: line {line} has a number that is none of 64 bits")


_PROFILE: Final = "callgrind"


class _Callgrind(Profiler):
    name = "callgrind"
    option = "callgrind"
    program = "valgrind"
    simulated = True
    slowdown = 100  # a profiled program takes 30 to 100 times as long
    options = OPTIONS

    def find(self) -> str:
        """See `Starter`; valgrind finds its tools beside the file that it really is."""
        return os.path.realpath(super().find())

    def absent(self) -> str:
        """See `Starter`."""
        return f"there is no profiler to find hot functions with; valgrind has one, callgrind ({self.how_to_install()})"

    def words(self, event: str) -> str:
        """See `Profiler`."""
        del event
        return "instructions counted by callgrind"

    def why_it_gave_up(self, written: Callable[[str], Sequence[str]]) -> str:
        """See `Starter`."""
        return valgrind_log.why_it_gave_up(written(valgrind_log.NAME))

    def prefix(self, program: str, event: str, files: InstrumentFiles) -> tuple[str, ...]:
        """See `Profiler`."""
        del event
        return command_prefix(program, str(files.output / _PROFILE), str(files.output / valgrind_log.NAME))

    def profile(self, program: str, ended: ProfiledExecution) -> Profile:
        """See `Profiler`; each process wrote a file."""
        del program
        made = Profile(0.0, {}, {})
        for text in ended.written(f"{_PROFILE}."):
            made = made.plus(parse_profile(text, ended.artefact))
        return made


INSTRUMENT: Final = _Callgrind()
