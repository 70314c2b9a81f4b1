"""Disturbed executions are executed again where that is asked for; which attempt counts depends on no measurement."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from experiments import execution, selected, write
from fakes import FakeExecutor, make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.documents import analyse_document, compare_document, run_document
from layoutrand.config.config import parse
from layoutrand.config.disturbance import summary, whereabouts
from layoutrand.errors import ConfigError
from layoutrand.execute.execute import Observer
from layoutrand.execute.experiment import current_experiment, slot_key
from layoutrand.host.attempts import Attempts, is_due, is_to_be_repeated, that_count
from layoutrand.model import Measurement
from repetitionkit import WALL, FakeWatch, Project
from warningkit import said

BUSY, STEAL, QUIET = {"other_cpu_s": 1.0}, {"steal_s": 0.5}, {}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_disturbed_execution_is_flagged_and_not_repeated_by_default(project):
    summary = project.run(BUSY)
    (only,) = project.executions()
    assert (only.attempt, only.disturbances, only.status) == (1, ("busy",), "ok")
    assert only.host_state["other_cpu_s"] == 1.0
    assert only.host_state["processes"] == [{"name": "cc1", "pid": 7, "cpu_s": 0.9}]
    assert (summary.executed, summary.repeated) == (1, 0)
    (row,) = summary.disturbed
    assert (row.benchmark, row.disturbed, row.executions, row.by) == ("b", 1, 1, {"busy": 1})
    document = run_document(summary)
    assert document["disturbed"][0]["by"] == {"busy": 1}
    assert document["repeated"] == 0
    assert project.run().executed == 0


def test_it_is_repeated_until_it_is_not_disturbed(project):
    summary = project.run(BUSY, STEAL, QUIET, repeat=5)
    assert project.attempts() == [(1, ("busy",)), (2, ("steal",)), (3, ())]
    assert (summary.executed, summary.repeated, summary.disturbed) == (1, 2, ())
    assert project.run(repeat=5).executed == 0


def test_it_is_repeated_as_often_as_allowed_and_the_last_attempt_counts(project):
    summary = project.run(BUSY, STEAL, BUSY, BUSY, repeat=2)
    assert project.attempts() == [(1, ("busy",)), (2, ("steal",)), (3, ("busy",))]
    assert summary.disturbed[0].by == {"busy": 1}
    assert project.run(repeat=2).executed == 0
    assert [e.attempt for e in selected(project.config(), project.path).executions] == [3]


def test_a_repetition_comes_at_once_and_progress_counts_slots(project):
    project.run(QUIET, BUSY, QUIET, QUIET, repeat=1, layouts=(1, 2, 3))
    rows = project.executions()
    assert [row.order for row in rows] == [0, 1, 1, 2]
    assert [(p.done, p.total, p.execution.attempt) for p in project.progress] == [(1, 3, 1), (2, 3, 2), (3, 3, 1)]


def test_allowing_more_repetitions_later_repeats_what_was_disturbed(project):
    project.run(BUSY, QUIET, layouts=(1, 2))
    assert project.run(BUSY, QUIET, repeat=3, layouts=(1, 2)).executed == 1
    assert Counter((e.order, e.attempt) for e in project.executions()) == {(0, 1): 1, (0, 2): 1, (0, 3): 1, (1, 1): 1}


def test_what_cannot_be_started_is_not_disturbed(project):
    class Nothing(FakeExecutor):
        def __call__(self, command):
            return replace(super().__call__(command), status="start", reason="no such file")

    project.run(BUSY, repeat=3, executor=Nothing())
    assert project.attempts() == [(1, ())]


def test_a_failure_is_repeated_for_its_disturbance_alone(project):
    """Neither failing nor succeeding changes whether an execution is repeated: that would choose by the result."""
    project.run(QUIET, repeat=3, content="exit 1")
    assert project.attempts() == [(1, ())]
    project.run(BUSY, QUIET, repeat=3, content="exit 1", layouts=(1, 2))
    assert [(e.layout, e.attempt, e.status) for e in project.executions()] == [
        (1, 1, "exit"),
        (2, 1, "exit"),
        (2, 2, "exit"),
    ]


def test_a_failed_execution_that_is_retried_has_its_repetitions_anew(project):
    project.run(BUSY, BUSY, repeat=1, content="exit 1")
    assert project.run(BUSY, QUIET, repeat=1, content="exit 1").executed == 0
    project.run(BUSY, QUIET, repeat=1, content="exit 1", retry_failed=True)
    assert project.attempts() == [(1, ("busy",)), (2, ("busy",)), (3, ("busy",)), (4, ())]


@pytest.mark.parametrize("values", list(itertools.permutations([1.0, 2.0, 3.0])))
def test_which_attempt_counts_does_not_depend_on_what_was_measured(project, values):
    """The same disturbances with every order of durations: the same attempts are made, and the same one counts."""
    durations = iter(values)

    class Durations(FakeExecutor):
        def __call__(self, command):
            return replace(super().__call__(command), wall_s=next(durations))

    project.run(BUSY, STEAL, QUIET, repeat=2, executor=Durations())
    assert project.attempts() == [(1, ("busy",)), (2, ("steal",)), (3, ())]
    (counts,) = selected(project.config(), project.path).executions
    assert (counts.attempt, counts.wall_s) == (3, values[2])


def test_a_simulated_processor_is_never_disturbed():
    observer = Observer(Project.config().run.disturbance, [], FakeWatch(BUSY))
    outcome = FakeOutcome()
    seen = observer.watch(lambda: outcome, immune=True)
    assert (seen.disturbances, seen.outcome, seen.state["other_cpu_s"]) == ((), outcome, 1.0)


class FakeOutcome:
    """All that an observer looks at."""

    status = "ok"
    measured_by = None
    unseen_cpu_s = 0.0


def test_an_unusual_frequency_is_one_unlike_those_of_earlier_executions():
    fast, slow = {"frequency_hz": 3e9}, {"frequency_hz": 2e9}
    observer = Observer(Project.config().run.disturbance, [fast] * 4, FakeWatch(slow, fast, slow, slow))
    seen = [observer.watch(FakeOutcome).disturbances for _ in range(4)]
    assert seen == [(), (), ("frequency",), ("frequency",)], "five must be known first"


def test_the_frequency_of_interrupted_runs_is_remembered(project):
    fast = {"frequency_hz": 3e9}
    project.run(*[fast] * 5, layouts=range(1, 6))
    project.run({"frequency_hz": 2e9}, layouts=range(1, 7))
    last = project.executions()[-1]
    assert (last.disturbances, last.host_state["frequency_reference_hz"]) == (("frequency",), 3e9)


@pytest.mark.parametrize(
    ("attempts", "repeat", "retry", "due"),
    [
        (Attempts(), 0, False, True),
        (Attempts(1, "ok", 0), 3, True, False),
        (Attempts(1, "exit", 0), 3, False, False),
        (Attempts(1, "exit", 0), 0, True, True),
        (Attempts(1, "ok", 1), 0, False, False),
        (Attempts(1, "ok", 1), 1, False, True),
        (Attempts(2, "ok", 2), 1, False, False),
        (Attempts(2, "ok", 2), 2, False, True),
        (Attempts(5, "ok", 1), 1, False, True),
    ],
)
def test_what_is_due(attempts, repeat, retry, due):
    assert is_due(attempts, repeat=repeat, retry_failed=retry) is due
    assert is_to_be_repeated(attempts, repeat=repeat) is (due and attempts.disturbed > 0)


def test_the_attempt_that_counts_is_found_in_any_order(tmp_path):
    config = Project.config()
    rows = [execution(config, tmp_path, "a", "b", layout, attempt=k) for layout in (1, 2) for k in (1, 2, 3)]
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        assert {(e.layout, e.attempt) for e in that_count(rows, slot_key)} == {(1, 3), (2, 3)}


def test_disturbed_executions_stay_in_every_analysis_and_are_told(tmp_path):
    config = make_config(WALL, run="controls = []")
    rows = []
    for system, layout in itertools.product("ab", range(1, 6)):
        value = (Measurement("wall_s", "s", 0, 1.0 + layout / 10, warmup=False),)
        names = ("busy",) if (system, layout) in {("a", 1), ("a", 2), ("b", 3)} else ()
        rows.append(
            execution(
                config,
                tmp_path,
                system,
                "b",
                layout,
                measurements=value,
                disturbances=names,
                host_state={"window_s": 1.0, "other_cpu_s": 0.5},
            )
        )
    write(config, tmp_path, rows)
    selection = selected(config, tmp_path)
    line = "b: 3 of 10 executions were disturbed (busy 3; a 2, b 1); they are in the samples"
    report = analyse(selection, confidence=0.95, metrics=[])
    assert [a.n_executions for a in report.analyses] == [5, 5]
    assert any(warning.startswith(line) for warning in said(report.warnings))
    assert analyse_document(report)["disturbed"][0]["disturbed"] == 3
    comparison = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert any(warning.startswith(line) for warning in said(comparison.warnings))
    assert compare_document(comparison)["disturbed"][0]["systems"] == {"a": 2, "b": 1}


def test_disturbed_executions_that_failed_are_not_said_to_be_in_the_samples(tmp_path):
    config = make_config(WALL, run="controls = []")
    value = (Measurement("wall_s", "s", 0, 1.0, warmup=False),)
    noise = {"disturbances": ("busy",), "host_state": {"window_s": 1.0, "other_cpu_s": 0.5}}
    crash = {"status": "crashed", "reason": "SIGSEGV"}
    rows = [execution(config, tmp_path, "a", "b", k, measurements=value) for k in (1, 2)]
    rows += [execution(config, tmp_path, "a", "b", 3, measurements=value, **noise)]
    rows += [execution(config, tmp_path, "a", "b", k, **noise, **crash) for k in (4, 5)]
    write(config, tmp_path, rows)
    warnings = said(selected(config, tmp_path).warnings)
    line = "b: 3 of 5 executions were disturbed (busy 3; a 3); 2 of them failed, the others are in the samples"
    assert any(warning.startswith(line) for warning in warnings)
    assert whereabouts(summary(rows[3:], ())) == "they failed, so none is in the samples"


@pytest.mark.parametrize(
    "line", ["repeat = 11", "repeat = -1", "steal = -0.1", "busy = inf", "swap_pages = 0.5", "stael = 0.1"]
)
def test_limits_are_checked(line):
    text = f'[project]\nname="p"\n[build]\ncommands=["x"]\nartefacts=["x"]\n[systems.a]\n[run.disturbance]\n{line}\n'
    with pytest.raises(ConfigError, match=r"run\.disturbance"):
        parse(text, path="layoutrand.toml")


def test_limits_make_no_other_experiment_of_it(project):
    """Results from before there were limits stay valid, and changing a limit repeats nothing that was not disturbed."""
    assert current_experiment(project.config(0)) == current_experiment(make_config(WALL, run="", systems=("a",)))
    assert project.run(layouts=(1, 2)).executed == 2
    assert project.run(layouts=(1, 2), repeat=10).executed == 0


def killed_run(directory, kill_at):
    """What a child does: every third state is quiet, and at the ``kill_at``-th the process is killed."""
    seen = itertools.count(1)

    def on_state():
        if next(seen) == kill_at:
            signal.raise_signal(signal.SIGKILL)

    states = [BUSY, STEAL, QUIET] * 10
    Project(directory).run(repeat=2, layouts=(1, 2, 3), watch=FakeWatch(*states, on_state=on_state))


@pytest.mark.parametrize("kill_at", [k if k < 4 else pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10)])
def test_killed_between_repetitions_nothing_is_lost_and_nothing_doubled(tmp_path, kill_at):
    """kill -9 in the middle of every attempt in turn; the same command then makes the attempts that are left."""
    script = f"import sys; sys.path[:0] = {[os.path.dirname(__file__), *sys.path]!r}\nfrom pathlib import Path\nimport test_repetition\n"
    call = f"test_repetition.killed_run(Path({str(tmp_path)!r}), {kill_at})"
    assert subprocess.run([sys.executable, "-c", script + call]).returncode == -signal.SIGKILL
    project = Project(tmp_path)
    before = len(project.executions())
    assert before == kill_at - 1
    project.run(*([BUSY, STEAL, QUIET] * 3)[before:], repeat=2, layouts=(1, 2, 3))
    assert Counter((e.order, e.attempt, e.disturbances) for e in project.executions()) == {
        (order, attempt, names): 1
        for order in range(3)
        for attempt, names in ((1, ("busy",)), (2, ("steal",)), (3, ()))
    }
    assert project.run(repeat=2, layouts=(1, 2, 3)).executed == 0
