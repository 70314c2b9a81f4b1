"""`run.launcher`, from layoutrand.toml to the results."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from executekit import Project
from fakes import FakeExecutor, make_binary, make_config, shell_binaries
from layoutrand.analysis import evidence as evidences
from layoutrand.cluster.inputs import inputs_of
from layoutrand.errors import ConfigError, FeatureUnsupported, ToolNotFound, UsageError
from layoutrand.execute import launching
from layoutrand.execute.experiment import ExecutedHow, current_experiment, executed_how
from layoutrand.execute.measure import measure
from layoutrand.host.launcher import find_launcher, kernels_launcher
from layoutrand.host.processors import HEADER, foreign
from layoutrand.instruments.known import starter
from layoutrand.platform.disk import sha256_file
from workshop import require

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}", "x"]\n'
AARCH64 = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + b"\x03\0\xb7\0" + bytes(HEADER)
SOURCE = '#include <stdio.h>\nint main(int n, char **v) { printf("%d %s\\n", n, v[n - 1]); return 0; }\n'


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def through(tmp_path):
    """A launcher that notes what it starts."""
    path = tmp_path / "through"
    path.write_text('#!/bin/sh\necho "$@" >> "$(dirname "$0")/started"\nshift\nexec "$@"\n')
    path.chmod(0o755)
    return path


def config_of(*launcher, benchmark=WALL, run="", systems=("a",)):
    return make_config(benchmark, systems=systems, run=f"launcher = {json.dumps(list(launcher))}\n{run}")


def started(through):
    return (through.parent / "started").read_text().splitlines()


def foreign_binary(project, system="a", layout=1, data=AARCH64):
    binary = make_binary(project.root / "cache", system, layout, "")
    binary.path.write_bytes(data)
    return dataclasses.replace(binary, sha256=sha256_file(binary.path))


# --- where it stands ----------------------------------------------------------------------------------------------


def test_it_stands_before_the_program_and_is_recorded(project, through):
    config = config_of(str(through), "-v", run='randomise = ["env-size"]')
    binaries = shell_binaries(project.root / "c", "echo ran", systems=("a",), layouts=(1, 2))
    assert project.run(config, binaries, measure).failures == ()
    program = project.path / ".layoutrand/work/x/bin/prog"
    assert started(through) == [f"-v {program} x"] * 2
    for execution in project.executions(config):
        assert execution.argv == (str(through), "-v", str(program), "x")
        assert execution.conditions["launcher"] == [str(through), "-v"]
        assert execution.conditions["launcher_sha256"] == sha256_file(through)
        assert "emulated" not in execution.conditions


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["sh", "-c", "cat </dev/null; {launcher} {artefact} x"], "-v {program} x"),
        (["{launcher}", "env", "A=1", "{artefact}"], "-v env A=1 {program}"),
        (["env", "A=1", "{launcher}", "{artefact_dir}/prog"], "-v {program}"),
        (["{artefact}", "{{launcher}}"], "-v {program} {{launcher}}"),
    ],
)
def test_a_command_may_say_where_it_stands(project, through, command, expected):
    config = config_of(str(through), "-v", benchmark=f'[[benchmarks]]\nname = "b"\ncommand = {json.dumps(command)}\n')
    binaries = shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=(1,))
    assert project.run(config, binaries, measure).failures == ()
    program = project.path / ".layoutrand/work/x/bin/prog"
    assert started(through) == [expected.format(program=program)]


def test_in_the_text_of_a_shell_its_words_are_quoted(project, tmp_path):
    path = tmp_path / "with blank"
    path.write_text('#!/bin/sh\nprintf "<%s>" "$1" > "$(dirname "$0")/first"\nshift\nexec "$@"\n')
    path.chmod(0o755)
    benchmark = '[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "{launcher} {artefact}"]\n'
    config = config_of(str(path), "it's", benchmark=benchmark)
    binaries = shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=(1,))
    assert project.run(config, binaries, measure).failures == ()
    assert (tmp_path / "first").read_text() == "<it's>"


def test_the_same_commands_work_without_one(project):
    benchmark = '[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "{launcher} {artefact}"]\n'
    other = '[[benchmarks]]\nname = "c"\ncommand = ["env", "{launcher}", "{artefact}"]\n'
    config = make_config(benchmark + other, systems=("a",))
    binaries = shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=(1,))
    assert project.run(config, binaries, measure).failures == ()
    assert "launcher" not in project.executions(config)[0].conditions


def test_nodes_are_sent_what_it_names_of_the_project(project):
    (project.path / "sim").write_text("#!/bin/sh\n")
    config = config_of("{project}/sim", "--model={project}/none")
    with pytest.raises(UsageError, match="run.launcher: nobody can tell what '--model={project}/none' reads"):
        inputs_of(config, config.benchmarks, project.path)
    config = config_of("{project}/sim")
    assert inputs_of(config, config.benchmarks, project.path) == ["sim"]


def test_it_may_lie_in_the_project(project):
    path = project.path / "sim"
    path.write_text('#!/bin/sh\nexec "$@"\n')
    path.chmod(0o755)
    config = config_of("{project}/sim")
    project.run(config, shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=(1,)), measure)
    assert project.executions(config)[0].argv[0] == str(path)


# --- what it is part of -------------------------------------------------------------------------------------------


def test_other_words_are_another_experiment():
    keys = [current_experiment(config_of(*words)) for words in (("env",), ("env", "A=1"))]
    keys.append(current_experiment(make_config(WALL, systems=("a",))))
    assert len({key.randomise for key in keys}) == 3
    assert keys[2].randomise == "[]", "what was recorded without a launcher is found as ever"


def test_results_say_under_what_they_were_made():
    assert executed_how(["env-size", "launcher env A=1"]) == ExecutedHow(("env-size",), (), "env A=1")
    assert executed_how(["env-size"]) == ExecutedHow(("env-size",), (), "")
    assert executed_how({"imported": 1}) == ExecutedHow((), (), "")
    found = evidences.Evidence((), (), "p", "h", {"factors": []}, ["launcher env A=1"], 2)
    lines = evidences.sentences(found)
    assert "randomised per execution: nothing" in lines[0]
    assert "host h, under env A=1, project p; left out: nothing" in lines


def test_what_was_set_for_all_is_not_said_to_be_randomised():
    keys = 'cpu = "auto"\naslr = "off"\npriority = 5\norder = "random"\nhugepages = "text"\nrandomise = ["heap-offset"]'
    recorded = json.loads(current_experiment(make_config(WALL, systems=("a",), run=keys)).randomise)
    settings = "order-random, aslr-off, hugepages-text, cpu-auto, priority+5"
    assert executed_how(recorded) == ExecutedHow(("heap-offset",), tuple(settings.split(", ")), "")
    found = evidences.Evidence((), (), "p", "h", {"factors": []}, recorded, 2)
    how = f"randomised per execution: heap-offset; settings of all executions: {settings}"
    assert evidences.sentences(found)[0].endswith(how)
    only_set = evidences.Evidence((), (), "p", "h", {"factors": []}, ["cpu-auto"], 2)
    said = evidences.sentences(only_set)[0]
    assert said.endswith("randomised per execution: nothing; settings of all executions: cpu-auto")


def test_a_launcher_that_is_a_secret_is_masked(monkeypatch):
    monkeypatch.setenv("TOKEN", "a-long-secret-word")
    config = config_of("env", "T=a-long-secret-word", run='redact = ["TOKEN"]')
    assert "a-long-secret" not in current_experiment(config).randomise


# --- what cannot work ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-launcher",), "run.launcher: there is no no-such-launcher in PATH: install no-such-launcher"),
        (("/no/such",), "run.launcher: /no/such: there is no such file"),
        (("/etc/passwd",), "run.launcher: /etc/passwd: it is no program that can be executed"),
    ],
)
def test_one_that_is_not_here_is_told_before_anything_is_executed(project, words, said):
    executor = FakeExecutor()
    with pytest.raises(ToolNotFound) as caught:
        project.run(config_of(*words), project.binaries(layouts=(1,)), executor)
    assert str(caught.value) == said
    assert executor.commands == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'launcher = ["./sim"]',
            "run.launcher: each execution has a fresh working directory, so './sim' names no file",
        ),
        ('launcher = ["{artefact}"]', "{artefact} in '{artefact}' is not a placeholder here; there is {project}"),
        ('launcher = [""]', "run.launcher[0]: "),
        ('launcher = "qemu"', "run.launcher: must be an array"),
        ('launcher = ["env"]\nrandomise = ["stack-offset"]', 'cannot go with run.randomise = ["stack-offset"]'),
    ],
)
def test_what_is_written_wrong(text, said):
    with pytest.raises(ConfigError) as caught:
        make_config(WALL, systems=("a",), run=text)
    assert said in str(caught.value)


def test_a_command_that_begins_with_another_program_must_place_it():
    with pytest.raises(ConfigError) as caught:
        config_of("env", benchmark='[[benchmarks]]\nname = "b"\ncommand = ["sh", "-c", "{artefact}"]\n')
    assert "benchmarks[0].command: begins with 'sh', so it must say where run.launcher stands" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[suite]\nkind = "spec-cpu"\nroot = "/x"\nbenchmarks = ["a"]\n', "run.launcher: cannot go with [suite]"),
        ('[build.image]\ntemplate = "x"\npath = "y"\ncheck = ["z"]\n', "run.launcher: cannot go with build.image"),
        ('[layout]\nfactors = ["cds-order"]\n', "run.launcher: cannot go with "),
    ],
)
def test_what_starts_programs_in_other_ways(table, said):
    with pytest.raises(ConfigError) as caught:
        make_config(table, systems=("a",), run='launcher = ["env"]')
    assert said in str(caught.value)


def test_a_simulator_would_simulate_the_launcher(project):
    require("valgrind", "valgrind")
    config = config_of("env", benchmark=WALL + "metric = {cachegrind = true}\n")
    executor = FakeExecutor()
    with pytest.raises(FeatureUnsupported, match="cachegrind would measure env, which starts the program"):
        project.run(config, project.binaries(layouts=(1,)), executor)
    assert executor.commands == []


# --- programs of other machines -----------------------------------------------------------------------------------


@pytest.fixture
def no_handler(monkeypatch):
    monkeypatch.setattr(launching.binfmt, "handler", lambda _header: None)


@pytest.mark.usefixtures("no_handler")
def test_a_program_for_another_processor_needs_one(project):
    executor = FakeExecutor()
    with pytest.raises(FeatureUnsupported) as caught:
        project.run(make_config(WALL, systems=("a",)), [foreign_binary(project)], executor)
    assert str(caught.value) == (
        "benchmark 'b': prog is for AArch64 (arm64), which this machine does not execute, and nothing was executed: "
        'write run.launcher = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] (of Debian\'s qemu-user), or execute it '
        "on such a machine"
    )
    assert executor.commands == []


@pytest.fixture
def linked(project):
    """A binary of some source, as gcc links it with some options."""

    def make(*options, source="int f(void) { return 0; }", artefact="prog"):
        binary = make_binary(project.root / "cache", "a", 1, "", artefact=artefact)
        command = ["gcc", "-x", "c", *options, "-o", str(binary.path), "-"]
        subprocess.run(command, input=source.encode(), check=True)
        return dataclasses.replace(binary, sha256=sha256_file(binary.path))

    return make


def test_a_shared_library_is_refused_before_anything_is_executed(project, linked):
    executor = FakeExecutor()
    with pytest.raises(ConfigError) as caught:
        project.run(make_config(WALL, systems=("a",)), [linked("-shared", "-fPIC")], executor)
    (problem,) = caught.value.problems
    assert problem == (
        "benchmark 'b': prog is a shared library, which programs load and nobody executes, and nothing was executed: "
        "list a program that loads it in build.artefacts, or begin the command with a program that finds the library "
        "in {artefact_dir}"
    )
    assert executor.commands == []


@pytest.mark.parametrize("options", [("-pie",), ("-no-pie",), ("-static",), ("-static-pie",)])
def test_a_program_linked_in_any_way_is_executed(project, linked, options):
    config = make_config(WALL, systems=("a",))
    assert project.run(config, [linked(*options, source="int main(void) { return 0; }")], measure).failures == ()


def test_a_shared_library_that_a_command_is_given_is_left_to_that(project, linked):
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["cat", "{artefact}"]\n', systems=("a",))
    assert project.run(config, [linked("-shared", "-fPIC")], measure).failures == ()


@pytest.mark.usefixtures("no_handler")
def test_one_that_another_program_reads_is_left_to_that(project):
    config = make_config('[[benchmarks]]\nname = "b"\ncommand = ["cat", "{artefact}"]\n', systems=("a",))
    assert project.run(config, [foreign_binary(project)], measure).failures == ()


def test_what_the_kernel_starts_is_recorded(project, monkeypatch):
    monkeypatch.setattr(launching.binfmt, "handler", lambda _header: "/bin/true")
    config = make_config(WALL, systems=("a",))
    plan = launching.checked_launching(config, config.benchmarks, [foreign_binary(project)], project.path)
    assert plan.words == (), "the kernel puts it there, no command does"
    assert plan.facts(foreign_binary(project)) == {
        "launcher": ["/bin/true"],
        "launcher_sha256": sha256_file(Path("/bin/true")),
        "launcher_by": "binfmt_misc",
        "emulated": True,
    }


def test_counters_would_count_the_emulator(project):
    config = config_of("env", benchmark=WALL + 'metric = {counters = ["page-faults"]}\n')
    with pytest.raises(FeatureUnsupported, match="perf would measure env, which starts the program"):
        project.run(config, [foreign_binary(project)], FakeExecutor())


QEMU = 'metric.instruments = ["qemu"] counts the instructions of what qemu executes'
ELSEWHERE = "a machine for AArch64 (arm64) needs no launcher"


@pytest.mark.parametrize(
    ("name", "foreign_program", "kind", "advice"),
    [
        ("taskset", False, "cachegrind", "leave run.launcher out"),
        ("taskset", False, "callgrind", "leave run.launcher out"),
        ("qemu-x86_64", False, "cachegrind", f"{QEMU}; leave run.launcher out"),
        ("qemu-x86_64", False, "callgrind", "leave run.launcher out"),
        ("qemu-aarch64", True, "cachegrind", f"{QEMU}; {ELSEWHERE}"),
        ("qemu-aarch64", True, "callgrind", ELSEWHERE),  # a profile is no metric
        ("gem5", True, "cachegrind", ELSEWHERE),
    ],
)
def test_what_is_advised_is_what_can_be_done(tmp_path, monkeypatch, name, foreign_program, kind, advice):
    (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    others = {("a", "prog"): foreign(AARCH64, "x86_64")} if foreign_program else {}
    under = launching.Launching(find_launcher([name], tmp_path), others)
    with pytest.raises(FeatureUnsupported) as caught:
        under.check(starter(kind))
    assert str(caught.value).endswith(f"which starts the program, and not the program: {advice}")


def test_nothing_can_be_preloaded_into_it(project):
    config = config_of("env", run='randomise = ["heap-offset"]')
    with pytest.raises(FeatureUnsupported, match='"heap-offset", which takes an object .* is for AArch64'):
        project.run(config, [foreign_binary(project)], FakeExecutor())


@pytest.mark.parametrize(
    ("words", "qemu"),
    [
        (("taskset", "-c", "1", "qemu-aarch64"), True),
        (("env", "-L", "/usr/qemu-x"), False),
    ],
)
def test_qemu_is_known_wherever_it_stands(tmp_path, monkeypatch, words, qemu):
    (tmp_path / "qemu-aarch64").write_text("#!/bin/sh\n")
    (tmp_path / "qemu-aarch64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = find_launcher(words, tmp_path)
    assert found.is_qemu == qemu
    assert ("emulated" in found.facts(emulates=False)) == qemu
    assert str(found) == shlex.join(words)


@pytest.mark.parametrize(
    ("words", "prefix"),
    [
        (["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu/"], "/usr/aarch64-linux-gnu"),
        (["env", "qemu-aarch64", "-L", "/a", "-L", "/b"], "/b"),
        (["qemu-aarch64", "-L"], ""),
        (["qemu-aarch64"], ""),
        (["env", "-L", "/a"], ""),
    ],
)
def test_where_qemu_looks_for_files(tmp_path, monkeypatch, words, prefix):
    (tmp_path / "qemu-aarch64").write_text("#!/bin/sh\n")
    (tmp_path / "qemu-aarch64").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert find_launcher(words, tmp_path).prefix == prefix


def test_a_handler_that_is_a_link_to_qemu(tmp_path):
    (tmp_path / "qemu-aarch64").write_text("#!/bin/sh\n")
    (tmp_path / "qemu-aarch64").chmod(0o755)
    (tmp_path / "aarch64-binfmt-P").symlink_to(tmp_path / "qemu-aarch64")
    assert kernels_launcher(str(tmp_path / "aarch64-binfmt-P")).is_qemu


# --- for real -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_programs_of_other_machines_are_executed_and_judged(project, tmp_path, machine):
    compiler = require(f"{machine}-linux-gnu-gcc", f"gcc-{machine}-linux-gnu")
    require(f"qemu-{machine}", "qemu-user")
    (tmp_path / "a.c").write_text(SOURCE)
    subprocess.run([compiler, "-O1", "-o", tmp_path / "prog", tmp_path / "a.c"], check=True)
    binary = foreign_binary(project, data=(tmp_path / "prog").read_bytes())
    binary.path.chmod(0o755)
    (project.path / "good").write_text("2 x\n")
    (project.path / "bad").write_text("3 x\n")
    bad = WALL.replace('"b"', '"c"')
    config = config_of(
        f"qemu-{machine}",
        "-L",
        f"/usr/{machine}-linux-gnu",
        benchmark=f'{WALL}expect_stdout = "good"\n{bad}expect_stdout = "bad"\n',
    )
    project.run(config, [binary], measure)
    found = project.executions(config)
    assert Counter((each.benchmark, each.status) for each in found) == {("b", "ok"): 1, ("c", "wrong-output"): 1}
    assert all(each.conditions["emulated"] is True for each in found)
    for each in found:
        read = each.host_state["start_files"]
        assert any(path.startswith(f"/usr/{machine}-linux-gnu/lib/ld-linux-") for path in read)
        assert f"/usr/{machine}-linux-gnu/lib/libc.so.6" in read
