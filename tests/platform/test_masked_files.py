"""Bytes of files are replaced, wherever they stand, and nothing else is changed."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.platform import masked_files
from layoutrand.platform.masked_files import mask_file, mask_files

PATTERNS = [(b"secret-and-more", b"<B>"), (b"secret", b"<A>"), (b"ret-x", b"<C>")]


def plainly(data):
    """The same, on the whole, place by place."""
    out, place = b"", 0
    while place < len(data):
        found = next((pair for pair in PATTERNS if data.startswith(pair[0], place)), None)
        out += found[1] if found else data[place : place + 1]
        place += len(found[0]) if found else 1
    return out


@given(st.lists(st.sampled_from([b"secret", b"-and-more", b"sec", b"ret-x", b"-", b"s", b"\0\n"])), st.integers(1, 40))
def test_masked_wherever_chunks_end(tmp_path_factory, parts, chunk):
    path = tmp_path_factory.mktemp("x") / "log"
    path.write_bytes(b"".join(parts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked_files, "_CHUNK", chunk)
        mask_file(path, PATTERNS)
    assert path.read_bytes() == plainly(b"".join(parts))
    assert os.listdir(path.parent) == ["log"]


def test_a_file_keeps_its_permissions_and_a_link_what_it_leads_to(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below/log").write_bytes(b"a secret")
    (tmp_path / "below/log").chmod(0o600)
    (tmp_path / "other").write_bytes(b"a secret")
    (tmp_path / "below/link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "below/pipe")
    mask_files(tmp_path / "below", PATTERNS)
    assert (tmp_path / "below/log").read_bytes() == b"a <A>"
    assert (tmp_path / "below/log").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "other").read_bytes() == b"a secret"
    mask_file(tmp_path / "nothing", PATTERNS)
    before = os.stat(tmp_path / "other")
    mask_file(tmp_path / "other", [])
    mask_file(tmp_path / "other", [(b"absent", b"x")])
    after = os.stat(tmp_path / "other")
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
