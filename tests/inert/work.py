"""What a program's workload executes and costs: callgrind for functions, cachegrind for cycles, a clock for time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inert.changes import Executed
from layoutrand.instruments.known.cachegrind import ESTIMATED_CYCLES, command_prefix, parse_counts

LIMIT_S = 900
_NAMED = re.compile(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=(?:\((\d+)\))?[ ]?(.*)")


class Failed(Exception):
    """A program ended otherwise than its workload should."""


@dataclass(frozen=True)
class Workload:
    """How a program is executed: its arguments, files that lie beside it, its standard input, what it prints."""

    arguments: tuple[str, ...]
    files: tuple[Path, ...]
    stdin: Path | None
    expected: bytes


@dataclass(frozen=True)
class Counts:
    """What one simulated execution costs."""

    cycles: float
    instructions: float
    mispredictions: float


def executed(program: Path, workload: Workload) -> Executed:
    """Calls and own instructions of each function of the program itself, libraries left out."""
    with tempfile.TemporaryDirectory(prefix="inert-") as scratch:
        out = Path(scratch, "callgrind.out")
        options = ["--tool=callgrind", "--quiet", "--demangle=no", "--vgdb=no", f"--callgrind-out-file={out}"]
        _execute(program, workload, (_valgrind(), *options, f"--log-file={scratch}/log"))
        return Executed(_functions(out.read_text(encoding="latin-1")))


def counts(program: Path, workload: Workload) -> Counts:
    """The counts that layoutrand's own cachegrind gives of one execution."""
    with tempfile.TemporaryDirectory(prefix="inert-") as scratch:
        _execute(program, workload, command_prefix(_valgrind(), f"{scratch}/counts", f"{scratch}/log"))
        # the program's own process is the first one: what it forks has a higher number, if any
        text = min(Path(scratch).glob("counts.*"), key=lambda path: int(path.suffix[1:])).read_text()
    found = parse_counts(text)
    return Counts(found[ESTIMATED_CYCLES], found["instructions"], found["branch_mispredictions"])


def seconds(program: Path, workload: Workload) -> float:
    """The wall-clock time of one execution."""
    return _execute(program, workload, ())


def _valgrind() -> str:
    found = shutil.which("valgrind")
    if found is None:
        raise Failed("there is no valgrind: sudo apt-get install valgrind")
    return os.path.realpath(found)


def _execute(program: Path, workload: Workload, before: Sequence[str]) -> float:
    """Seconds of an execution in a directory of its own; raises `Failed` for another output."""
    with tempfile.TemporaryDirectory(prefix="inert-run-") as place:
        for file in workload.files:
            shutil.copy(file, place)
        # the same path for every program that is compared: its length moves the stack
        here = shutil.copy(program, Path(place, "program"))
        data = workload.stdin.read_bytes() if workload.stdin is not None else b""
        environment = {"PATH": os.defpath, "LC_ALL": "C"}
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                [*before, str(here), *workload.arguments],
                cwd=place,
                env=environment,
                input=data,
                capture_output=True,
                timeout=LIMIT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"no end after {LIMIT_S} s") from error
        elapsed = time.perf_counter() - begin
    if done.returncode != 0 or done.stdout != workload.expected:
        raise Failed(f"exit status {done.returncode}, {len(done.stdout)} bytes of output, another output than expected")
    return elapsed


def _functions(text: str) -> dict[str, tuple[int, int]]:
    """Function -> (calls, own instructions), of a callgrind profile; of the object that is called ``program`` alone."""
    names: dict[str, dict[str, str]] = {"ob": {}, "fl": {}, "fn": {}}
    found: dict[str, list[int]] = {}
    here, there, inside, called_inside = "", "", False, False
    is_call = False
    for line in text.splitlines():
        match = _NAMED.match(line)
        if match:
            table = names[{"ob": "ob", "cob": "ob", "fn": "fn", "cfn": "fn"}.get(match[1], "fl")]
            if match[2] is not None and match[3]:
                table[match[2]] = match[3]
            name = match[3] or table.get(match[2] or "", "")
            if match[1] == "ob":
                inside = called_inside = name.endswith("/program")
            elif match[1] == "cob":
                called_inside = name.endswith("/program")
            elif match[1] == "fn":
                here, called_inside = name, inside
            elif match[1] == "cfn":
                there = name
        elif line.startswith("calls="):
            if called_inside:
                found.setdefault(there, [0, 0])[0] += int(line[6:].split()[0])
            called_inside, is_call = inside, True
        elif line[:1] in "+-*0123456789" and line:
            if is_call:
                is_call = False
            elif inside:
                found.setdefault(here, [0, 0])[1] += int(line.split()[1])
    return {name: (calls, own) for name, (calls, own) in found.items()}
