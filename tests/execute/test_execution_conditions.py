"""What executions are given beside their command, from layoutrand.toml to the results."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from executekit import Project
from experiments import execution, selected, write
from fakes import FakeExecutor, make_binary, make_config, shell_binaries
from layoutrand.config.conditions import MAX_STACK_OFFSET, STACK_STEP
from layoutrand.config.schedule import Slot
from layoutrand.config.topology import Placement
from layoutrand.errors import ConfigError, FeatureUnsupported, UsageError
from layoutrand.execute.experiment import current_experiment, definitions, instruments_of
from layoutrand.execute.measure import measure
from layoutrand.execute.working_conditions import conditions_of, draw_stack_offset
from layoutrand.instruments import counters
from layoutrand.instruments.asked_for import primary_metric
from layoutrand.instruments.known import instrument
from layoutrand.model import Measurement
from layoutrand.platform.disk import sha256_file
from warningkit import said
from workshop import not_installed

WALL = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
ONE_SECOND = Measurement("wall_s", "s", 0, 1.0, warmup=False)
SOFTWARE = 'metric = {wall = true, counters = ["page-faults", "task-clock"]}\n'


def test_offsets_are_pinned_for_ever():
    """Whoever cites a schedule seed gets these offsets from it again."""
    assert [draw_stack_offset(1, bytes([n])) for n in range(6)] == [3184, 1920, 192, 2272, 3536, 528]
    assert draw_stack_offset(2, b"\0") != draw_stack_offset(1, b"\0")


def test_offsets_are_spread_over_all_steps():
    counts = Counter(draw_stack_offset(1, str(n).encode()) for n in range(20_000))
    assert set(counts) == set(range(0, MAX_STACK_OFFSET, STACK_STEP))
    expected = 20_000 / len(counts)
    chi_squared = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_squared < 300, "223 degrees of freedom: 300 is beyond the 99.9th percentile"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def perf():
    if shutil.which("perf") is None:
        pytest.skip(not_installed("perf", "linux-perf"))
    try:
        counters.check_events(instrument("perf").find(), ["page-faults", "task-clock"])
    except FeatureUnsupported as error:
        pytest.skip(str(error))


def elf_binaries(project, *, layouts=(1, 2, "stock")):
    """Copies of a program that prints its arguments and ends, each with bytes of its own behind."""
    binaries = []
    for layout in layouts:
        binary = make_binary(project.root / "cache", "a", layout, "")
        shutil.copy("/bin/true", binary.path)
        with binary.path.open("ab") as file:
            file.write(str(layout).encode())
        binaries.append(dataclasses.replace(binary, sha256=sha256_file(binary.path)))
    return binaries


def test_by_default_nothing_is_asked_for(project):
    config = make_config(WALL, systems=("a",))
    executor = FakeExecutor()
    project.run(config, project.binaries(layouts=(1,)), executor)
    assert [e.conditions.keys() for e in project.executions(config)] == [{"program_file"}]
    assert current_experiment(config).randomise == "[]"


def test_name_directory_and_environment_do_not_depend_on_the_layout(project):
    """Whatever a layout is called, and whichever system it is of: so that the stack begins at the same place."""
    script = 'echo "$0"; pwd; tr "\\0" "\\n" < /proc/$$/environ; readlink /proc/$$/exe'
    config = make_config(WALL, systems=("a", "long-name"))
    layouts = (1, 12345678901234567890 % 2**63, "stock", "identity")
    binaries = shell_binaries(project.root / "cache", script, systems=("a", "long-name"), layouts=layouts)
    outputs = []

    def keep(command):
        outcome = measure(command)
        outputs.append(command.stdout.read_text())
        return outcome

    assert project.run(config, binaries, keep).failures == ()
    assert len(outputs) == 12
    assert len(set(outputs)) == 1
    assert str(project.path / ".layoutrand/work/x/bin/prog") in outputs[0]


def test_cpus_and_priority_reach_the_program_and_the_results(project):
    cpu = max(os.sched_getaffinity(0))
    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 1)
    (project.path / "expected").write_text(f"Cpus_allowed_list:\t{cpu}\n{nice}\n")
    config = make_config(WALL + 'expect_stdout = "expected"', systems=("a",), run=f"cpu = {cpu}\npriority = {nice}")
    script = "grep Cpus_allowed_list /proc/self/status; nice"
    summary = project.run(config, shell_binaries(project.root / "c", script, systems=("a",), layouts=(1,)), measure)
    assert summary.failures == ()
    (execution,) = project.executions(config)
    assert execution.conditions["cpus"] == [cpu]
    assert cpu not in execution.conditions["siblings"]
    assert execution.conditions["priority"] == nice
    assert current_experiment(config).randomise == f'["cpu-{cpu}","priority+{nice}"]'


def test_auto_is_one_cpu(project):
    config = make_config(WALL, systems=("a",), run='cpu = "auto"')
    project.run(config, project.binaries(layouts=(1,)))
    assert len(project.executions(config)[0].conditions["cpus"]) == 1
    assert current_experiment(config).randomise == '["cpu-auto"]'


def test_executions_on_different_cpus_are_told(project):
    config = make_config(WALL, systems=("a",), run='cpu = "auto"')
    rows = [
        execution(config, project.path, "a", "b", seed, conditions={"cpus": [cpu]}, measurements=(ONE_SECOND,))
        for seed, cpu in ((1, 3), (2, 3), (3, 5))
    ]
    write(config, project.path, rows)
    warnings = said(selected(config, project.path).warnings)
    assert [w for w in warnings if "made on different CPUs (CPU 3: 2; CPU 5: 1)" in w]
    write(make_config(WALL, systems=("a",), run="cpu = 3"), project.path, rows[:2])
    assert not said(selected(make_config(WALL, systems=("a",), run="cpu = 3"), project.path).warnings)


def test_programs_that_came_into_their_places_in_unlike_manners_are_told(project):
    config = make_config(WALL, systems=("a",))
    rows = [
        execution(config, project.path, "a", "b", seed, conditions={"program_file": manner}, measurements=(ONE_SECOND,))
        for seed, manner in ((1, "copy"), (2, "reflink"), (3, "copy"))
    ]
    write(config, project.path, [rows[0], rows[2]])
    assert not said(selected(config, project.path).warnings)
    write(config, project.path, rows[1:2])
    warnings = said(selected(config, project.path).warnings)
    assert [
        w for w in warnings if "made in one manner (copy: 2; reflink: 1), copies or clones of the cache's files" in w
    ]


@pytest.mark.parametrize(
    "run", ['cpu = "auto"', "cpu = 0", "priority = 19", 'randomise = ["stack-offset"]', 'aslr = "off"\ncpu = [0]']
)
def test_other_conditions_make_another_experiment(run):
    assert current_experiment(make_config(WALL, run=run)) != current_experiment(make_config(WALL))


def test_a_cpu_that_does_not_exist_is_told_before_anything_runs(project):
    config, executor = make_config(WALL, systems=("a",), run="cpu = [0, 100000]"), FakeExecutor()
    with pytest.raises(UsageError, match="this machine has no CPU 100000"):
        project.run(config, project.binaries(), executor)
    assert executor.commands == []


def test_a_priority_that_is_not_permitted_is_told_before_anything_runs(project, monkeypatch):
    def refuse(_which, _who, _priority):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refuse)
    config, executor = make_config(WALL, systems=("a",), run="priority = -10"), FakeExecutor()
    with pytest.raises(FeatureUnsupported, match=r"run\.priority = -10"):
        project.run(config, project.binaries(), executor)
    assert executor.commands == []


def test_stack_offsets_are_random_recorded_and_the_same_again(project):
    config = make_config(WALL, systems=("a",), run='randomise = ["stack-offset"]')
    seeds = tuple(range(1, 11))
    executed = []

    def executor(command):
        executed.append(command)
        return measure(command)

    assert project.run(config, elf_binaries(project, layouts=seeds), executor).failures == ()
    offsets = [e.conditions["stack_offset"] for e in project.executions(config)]
    assert [c.conditions.stack_offset for c in executed] == offsets
    assert len(set(offsets)) > 5
    assert all(0 <= offset < MAX_STACK_OFFSET and offset % 16 == 0 for offset in offsets)
    assert len({c.argv for c in executed}) == len({tuple(c.env.items()) for c in executed}) == 1
    shutil.rmtree(project.path / ".layoutrand")
    project.run(config, elf_binaries(project, layouts=seeds), measure)
    assert [e.conditions["stack_offset"] for e in project.executions(config)] == offsets


def test_the_offset_is_no_function_of_the_size_of_the_environment(project):
    config = make_config(WALL, systems=("a",), run='randomise = ["env-size", "stack-offset"]')
    project.run(config, elf_binaries(project, layouts=tuple(range(1, 21))), measure)
    pairs = [(e.env_size // 1024, e.conditions["stack_offset"] // 1024) for e in project.executions(config)]
    assert len(set(pairs)) > 6


@pytest.mark.parametrize(
    ("benchmark", "error", "message"),
    [
        (WALL, FeatureUnsupported, "benchmark 'b': .* is a script: its interpreter would be given another argument"),
        (
            WALL.replace('"{artefact}"', '"env", "A=1", "{artefact}"'),
            UsageError,
            "would move the stack of env, not that",
        ),
        (WALL.replace('"{artefact}"', '"/bin/sh", "-c", "{artefact}"'), UsageError, "the stack of /bin/sh"),
        (
            WALL.replace('"{artefact}"', '"script", "{artefact}"') + 'env = {PATH = "HERE"}',
            FeatureUnsupported,
            "a script",
        ),
    ],
)
def test_programs_whose_stack_cannot_be_moved_are_told_before_anything_runs(project, benchmark, error, message):
    (project.path / "script").write_text("#!/bin/sh\n")
    (project.path / "script").chmod(0o755)
    config = make_config(
        benchmark.replace("HERE", str(project.path)), systems=("a",), run='randomise = ["stack-offset"]'
    )
    executor = FakeExecutor()
    with pytest.raises(error, match=message):
        project.run(config, shell_binaries(project.root / "c", "exit 0", systems=("a",)), executor)
    assert executor.commands == []


def test_limits_are_recorded_and_no_part_of_what_a_benchmark_is(project):
    limits = 'memory_limit = "2GiB"\noutput_limit = 1_000_000\n'
    config, limited = make_config(WALL, systems=("a",)), make_config(WALL + limits, systems=("a",))
    project.run(config, project.binaries(layouts=(1,)))
    assert project.run(limited, project.binaries(layouts=(1,))).executed == 0
    assert project.run(limited, project.binaries(layouts=(1, 2))).executed == 1
    asked = [{**e.conditions} for e in project.executions(config)]
    assert len({each.pop("program_file") for each in asked}) == 1
    assert asked == [
        {},
        {"memory_limit": 2 << 30, "output_limit": 1_000_000},
    ]


def test_the_digest_of_a_benchmark_is_what_it_was_before_there_were_counters_and_limits(project):
    """Results of earlier versions stay selectable."""
    metric = 'metric = {wall = true, cachegrind = true, counters = ["cycles"]}'
    config = make_config(WALL + metric, systems=("a",))
    digests = definitions(config, config.benchmarks, project.path)
    assert digests.keys() == {("b", "native"), ("b", "cachegrind"), ("b", "perf")}
    assert digests["b", "native"].startswith("e6085a46de22038643fe2304d8bd")
    assert digests["b", "cachegrind"].startswith("5d38ce3d483ba15e7cd8a1c39af0")


def test_too_much_output_is_a_failed_execution(project):
    config = make_config(WALL + 'output_limit = "1MiB"', systems=("a",))
    binaries = shell_binaries(project.root / "c", "head -c 3000000 /dev/zero", systems=("a",), layouts=(1,))
    (failure,) = project.run(config, binaries, measure).failures
    assert failure.status == "output-limit"
    assert (project.path / failure.log / "stdout").stat().st_size == 1 << 20


@pytest.mark.parametrize("metric", ['metric = {regex = "([0-9]+)", name = "n", unit = "1"}', 'expect_stdout = "given"'])
def test_an_output_that_became_a_pipe_is_a_failed_execution(project, metric):
    """A program can put anything where its output was; nobody waits for what comes out of it."""
    (project.path / "given").write_text("1\n")
    script = "echo 1; output=$(readlink /proc/$$/fd/1); rm $output; mkfifo $output"
    binaries = shell_binaries(project.root / "c", script, systems=("a",), layouts=(1,))
    (failure,) = project.run(make_config(WALL + metric, systems=("a",)), binaries, measure).failures
    assert failure.status == "no-measurement"
    assert "cannot be read: " in failure.reason and "it is a pipe, not an ordinary file" in failure.reason


def test_counters_are_an_instrument_of_their_own(project):
    with_counters = make_config(WALL + SOFTWARE, systems=("a",)).benchmarks[0]
    only = make_config(WALL + 'metric = {counters = ["branch-misses", "cycles"]}', systems=("a",)).benchmarks[0]
    chosen = make_config(WALL + 'metric = {wall = true, counters = ["cycles:u"], primary = "cycles_u"}').benchmarks[0]
    assert instruments_of(with_counters) == ("native", "perf")
    assert instruments_of(only) == ("perf",)
    assert primary_metric(with_counters) == ("native", "wall_s")
    assert primary_metric(only) == ("perf", "branch_misses")
    assert primary_metric(chosen) == ("perf", "cycles_u")


def test_counters_are_counted_beside_the_native_executions(project, perf):
    config = make_config(WALL + SOFTWARE, systems=("a",), run='executions = 2\nrandomise = ["stack-offset"]')
    plain = make_config(WALL, systems=("a",), run='executions = 2\nrandomise = ["stack-offset"]')
    assert project.run(plain, elf_binaries(project, layouts=(1,)), measure).executed == 2
    assert project.run(config, elf_binaries(project, layouts=(1,)), measure).failures == ()
    counted = [e for e in project.executions(config) if e.instrument == "perf"]
    assert len(project.executions(config)) == 4
    assert len(counted) == 2
    for row in counted:
        values = {m.metric: (m.value, m.unit) for m in row.measurements}
        assert set(values) == {"page_faults", "task_clock"}
        assert values["page_faults"][0] > 10
        assert (0 < values["task_clock"][0] < 60, values["task_clock"][1]) == (True, "s")
        assert "stack_offset" not in row.conditions, "perf starts the program itself"
    assert project.run(config, elf_binaries(project, layouts=(1,)), measure).executed == 0


def test_failures_under_perf_are_failures(project, perf):
    config = make_config(WALL + SOFTWARE.replace("wall = true, ", "") + 'output_limit = "1MiB"', systems=("a",))
    binaries = []
    for layout, script in ((1, "kill -SEGV $$"), (2, "exit 3"), (3, "exec head -c 3000000 /dev/zero"), (4, "exit 0")):
        binaries += shell_binaries(project.root / "c", f"ulimit -c 0; {script}", systems=("a",), layouts=(layout,))
    failures = {failure.layout: failure for failure in project.run(config, binaries, measure).failures}
    assert {layout: failure.status for layout, failure in failures.items()} == {
        1: "signal",
        2: "exit",
        3: "output-limit",
    }
    assert (failures[1].signal, failures[1].returncode) == (11, None)
    assert failures[1].reason.startswith("killed by signal 11 (SIGSEGV)")
    assert sorted(os.listdir(project.path / failures[2].log)) == ["perf", "stderr", "stdout"]


def test_events_that_cannot_be_counted_are_told_before_anything_runs(project, perf):
    config = make_config(WALL + SOFTWARE.replace("task-clock", "no-such-event"), systems=("a",))
    executor = FakeExecutor()
    with pytest.raises(FeatureUnsupported, match=r"cannot count no-such-event here .*it can count page-faults\."):
        project.run(config, project.binaries(), executor)
    assert executor.commands == []


@pytest.mark.parametrize(
    ("benchmark", "run", "problem"),
    [
        (
            "",
            'cpu = "all"',
            """run.cpu: must be "any", "auto", the number of a CPU or an array of such numbers (given: 'all')""",
        ),
        ("", "cpu = []", 'run.cpu: must be "any", "auto", the number of a CPU or an array of such numbers'),
        (
            "",
            "cpu = true",
            'run.cpu: must be "any", "auto", the number of a CPU or an array of such numbers (given: true)',
        ),
        ("", "priority = 20", "run.priority: must be less than or equal to 19 (given: 20)"),
        ("", "priority = -21", "run.priority: must be greater than or equal to -20 (given: -21)"),
        (
            "",
            'randomise = ["stack"]',
            "run.randomise[0]: must be 'env-size', 'stack-offset', 'heap-offset' or 'mmap-offset' (given: 'stack')",
        ),
        (
            "memory_limit = '2 gigs'",
            "",
            "benchmarks[0].memory_limit: must be bytes, or a number and one of B, KiB, KB, MiB, MB, GiB, GB, TiB, TB (given: '2 gigs')",
        ),
        ("output_limit = 0", "", "benchmarks[0].output_limit: must be from 1 byte to 2^63 - 1 (given: 0)"),
        ("output_limit = true", "", "benchmarks[0].output_limit: must be a whole number (given: true)"),
        (
            "metric = {counters = ['a,b']}",
            "",
            "benchmarks[0].metric.counters: 'a,b' is not the name of one event; `perf list` names those of this machine",
        ),
        (
            "metric = {counters = ['a', 'a']}",
            "",
            "benchmarks[0].metric.counters: 'a' and 'a' are both called a; leave one out",
        ),
    ],
)
def test_wrong_settings(benchmark, run, problem):
    with pytest.raises(ConfigError) as caught:
        make_config(WALL + benchmark, run=run)
    assert caught.value.problems == [problem]


def test_settings_are_kept_in_plain_values():
    config = make_config(WALL + 'memory_limit = "1.5 GiB"', run="cpu = 3")
    assert (config.benchmarks[0].memory_limit, config.run.cpu, config.run.priority) == (3 << 29, [3], None)
    text = Path(__file__).parents[2].joinpath("templates/layoutrand.toml.j2").read_text("utf-8")
    assert "# cpu = " in text


@pytest.mark.parametrize(
    ("instrument", "given_"),
    [
        ("native", {"stack_offset", "memory_limit", "output_limit", "priority", "cpus", "siblings"}),
        ("perf", {"memory_limit", "output_limit", "priority", "cpus", "siblings"}),
        ("cachegrind", {"output_limit", "priority", "cpus", "siblings"}),
    ],
)
def test_what_applies_to_which_instrument(instrument, given_):
    """A simulator needs memory of its own, and neither it nor perf starts the program as we do."""
    benchmark = WALL + 'memory_limit = "1GiB"\noutput_limit = "1GiB"\n'
    config = make_config(benchmark, run='randomise = ["stack-offset"]\npriority = 3')
    slot = Slot(system="a", benchmark="b", layout=1, instrument=instrument, round=1, repetition=0, order=0)
    conditions = conditions_of(config, Placement((1,), (2,)), slot, config.benchmarks[0])
    assert conditions.facts().keys() == given_


@pytest.mark.usefixtures("valgrind")
def test_a_simulation_under_conditions_counts_the_same(project):
    """To the digit, wherever it is executed."""
    benchmark = WALL + 'metric = {cachegrind = true}\nmemory_limit = "1MiB"\noutput_limit = "1GiB"\n'
    counts = []
    for run in ("", 'cpu = "auto"\npriority = 19\nrandomise = ["stack-offset"]'):
        config = make_config(benchmark, systems=("a",), run=run)
        assert project.run(config, elf_binaries(project, layouts=(1,)), measure).failures == ()
        (row,) = project.executions(config)
        counts.append({m.metric: m.value for m in row.measurements})
    assert counts[0] == counts[1]
    assert counts[0]["instructions"] > 10_000
