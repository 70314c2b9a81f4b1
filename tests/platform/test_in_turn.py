"""Programs that take turns."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from layoutrand.errors import ToolNotFound
from layoutrand.platform.process import Completed, InTurn, SubprocessRunner, Turns


class Counting(SubprocessRunner):
    """Runs nothing, and counts how many calls there are at one time; each waits until two have come."""

    def __init__(self):
        """Nothing has come."""
        super().__init__()
        self.lock = threading.Lock()
        self.two_here = threading.Event()
        self.here = self.most = 0

    def run(self, argv, *, cwd, env):
        """Come, wait for the second, go."""
        with self.lock:
            self.here += 1
            self.most = max(self.most, self.here)
            if self.here == 2:
                self.two_here.set()
        assert self.two_here.wait(60)
        with self.lock:
            self.here -= 1
        return Completed(0, argv[0].encode(), b"")


def test_no_more_than_were_allowed_run_at_a_time():
    counting = Counting()
    runner = InTurn(counting, Turns(2))
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda k: runner.run([str(k)], cwd=Path(), env={}).stdout, range(30)))
    assert answers == [str(k).encode() for k in range(30)]
    assert counting.most == 2


def test_an_error_gives_the_turn_back():
    runner = InTurn(SubprocessRunner(), Turns(1))
    for _ in range(3):
        with pytest.raises(ToolNotFound):
            runner.run(["/no/such/program"], cwd=Path(), env={})


def test_what_is_waited_for_a_turn_is_not_the_programs_time(tmp_path):
    turns = Turns(1)
    runner = InTurn(SubprocessRunner(), turns)
    with ThreadPoolExecutor(1) as pool:
        with turns.taken():
            waiting = pool.submit(runner.run, ["/bin/true"], cwd=tmp_path, env={})
            time.sleep(0.2)
            free = time.perf_counter()
        seconds = waiting.result().seconds
    assert 0 < seconds <= time.perf_counter() - free


def test_one_more_turn_is_one_that_is_free_or_none():
    turns = Turns(2)
    with turns.taken(), turns.one_more() as first, turns.one_more() as second:
        assert (first, second) == (True, False)
    with turns.taken(2), turns.one_more() as none:
        assert not none
    with turns.taken(2):  # all are free again, or this would wait
        pass


def test_everything_else_is_handed_through(tmp_path):
    runner = InTurn(SubprocessRunner(), Turns(1))
    log = tmp_path / "log"
    assert runner.run_logged(["/bin/sh", "-c", "echo said; exit 3"], cwd=tmp_path, env={}, log=log, timeout_s=60) == 3
    assert log.read_bytes() == b"said\n"
    assert runner.run_attached(["/bin/sh", "-c", "exit 4"], cwd=tmp_path, env={}) == 4
    runner.stop()
    with pytest.raises(Exception, match="is being interrupted"):
        runner.run_logged(["/bin/true"], cwd=tmp_path, env={}, log=log, timeout_s=60)


def test_a_listener_is_told_what_each_program_has_printed(tmp_path, monkeypatch):
    heard = []

    def listen(log, begin):
        heard.append(log.read_bytes()[begin:])

    monkeypatch.setattr(SubprocessRunner, "listeners", [listen])
    for word in ("one", "two"):
        SubprocessRunner().run_logged(["/bin/echo", word], cwd=tmp_path, env={}, log=tmp_path / "log", timeout_s=60)

    assert heard == [b"one\n", b"two\n"]
