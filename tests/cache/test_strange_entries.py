"""Pipes and giants where the cache keeps records: what is there counts as damaged, and nobody waits for it."""

from __future__ import annotations

import os

import pytest

from layoutrand.cache.sealed_records import sealed
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


def test_giants_in_place_of_contents_are_not_read(tmp_path, monkeypatch):
    """A file with holes takes no room, and minutes to be hashed."""
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it is read"))
    cache = Cache(tmp_path / "cache")
    binary, capture = cache.root / "binaries" / "b", cache.root / "captures" / "c"
    for folder, name, record, facts in (
        (binary, "program", "meta.json", {"key": "b", "sha256": "a" * 64}),
        (capture, "build.log", "log.json", {"capture": "c", "sha256": "a" * 64}),
    ):
        folder.mkdir(parents=True)
        (folder / record).write_bytes(sealed(facts))
        with (folder / name).open("wb") as file:
            file.truncate(100 << 30)
    assert read_binary(binary, "program") is None
    assert cache.damaged_log("c") == capture / "build.log"
