"""Where control groups may be made, and what is done in them: on this machine's, and on files that stand for others."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from layoutrand.errors import FeatureUnsupported
from layoutrand.platform.control_groups import ControlGroup, NoPlace, Place, find_place, own_groups
from workshop import require_control_groups


class Machine:
    """Files of a machine whose control groups are mounted as told, with this process in one of them."""

    def __init__(self, root, own="/user.slice/run-1.scope", mounted="/ /sys/fs/cgroup"):
        self.root = root
        self.write("proc/self/cgroup", f"1:name=systemd:/x\n0::{own}\n")
        self.write(
            "proc/self/mountinfo", f"24 30 0:22 / /sys rw - sysfs sysfs rw\n31 24 0:27 {mounted} rw - cgroup2 c rw\n"
        )
        self.home = root / "sys/fs/cgroup" / own.lstrip("/")
        self.home.mkdir(parents=True, exist_ok=True)

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content)

    def with_systemd(self, patch, delegated=""):
        """A systemd that has delegated the unit whose question, as ``systemctl`` is asked it, has these words."""
        (self.root / "run/systemd/system").mkdir(parents=True)
        asked = self.root / "bin/systemctl"
        self.write("bin/systemctl", f'#!/bin/sh\n[ "$*" = "{delegated}" ] && echo yes || echo no\n')
        asked.chmod(0o755)
        patch.setenv("PATH", str(asked.parent), prepend=os.pathsep)
        return self


def why(root):
    found = find_place(root)
    assert isinstance(found, NoPlace)
    return found.why, found.mend


def test_a_machine_without_them(tmp_path):
    assert why(tmp_path)[0] == "no control groups of version 2 are mounted"


def test_one_that_mounts_them_and_has_us_elsewhere(tmp_path):
    """As in a container that sees a part of the tree: what is above is ``/..``, and other mounts are not ours."""
    Machine(tmp_path, own="/../other")
    assert why(tmp_path)[0] == "no control groups of version 2 are mounted"
    Machine(tmp_path, own="/a", mounted="/b /sys/fs/cgroup")
    assert why(tmp_path)[0] == "no control groups of version 2 are mounted"


SHOW = "show --value --property=Delegate --"


def test_systemd_must_have_delegated_the_unit(tmp_path, monkeypatch):
    machine = Machine(tmp_path).with_systemd(monkeypatch)
    what, mend = why(tmp_path)
    assert what == f"systemd has not delegated {machine.home} to us"
    assert "systemd-run" in mend
    assert "-p Delegate=yes layoutrand run" in mend
    Machine(tmp_path / "b").with_systemd(monkeypatch, f"{SHOW} run-1.scope")
    assert why(tmp_path / "b")[0] == "this kernel cannot end a control group as a whole"  # it is past the question
    assert list(machine.home.iterdir()) == []


def test_it_is_the_innermost_unit_that_counts_and_its_own_manager_that_is_asked(tmp_path, monkeypatch):
    own = "/user.slice/user@1.service/app.slice/x.scope"
    Machine(tmp_path / "a", own=own).with_systemd(monkeypatch, f"{SHOW} user@1.service")
    assert "has not delegated" in why(tmp_path / "a")[0]
    Machine(tmp_path / "b", own=f"{own}/part/of_it").with_systemd(monkeypatch, f"--user {SHOW} x.scope")
    assert "cannot end a control group" in why(tmp_path / "b")[0]


def test_a_path_with_a_space_and_a_mount_of_a_part(tmp_path):
    Machine(tmp_path, own="/a b/c", mounted=r"/a\040b /sys/fs/cgroup/a\040b")
    assert "cannot end a control group" in why(tmp_path)[0]


def test_a_directory_that_may_not_be_written(tmp_path):
    machine = Machine(tmp_path)
    machine.home.rmdir()
    machine.home.write_text("")
    what, mend = why(tmp_path)
    assert what == f"no control group can be made in {machine.home} (Not a directory)"
    assert "the first process of a group" in mend


def test_limits_are_written_as_the_kernel_has_them(tmp_path):
    for name in ("memory.max", "memory.oom.group", "memory.swap.max", "pids.max"):
        (tmp_path / name).write_text("")
    ControlGroup(tmp_path).limit(memory=1 << 30, tasks=None)
    assert (tmp_path / "pids.max").read_text() == ""
    (tmp_path / "memory.swap.max").unlink()
    ControlGroup(tmp_path).limit(memory=1 << 20, tasks=7)
    assert (tmp_path / "memory.max").read_text()[:7] == "1048576"
    assert (tmp_path / "memory.oom.group").read_text() == "1"
    assert (tmp_path / "pids.max").read_text() == "7"
    assert not (tmp_path / "memory.swap.max").exists()


def test_usage_is_read_as_the_kernel_writes_it(tmp_path):
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    assert ControlGroup(tmp_path).usage().cpu_s == 1.5
    assert ControlGroup(tmp_path).usage().memory_peak is None
    (tmp_path / "memory.peak").write_text("4096\n")
    (tmp_path / "pids.peak").write_text("3\n")
    (tmp_path / "memory.events").write_text("low 0\noom 2\noom_kill 5\n")
    (tmp_path / "pids.events").write_text("max 9\n")
    usage = ControlGroup(tmp_path).usage()
    assert (usage.memory_peak, usage.tasks_peak, usage.memory_kills, usage.refused_starts) == (4096, 3, 5, 9)


@pytest.fixture
def place():
    return require_control_groups()


def sleeper(group, script="exec sleep 600"):
    """A process that is in the group before it begins what it does, and the end of which nobody waits for."""
    join = f"echo $$ > {group.directory}/cgroup.procs; {script}"
    return subprocess.Popen(["/bin/sh", "-c", f"{join} & wait"], start_new_session=True)


def members(group):
    return (group.directory / "cgroup.procs").read_text().split()


def test_the_end_is_one_for_all_that_is_in_it(place):
    with own_groups(place) as groups:
        group = groups.group("a")
        program = sleeper(
            group, "for i in 1 2 3; do setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & done; wait"
        )
        while len(members(group)) < 4:
            assert program.poll() is None
        group.end()
        assert members(group) == []
        group.remove()
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    assert not groups.directory.exists()


def test_two_of_us_have_a_directory_each_and_leave_the_others_alone(place):
    with own_groups(place) as first, own_groups(place) as second:
        assert first.directory != second.directory
        assert first.directory.exists()
    assert not first.directory.exists()
    assert not second.directory.exists()


def test_what_one_left_that_was_killed_is_ended_by_the_next(place, tmp_path):
    script = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from layoutrand.errors import FeatureUnsupported
from layoutrand.platform.control_groups import find_place, own_groups
with own_groups(find_place()) as groups:
    groups.group("execution").join(int(sys.argv[1]))
    open({str(tmp_path / "where")!r}, "w").write(str(groups.directory))
    os.kill(os.getpid(), 9)
"""
    with subprocess.Popen(["sleep", "600"]) as left:
        subprocess.run([sys.executable, "-c", script, str(left.pid)])
        where = Path((tmp_path / "where").read_text())
        assert where.exists()
        with own_groups(place):
            assert left.wait(20) == -signal.SIGKILL
            assert not where.exists()


def test_groups_of_others_are_left_alone(place):
    other = place.directory / f"other-{os.getpid()}"
    other.mkdir()
    try:
        with own_groups(place):
            pass
        assert other.exists()
    finally:
        other.rmdir()


def test_a_group_that_still_holds_somebody_is_not_removed_behind_his_back(place):
    with contextlib.ExitStack() as cleanup:
        groups = cleanup.enter_context(own_groups(place))
        group = groups.group("a")
        program = sleeper(group)
        while not members(group):
            assert program.poll() is None
        with pytest.raises(OSError, match="busy"):
            group.remove()
        group.end()
        program.wait()


def test_a_place_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(FeatureUnsupported, match="no control group can be made in .* any more: No such file"):
        own_groups(Place(tmp_path / "gone", ())).__enter__()
