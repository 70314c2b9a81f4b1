"""Processes are known by a variable that they were started with, also while the kernel still lays them out."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from layoutrand.platform.orphans import is_at_work, was_given


@pytest.fixture
def sleeper():
    """Starts `sleep` with an environment."""
    started = []

    def start(env):
        started.append(subprocess.Popen(["/bin/sleep", "600"], env=env))
        return Path(f"/proc/{started[-1].pid}")

    yield start
    for child in started:
        child.kill()
        child.wait()


def test_a_process_is_known_as_soon_as_it_is_started(sleeper):
    for number in range(50):
        entry = sleeper({"MARK": str(number), "OTHER": "1"})
        assert was_given(entry, {f"MARK={number}".encode(), b"X=1"})
        assert not was_given(entry, {b"MARK", b"X=1"})


def test_an_empty_environment_is_none(sleeper):
    assert not was_given(sleeper({}), {b"MARK=1"})


def test_who_has_ended_is_nobody():
    child = subprocess.Popen(["/bin/true"], env={"MARK": "1"})
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(OSError):
        was_given(Path(f"/proc/{child.pid}"), {b"MARK=1"})
    child.wait()


def test_what_is_being_laid_out_is_looked_at_again(tmp_path):
    (tmp_path / "exe").symlink_to("/bin/sleep")
    (tmp_path / "environ").touch()
    fields = ["1"] * 50
    fields[48] = "0"
    (tmp_path / "stat").write_text(f"7 (a b) {' '.join(fields)}\n")
    later = threading.Timer(0.05, (tmp_path / "environ").write_bytes, [b"MARK=1\0"])
    later.start()
    assert was_given(tmp_path, {b"MARK=1"})
    later.join()


def test_who_has_ended_is_not_at_work_though_nobody_waited_for_it():
    child = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_at_work(child.pid)
    child.wait()
    assert not is_at_work(child.pid)
    assert is_at_work(os.getpid())
