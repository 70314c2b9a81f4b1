"""A project with executions that are repeated."""

from __future__ import annotations

from contextlib import nullcontext

from fakes import FakeExecutor, captures, make_binary, make_config
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import current_experiment
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.host.watch import HostWatch
from layoutrand.results.file import open_for_reading, open_for_writing, results_path

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


class FakeWatch(HostWatch):
    """A watch that finds the states it is given, one for each execution, and a quiet machine after them."""

    def __init__(self, *states, on_state=lambda: None) -> None:
        """``on_state`` is called at each."""
        self.states = list(states)
        self.on_state = on_state

    def before(self, cpus=None):
        return None

    def start_files(self, programs, prefix=""):
        return {}

    def state(self, before, cpus=None, *, unseen_cpu_s=0.0):
        self.on_state()
        return {"window_s": 1.0, "load1": 0.0, **(self.states.pop(0) if self.states else {})}

    def culprits(self, _helper=None):
        return {"processes": [{"name": "cc1", "pid": 7, "cpu_s": 0.9}], "processes_window_s": 1.0}


class Project:
    """A project directory on which `run` behaves as the command does, under a watch that finds what it is told."""

    fake_executor = FakeExecutor

    def __init__(self, root):
        self.root = root
        self.path = root / "project"
        self.path.mkdir(exist_ok=True)
        self.progress = []

    def run(
        self,
        *states,
        repeat=0,
        content="wall 1",
        layouts=(1,),
        retry_failed=False,
        executor=None,
        watch=None,
        prepare=nullcontext,
    ):
        binaries = [make_binary(self.root / "cache", "a", layout, f"{content}\n# {layout}\n") for layout in layouts]
        config = self.config(repeat)
        request = RunRequest(
            config=config,
            project=self.path,
            built=BuiltSystems(binaries=binaries, captures=captures(("a",))),
            choices=RunChoices(retry_failed=retry_failed, wait_s=0, share_machine=True),
        )
        with open_for_writing(results_path(self.path)) as store:
            return execute(
                request,
                store=store,
                executor=executor or FakeExecutor(),
                progress=self.progress.append,
                say=lambda _text: None,
                watch=watch or FakeWatch(*states),
                prepare=prepare,
            )

    @staticmethod
    def config(repeat=0):
        return make_config(WALL, systems=("a",), run=f"controls = []\n[run.disturbance]\nrepeat = {repeat}\n")

    def executions(self):
        with open_for_reading(results_path(self.path)) as store:
            return store.executions(current_experiment(self.config()))

    def attempts(self):
        return [(e.attempt, e.disturbances) for e in self.executions()]
