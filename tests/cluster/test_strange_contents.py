"""Pipes and damaged contents in the shared directory: an error at once, and no more memory than it takes."""

from __future__ import annotations

import hashlib
import io
import os
import tracemalloc
import zlib

import pytest

from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.errors import BundleError


@pytest.mark.parametrize(
    ("place", "read"),
    [
        (lambda shared: shared.manifest_path("a" * 64), lambda shared: shared.manifest("a" * 64)),
        (lambda shared: shared.root / "carried" / f"{'a' * 64}.json", lambda shared: shared.get_carried("a" * 64)),
        (lambda shared: shared.object_path("a" * 64), lambda shared: shared.get("a" * 64, 7)),
    ],
    ids=["manifest", "carried", "content"],
)
def test_a_pipe_is_not_waited_for(tmp_path, place, read):
    shared = SharedDirectory(tmp_path / "shared")
    path = place(shared)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(BundleError, match=f"cannot read {path}: it is a pipe, not an ordinary file"):
        read(shared)


def test_a_content_is_unpacked_in_parts(tmp_path):
    """A small file in the shared directory may hold far more than fits into memory."""
    shared, data = SharedDirectory(tmp_path / "shared"), bytes(100_000_000)
    digest = hashlib.sha256(data).hexdigest()
    shared.put(digest, data)
    size = len(data)
    del data
    with (tmp_path / "target").open("wb") as target:
        tracemalloc.start()
        try:
            shared.fetch(digest, size, target)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (tmp_path / "target").stat().st_size == size
    assert most < 20_000_000


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"no zlib",
        zlib.compress(b"1234567")[:-1],
        zlib.compress(b"1234567") + b"more",
        zlib.compress(b"123456"),
        zlib.compress(b"1234568"),
        zlib.compress(bytes(1 << 22)),
        zlib.compress(os.urandom(1 << 16)),
    ],
    ids=["empty", "other", "cut", "longer", "too-little", "changed", "unpacks-to-more", "stored-longer"],
)
def test_a_damaged_content_is_an_error(tmp_path, stored):
    """In one piece or in parts."""
    digest, shared = hashlib.sha256(b"1234567").hexdigest(), SharedDirectory(tmp_path / "shared")
    path = shared.object_path(digest)
    path.parent.mkdir(parents=True)
    path.write_bytes(stored)
    with pytest.raises(BundleError, match="is damaged: its content is not what its name says"):
        shared.get(digest, 7)
    with pytest.raises(BundleError, match="is damaged: its content is not what its name says"):
        shared.fetch(digest, 7, io.BytesIO())
