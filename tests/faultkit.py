"""Programs that end badly."""

from __future__ import annotations

from pathlib import Path

from fakes import captures, make_config
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import current_experiment
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.results.file import open_for_reading, open_for_writing, results_path

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


class Project:
    """A directory in which benchmarks are executed by `execute`, for real."""

    def __init__(self, root: Path, benchmark: str = WALL) -> None:
        self.root = root
        self.config = make_config(benchmark, systems=("a",), run="controls = []")

    def run(self, binaries, **changes):
        changes = {"progress": lambda _: None, "say": lambda _: None, "executor": measure} | changes
        request = RunRequest(
            config=self.config,
            project=self.root,
            built=BuiltSystems(binaries=binaries, captures=captures(("a",))),
            choices=RunChoices(wait_s=0),
        )
        with open_for_writing(results_path(self.root)) as store:
            return execute(request, store=store, **changes)

    def executions(self):
        with open_for_reading(results_path(self.root)) as store:
            return store.executions(current_experiment(self.config))
