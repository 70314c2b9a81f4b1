"""A project whose benchmarks are executed with binaries at hand: nothing is built."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from fakes import FakeExecutor, captures, make_binary
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import current_experiment
from layoutrand.execute.run_plan import RunRequest
from layoutrand.results.file import open_for_reading, open_for_writing, results_path


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

    def run(self, config, binaries, executor=None, watch=None, **changes):
        request = RunRequest(
            config=config, project=self.path, binaries=binaries, build_failures=[],
            captures=captures(config.systems), benchmarks=[], retry_failed=False, wait_s=0,
        )  # fmt: skip
        with open_for_writing(results_path(self.path)) as store:
            return execute(
                dataclasses.replace(request, **changes), store=store, executor=executor or FakeExecutor(),
                progress=self.progress.append, say=self.said.append, watch=watch,
            )  # fmt: skip

    def executions(self, config):
        with open_for_reading(results_path(self.path)) as store:
            return store.executions(current_experiment(config))
