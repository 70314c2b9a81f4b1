"""A function in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keptkit import marked, wait_until
from layoutrand.errors import ClusterError
from layoutrand.platform.child import call

MODULE = "childkit"


def test_the_answer_is_not_mixed_with_what_is_printed():
    pid, *rest = call(MODULE, ["echo", "ä", b"\xff" * 200_000, {"a": 1}])
    assert pid != os.getpid()
    assert rest == ["ä", b"\xff" * 200_000, {"a": 1}]


def test_modules_of_the_working_directory_are_not_imported(tmp_path, monkeypatch):
    """A project may have a file of any name, and a worker may be started there."""
    for name in ("struct", "pickle", "tempfile"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert call(MODULE, ["echo", 1])[1:] == [1]


def test_an_exception_there_says_what_it_was():
    with pytest.raises(ClusterError, match=r"(?s)the process that measures ended with status 1:.*ValueError: as asked"):
        call(MODULE, ["raise"])


def test_a_killed_process_is_told():
    with pytest.raises(ClusterError, match="the process that measures was killed by signal 9"):
        call(MODULE, ["die"])


def test_it_is_interrupted_when_its_parent_dies(tmp_path):
    """kill -9 of the parent: the child hears of it and cleans up."""
    mark = tmp_path / "mark"
    code = f"from layoutrand.platform.child import call; call({MODULE!r}, ['wait', {str(mark)!r}])"
    parent = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    )
    pid = int(_content(mark))
    parent.kill()
    parent.wait()
    ended = Path(f"{mark}.ended")
    _content(ended)
    end = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and _state(pid) != "Z":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_it_started_ends_with_it_when_it_is_killed(tmp_path):
    """Beside other measurements of the node nothing of it may go on."""
    mark = tmp_path / "mark"
    with ThreadPoolExecutor() as pool:
        calling = pool.submit(call, MODULE, ["start", str(mark), str(tmp_path)])
        pid = int(_content(mark))
        assert wait_until(lambda: marked(str(tmp_path)))
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ClusterError, match="the process that measures was killed by signal 9"):
            calling.result(60)
    assert wait_until(lambda: not marked(str(tmp_path)))


def _content(path):
    """What is in the file as soon as there is one."""
    end = time.monotonic() + 60
    while not path.exists() or not (path.read_text() or path.suffix == ".ended"):
        assert time.monotonic() < end
        time.sleep(0.01)
    return path.read_text()


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"
