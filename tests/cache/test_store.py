"""What is in the cache, while others use it."""

import os
import threading

import pytest

from layoutrand.build.binaries import store_file
from layoutrand.cache.linked_check import verify
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import entries
from layoutrand.errors import CacheError
from layoutrand.platform.disk import sha256_bytes
from overwrite import overwrite


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def put(cache, key, content=b"program"):
    with cache.scratch("entry") as scratch:
        (scratch / "prog").write_bytes(content)
        cache.commit_binary(scratch, key, {"sha256": sha256_bytes(content), "system": "a", "layout": 1})


def used_at(cache, key, at=None):
    record = cache.root / "binaries" / key / "meta.json"
    if at is not None:
        os.utime(record, (at, at))
    return record.stat().st_mtime


def test_a_binary_that_is_loaded_counts_as_used_and_one_that_is_verified_does_not(cache):
    """Else what nobody asked for since would be kept, and what is in use evicted, after each `cache verify`."""
    put(cache, "k")
    used_at(cache, "k", 1000)

    assert verify(cache) == []
    assert used_at(cache, "k") == 1000
    assert cache.load_binary("k", "prog").path.read_bytes() == b"program"
    assert used_at(cache, "k") > 1000


@pytest.mark.parametrize("name", ["prog", "meta.json"])
def test_what_is_damaged_is_found(cache, name):
    put(cache, "k")
    put(cache, "other")
    overwrite(cache.root / "binaries/k" / name, b"{}")

    assert [(entry.name, what) for entry, what in verify(cache)] == [("k", "content differs from the record")]
    assert cache.load_binary("k", "prog") is None


def test_it_is_listed_while_files_come_and_go_in_it(cache):
    """git fetches into a mirror, and nodes execute in their replicas, while somebody asks what there is."""
    mirror = cache.root / "repos/m"
    mirror.mkdir(parents=True)
    (mirror / "HEAD").touch()
    put(cache, "k")
    done = threading.Event()

    def churn():
        while not done.is_set():
            for number in range(50):
                (mirror / f"tmp{number}").touch()
            for number in range(50):
                (mirror / f"tmp{number}").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(200):
            assert {entry.kind for entry in entries(cache)} == {"binary", "repository"}
    finally:
        done.set()
        thread.join()


def test_a_binary_is_read_only_from_the_moment_it_is_there(cache):
    put(cache, "k")
    assert not (cache.root / "binaries/k/prog").stat().st_mode & 0o222


def test_a_binary_that_an_earlier_layoutrand_left_writable_is_not_once_it_is_used(cache):
    put(cache, "k")
    (cache.root / "binaries/k/prog").chmod(0o755)
    assert cache.load_binary("k", "prog").path.stat().st_mode & 0o777 == 0o555


def test_the_umask_decides_who_may_execute_a_binary(cache):
    before = os.umask(0o077)
    try:
        made = store_file(cache, "a", "prog", 1, "k", b"program")
    finally:
        os.umask(before)
    assert made.path.stat().st_mode & 0o777 == 0o500


def test_a_cache_that_takes_no_entries_says_so_before_a_build_takes_its_time(cache):
    """Of a directory in it that cannot be written to; the file that is tried is left in none."""
    cache.check_writable()
    assert [path for path in cache.root.rglob("*") if path.is_file()] == [cache.root / "CACHEDIR.TAG"]
    (cache.root / "captures").rmdir()
    (cache.root / "captures").symlink_to("/proc/self")  # which takes no new file, whoever asks
    with pytest.raises(CacheError, match=rf"cannot write in {cache.root}/captures: .*or set LAYOUTRAND_CACHE"):
        Cache(cache.root).check_writable()


def test_git_leaves_out_a_project_whose_cache_is_in_its_own_directory(tmp_path):
    """As in a container, which has the project and nothing else for good; the cache is made before results are."""
    Cache(tmp_path / ".layoutrand" / "cache")
    assert (tmp_path / ".layoutrand" / ".gitignore").read_text() == "*\n"
