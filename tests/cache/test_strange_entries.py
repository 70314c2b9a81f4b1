"""Pipes and giants where the cache keeps records: what is there counts as damaged, and nobody waits for it."""

from __future__ import annotations

import os

import pytest

from layoutrand.cache.store import Cache, link_seconds, read_binary, read_capture
from layoutrand.cache.upkeep import entries


def strange(path, kind):
    """Put such a thing there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)


@pytest.mark.parametrize("kind", ["pipe", "giant"])
def test_a_record_that_is_no_file_is_a_damaged_one(tmp_path, kind):
    cache = Cache(tmp_path / "cache")
    strange(cache.root / "keys" / "k.json", kind)
    strange(cache.root / "binaries" / "b" / "meta.json", kind)
    strange(cache.root / "captures" / "c" / "capture.json", kind)
    assert cache.look_up("k") == (None, "damaged")
    assert read_binary(cache.root / "binaries" / "b", "program") is None
    assert read_capture(cache.root / "captures" / "c" / "capture.json") is None
    assert [entry.label for entry in entries(cache)] == ["damaged", "damaged"]
    assert link_seconds(cache) == {}
