"""What it costs to make a capture of a build that has ended, beside that build done plainly; both in one run.

Lua and GNU Go, which take seconds; ``LAYOUTRAND_PERF_PROGRAMS=CPython,OpenSSL`` has larger ones measured, which take
many minutes (tests/larger_programs.py).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfkit import NAMES, cpu_of_children, plain_build, report, subject

pytestmark = pytest.mark.perf

BUILD = """\
import json, resource, sys, time
from layoutrand.capture import ended_build, keep_build
from layoutrand.cli import run

spent = {}

def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)

def timed(module, name):
    step = getattr(module, name)
    def measured(*arguments, **named):
        begin, used = time.perf_counter(), cpu()
        found = step(*arguments, **named)
        spent[name] = time.perf_counter() - begin, cpu() - used
        return found
    setattr(module, name, measured)

timed(ended_build, "keep")
timed(keep_build, "keep_build")
status = run(sys.argv[2:])
open(sys.argv[1], "w").write(json.dumps(spent))
sys.exit(status)
"""
"""`layoutrand build`, which leaves what two steps took: the capture made and proved, and the build kept."""


@pytest.mark.parametrize("toolchain", ["gcc", "gcc-lld"])
@pytest.mark.parametrize("name", NAMES)
def test_ingestion_beside_a_plain_build(tmp_path: Path, name: str, toolchain: str) -> None:
    """From the end of the user's commands to a capture in the cache, without the link of a layout."""
    program = subject(name, tmp_path / "source")
    project = program.project(tmp_path / "project", toolchain)
    seconds: dict[str, list[float]] = {}
    cpu_s: dict[str, list[float]] = {}
    for number in range(program.repetitions):
        work = tmp_path / f"plain{number}"
        begin, used = time.perf_counter(), cpu_of_children()
        plain_build(program, work)
        spent = {"plain build": (time.perf_counter() - begin, cpu_of_children() - used)}
        spent |= _steps(project, tmp_path / f"cache{number}", tmp_path / f"steps{number}.json")
        shutil.rmtree(work)
        for step, (wall, cpu) in spent.items():
            seconds.setdefault(step, []).append(wall)
            cpu_s.setdefault(step, []).append(cpu)
    wall, cpu = ({step: statistics.median(each) for step, each in of.items()} for of in (seconds, cpu_s))
    figure = {
        "perf": "ingestion",
        "program": name,
        "toolchain": toolchain,
        "repetitions": program.repetitions,
        "seconds": {step: round(value, 2) for step, value in wall.items()},
        "cpu_s": {step: round(value, 2) for step, value in cpu.items()},
        "capture / plain build": round(wall["capture"] / wall["plain build"], 3),
        "capture / plain build, CPU": round(cpu["capture"] / cpu["plain build"], 3),
        "kept / plain build, CPU": round(cpu["kept"] / cpu["plain build"], 3),
    }
    report(figure)
    assert figure["capture / plain build, CPU"] < 1


def _steps(project: Path, cache: Path, told: Path) -> dict[str, tuple[float, float]]:
    """Wall and CPU seconds of both steps of one build from nothing."""
    command = [sys.executable, "-c", BUILD, str(told), "build", "--seeds", "1", "--no-controls", "-q"]
    env = {**os.environ, "LAYOUTRAND_CACHE": str(cache)}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    spent = json.loads(told.read_text())
    return {"capture": tuple(spent["keep"]), "kept": tuple(spent["keep_build"])}
