"""Directories to build in whose layoutrand was killed: they and their processes go, those in use stay."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys

import pytest

from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect
from layoutrand.capture.workspace import _hold, _kernel, end_abandoned_builds, workspace

KEY = "0123456789abcdef"


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def nobody():
    """The number of a process that has ended."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    return process.pid


def place(cache, number):
    base = cache.root / "work" / f"b{KEY[:8]}-{number:07d}-abcdefgh"
    (base / "tmp").mkdir(parents=True)
    (base / "kernel").write_text(_kernel())
    return base


def test_a_killed_build_goes_with_its_processes_and_nothing_else(cache, nobody):
    base = place(cache, nobody)
    leftover = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(base / "tmp")}, start_new_session=True)
    bystander = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(base)})
    with leftover, bystander:
        assert end_abandoned_builds(cache) == 1
        assert leftover.wait(10) == -signal.SIGKILL
        assert bystander.poll() is None
        bystander.kill()
    assert not base.exists()


def test_a_build_in_another_container_that_shares_the_cache_is_left_alone(cache, nobody):
    """Its process has a number that means nothing here; the lock says that it lives."""
    base = place(cache, nobody)
    holder = _hold(base)
    child = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(base / "tmp")})
    with child:
        assert end_abandoned_builds(cache) == 0
        assert child.poll() is None
        child.kill()
    assert base.exists()
    os.close(holder)
    assert end_abandoned_builds(cache) == 0
    assert not base.exists()


def test_gc_leaves_a_build_alone_that_was_put_back_where_one_that_has_ended_made_it(cache, nobody):
    """However long that is ago."""
    base = place(cache, nobody)
    with workspace(cache, KEY, at=base):
        os.utime(base, (1, 1))
        collect(cache, 0)
        assert base.exists()
    base = place(cache, nobody)
    os.utime(base, (1, 1))
    collect(cache, 0)
    assert not base.exists()


def test_a_build_on_another_host_that_shares_the_cache_is_left_alone(cache, nobody):
    """Its file system may keep locks to one host."""
    base = place(cache, nobody)
    (base / "kernel").write_text("another boot")
    assert end_abandoned_builds(cache) == 0
    (base / "kernel").unlink()
    assert end_abandoned_builds(cache) == 0
    assert base.exists()


def test_a_build_that_has_not_taken_its_lock_yet_is_left_alone(cache):
    base = place(cache, os.getpid())
    assert end_abandoned_builds(cache) == 0
    assert base.exists()


def test_a_build_in_use_is_left_alone_by_other_processes(cache):
    script = (
        "from pathlib import Path\nfrom layoutrand.cache.store import Cache\n"
        f"from layoutrand.capture.workspace import end_abandoned_builds\nprint(end_abandoned_builds(Cache(Path({str(cache.root)!r}))))"
    )
    with workspace(cache, KEY) as space:
        child = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(space.temporary)})
        with child:
            assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "0\n"
            assert child.poll() is None
            child.kill()
        assert space.base.exists()
    assert not space.base.exists()


def test_what_a_build_that_fails_leaves_running_is_ended(cache):
    with pytest.raises(ValueError), workspace(cache, KEY) as space:
        child = subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": str(space.temporary)}, start_new_session=True)
        raise ValueError
    assert child.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize("name", ["b01234567-x-abcdefgh", "b01234567-9999999-abcdefgh"])
def test_what_is_no_directory_of_ours_is_left_alone(cache, name):
    (cache.root / "work" / name).symlink_to(cache.root)
    assert end_abandoned_builds(cache) == 0
    assert (cache.root / "work" / name).is_symlink()


def test_a_kill_at_any_moment_of_the_removal_leaves_nothing_for_good(cache, nobody, monkeypatch):
    """Whatever is removed first, second, ... : what is left until then is known for what it is."""
    removals = 0
    while True:
        base = place(cache, nobody)
        for name in ("bin", "src/deep", "rec"):
            (base / name).mkdir(parents=True)
            (base / name / "file").touch()
        left = removals

        def killed(call, *arguments, **options):
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return call(*arguments, **options)

        with monkeypatch.context() as patched:
            for name in ("unlink", "rmdir"):
                patched.setattr(os, name, functools.partial(killed, getattr(os, name)))
            try:
                end_abandoned_builds(cache)
            except KeyboardInterrupt:
                removals += 1
            else:
                break
        if base.exists():
            os.utime(base, (1000, 1000))
        assert end_abandoned_builds(cache) == 0
        assert not base.exists(), f"killed after {removals - 1} removals it stays"
    assert removals >= 9


def test_a_directory_that_was_made_just_now_is_left_alone_while_nothing_is_in_it(cache, nobody):
    base = cache.root / "work" / f"b{KEY[:8]}-{nobody:07d}-abcdefgh"
    base.mkdir()
    assert end_abandoned_builds(cache) == 0
    assert base.exists()
