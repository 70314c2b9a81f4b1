"""What is executed or written as this user is read only where nobody else can have put it there."""

from __future__ import annotations

import os
import stat

import pytest

from layoutrand.errors import BundleError
from layoutrand.platform.owned_files import make_folder_within, objection, read_owned

OURS, GROUP = os.geteuid(), os.getegid()
STRANGER, STRANGERS = 54321, 54322


def found(uid: int, gid: int, mode: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | mode, 1, 1, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("uid", "gid", "mode", "alone", "with_group"),
    [
        (OURS, GROUP, 0o644, "", ""),
        (0, STRANGERS, 0o644, "", ""),
        (OURS, GROUP, 0o664, "its group may write to it", ""),
        (OURS, GROUP, 0o646, "everybody may write to it", "everybody may write to it"),
        (STRANGER, GROUP, 0o644, "it belongs to user 54321", ""),
        (STRANGER, STRANGERS, 0o644, "it belongs to user 54321", "it belongs to user 54321"),
    ],
)
def test_who_may_have_written_it(uid, gid, mode, alone, with_group):
    """This user and root; the members of a group of this user's if that is trusted; never everybody."""
    assert objection(found(uid, gid, mode)) == alone
    assert objection(found(uid, gid, mode), group=True) == with_group


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "it is no regular file"),
        (lambda path: path.symlink_to("file"), "it is a symbolic link"),
        (lambda path: path.symlink_to("nothing"), "it is a symbolic link"),
        (lambda path: path.write_bytes(b"12345"), "it is longer than 4 bytes"),
        (lambda path: (path.write_bytes(b"x"), path.chmod(0o620)), "its group may write to it"),
    ],
)
def test_what_is_not_read(tmp_path, make, words):
    """And nobody waits for the other end of a pipe."""
    (tmp_path / "file").write_bytes(b"ours")
    make(tmp_path / "other")
    with pytest.raises(BundleError, match=words):
        read_owned(tmp_path / "other", BundleError, largest=4)
    assert read_owned(tmp_path / "file", BundleError, largest=4) == b"ours"
    with pytest.raises(IsADirectoryError):
        read_owned(tmp_path, BundleError, largest=4)
    with pytest.raises(FileNotFoundError):
        read_owned(tmp_path / "nothing", BundleError, largest=4)


def test_folders_are_made_as_wide_as_the_one_above(tmp_path):
    """The root itself for its owner alone to write, with those above it as the umask has them."""
    before = os.umask(0)
    try:
        make_folder_within(tmp_path / "above" / "root", tmp_path / "above" / "root" / "a" / "b")
        (tmp_path / "above" / "root" / "a").chmod(0o770)
        make_folder_within(tmp_path / "above" / "root", tmp_path / "above" / "root" / "a" / "c" / "d")
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {
        "above": 0o777,
        "above/root": 0o755,
        "above/root/a": 0o770,
        "above/root/a/b": 0o755,
        "above/root/a/c": 0o775,
        "above/root/a/c/d": 0o775,
    }
