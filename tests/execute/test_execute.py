from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from executekit import Project
from experiments import selected
from fakes import FakeExecutor, captures, make_binary, make_config, quoted, shell_binaries
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.documents import run_document
from layoutrand.cli.terminal import Terminal
from layoutrand.config.config import parse
from layoutrand.errors import CacheError, ConfigError, ResultsError, ToolNotFound, UsageError
from layoutrand.execute.experiment import current_experiment
from layoutrand.execute.measure import measure
from layoutrand.host.watch import HostWatch
from layoutrand.model import BuildFailure
from layoutrand.platform.disk import sha256_file
from layoutrand.results.file import exclusive_use, open_for_reading, open_for_writing, results_path
from layoutrand.screens import failing

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_every_slot_is_executed_once_and_recorded(project):
    config = make_config(WALL, systems=("a", "b"), run="executions = 2")
    summary = project.run(config, project.binaries(systems=("a", "b"), layouts=(1, 2, "stock", "identity")))
    assert (summary.total, summary.already, summary.executed, summary.unbuilt) == (24, 0, 24, 0)
    assert (summary.failures, summary.build_failures) == ((), ())
    executions = project.executions(config)
    assert Counter((e.system, e.layout, e.round) for e in executions) == {
        (s, layout, r): 2 for s in "ab" for r in (1, 2) for layout in (r, "stock", "identity")
    }
    assert [e.order for e in executions] == list(range(24))
    assert {e.capture for e in executions if e.system == "a"} == {"capture-of-a"}
    assert all(e.status == "ok" and e.attempt == 1 and e.env_size is None for e in executions)
    assert len({e.output_sha256 for e in executions}) == 1
    assert [bool(e.log) for e in executions].count(True) == 2  # what each system printed first


def test_measurements_have_units(project):
    config = make_config(WALL, systems=("a",))
    project.run(config, project.binaries("wall 2.5", layouts=(1,)))
    (execution,) = project.executions(config)
    units = {m.metric: (m.value, m.unit, m.iteration, m.warmup) for m in execution.measurements}
    assert units["wall_s"] == (2.5, "s", 0, False)
    assert units["max_rss_bytes"] == (2.5, "B", 0, False)
    assert units["minor_faults"] == (2.5, "1", 0, False)
    assert execution.wall_s == 2.5
    assert set(execution.host_state) >= {"load1"}


def test_a_second_call_executes_nothing(project):
    config, binaries = make_config(WALL, systems=("a",)), project.binaries()
    project.run(config, binaries)
    executor = FakeExecutor()
    summary = project.run(config, binaries, executor)
    assert executor.commands == []
    assert (summary.total, summary.already, summary.executed) == (4, 4, 0)


def test_more_seeds_executions_or_benchmarks_execute_the_difference(project):
    config = make_config(WALL, systems=("a",))
    project.run(config, project.binaries(layouts=(1, "stock")))
    assert project.run(config, project.binaries(layouts=(1, 2, "stock"))).executed == 2
    more = make_config(WALL, systems=("a",), run="executions = 2")
    assert project.run(more, project.binaries()).executed == 4
    both = make_config(WALL + WALL.replace('"b"', '"c"'), systems=("a",), run="executions = 2")
    assert project.run(both, project.binaries()).executed == 8


def test_after_how_long_an_execution_is_killed_is_said_of_a_benchmark_that_has_never_ended(project):
    """Layouts that are executed later are of the same benchmark; with another command it is another one."""
    config = make_config(WALL, systems=("a",))

    def said(config, layouts):
        project.said.clear()
        project.run(config, project.binaries(layouts=layouts))
        return project.said[0]

    assert said(config, (1,)) == "1 execution; one that still runs after 10 min is killed (timeout_s)"
    assert "killed" not in said(config, (2,))
    assert "killed" in said(make_config(WALL.replace('"]', '", "more"]'), systems=("a",)), (1,))


@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize(
    ("old", "new", "executed"),
    [
        ("", "", 0),
        ("timeout_s = 5", "timeout_s = 9", 0),
        ('stdin = "one"', 'stdin = "two"', 2),
        ('stdin = "one"', 'stdin = "copy of one"', 2),
        ("env = {A = '1'}", "env = {A = '2'}", 2),
        ("metric = {wall = true}", "metric = {wall = true, cachegrind = true}", 2),
        ("metric = {cachegrind = true}", "metric = {cachegrind = true, wall = true}", 2),
    ],
)
def test_what_makes_an_execution_another_one(project, old, new, executed):
    for name, content in (("one", "1"), ("two", "2"), ("copy of one", "1")):
        (project.path / name).write_text(content)
    binaries, executor = project.binaries(layouts=(1, "stock")), _CountsFor(FakeExecutor())
    project.run(make_config(WALL + old, systems=("a",)), binaries, executor)
    assert project.run(make_config(WALL + new, systems=("a",)), binaries, executor).executed == executed


class _CountsFor:
    """Gives the fake executor's cachegrind commands a profile to leave behind."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, command):
        argv, profile = list(command.argv), None
        while "valgrind" in argv[0] or argv[0].startswith("--"):
            word = argv.pop(0)
            if word.startswith("--cachegrind-out-file="):
                profile = Path(word.partition("=")[2].replace("%p", "1"))
        outcome = self.inner(dataclasses.replace(command, argv=tuple(argv)))
        if profile:
            events = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim"
            profile.write_text(f"events: {events}\nsummary: {' '.join('7' * 13)}\n")
        return outcome


def test_the_content_of_an_input_counts_not_its_date(project):
    (project.path / "in").write_text("1")
    config, binaries = make_config(WALL + 'stdin = "in"', systems=("a",)), project.binaries(layouts=(1,))
    project.run(config, binaries)
    os.utime(project.path / "in", (1, 1))
    assert project.run(config, binaries).executed == 0
    (project.path / "in").write_text("2")
    assert project.run(config, binaries).executed == 1


@pytest.mark.parametrize(
    "change",
    [
        {"captures": {"a": "another capture"}},
        {"binaries": "changed content"},
        {"config": make_config(WALL, systems=("a",), run='randomise = ["env-size"]')},
        {"config": make_config(WALL + "[layout]\nclasses = 'mix'\n", systems=("a",))},
        {"config": make_config(WALL, systems=("a",), project="other")},
    ],
)
def test_another_capture_policy_or_protocol_is_another_experiment(project, change):
    config = make_config(WALL, systems=("a",))
    project.run(config, project.binaries(layouts=(1,)))
    change = dict(change)
    binaries = project.binaries(change.pop("binaries", "print x"), layouts=(1,))
    assert project.run(change.pop("config", config), binaries, **change).executed == 1


def test_a_new_protocol_or_host_is_another_experiment(project, monkeypatch):
    config, binaries = make_config(WALL, systems=("a",)), project.binaries(layouts=(1,))
    project.run(config, binaries)
    monkeypatch.setattr("layoutrand.execute.experiment.PROTOCOL", 999)
    assert project.run(config, binaries).executed == 1
    monkeypatch.setattr("layoutrand.execute.experiment.host_key", lambda _facts: "elsewhere")
    assert project.run(config, binaries).executed == 1


def test_the_command_and_environment_are_made_for_each_execution(project):
    command = 'command = ["{artefact}", "--dir={artefact_dir}", "{project}", "{{artefact}}", "a b"]\n'
    config = make_config(
        f'[[benchmarks]]\nname = "b"\n{command}env = {{ P = "{{project}}/x", LC_ALL = "C" }}', systems=("a",)
    )
    executor = FakeExecutor()
    project.run(config, project.binaries(), executor)
    assert len({c.argv for c in executor.commands}) == 1, "argv must be the same for every layout"
    assert len({json.dumps(dict(c.env)) for c in executor.commands}) == 1
    first = executor.commands[0]
    artefact = project.path / ".layoutrand/work/x/bin/prog"
    assert first.argv == (str(artefact), f"--dir={artefact.parent}", str(project.path), "{artefact}", "a b")
    assert first.env == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
        "TMPDIR": str(project.path / ".layoutrand/work/x/tmp"),
        "P": f"{project.path}/x",
        "LC_ALL": "C",
    }


def test_environment_sizes_are_random_recorded_and_the_same_again(project):
    config = make_config(WALL, systems=("a",), run='randomise = ["env-size"]')
    executor = FakeExecutor()
    project.run(config, project.binaries(layouts=tuple(range(1, 11))), executor)
    sizes = [e.env_size for e in project.executions(config)]
    assert [len(c.env["LAYOUTRAND_PAD"]) for c in executor.commands] == sizes
    assert len(set(sizes)) > 5
    shutil.rmtree(project.path / ".layoutrand")
    project.run(config, project.binaries(layouts=tuple(range(1, 11))), executor)
    assert [e.env_size for e in project.executions(config)] == sizes


@pytest.mark.usefixtures("valgrind")
def test_a_simulation_has_no_random_environment(project):
    config = make_config(
        WALL + "metric = {cachegrind = true, wall = true}", systems=("a",), run='randomise = ["env-size"]'
    )
    project.run(config, project.binaries(layouts=(1, 2)), _CountsFor(FakeExecutor()))
    assert all((e.env_size is None) == (e.instrument == "cachegrind") for e in project.executions(config))


def test_files_lie_in_the_working_directory(project):
    (project.path / "data").mkdir()
    (project.path / "data/in put").write_text("content\n")
    (project.path / "data/out").write_text("content\n")
    config = make_config(
        f'[[benchmarks]]\nname = "b"\ncommand = {quoted("{artefact}")}\nfiles = ["data/in put"]\nexpect_stdout = "data/out"',
        systems=("a",),
    )
    binaries = shell_binaries(project.root / "cache", "cat 'in put'; echo changed > 'in put'", systems=("a",))
    assert project.run(config, binaries, measure).failures == ()
    assert (project.path / "data/in put").read_text() == "content\n"


def test_missing_inputs_are_reported_together_before_anything_runs(project):
    (project.path / "here").write_text("")
    (project.path / "dir").mkdir()
    config = make_config(
        WALL + 'stdin = "absent in"\nexpect_stdout = "dir"\nfiles = ["gone", "here", "dir/../here"]\n', systems=("a",)
    )
    with pytest.raises(ConfigError) as caught:
        project.run(config, project.binaries())
    assert len(caught.value.problems) == 4
    for words in ("benchmarks[0].stdin: cannot read", "expect_stdout", "files[0]", "two files are called 'here'"):
        assert words in str(caught.value)
    assert not (project.path / ".layoutrand/work").exists()


def test_wrong_output_is_a_failed_execution_that_shows_the_difference_and_keeps_the_log(project):
    (project.path / "out").write_text("x\ny\n")
    config = make_config(WALL + 'expect_stdout = "out"', systems=("a",))
    good, bad = project.binaries("print x\nprint y", layouts=(1,)), project.binaries("print x\nprint z", layouts=(2,))
    summary = project.run(config, good + bad)
    (failure,) = summary.failures
    assert (failure.layout, failure.status, failure.measurements) == (2, "wrong-output", ())
    assert "line 2: expected 'y', got 'z'" in failure.reason
    assert failure.log == ".layoutrand/logs/run/a/b/2-native-round2-0-1"
    assert (project.path / failure.log / "stdout").read_text() == "x\nz\n"
    document = run_document(summary)
    assert document["failures"][0]["seed"] == 2
    assert document["failures"][0]["log"] == failure.log
    assert sorted(os.listdir(project.path / ".layoutrand/logs/run/a/b")) == ["2-native-round2-0-1"]


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("exit 3", "exit", "exit status 3"),
        ("kill -SEGV $$", "signal", "SIGSEGV"),
        ("sleep 600", "timeout", "timeout_s"),
        ("echo no number", "no-measurement", "matches nothing"),
        ("echo t=1; echo t=2", "no-measurement", "all of them are warm-up"),
    ],
)
def test_real_failures_do_not_stop_the_schedule(project, script, status, words):
    config = make_config(WALL + 'timeout_s = 1\nmetric = {regex = "t=(.*)", wall = true, warmup = 2}', systems=("a",))
    good = "for i in 9 9 1 2; do echo t=$i; done"
    binaries = shell_binaries(project.root / "c", f"ulimit -c 0; {script}", systems=("a",), layouts=(1,))
    binaries += shell_binaries(project.root / "c", good, systems=("a",), layouts=(2,))
    summary = project.run(config, binaries, measure)
    (failure,) = summary.failures
    assert failure.status == status
    assert words in failure.reason
    assert (project.path / failure.log / "stderr").exists()
    (fine,) = [e for e in project.executions(config) if e.status == "ok"]
    assert [(m.value, m.warmup) for m in fine.measurements if m.metric == "value"] == [
        (9, True),
        (9, True),
        (1, False),
        (2, False),
    ]
    assert summary.executed == 2


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "echo more >&2; echo 'cannot open inputs/x' >&2; echo >&2; exit 2",
            "exit status 2; its standard error says: cannot open inputs/x",
        ),
        (
            "printf 'a\\033[31mred\\tb' >&2; exit 2",
            "exit status 2; its standard error says: a\\x1b[31mred\\tb",
        ),
        (
            "head -c 5000 /dev/zero | tr '\\0' y >&2; exit 2",
            f"exit status 2; its standard error says: {'y' * 200}...",
        ),
        ("printf '\\377' >&2; exit 2", "exit status 2; its standard error says: \\xff"),
        ("echo out; exit 2", "exit status 2; its output says: out"),  # some harnesses complain there
        ("exit 2", "exit status 2"),
    ],
)
def test_a_failure_is_told_with_what_the_program_wrote_about_it(project, capsys, script, said):
    config = make_config(WALL, systems=("a",))
    binaries = shell_binaries(project.root / "c", script, systems=("a",), layouts=tuple(range(1, 8)))
    summary = project.run(config, binaries, measure)
    assert {failure.reason for failure in summary.failures} == {said}
    assert {row["reason"] for row in run_document(summary)["failures"]} == {said}
    failing.Failures().conclude(summary.failures, Terminal(json=False, quiet=True))
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo working >&2; printf 'a\\r586.8 MB/s\\r1#\\n'", "; its output says: a\\r586.8 MB/s\\r1#"),
        ("echo 586.8 MB/s >&2", "; its standard error says: 586.8 MB/s"),  # where it should have looked
        ("true", ""),
    ],
)
def test_where_a_pattern_finds_nothing_it_is_said_what_it_was_looked_for_in(project, script, said):
    metric = 'metric = { regex = "rate (.+)", name = "rate", unit = "MB/s" }\n'
    config = make_config(f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}"]\n{metric}', systems=("a",))
    binaries = shell_binaries(project.root / "c", script, systems=("a",), layouts=(1,))
    (failure,) = project.run(config, binaries, measure).failures
    assert failure.reason == f"metric.regex 'rate (.+)' matches nothing in the standard output{said}"


def test_a_benchmark_says_with_which_status_it_ends(project):
    config = make_config(f"{WALL}expect_status = 10\n", systems=("a",))
    binaries = shell_binaries(project.root / "c", "exit 10", systems=("a",), layouts=(1,))
    assert not project.run(config, binaries, measure).failures
    plain = make_config(WALL, systems=("a",))
    (failure,) = project.run(plain, binaries, measure).failures  # another benchmark, so it is executed anew
    assert failure.reason == "exit status 10"


def test_of_merged_output_it_is_the_last_line_of_all(project):
    config = make_config(f"{WALL}merge_output = true\n", systems=("a",))
    binaries = shell_binaries(project.root / "c", "echo first >&2; echo last; exit 2", systems=("a",), layouts=(1,))
    (failure,) = project.run(config, binaries, measure).failures
    assert failure.reason == "exit status 2; its output says: last"


def test_failures_whose_last_lines_differ_are_still_one_kind(project, capsys):
    config = make_config(WALL, systems=("a",))
    binaries = shell_binaries(project.root / "c", "echo at $$ >&2; exit 2", systems=("a",), layouts=tuple(range(1, 21)))
    summary = project.run(config, binaries, measure)
    failing.Failures().conclude(summary.failures, Terminal(json=False, quiet=True))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[-1] == "failed: system a, benchmark b, seeds 2..20: 19 more: exit status 2"


def test_a_command_that_cannot_be_started(project):
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["no-such-launcher", "{artefact}"]', systems=("a",))
    summary = project.run(config, project.binaries(layouts=(1,)), measure)
    assert summary.failures[0].status == "start"
    assert "env.PATH" in summary.failures[0].reason


def test_failed_executions_are_repeated_only_on_request(project):
    config = make_config(WALL, systems=("a",))
    bad = project.binaries("exit 1", layouts=(1,)) + project.binaries(layouts=(2,))
    assert len(project.run(config, bad).failures) == 1
    again = project.run(config, bad)
    assert (again.executed, len(again.failures)) == (0, 1)
    again = project.run(config, bad, retry_failed=True)
    assert (again.executed, len(again.failures)) == (1, 1)
    assert [(e.layout, e.attempt) for e in project.executions(config)] == [(1, 1), (2, 1), (1, 2)]
    assert sorted(os.listdir(project.path / ".layoutrand/logs/run/a/b")) == [
        "1-native-round1-0-1",
        "1-native-round1-0-2",
        "2-native-round2-0-1",  # what it printed
    ]


def test_a_repeated_failure_that_succeeds_is_no_failure_any_more(project):
    config = make_config(WALL, systems=("a",))
    flag = project.root / "flag"
    binaries = shell_binaries(project.root / "c", f"test -e {flag}", systems=("a",), layouts=(1,))
    assert len(project.run(config, binaries, measure).failures) == 1
    flag.touch()
    assert project.run(config, binaries, measure, retry_failed=True).failures == ()
    assert [e.status for e in project.executions(config)] == ["exit", "ok"]


def test_a_call_that_executes_several_times_repeats_what_failed_before_it_alone(project):
    config = make_config(WALL, systems=("a",))
    bad = project.binaries("exit 1", layouts=(1,))
    project.run(config, bad)
    (first,) = project.executions(config)
    before = {"retry_failed": True, "retry_before": first.started_at}
    assert project.run(config, bad, **before).executed == 0
    after = {"retry_failed": True, "retry_before": first.started_at + 1}
    assert project.run(config, bad, **after).executed == 1
    assert [each.attempt for each in project.executions(config)] == [1, 2]


@pytest.mark.parametrize("by_capture", [False, True])
def test_of_commits_no_seeds_for_run_are_advised_where_one_is_executed_alone(project, by_capture):
    """Their programs are systems that `layoutrand run` does not know."""
    config, executor = make_config(WALL, systems=("a", "b")), FakeExecutor()
    both = project.binaries(systems=("a", "b"), layouts=(1, 2, 3))
    project.run(config, [each for each in both if each.system == "a"], executor, captures=captures(["a"]))
    project.run(config, both, executor, by_capture=by_capture)
    assert any("b is executed alone" in text for text in project.said) is not by_capture


def test_failed_builds_are_recorded_and_their_slots_counted(project):
    config = make_config(WALL, systems=("a", "b"))
    failure = BuildFailure("a", "prog", 2, "the linker crashed", None)
    binaries = project.binaries(layouts=(1, "stock")) + project.binaries(systems=("b",))
    summary = project.run(config, binaries, failures=[failure])
    assert (summary.total, summary.unbuilt) == (7, 1)
    assert summary.build_failures == (failure,)
    with open_for_reading(results_path(project.path)) as store:
        assert store.build_failures(current_experiment(config), captures()) == [failure]
    # The round of the missing seed goes on for the other system and the controls.
    assert {(e.system, e.layout) for e in project.executions(config) if e.round == 2} == {
        ("a", "stock"),
        ("b", 2),
        ("b", "stock"),
    }


def test_controls_are_those_configured_and_built(project):
    config = make_config(WALL, systems=("a",), run='controls = ["identity"]')
    project.run(config, project.binaries(layouts=(1, "stock", "identity")))
    assert {e.layout for e in project.executions(config)} == {1, "identity"}
    config = make_config(WALL, systems=("a",))
    project.run(config, project.binaries(layouts=(1,)))
    assert {e.layout for e in project.executions(config)} == {1, "identity"}


def test_a_program_of_several_artefacts_is_executed_with_all_of_one_layout(project):
    text = '[project]\nname="p"\n[build]\ncommands=["x"]\nartefacts=["bin/app","lib/libx.so"]\n[systems.a]\n'
    config = parse(text + WALL + "[run]\ncontrols = []\n", path="t")
    script = '#!/bin/sh\ncat "${0%/*}/../lib/libx.so"\n'
    app = [make_binary(project.root / "c", "a", k, script + f"# {k}\n", artefact="bin/app") for k in (1, 2)]
    lib = [make_binary(project.root / "l", "a", k, f"lib {k}\n", artefact="lib/libx.so") for k in (1,)]
    outputs = []

    def executor(command):
        outcome = measure(command)
        outputs.append(command.stdout.read_text())
        return outcome

    summary = project.run(config, app + lib, executor)
    assert outputs == ["lib 1\n"]
    assert (summary.total, summary.unbuilt) == (1, 1)


def test_a_changed_binary_is_found_before_anything_runs(project):
    config, binaries = make_config(WALL, systems=("a",)), project.binaries()
    binaries[1].path.write_text("tampered")
    executor = FakeExecutor()
    with pytest.raises(CacheError, match=re.escape("system a, seed 2, artefact prog")):
        project.run(config, binaries, executor)
    binaries[1].path.unlink()
    with pytest.raises(CacheError, match="layoutrand build"):
        project.run(config, binaries, executor)
    assert executor.commands == []


def test_a_binary_whose_slots_are_done_is_not_read(project):
    config, binaries = make_config(WALL, systems=("a",)), project.binaries()
    project.run(config, binaries)
    binaries[0].path.unlink()
    assert project.run(config, binaries).executed == 0


def test_nothing_to_execute(project):
    with pytest.raises(UsageError, match="no \\[\\[benchmarks\\]\\]"):
        project.run(make_config("", systems=("a",)), project.binaries())
    with pytest.raises(UsageError, match="layoutrand build --seeds 30"):
        project.run(make_config(WALL, systems=("a",)), [])
    with pytest.raises(UsageError, match="did you mean 'b'"):
        project.run(
            make_config(WALL + WALL.replace('"b"', '"cc"'), systems=("a",)), project.binaries(), benchmarks=["bb"]
        )


def test_chosen_benchmarks_only(project):
    config = make_config(WALL + WALL.replace('"b"', '"c"'), systems=("a",))
    project.run(config, project.binaries(), benchmarks=["c"])
    assert {e.benchmark for e in project.executions(config)} == {"c"}


def test_without_valgrind(project, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    executor = FakeExecutor()
    with pytest.raises(ToolNotFound, match="valgrind"):
        project.run(make_config(WALL + "metric = {cachegrind = true}", systems=("a",)), project.binaries(), executor)
    assert executor.commands == []


def test_progress_counts_what_is_done_already(project):
    config = make_config(WALL, systems=("a",))
    project.run(config, project.binaries(layouts=(1, "stock")))
    project.progress.clear()
    project.run(config, project.binaries(layouts=(1, 2, "stock")))
    assert [(p.done, p.total) for p in project.progress] == [(3, 4), (4, 4)]


def test_ctrl_c_keeps_what_is_finished_and_resumes(project):
    config, binaries = make_config(WALL, systems=("a",)), project.binaries(layouts=tuple(range(10)))
    with pytest.raises(KeyboardInterrupt):
        project.run(config, binaries, FakeExecutor(interrupt_at=4))
    assert len(project.executions(config)) == 4
    assert not (project.path / ".layoutrand/work").exists()
    assert project.run(config, binaries).executed == 6


def test_ctrl_c_in_a_real_execution_records_nothing_of_it(project):
    config = make_config(WALL, systems=("a",))
    binaries = shell_binaries(project.root / "c", "kill -INT $PPID; exec sleep 600", systems=("a",), layouts=(1,))
    with pytest.raises(KeyboardInterrupt):
        project.run(config, binaries, measure)
    assert project.executions(config) == []


def test_two_at_once(project):
    config, binaries = make_config(WALL, systems=("a",)), project.binaries()
    with open_for_writing(results_path(project.path)):
        pass
    with (
        exclusive_use(results_path(project.path), wait_s=0, on_wait=print),
        pytest.raises(ResultsError, match="another layoutrand"),
    ):
        project.run(config, binaries)
    assert project.run(config, binaries).executed == 4


def test_leftovers_of_a_killed_call_are_ended_first(project):
    config = make_config(WALL, systems=("a",))
    leftover = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(project.path / ".layoutrand/work/x/tmp")})
    with leftover:
        project.run(config, project.binaries())
        assert leftover.wait(10) == -9
    assert "1 process" in project.said[0]


@pytest.mark.parametrize("name", ['it\'s $HOME "x"', "new\nline", "per%p cent", "\udcff"])
def test_strange_project_directories(tmp_path, name):
    (tmp_path / name).mkdir()
    project = Project(tmp_path / name)
    (project.path / "in put").write_bytes(b"\xff\n")
    config = make_config(WALL + 'stdin = "in put"\nexpect_stdout = "in put"\nmetric = {wall = true}', systems=("a",))
    binaries = shell_binaries(project.root / "c", "cat", systems=("a",))
    assert project.run(config, binaries, measure).failures == ()
    assert project.run(config, binaries, measure).executed == 0


@pytest.mark.slow
@pytest.mark.usefixtures("valgrind")
def test_cachegrind_with_a_real_program(project):
    (project.path / "in").write_text("hello\n")
    config = make_config(
        WALL + 'stdin = "in"\nexpect_stdout = "in"\nmetric = {cachegrind = true, wall = true}', systems=("a",)
    )
    binaries = []
    for layout in (1, 2, "stock"):
        (binary,) = project.binaries("x", layouts=(layout,))
        shutil.copy("/bin/cat", binary.path)
        with binary.path.open("ab") as file:
            file.write(str(layout).encode())
        binaries.append(dataclasses.replace(binary, sha256=sha256_file(binary.path)))
    assert project.run(config, binaries, measure).failures == ()
    executions = project.executions(config)
    assert Counter(e.instrument for e in executions) == {"native": 4, "cachegrind": 4}
    counts = {
        tuple(m.value for m in e.measurements if m.metric == "instructions")
        for e in executions
        if e.instrument == "cachegrind"
    }
    assert len(counts) == 1, "the same program counts the same to the digit"
    assert all("wall_s" not in {m.metric for m in e.measurements} for e in executions if e.instrument == "cachegrind")


@pytest.mark.usefixtures("valgrind")
def test_cachegrind_of_a_launcher_says_what_is_wrong(project):
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["env", "{artefact}"]\nmetric = {cachegrind = true}', systems=("a",)
    )
    binaries = shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=(1,))
    summary = project.run(config, binaries, measure)
    assert [(f.status, "launcher" in f.reason) for f in summary.failures] == [("no-measurement", True)]


def test_the_module_runs_without_terminal_or_environment(project):
    """A call from cron: empty environment, no HOME."""
    script = "import layoutrand.execute.execute, layoutrand.execute.run_plan"
    assert subprocess.run([sys.executable, "-c", script], env={}).returncode == 0


def test_from_execution_to_analysis_and_comparison(project):
    """All of it, with durations that the binaries' contents decide."""
    config = make_config(WALL, systems=("a", "b"))
    binaries = [
        make_binary(project.root / "c", system, layout, f"# {system}{layout}\nwall {factor * wall}\n")
        for system, factor in (("a", 1.0), ("b", 0.5))
        for layout, wall in ((1, 1.0), (2, 1.1), (3, 1.2), (4, 1.0), (5, 1.1), ("stock", 0.9), ("identity", 1.1))
    ]
    summary = project.run(config, binaries, watch=HostWatch(project.root / "a machine that tells nothing"))
    assert run_document(summary) == {
        "schema": "layoutrand/run/1",
        "executions": 30,
        "executed": 30,
        "already": 0,
        "unbuilt": 0,
        "failures": [],
        "build_failures": [],
        "disturbed": [],
        "repeated": 0,
        "too_short": [],
        "unlike_outputs": [],
        "changed_inputs": [],
        "measuring_themselves": [],
        "not_executed": [],
        "failed_cases": [],
        "nodes": [],
        "waiting": 0,
        "refusals": [],
        "results": str(results_path(project.path)),
    }
    with open_for_reading(results_path(project.path)) as store:
        ((experiment, _),) = store.experiments()
        captures = {e.system: e.capture for e in store.executions(experiment)}
        assert store.current_captures(experiment) == captures
        assert set(captures) == {"a", "b"}
    selection = selected(config, project.path)
    analysis = analyse(selection, confidence=0.95, metrics=["wall_s"]).analyses[0]
    assert analysis.mean.centre == pytest.approx(1.08)
    assert analysis.stock is not None
    assert (analysis.stock.n_executions, analysis.stock.percentile, analysis.stock.sd) == (5, 0, 0)
    comparison = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert comparison.benchmarks[0].verdict == "faster"
    assert comparison.benchmarks[0].ratio.centre == pytest.approx(0.5)
    # Each round says 0.5, and all times are multiples of 0.05.
    assert 0 < comparison.benchmarks[0].paired.half_width < 0.05
