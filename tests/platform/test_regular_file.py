"""What is opened of others' files, and what is refused, without waiting for it."""

from __future__ import annotations

import os
import socket

import pytest

from layoutrand.errors import LayoutrandError, UnusableFile
from layoutrand.platform.disk import digest_of_input, sha256_file
from layoutrand.platform.regular_file import content_of_regular, open_regular, text_of_regular

TIB = 1 << 40


@pytest.fixture
def strange(tmp_path):
    """Name -> path of what stands where a file could."""
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(TIB)
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(tmp_path / "socket"))
    return {name: tmp_path / name for name in ("pipe", "sparse", "link", "socket")} | {"device": "/dev/zero"}


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        ("pipe", "it is a pipe, not an ordinary file"),
        ("link", "it is a pipe, not an ordinary file"),
        ("socket", "it is a socket, not an ordinary file"),
        ("device", "it is a device, not an ordinary file"),
        ("sparse", "it has 1.0 TiB, and no such file has more than 5.0 MiB"),
    ],
)
def test_what_is_no_ordinary_file_is_refused_by_name(strange, which, reason):
    with pytest.raises(UnusableFile) as caught:
        open_regular(strange[which], largest=5 << 20)
    assert str(caught.value) == f"{strange[which]}: {reason}"
    assert (caught.value.strerror, caught.value.filename) == (reason, str(strange[which]))
    assert isinstance(caught.value, LayoutrandError)


@pytest.mark.parametrize("read", [sha256_file, digest_of_input])
@pytest.mark.parametrize("which", ["pipe", "sparse"])
def test_digests_are_of_ordinary_files(strange, which, read):
    with pytest.raises(OSError, match="a pipe|TiB"):
        read(strange[which])


def test_a_directory_is_what_it_was(tmp_path):
    with pytest.raises(IsADirectoryError):
        content_of_regular(tmp_path, largest=1)


def test_files_are_read_whole_and_the_null_device_is_an_empty_one(tmp_path):
    (tmp_path / "file").write_bytes(b"a\r\nb\xff")
    assert content_of_regular(tmp_path / "file", largest=5) == b"a\r\nb\xff"
    assert text_of_regular(tmp_path / "file", largest=5, errors="replace") == "a\nb\ufffd"
    assert content_of_regular(os.devnull, largest=0) == b""
    with pytest.raises(UnusableFile, match="it has 5 bytes, and no such file has more than 4 bytes"):
        content_of_regular(tmp_path / "file", largest=4)


def test_a_file_without_a_stated_size_has_a_limit_too():
    """As those of the kernel, which say that they are empty."""
    assert content_of_regular("/proc/self/stat", largest=1 << 20)
    with pytest.raises(UnusableFile, match="more than 8 bytes"):
        content_of_regular("/proc/self/stat", largest=8)
