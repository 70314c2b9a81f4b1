"""What the harness itself costs per execution: scheduler to scheduler, minus the process."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from fakes import captures, make_config, shell_binaries
from layoutrand.execute.execute import execute
from layoutrand.execute.measure import Command, Outcome, measure
from layoutrand.execute.run_plan import BuiltSystems, RunChoices, RunRequest
from layoutrand.results.file import open_for_writing, results_path
from perfkit import report

pytestmark = pytest.mark.perf

LIMIT_MS = 5.0


def test_overhead_per_execution(tmp_path: Path) -> None:
    """Fresh directories, checks, logs and the commit together cost less than 5 ms beside the process itself."""
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\nstdin = "in"\nexpect_stdout = "out"\nfiles = ["in"]\n',
        run='executions = 5\nrandomise = ["env-size"]',
    )
    (tmp_path / "in").write_text("input\n")
    (tmp_path / "out").write_text("output\n")
    binaries = shell_binaries(tmp_path, "echo output", layouts=(*range(1, 11), "stock", "identity"))
    outside: list[float] = []
    ended = [0]

    def executor(command: Command) -> Outcome:
        outcome = measure(command)
        now = time.perf_counter_ns()
        if ended[0]:
            # From the end of the previous process to the end of this one, less this one's own time.
            outside.append((now - ended[0]) / 1e6 - outcome.wall_s * 1e3)
        ended[0] = now
        return outcome

    request = RunRequest(
        config=config,
        project=tmp_path,
        built=BuiltSystems(binaries=binaries, captures=captures()),
        choices=RunChoices(wait_s=0),
    )
    with open_for_writing(results_path(tmp_path)) as store:
        summary = execute(request, store=store, executor=executor, progress=lambda _: None, say=print)
    assert not summary.failures
    figure = {
        "perf": "harness overhead per execution",
        "unit": "ms",
        "executions": summary.executed,
        "median": round(statistics.median(outside), 3),
        "p95": round(sorted(outside)[int(len(outside) * 0.95)], 3),
        "limit": LIMIT_MS,
    }
    report(figure)
