"""The built-in example: its files, and what it needs of a machine, looked for before anything is built."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from layoutrand.capture.source import copy
from layoutrand.config.config import Config
from layoutrand.errors import HostError, ToolNotFound, UsageError
from layoutrand.instruments.instrument import Instrument
from layoutrand.instruments.known import asked, instruments
from layoutrand.linkers import toolbox
from layoutrand.linkers.compiling import what_stops
from layoutrand.platform.disk import cache_errors, is_unfinished, new_folder, remove_tree
from layoutrand.platform.packages import C_HEADERS, install
from layoutrand.platform.process import Runner
from layoutrand.text.build_output import lacks_c_library


def check_needs(runner: Runner) -> None:
    """Raise `HostError` in one line, with the one command that mends it, where the example cannot be built here."""
    missing = toolbox.missing(toolbox.load("gcc", Path()))
    compiler = shutil.which("gcc")
    said = "" if compiler is None or missing else what_stops(Path(compiler), runner)
    wanted = [*missing, C_HEADERS] if missing else []  # without a compiler nobody can tell; one command is to mend it
    if lacks_c_library(said):
        missing, wanted = [C_HEADERS], [C_HEADERS]
    if shutil.which("make") is None:
        missing, wanted = [*missing, "make"], [*wanted, "make"]
    if missing:
        raise ToolNotFound(
            f"the demo builds a C program, and this machine lacks {', '.join(missing)}: {install(wanted)}"
        )
    if said:
        first = next((line.strip() for line in said.splitlines() if "error" in line), said.splitlines()[0])
        raise HostError(f"the demo builds a C program, and {compiler} cannot make the smallest one: {first}")


def absent_simulators() -> list[Instrument]:
    """The instruments that simulate a processor by a program which this machine lacks."""
    return [each for each in instruments() if each.simulated and each.program and not shutil.which(each.program)]


def left_out(config: Config) -> list[str]:
    """Benchmarks on a simulated processor, where there is nothing to simulate one with but others to execute."""
    absent = set(absent_simulators())
    simulated = [benchmark.name for benchmark in config.benchmarks if absent.intersection(asked(benchmark.metric))]
    return simulated if len(simulated) < len(config.benchmarks) else []


_LEFT_OUT = ("*.o", "*.a", "README.md", "build", "build/*")


def copy_example(target: Path) -> None:
    """Put the example into ``target``, whole or not at all; what is there from an earlier call is used as it is.

    A directory that is there and empty is filled, since it may be where we are, or another file system's.

    Raises `UsageError` if the directory holds something else.
    """
    if (target / "layoutrand.toml").exists():
        return
    there = target.exists()
    if there and any(not is_unfinished(name) for name in target.iterdir()):
        raise UsageError(f"{target} is not empty and holds no layoutrand.toml; choose another directory with -C")
    with as_file(files("layoutrand") / "quickstart") as source, cache_errors("write the example to", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = new_folder(target if there else target.parent)
        try:
            whole = beside / "example"
            copy(source, whole, _LEFT_OUT)
            (whole / "layoutrand.toml").write_bytes((source / "layoutrand.toml").read_bytes())
            if there:
                for each in sorted(whole.iterdir(), key=lambda path: path.name == "layoutrand.toml"):
                    each.rename(target / each.name)
            else:
                whole.rename(target)
        finally:
            remove_tree(beside)
