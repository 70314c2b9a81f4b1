"""For tests/perf: what a command costs in CPU time and memory, which other work on the machine hardly changes, plain builds, and figures."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from bigprogram import write_program
from debian_sources import source_tree, unavailable
from larger_programs import LARGER

JOBS = len(os.sched_getaffinity(0))
PROGRAMS = {
    "lua5.4": (["make -C src -j{jobs} linux"], "src/lua", 5),
    "gnugo": (
        ["./configure --without-curses --without-readline CFLAGS='-g -O2 -fcommon'", "make -j{jobs}"],
        "interface/gnugo",
        1,
    ),
}
"""Source package: its commands, its artefact, and how often it is built."""

GENERATED = {"generated-42000": 50, "generated-400000": 490}
"""Programs of `bigprogram`, by about how many sections they have: how many functions in each of 820 objects."""

NAMES = os.environ.get("LAYOUTRAND_PERF_PROGRAMS", ",".join(PROGRAMS)).split(",")
"""What is measured: those that take seconds, and others by request, of `LARGER` or generated."""

_CODE = (
    "import atexit, resource, sys; from layoutrand.__main__ import main; "
    "most = lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); "
    "atexit.register(most); main()"
)


class Subject(NamedTuple):
    """A program that is measured: its source, its commands, its artefacts, flags, and how often it is built."""

    tree: Path
    commands: list[str]
    artefacts: Sequence[str]
    cflags: str
    repetitions: int

    def project(self, folder: Path, toolchain: str) -> Path:
        """A project of it with that toolchain, in a folder that is not there yet."""
        folder.mkdir()
        (folder / "layoutrand.toml").write_text(
            f'[project]\nname = "perf"\n[build]\nsource = "{self.tree}"\ncommands = {json.dumps(self.commands)}\n'
            f'artefacts = {json.dumps(self.artefacts)}\ntimeout_s = 3600\n[systems.A]\ntoolchain = "{toolchain}"\n'
            + (f'cflags = "{self.cflags}"\n' if self.cflags else "")
        )
        return folder


def subject(name: str, folder: Path) -> Subject:
    """The program of that name, its source below the folder."""
    if name in PROGRAMS:
        commands, artefact, repetitions = PROGRAMS[name]
        return Subject(source_tree(name, folder), commands, [artefact], "", repetitions)
    if name in GENERATED:
        write_program(folder / "big", objects=820, functions=GENERATED[name], steps=20)
        return Subject(folder / "big", ["make -j{jobs} big"], ["big"], "", 1)
    if name not in LARGER:
        pytest.fail(
            f"LAYOUTRAND_PERF_PROGRAMS: no program {name!r}; there are {', '.join(PROGRAMS | GENERATED | LARGER)}"
        )
    program = LARGER[name]
    for tool, package in program.needs.items():
        if shutil.which(tool) is None:
            unavailable(f"{tool} is not installed (apt-get install {package})")
    tree = source_tree(program.package, folder)
    return Subject(tree, list(program.commands), program.artefacts, program.cflags, 1)


class Cost(NamedTuple):
    """Seconds of processor time, the most memory in KB, and what was printed."""

    cpu_s: float
    memory_kb: int
    stdout: str


def cost_of(words: Sequence[str]) -> Cost:
    """Execute one command line of layoutrand in a process of its own."""
    before = cpu_of_children()
    done = subprocess.run([sys.executable, "-c", _CODE, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Cost(cpu_of_children() - before, int(done.stderr.splitlines()[-1]), done.stdout)


def report(figure: Mapping[str, object]) -> None:
    """Print a figure as a line of JSON, with the machine, and add it to the file that LAYOUTRAND_PERF_OUT names."""
    line = json.dumps({**figure, "machine": f"{platform.node()} {platform.machine()} {JOBS} cpus"})
    print(line)
    if path := os.environ.get("LAYOUTRAND_PERF_OUT"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def cpu_of_children() -> float:
    """Seconds of CPU time of all processes that have ended here; other work on the machine is not in them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain_build(program: Subject, work: Path) -> None:
    """The commands in a copy of the tree, as many jobs at once as there are cores, and with the system's own flags.

    A build at -O0 is no measure of one at -O1: flags that the commands do not take from CFLAGS are an error.
    """
    shutil.copytree(program.tree, work, symlinks=True)
    script = "set -e\n" + "\n".join(command.replace("{jobs}", str(JOBS)) for command in program.commands)
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    env |= {"CFLAGS": program.cflags} if program.cflags else {}
    done = subprocess.run(["bash", "-c", script], cwd=work, env=env, check=True, capture_output=True, text=True)
    compilations = [line.split() for line in done.stdout.splitlines() if " -c " in line]
    reached = [words for words in compilations if set(program.cflags.split()) <= set(words)]
    assert not program.cflags or len(reached) > len(compilations) / 2, done.stdout[-2000:]
