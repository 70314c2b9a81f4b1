"""A project whose benchmarks are executed with binaries at hand: nothing is built."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from fakes import FakeExecutor, make_binary
from fakes import captures as captures_of
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import current_experiment
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.platform.disk import sha256_file
from layoutrand.results.file import open_for_reading, open_for_writing, results_path
from workshop import not_installed


class Project:
    """A project directory with binaries, on which `run` behaves as the command does."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self.path = directory / "project"
        self.path.mkdir()
        self.said = []
        self.progress = []

    def binaries(self, contents="print x", *, systems=("a",), layouts=(1, 2, "stock")):
        return [
            make_binary(self.root / "cache", system, layout, f"{contents}\n# {system} {layout}\n")
            for system in systems
            for layout in layouts
        ]

    def run(self, config, binaries, executor=None, watch=None, captures=None, failures=(), **choices):
        request = RunRequest(
            config=config,
            project=self.path,
            built=BuiltSystems(binaries, captures or captures_of(config.systems), failures),
            choices=RunChoices(wait_s=0, **choices),
        )
        with open_for_writing(results_path(self.path)) as store:
            return execute(
                request,
                store=store,
                executor=executor or FakeExecutor(),
                progress=self.progress.append,
                say=self.said.append,
                watch=watch,
            )

    def executions(self, config):
        with open_for_reading(results_path(self.path)) as store:
            return store.executions(current_experiment(config))


def compiled(project, source, *flags, compiler="gcc", layouts=(1, 2, 3)):
    """A program of this source, once for each layout, with bytes of its own behind."""
    if shutil.which(compiler) is None:
        pytest.skip(not_installed(compiler, "musl-tools" if compiler == "musl-gcc" else compiler))
    program = project.root / "program"
    subprocess.run([compiler, "-x", "c", "-", "-o", program, *flags], input=source.encode(), check=True)
    binaries = []
    for layout in layouts:
        binary = make_binary(project.root / "cache", "a", layout, "")
        shutil.copy(program, binary.path)
        with binary.path.open("ab") as file:
            file.write(str(layout).encode())
        binaries.append(dataclasses.replace(binary, sha256=sha256_file(binary.path)))
    return binaries


class Kept:
    """Measures, and keeps what was printed."""

    def __init__(self):
        self.commands, self.printed = [], []

    def __call__(self, command):
        outcome = measure(command)
        self.commands.append(command)
        self.printed.append(command.stdout.read_text())
        return outcome
