"""kill -9 at any moment loses at most the execution in flight, and the same command resumes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from fakes import captures, make_config, shell_binaries
from layoutrand.execute.execute import execute
from layoutrand.execute.experiment import current_experiment, slot_key
from layoutrand.execute.measure import measure
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.results.file import open_for_reading, open_for_writing, results_path

CONFIG = make_config('[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n', run="executions = 2")
LAYOUTS = (*range(1, 13), "stock")
SLOTS = 2 * 12 * 2 * 2  # systems x rounds x (seed, stock) x executions


def run(directory, script="exit 0"):
    """What the child process does; the finished slots go to standard output, one line each."""
    binaries = shell_binaries(directory / "cache", script, layouts=LAYOUTS)
    request = RunRequest(
        config=CONFIG,
        project=directory,
        built=BuiltSystems(binaries=binaries, captures=captures()),
        choices=RunChoices(wait_s=60),
    )
    with open_for_writing(results_path(directory)) as store:
        return execute(
            request,
            store=store,
            executor=measure,
            progress=lambda p: print(p.execution.order, flush=True),
            say=lambda text: print("said", text, flush=True),
        )


def start(directory, script="exit 0"):
    script = (
        f"import sys; sys.path[:0] = {[os.path.dirname(__file__), *sys.path]!r}\n"
        f"from pathlib import Path\nimport test_resume\ntest_resume.run(Path({str(directory)!r}), {script!r})"
    )
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def project(tmp_path):
    shell_binaries(tmp_path / "cache", "exit 0", layouts=LAYOUTS)
    return tmp_path


def recorded(directory):
    with open_for_reading(results_path(directory)) as store:
        return store.executions(current_experiment(CONFIG))


@pytest.mark.parametrize("kills", [4, pytest.param(50, marks=pytest.mark.hour)])
def test_killed_again_and_again_each_slot_is_recorded_exactly_once(project, kills):
    rng = random.Random(1)
    reported: list[int] = []
    for _ in range(kills):
        with start(project) as process:
            lines = []
            for _ in range(rng.randrange(0, SLOTS // kills + 1)):
                lines.append(process.stdout.readline())
            time.sleep(rng.random() * 0.01)  # into the middle of an execution, of a commit, of anything
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        reported += [int(line) for line in lines if line.strip().isdigit()]
        if (results_path(project)).exists():
            orders = Counter(e.order for e in recorded(project))
            assert set(reported) <= set(orders), "an execution that was reported as done is lost"
            assert len(orders) - len(reported) <= kills
            assert max(orders.values(), default=1) == 1
    summary = run(project)
    assert summary.total == SLOTS
    executions = recorded(project)
    assert len(executions) == len({slot_key(e) for e in executions}) == SLOTS
    assert Counter(e.order for e in executions) == dict.fromkeys(range(SLOTS), 1)
    assert all(e.status == "ok" for e in executions)


@pytest.mark.slow
def test_a_second_layoutrand_waits_and_then_finds_everything_done(project):
    with start(project, "sleep 0.01") as first:
        first.stdout.readline()
        with start(project, "sleep 0.01") as second:
            assert "another layoutrand" in second.stdout.readline()
            rest = second.stdout.read()
        assert second.returncode == 0
        assert rest == ""
        first.stdout.read()
    assert first.returncode == 0
    assert len(recorded(project)) == SLOTS
