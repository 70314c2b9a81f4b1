"""What is known of files: never more than what is so."""

import os

from layoutrand.capture.known_files import KnownFiles
from layoutrand.platform.disk import sha256_bytes


def settled(path, content):
    """A file that has not changed for a while, as far as its times tell; the change time cannot be set."""
    path.write_bytes(content)
    os.utime(path, (1, 1))
    return str(path)


def known(tmp_path, monkeypatch, path):
    """What knows the file, long after it was written."""
    monkeypatch.setattr("layoutrand.capture.known_files._SETTLED_NS", -(10**18))
    files = KnownFiles(tmp_path / "copies")
    files.remember([path])
    return files


def test_what_is_known_is_not_read_again(tmp_path, monkeypatch):
    """The same object comes back, with its digest, and is linked instead of written."""
    path = settled(tmp_path / "a", b"content")
    files = known(tmp_path, monkeypatch, path)
    content = files.read(path)
    files.write(content, tmp_path / "copy")
    files.remember([path])

    assert len(list((tmp_path / "copies").iterdir())) == 1
    assert content == b"content"
    assert files.read(path) is content
    assert files.sha256(content) == sha256_bytes(b"content")
    assert (tmp_path / "copy").read_bytes() == b"content"
    assert (tmp_path / "copy").stat().st_nlink == 2


def test_a_file_that_changes_is_read_again(tmp_path, monkeypatch):
    """Even if size and modification time are the same."""
    path = settled(tmp_path / "a", b"content")
    files = known(tmp_path, monkeypatch, path)
    settled(tmp_path / "a", b"CONTENT")

    assert files.read(path) == b"CONTENT"
    assert files.sha256(files.read(path)) == sha256_bytes(b"CONTENT")
    files.remember([path])
    assert files.read(path) == b"CONTENT"


def test_a_file_that_has_just_changed_is_not_kept(tmp_path):
    """A second change within a tick of the clock would not be seen."""
    (tmp_path / "a").write_bytes(b"content")
    files = KnownFiles(tmp_path / "copies")
    files.remember([str(tmp_path / "a")])

    assert files.read(str(tmp_path / "a")) is not files.read(str(tmp_path / "a"))


def test_what_is_gone_is_none(tmp_path, monkeypatch):
    """Known or not."""
    path = settled(tmp_path / "a", b"content")
    files = known(tmp_path, monkeypatch, path)
    (tmp_path / "a").unlink()

    assert files.read(path) is None
    assert files.read(str(tmp_path / "never")) is None
