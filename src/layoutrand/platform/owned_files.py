"""Files that decide what this user executes or writes: read only where nobody else can have put them there."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from layoutrand.errors import LayoutrandError
from layoutrand.platform.regular_file import all_of


def objection(found: os.stat_result, *, group: bool = False) -> str:
    """Why others may have written what has this owner and these permissions, or "".

    Trusted are this user and root; with ``group`` also the members of a group of this user's, where it is that one's.
    """
    if reason := foreign(found, group=group):
        return reason
    if found.st_mode & stat.S_IWOTH:
        return "everybody may write to it"
    if found.st_mode & stat.S_IWGRP and not group:
        return "its group may write to it"
    return ""


def foreign(found: os.stat_result, *, group: bool = False) -> str:
    """`objection` to the owner alone, of what lies where others cannot reach it."""
    trusted = {os.geteuid(), 0}
    if group and found.st_gid in {os.getegid(), *os.getgroups()}:
        trusted.add(found.st_uid)
    return "" if found.st_uid in trusted else f"it belongs to {_user(found.st_uid)}"


def read_owned(path: Path, refused: Callable[[str], LayoutrandError], *, largest: int, group: bool = False) -> bytes:
    """The content of a regular file of at most ``largest`` bytes that this user or root wrote, opened without waiting.

    Raises what ``refused`` makes of the reason (a link, a pipe, too long, of others; with ``group`` see `objection`),
    and `OSError`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink():
            raise refused("it is a symbolic link") from None
        raise
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(found.st_mode):
            raise refused("it is no regular file")
        if reason := objection(found, group=group):
            raise refused(reason)
        with open(descriptor, "rb", closefd=False) as file:
            data = all_of(file, largest + 1)
    finally:
        os.close(descriptor)
    if len(data) > largest:
        raise refused(f"it is longer than {largest} bytes")
    return data


def make_folder_within(root: Path, folder: Path) -> None:
    """Make a directory below ``root`` with those above it, each writable by no more users than the one it lies in.

    The umask of many machines lets the group write, whoever that is.  Raises `OSError`.
    """
    if folder.exists():
        return
    if folder not in {root, folder.parent}:
        make_folder_within(root, folder.parent)
    elif not folder.parent.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
    shared_by = 0 if folder == root else folder.parent.stat().st_mode & 0o022
    with suppress(FileExistsError):  # another process may make it too
        folder.mkdir(mode=0o755 | shared_by)


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"
