"""Programs that behave badly: each is ended whole, and becomes an outcome or a record with its reason."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from fakes import make_binary, shell_binaries
from faultkit import WALL, Project
from layoutrand.execute.isolated import isolated
from layoutrand.execute.measure import Command, measure
from layoutrand.execute.workplace import Workplace, end_leftovers
from layoutrand.model import Stored
from layoutrand.platform import orphans
from layoutrand.results.file import results_path
from workshop import require, require_control_groups


@pytest.fixture(params=["process-group", "control-group"])
def attempt(request, tmp_path):
    """Measure one command, whose processes are known by a variable; its outcome, and that nothing of it is left."""
    if request.param == "control-group":
        require_control_groups()
    mark = f"LAYOUTRAND_TEST_MARK={tmp_path}"

    def running():
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and mark.encode() in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0"):
                    found.append(process)
        return found

    def run(*argv, timeout_s=60.0):
        env = {"PATH": "/usr/bin:/bin", "LAYOUTRAND_TEST_MARK": str(tmp_path)}
        command = Command(
            argv=argv,
            env=env,
            cwd=tmp_path,
            stdin=None,
            stdout=tmp_path / "out",
            stderr=tmp_path / "err",
            timeout_s=timeout_s,
        )
        with isolated(request.param) as executor:
            outcome = executor(command)
        assert running() == []
        return outcome

    return run


def python(script):
    return (sys.executable, "-I", "-S", "-c", script)


@pytest.mark.slow
def test_a_program_that_stops_itself_hangs_and_is_killed(attempt):
    outcome = attempt("/bin/sh", "-c", "kill -STOP $$", timeout_s=0.3)
    assert (outcome.status, outcome.signal) == ("timeout", signal.SIGKILL)


def test_what_is_stopped_in_the_background_is_killed(attempt):
    assert (
        attempt("/bin/sh", "-c", "setsid sh -c 'touch here; kill -STOP $$' & while [ ! -e here ]; do :; done").status
        == "ok"
    )


def test_a_program_that_closes_everything_is_waited_for(attempt):
    outcome = attempt(*python("import os\nos.closerange(0, 1000)\nos._exit(5)"))
    assert (outcome.status, outcome.returncode) == ("exit", 5)


def test_a_daemon_by_the_book(attempt, tmp_path):
    """Two forks, a session of its own, another directory, no descriptors, all signals ignored."""
    script = f"""
import os, signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        open({str(tmp_path / "daemon")!r}, "w").write(str(os.getpid()))
        os.closerange(0, 1000)
        signal.pause()
    os._exit(0)
os.close(writing)
os.read(reading, 1)  # until the daemon has closed the other end
"""
    assert attempt(*python(script)).status == "ok"
    assert not psutil.pid_exists(int((tmp_path / "daemon").read_text()))


@pytest.mark.parametrize("how_many", [1, 3])
def test_a_daemon_that_forks_and_exits_all_the_time(attempt, how_many):
    """It has another number whenever one looks."""
    script = f"""
import os
for _ in range({how_many}):
    if os.fork() == 0:
        os.setsid()
        while True:
            if os.fork(): os._exit(0)
"""
    assert attempt(*python(script)).status == "ok"


def test_many_daemons(attempt):
    script = """
import os, signal
for _ in range(150):
    if os.fork() == 0:
        os.setsid()
        signal.pause()
"""
    assert attempt(*python(script)).status == "ok"


@pytest.mark.slow
def test_a_timeout_ends_a_tree_of_sessions(attempt):
    script = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(6):
    os.fork()
    if os.getpid() != os.getsid(0): os.setsid()
while True: signal.pause()
"""
    assert attempt(*python(script), timeout_s=2.0).status == "timeout"


def test_an_orphan_of_another_user_is_left_alone_and_holds_nobody_up(monkeypatch):
    child = subprocess.Popen(["/bin/sleep", "600"])
    killed = []

    def kill(pid, _number):
        killed.append(pid)
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    assert orphans.end_orphans(orphans.children() - {child.pid}) == 0
    monkeypatch.undo()
    assert killed == [child.pid]
    child.kill()
    child.wait()


@pytest.mark.slow
def test_a_failed_execution_is_recorded_with_reason_signal_and_log(tmp_path):
    (tmp_path / "expected").write_text("fine\n")
    project = Project(tmp_path, WALL + 'expect_stdout = "expected"\ntimeout_s = 2\n')
    scripts = {
        1: "echo fine",
        2: "echo crashing; ulimit -c 0; kill -SEGV $$",
        3: "echo hanging; trap '' TERM; while :; do sleep 0.05; done",
        4: "echo wrong",
        5: "echo failing >&2; exit 9",
        6: "ulimit -f 1; echo fine; exec head -c 100000 /dev/zero",  # over a limit: SIGXFSZ
    }
    binaries = [make_binary(tmp_path / "c", "a", seed, f"#!/bin/sh\n{script}\n") for seed, script in scripts.items()]
    summary = project.run(binaries)
    found = {e.layout: e for e in project.executions()}
    assert {seed: (e.status, e.returncode, e.signal) for seed, e in found.items()} == {
        1: ("ok", 0, None),
        2: ("signal", None, signal.SIGSEGV),
        3: ("timeout", None, signal.SIGKILL),
        4: ("wrong-output", 0, None),
        5: ("exit", 9, None),
        6: ("signal", None, signal.SIGXFSZ),
    }
    words = {2: "SIGSEGV", 3: "timeout_s", 4: "expected 'fine', got 'wrong'", 5: "exit status 9", 6: "SIGXFSZ"}
    for seed, word in words.items():
        assert word in found[seed].reason
        assert found[seed].measurements == ()
    logs = {seed: (tmp_path / e.log / "stdout").read_bytes()[:20] for seed, e in found.items() if e.log}
    assert logs == {2: b"crashing\n", 3: b"hanging\n", 4: b"wrong\n", 5: b"", 6: logs[6]}
    assert (tmp_path / found[5].log / "stderr").read_text() == "failing\n"
    assert {f.layout for f in summary.failures} == {2, 3, 4, 5, 6}


def test_a_hundred_megabytes_of_junk_are_no_trouble(tmp_path):
    (tmp_path / "expected").write_bytes(b"\xff\x00 not this")
    project = Project(tmp_path, WALL + 'expect_stdout = "expected"\n')
    junk = "head -c 100000000 /dev/urandom; head -c 1000000 /dev/urandom >&2"
    summary = project.run(shell_binaries(tmp_path / "c", junk, systems=("a",), layouts=(1,)))
    (failure,) = summary.failures
    assert failure.status == "wrong-output"
    assert len(failure.reason) < 1000
    assert (tmp_path / failure.log / "stdout").stat().st_size == 100_000_000


def test_what_is_copied_at_any_moment_holds_all_that_was_recorded_until_then(tmp_path):
    """As after a power cut: the files as they are in the middle of an execution, without the lock and the index."""
    project, seen = Project(tmp_path), []

    def executor(command):
        copied = _copy(tmp_path, tmp_path / f"cut{len(seen)}")
        outcome = measure(command)
        seen.append(_rows(copied) if copied else [])
        return outcome

    project.run(shell_binaries(tmp_path / "c", "exit 0", systems=("a",), layouts=tuple(range(1, 9))), executor=executor)
    every = _rows(_copy(tmp_path, tmp_path / "end"))
    assert len(every) == 8
    assert seen == [every[:k] for k in range(8)]


def test_a_log_of_changes_that_was_cut_off_holds_a_prefix(tmp_path):
    """A disk that has only part of the last commit: what was committed before is there, and the file is whole."""
    project = Project(tmp_path)
    copies = []
    project.run(
        shell_binaries(tmp_path / "c", "exit 0", systems=("a",), layouts=tuple(range(1, 9))),
        progress=lambda progress: copies.append(_copy(tmp_path, tmp_path / f"cut{progress.done}")),
    )
    every = _rows(copies[-1])
    log = copies[-2].with_name("results.sqlite-wal").read_bytes()
    counts = []
    for size in range(0, len(log) + 1, 1021):
        folder = tmp_path / f"size{size}"
        folder.mkdir()
        shutil.copy(copies[-2], folder / "results.sqlite")
        (folder / "results.sqlite-wal").write_bytes(log[:size])
        found = _rows(folder / "results.sqlite")
        assert found == every[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[-1] >= 6


def _copy(project, target):
    source = results_path(project)
    target.mkdir()
    for name in ("results.sqlite", "results.sqlite-wal"):
        if source.with_name(name).exists():
            shutil.copy(source.with_name(name), target / name)
    return target / "results.sqlite"


def _rows(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'executions'").fetchall():
            return []
        return connection.execute("SELECT id, layout, started_at FROM executions ORDER BY id").fetchall()


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_the_same_call_goes_on(tmp_path):
    """The limit on the size of files stands for a disk: nothing of the results file can grow any more."""
    project = Project(tmp_path)
    binaries = shell_binaries(tmp_path / "c", "exit 0", systems=("a",), layouts=tuple(range(1, 41)))
    script = f"""
import sys, resource, signal
sys.path[:0] = {sys.path!r}
from pathlib import Path
from fakes import shell_binaries
from faultkit import Project
from layoutrand.errors import ResultsError
from layoutrand.results.file import results_path
project = Project(Path({str(tmp_path)!r}))
binaries = shell_binaries(project.root / "c", "exit 0", systems=("a",), layouts=tuple(range(1, 41)))
project.run(binaries[:1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))
done = []
try:
    project.run(binaries, progress=lambda progress: done.append(progress.done))
except ResultsError as error:
    print(len(done))
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    finished, message = ended.stdout.split("\n", 1)
    assert "All finished executions are recorded" in message
    kept = project.executions()
    assert len(kept) == int(finished) + 1 < 40
    summary = project.run(binaries)
    assert (summary.already, summary.executed) == (len(kept), 40 - len(kept))
    assert project.executions()[: len(kept)] == kept


@pytest.mark.parametrize("how", ["daemon", "environment", "valgrind"])
def test_what_a_killed_layoutrand_left_running_is_ended_whatever_it_is(tmp_path, how):
    """A daemon keeps TMPDIR; what clears its environment keeps its output; valgrind is the program that is executed."""
    if how == "valgrind":
        require("valgrind", "valgrind")
    place = Workplace(tmp_path / "work")
    room = place.prepare({"sleep": Stored(Path("/bin/sleep"))}, [])
    started = tmp_path / "started"
    wait = f"echo $$ > {started}.tmp; mv {started}.tmp {started}; exec"
    argv = {
        "daemon": ["setsid", "sh", "-c", f"cd /; {wait} sleep 600 > /dev/null 2>&1"],
        "environment": ["env", "-i", "/bin/sh", "-c", f"{wait} /bin/sleep 600"],
        "valgrind": ["sh", "-c", f"{wait} valgrind --tool=none {room.bin / 'sleep'} 600"],
    }[how]
    env = {"TMPDIR": str(room.tmp), "PATH": os.environ["PATH"]}
    with room.stdout.open("wb") as stdout, room.stderr.open("wb") as stderr:
        leftover = subprocess.Popen(argv, env=env, stdout=stdout, stderr=stderr)
    with leftover:
        while not started.exists():
            assert leftover.poll() is None
            time.sleep(0.01)
        assert end_leftovers(place.root) == 1
        assert leftover.wait(10) == -signal.SIGKILL
    assert end_leftovers(place.root) == 0


def test_an_execution_that_has_ended_is_recorded_though_ctrl_c_comes_before_that(tmp_path):
    project = Project(tmp_path)

    def executor(command):
        outcome = measure(command)
        os.kill(os.getpid(), signal.SIGINT)
        return outcome

    binaries = shell_binaries(tmp_path / "c", "exit 0", systems=("a",), layouts=(1, 2, 3))
    for finished in (1, 2, 3):
        with pytest.raises(KeyboardInterrupt):
            project.run(binaries, executor=executor)
        assert len(project.executions()) == finished
    assert project.run(binaries).executed == 0


def test_ctrl_c_before_the_program_is_started_ends_it_at_once(tmp_path):
    """It is not waited for until it has ended by itself."""
    project = Project(tmp_path)

    def executor(command):
        os.kill(os.getpid(), signal.SIGINT)
        return measure(command)

    binaries = shell_binaries(tmp_path / "c", "exec sleep 600", systems=("a",), layouts=(1,))
    with pytest.raises(KeyboardInterrupt):
        project.run(binaries, executor=executor)
    assert project.executions() == []
