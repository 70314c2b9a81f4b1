"""What somebody has found in a cache is not evicted until that process has ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from layoutrand.cache.in_use import evicting
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect
from layoutrand.platform.disk import sha256_bytes


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def put(cache, key, used_at=1000):
    with cache.scratch("entry") as scratch:
        (scratch / "prog").write_bytes(key.encode())
        cache.commit_binary(scratch, key, {"sha256": sha256_bytes(key.encode()), "system": "a", "layout": 1})
    os.utime(cache.root / "binaries" / key / "meta.json", (used_at, used_at))


def user(cache, key, then="sys.stdin.read()"):
    """Another process that has found the binary and goes on as ``then`` says."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom layoutrand.cache.store import Cache\n"
        f"print(Cache(Path({str(cache.root)!r})).load_binary({key!r}, 'prog') is not None, flush=True)\n{then}\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "True\n"
    return process


def names(entries):
    return [entry.name for entry in entries]


def test_what_another_process_has_found_stays_and_the_rest_goes(cache):
    put(cache, "found")
    put(cache, "other")
    with user(cache, "found") as process:
        done = collect(cache, 0)
        assert (names(done.evicted), names(done.in_use)) == (["other"], ["found"])
        assert (cache.root / "binaries/found/prog").exists()
        process.stdin.close()
        assert process.wait() == 0
    assert names(collect(cache, 0).evicted) == ["found"]


def test_the_use_of_a_process_ends_with_it_however_it_ends(cache):
    put(cache, "found")
    with user(cache, "found") as process:
        process.send_signal(signal.SIGKILL)
    assert names(collect(cache, 0).evicted) == ["found"]


def test_files_of_killed_processes_are_removed_by_whoever_evicts(cache):
    put(cache, "found")
    before = set(cache.locks().glob("use-*"))
    with user(cache, "found") as process:
        process.send_signal(signal.SIGKILL)
    assert len(set(cache.locks().glob("use-*")) - before) == 1
    collect(cache, 0)
    assert set(cache.locks().glob("use-*")) == before


def test_a_process_that_ends_leaves_nothing_of_its_use(cache):
    put(cache, "found")
    before = set(cache.locks().glob("use-*"))
    with user(cache, "found", then="") as process:
        process.wait()
    assert set(cache.locks().glob("use-*")) == before


def test_a_process_evicts_what_it_has_found_itself(cache):
    """It knows best whether it still needs it."""
    put(cache, "k")
    assert cache.load_binary("k", "prog") is not None
    assert names(collect(cache, 0).evicted) == ["k"]


def test_what_another_process_makes_stays_too(cache):
    then = (
        "from layoutrand.build.binaries import store_file\n"
        f"store_file(Cache(Path({str(cache.root)!r})), 'a', 'prog', 1, 'made', b'x')\nprint('made', flush=True)\n"
        "sys.stdin.read()"
    )
    put(cache, "found")
    with user(cache, "found", then) as process:
        assert process.stdout.readline() == "made\n"
        assert sorted(names(collect(cache, 0).in_use)) == ["found", "made"]
        process.stdin.close()


def test_nothing_is_found_while_something_is_evicted(cache):
    """Else it might be found, and be gone before it is known to be in use."""
    put(cache, "k")
    found = threading.Event()

    def find():
        cache.load_binary("k", "prog")
        found.set()

    with evicting(cache.locks()):
        thread = threading.Thread(target=find)
        thread.start()
        assert not found.wait(0.2)
    thread.join()
    assert found.is_set()


def test_gc_says_what_stays(cache, monkeypatch):
    put(cache, "found")
    monkeypatch.setenv("LAYOUTRAND_CACHE", str(cache.root))
    with user(cache, "found") as process:
        done = subprocess.run(
            [sys.executable, "-m", "layoutrand", "cache", "gc", "--max-size", "0"], capture_output=True, text=True
        )
        process.stdin.close()
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0
    assert "0 entries evicted" in said
    assert re.search(r"1 entry of \d+ KiB stays, since another layoutrand may be using it", said)


@pytest.mark.parametrize("name", ["eviction.lock", "use-0"])
def test_nobody_waits_for_who_would_write_into_a_lock(cache, name):
    """A FIFO in its place is locked as a file is: another process, which could be ended, finds and evicts."""
    put(cache, "found")
    put(cache, "other")
    (cache.locks() / name).unlink(missing_ok=True)
    os.mkfifo(cache.locks() / name)
    script = (
        "from pathlib import Path\nfrom layoutrand.cache.store import Cache\nfrom layoutrand.cache.upkeep import collect\n"
        f"cache = Cache(Path({str(cache.root)!r}))\n"
        "assert cache.load_binary('found', 'prog') is not None\nprint(*(each.name for each in collect(cache, 0).evicted))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "other" in done.stdout.split(), done.stderr
