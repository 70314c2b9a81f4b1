"""Several processes at once, kill -9 at any point, Ctrl-C: nothing finished is lost and nothing runs on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from layoutrand.cache import upkeep as caches
from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from workshop import Workshop, alive, ended, finish, hashes, main_calling, many_functions, start

UNITS = 4
BUILD = "for f in *.c; do sleep 0.05; $CC -c $f; done; $CC -o prog *.o"


@pytest.fixture
def project(gnu: Workshop) -> Workshop:
    """A program that takes about a second to build, with its layoutrand.toml."""
    gnu.write_named({f"u{k}.c": many_functions(5, prefix=f"u{k}_") for k in range(UNITS)})
    gnu.write(main__c=main_calling(*(f"u{k}_4" for k in range(UNITS))))
    (gnu.project / "layoutrand.toml").write_text(gnu.toml([BUILD]))
    return gnu


def descendants(pid: int) -> set[int]:
    """All processes below this one, at this moment."""
    import psutil

    try:
        return {child.pid for child in psutil.Process(pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()


@pytest.mark.slow
def test_two_processes_share_one_cache(project: Workshop) -> None:
    """Two builds begun together give the same binaries; the source is built once, the other process waits for it."""
    both = [start(project, "--seeds", "6"), start(project, "--seeds", "6")]
    documents = [finish(process) for process in both]
    assert hashes(documents[0]) == hashes(documents[1])
    assert sorted(document["capture"]["cached"] for document in documents) == [False, True]
    assert verify(Cache(project.cache)) == []
    assert not list((project.cache / "work").iterdir())


@pytest.mark.slow
def test_two_processes_of_different_seeds(project: Workshop) -> None:
    """Processes that want overlapping seeds each get all of theirs."""
    both = [start(project, "--seeds", "1..5"), start(project, "--seeds", "3..8")]
    first, second = (hashes(finish(process)) for process in both)
    assert {layout: first[layout] for layout in (3, 4, 5)} == {layout: second[layout] for layout in (3, 4, 5)}
    assert verify(Cache(project.cache)) == []


@pytest.mark.slow
@pytest.mark.parametrize("moments", [2, pytest.param(40, marks=pytest.mark.hour)])
def test_killed_at_any_point(project: Workshop, moments: int) -> None:
    """After kill -9 at several moments of a build the same call completes, with the bytes of an undisturbed one."""
    begin = time.monotonic()
    undisturbed = Workshop(project.project, project.cache.parent / "undisturbed")
    wanted = hashes(finish(start(undisturbed, "--seeds", "5")))
    whole = time.monotonic() - begin
    for moment in range(moments):
        process = start(project, "--seeds", "5")
        time.sleep(whole * (moment + 1) / (moments + 1))
        below = descendants(process.pid)
        process.kill()
        process.communicate()
        for child in below:  # what a kill -9 leaves running would end by itself; here it need not be waited for
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
    assert hashes(finish(start(project, "--seeds", "5"))) == wanted
    assert verify(Cache(project.cache)) == []


@pytest.mark.slow
def test_killed_while_linking(project: Workshop) -> None:
    """A kill amid the links keeps the finished ones: the next call makes the missing ones alone."""
    finish(start(project, "--seeds", "1"))
    kept: set[Path] = set()
    for delay in (0.45, 0.55, 0.65, 0.8):
        process = start(project, "--seeds", "300")
        time.sleep(delay)
        process.kill()
        process.communicate()
        now = set((project.cache / "binaries").iterdir())
        assert kept <= now
        kept = now
    assert verify(Cache(project.cache)) == []
    document = finish(start(project, "--seeds", "40"))
    assert len(document["binaries"]) == 42


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_an_interrupt_ends_everything(project: Workshop, number: signal.Signals) -> None:
    """Ctrl-C or a polite kill during a build ends at once, says so, leaves no process, and loses nothing."""
    marker = project.project / "started"
    slow = project.toml([f"touch '{marker}'; [ -e '{marker}.fast' ] || (sleep 300 & sleep 300; wait)", BUILD])
    (project.project / "layoutrand.toml").write_text(slow)
    process = start(project, "--seeds", "3", "-j", "2")
    deadline = time.monotonic() + 30
    while not marker.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    below = descendants(process.pid)
    assert below
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)  # not the 300 seconds that the build would take
    assert process.returncode == 130
    assert "interrupted; everything finished is kept" in stderr
    assert "Traceback" not in stderr
    assert ended(*below)
    assert not list((project.cache / "work").iterdir())
    (project.project / "started.fast").write_text("")
    finish(start(project, "--seeds", "3"))


def test_abandoned_work_is_cleared(project: Workshop) -> None:
    """What a killed build left in the cache goes with `cache gc`, and what a living one uses stays."""
    process = start(project, "--seeds", "3")
    deadline = time.monotonic() + 30
    work = project.cache / "work"
    while time.monotonic() < deadline and not (work.exists() and list(work.glob("b*/src/*.o"))):
        time.sleep(0.02)
    for folder in work.iterdir():
        os.utime(folder, (1_000_000_000, 1_000_000_000))  # as after a long build: only its subdirectories change
    caches.collect(Cache(project.cache), 10**12)
    in_use = list(work.iterdir())
    assert in_use
    below = descendants(process.pid)
    process.kill()
    process.communicate()
    for child in below:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(alive(child) for child in below):
        time.sleep(0.02)  # a killed process holds its locks until it is gone
    for folder in in_use:
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    caches.collect(Cache(project.cache), 10**12)
    assert not list(work.iterdir())
