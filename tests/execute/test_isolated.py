"""Executions in a control group: the same as without, but for what the group adds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest

from fakes import shell_binaries
from faultkit import Project
from layoutrand.config.conditions import Conditions
from layoutrand.config.topology import Placement
from layoutrand.errors import FeatureUnsupported
from layoutrand.execute import isolated as isolating
from layoutrand.execute.isolated import isolated
from layoutrand.execute.measure import Command, measure
from layoutrand.platform.control_groups import ControlGroup, NoPlace, OwnGroups, Place
from layoutrand.platform.proc_files import text
from layoutrand.platform.standing_child import ChildGone
from workshop import require_control_groups


@pytest.fixture
def place():
    """Where groups are made, none of ours before and none after."""
    found = require_control_groups()
    yield found
    assert ours(found) == []


@pytest.fixture
def command(tmp_path):
    def make(script, **changes):
        base = Command(
            argv=("/bin/sh", "-c", script),
            env={"PATH": "/usr/bin:/bin"},
            cwd=tmp_path,
            stdin=None,
            stdout=tmp_path / "stdout",
            stderr=tmp_path / "stderr",
            timeout_s=60,
        )
        return replace(base, **changes)

    return make


def ours(place):
    return sorted(place.directory.glob(f"layoutrand-{os.getpid()}-*"))


def runs(pid):
    """Whether the process runs; a zombie does not."""
    found = text(f"/proc/{pid}/stat")
    return bool(found) and found.rpartition(")")[2].split()[0] != "Z"


def gone(pid):
    deadline = time.monotonic() + 20
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not runs(pid)


def limiting(place, *limits):
    """Skip where groups have not the controllers for these limits, as on a machine that mounts version 1 beside."""
    if missing := set(limits) - set(place.limits):
        pytest.skip(f"control groups in {place.directory} cannot limit {', '.join(sorted(missing))}")


def test_what_a_program_sees_is_what_it_sees_without_a_group(place, command, tmp_path):
    """Environment, descriptors, signals and limits; sessions are their own anyway."""
    script = (
        "cat /proc/$$/environ; ls /proc/self/fd; grep -E '^Sig[^Q]|Cpus|Seccomp:' /proc/self/status; ulimit -a; nice"
    )
    seen = []
    with isolated("control-group") as executor:
        for execute in (executor, measure):
            outcome = execute(command(script, env={"PATH": "/usr/bin:/bin", "Ä b": "1", "A": ""}))
            assert (outcome.status, outcome.returncode) == ("ok", 0)
            seen.append((tmp_path / "stdout").read_bytes())
    assert seen[0] == seen[1]


def test_a_program_begins_in_a_group_of_its_own(place, command, tmp_path):
    with isolated("control-group") as executor:
        own = []
        for _ in range(2):
            outcome = executor(command("cat /proc/self/cgroup"))
            own += [line for line in (tmp_path / "stdout").read_text().splitlines() if line.startswith("0::")]
            assert outcome.isolation["isolation"] == "control-group"
            assert not list(ours(place)[0].glob("execution*"))
    assert len(set(own)) == 2
    assert all(f"/layoutrand-{os.getpid()}-" in line for line in own)


def test_outcomes_are_those_without_a_group(place, command, tmp_path):
    with isolated("control-group") as executor:
        for execute in (executor, measure):
            found = [
                execute(command("exit 3")),
                execute(command("kill -SEGV $$; sleep 5")),
                execute(command("exec sleep 60", timeout_s=0.1)),
                execute(command("", argv=("/nowhere/program",))),
            ]
            assert [(each.status, each.returncode, each.signal) for each in found] == [
                ("exit", 3, None),
                ("signal", None, signal.SIGSEGV),
                ("timeout", None, signal.SIGTERM),
                ("start", None, None),
            ]
            with pytest.raises(FileNotFoundError):
                execute(command("", stdin=tmp_path / "nowhere"))
            with pytest.raises(FileNotFoundError):
                execute(command("", stdout=tmp_path / "no" / "where"))


def test_cpu_time_is_of_the_whole_tree_and_none_is_taken_for_others(place, command):
    """A daemon that nobody waits for works; layoutrand's reading of its own children would miss it."""
    burn = "while :; do :; done"
    script = f"setsid sh -c 'timeout 1 sh -c \"{burn}\"; touch done' & until [ -e done ]; do sleep 0.05; done"
    with isolated("control-group") as executor:
        outcome = executor(command(script))
    assert outcome.status == "ok"
    assert outcome.isolation["tree_cpu_s"] > outcome.rusage["user_s"] + outcome.rusage["system_s"]
    assert outcome.unseen_cpu_s >= outcome.isolation["tree_cpu_s"] - 0.05
    assert measure(command("exit 0")).unseen_cpu_s == 0


def test_conditions_hold_in_a_group(place, command, tmp_path):
    cpu = min(os.sched_getaffinity(0))
    conditions = Conditions(placement=Placement((cpu,), ()), priority=5)
    with isolated("control-group") as executor:
        executor(command("nice; grep Cpus_allowed_list /proc/self/status", conditions=conditions))
    assert (tmp_path / "stdout").read_text().split() == ["5", "Cpus_allowed_list:", str(cpu)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tree(place, tmp_path, number):
    """Ctrl-C is an exception and takes the group away as well; the others end this process as they do without groups."""
    pid, ended = interrupted(tmp_path, number)
    assert ended == -number
    assert gone(pid)
    name = f"layoutrand-{(tmp_path / 'own').read_text()}-*"
    left = []
    for each in place.directory.glob(f"{name}/*/cgroup.procs"):
        with suppress(OSError):  # another test's has just taken what is left away
            left.append(each.read_text())
    assert left in ([], [""])
    assert number != signal.SIGINT or not list(place.directory.glob(name))
    with isolated("control-group"):
        assert not list(place.directory.glob(name))


def test_what_a_killed_layoutrand_executed_ends_and_its_group_goes_with_the_next(place, tmp_path):
    """It ends at once, as who measures is told of the end; what lies there afterwards is empty, and ours."""
    pid, ended = interrupted(tmp_path, signal.SIGKILL)
    assert ended == -signal.SIGKILL
    assert gone(pid)
    name = f"layoutrand-{(tmp_path / 'own').read_text()}-*"
    assert list(place.directory.glob(name))
    deadline = time.monotonic() + 20
    while list(place.directory.glob(name)) and time.monotonic() < deadline:
        with isolated("control-group"):
            pass
    assert not list(place.directory.glob(name))


def interrupted(tmp_path, number):
    """Send a signal to a process that executes one that ignores signals in a session of its own; its pid, our end."""
    script = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from layoutrand.execute.isolated import isolated
from layoutrand.execute.measure import Command
here = Path({str(tmp_path)!r})
(here / "own").write_text(str(os.getpid()))
script = "trap '' TERM INT HUP; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done"
argv = ("/bin/sh", "-c", f'setsid sh -c "{{script}}" & wait'.replace("$$", r"\\$\\$"))
command = Command(argv, dict(os.environ), here, None, here / "out", here / "err", 60.0)
with isolated("control-group") as executor:
    executor(command)
"""
    program = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    written = tmp_path / "pid"
    while not written.exists():
        assert program.poll() is None
        time.sleep(0.01)
    program.send_signal(number)
    return int(written.read_text()), program.wait(30)


def allocating(mebibytes, after=""):
    script = f"x = bytearray({mebibytes} << 20)\nfor place in range(0, len(x), 4096): x[place] = 1\n{after}"
    return (sys.executable, "-I", "-S", "-c", f"import os, time\n{script}")


def test_a_limit_of_memory_is_for_all_processes_together(place, command):
    limiting(place, "memory")
    limited = Conditions(memory_limit=100 << 20)
    with isolated("control-group") as executor:
        assert executor(command("", argv=allocating(20), conditions=limited)).status == "ok"
        two = executor(
            command("", argv=allocating(1, "os.fork(); y = b'x' * (60 << 20); time.sleep(60)"), conditions=limited)
        )
        assert (two.status, two.returncode, two.signal) == ("memory-limit", None, None)
        assert "all its processes together reached memory_limit = 100 MiB" in two.reason
        assert two.isolation["tree_memory_peak"] <= 100 << 20
        behind = command('setsid "$0" "$@" & sleep 60', conditions=limited)
        behind = replace(behind, argv=(*behind.argv, *allocating(200)))
        assert executor(behind).status == "memory-limit"
        assert executor(command("exit 0")).status == "ok"


def test_a_limit_of_processes(place, command):
    limiting(place, "processes")
    script = "for i in 1 2 3; do sleep 0.2 & done; wait"
    with isolated("control-group") as executor:
        enough = executor(command(script, conditions=Conditions(process_limit=4)))
        assert (enough.status, enough.isolation["tree_tasks_peak"]) == ("ok", 4)
        few = executor(command(script, conditions=Conditions(process_limit=3)))
        assert few.status == "exit"
        assert few.reason.endswith("(process_limit = 3 kept it from starting 1 more)")
        assert executor(command("exit 0", conditions=Conditions(process_limit=1, priority=5))).status == "ok"


def test_what_had_controllers_has_them_no_more_and_we_are_where_we_were(place, command):
    limiting(place, "memory", "processes")
    before = [text(each) for each in ("/proc/self/cgroup", place.directory / "cgroup.subtree_control")]
    with isolated("control-group") as executor:
        assert executor(command("exit 0")).isolation["tree_limits"] == ["memory", "processes"]
    assert [text(each) for each in ("/proc/self/cgroup", place.directory / "cgroup.subtree_control")] == before


class Killed:
    """Who measures, ended with the group by the kernel; the files are what it leaves of the group."""

    pid = 1

    def __init__(self, *_words):
        pass

    def ask(self, question, _interrupts):
        left = {
            "cgroup.kill": "",
            "cgroup.events": "populated 0",
            "cpu.stat": "usage_usec 2000000",
            "memory.events": f"oom_kill {2 if question.memory else 0}",
            "pids.peak": "5",
        }
        question.group.mkdir()
        for name, content in left.items():
            (question.group / name).write_text(content)
        raise ChildGone(-9, "")

    def close(self):
        pass


def test_at_the_limit_of_memory_who_measures_ends_as_well_which_is_a_failure_of_the_program(
    tmp_path, command, monkeypatch
):
    monkeypatch.setattr(isolating, "find_place", lambda: Place(tmp_path, ("memory",)))
    monkeypatch.setattr(isolating, "own_groups", lambda place: nullcontext(OwnGroups(tmp_path, place.limits)))
    monkeypatch.setattr(isolating, "StandingChild", Killed)
    monkeypatch.setattr(ControlGroup, "remove", lambda _group: None)
    with isolated("auto") as executor:
        outcome = executor(command("exit 0", conditions=Conditions(memory_limit=1 << 30)))
        assert (outcome.status, outcome.returncode, outcome.rusage) == ("memory-limit", None, {})
        assert outcome.reason.startswith("all its processes together reached memory_limit = 1 GiB")
        assert outcome.isolation == {"isolation": "control-group", "tree_limits": ["memory"], "tree_cpu_s": 2.0}
        with pytest.raises(FeatureUnsupported, match="status -9"):
            executor(command("exit 0"))


def test_who_measures_is_killed_by_somebody(place, command, tmp_path):
    """No outcome is made up, nothing stays behind, and the message says what to do."""
    with isolated("control-group") as executor:
        with pytest.raises(FeatureUnsupported, match=r'status -9; all finished.*run\.isolation = "process-group"'):
            executor(command("sleep 600 & echo $! > left; kill -KILL $PPID; wait"))
        assert gone(int((tmp_path / "left").read_text()))
        with pytest.raises(FeatureUnsupported, match="status -9"):
            executor(command("exit 0"))


def test_without_a_place_auto_is_a_process_group_and_a_wish_is_an_error(monkeypatch, command):
    monkeypatch.setattr(isolating, "find_place", lambda: NoPlace("there is none", "make one"))
    with isolated("auto") as executor:
        assert executor(command("exit 0")).isolation == {}
    with pytest.raises(FeatureUnsupported, match="there is none; nothing was executed. What helps: make one"):
        isolated("control-group").__enter__()


def test_a_limit_of_processes_needs_a_group(command):
    with isolated("process-group") as executor, pytest.raises(FeatureUnsupported, match="doctor"):
        executor(command("exit 0", conditions=Conditions(process_limit=3)))


def test_who_measures_imports_nothing_that_takes_long():
    """Each call starts it: with numpy and pydantic that took three times as long."""
    script = (
        "import sys, layoutrand.execute.isolated; print([n for n in ('numpy', 'pydantic', 'rich') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_it_is_recorded_and_a_neighbour_is_not_made_of_us(place, tmp_path):
    """The CPU time of who measures and of its children is layoutrand's own, and disturbs nothing."""
    project = Project(tmp_path)
    binaries = shell_binaries(
        tmp_path / "c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done", systems=("a",), layouts=(1, 2, 3)
    )
    with isolated("control-group") as executor:
        project.run(binaries, executor=executor)
    found = project.executions()
    assert [each.conditions["isolation"] for each in found] == ["control-group"] * 3
    for each in found:
        assert each.host_state["own_cpu_s"] >= each.conditions["tree_cpu_s"] - 0.02
        json.dumps(dict(each.conditions))
