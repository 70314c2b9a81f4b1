"""Pipes in the shared directory where contents are: an error at once."""

from __future__ import annotations

import os

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
