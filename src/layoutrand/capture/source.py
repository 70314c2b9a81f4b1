"""The user's source tree: what it contains, and a private copy of it to build in."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

from layoutrand.errors import UsageError
from layoutrand.platform.disk import is_cache, sha256_file
from layoutrand.platform.executable_files import copy_file

ALWAYS_LEFT_OUT = (".git", ".layoutrand", "layoutrand.toml")
_LEFT_BY_EDITORS = ("*~", "*.bak", "*.swp", "*.swo", ".#*", "#*#", ".idea", ".vscode", "layoutrand.toml.*")
"""What nobody builds from, at any depth of a directory: to edit a file and put it back makes no build necessary."""
_RESULTS = ".layoutrand"
_NEVER_ENTERED = (".git", _RESULTS)
"""Directories at any depth: a project may lie below the source that it builds, and its results are none of that."""


def listing(source: Path, exclude: Sequence[str], go_on: Callable[[], None] = lambda: None) -> dict[str, str]:
    """Relative name -> kind, executable bit and content of everything in the tree but what is left out.

    ``go_on`` is called between parts of files, and may raise what ends it.
    """
    if not source.is_dir():
        raise UsageError(f"build.source: {source} is not a directory")
    try:
        contents = ((name, content_of(path, go_on)) for name, path in _entries(source, exclude))
        return {name: content for name, content in contents if content}
    except OSError as error:
        raise UsageError(f"build.source: cannot read {error.filename or source}: {error.strerror}") from error


def digest_of(contents: Mapping[str, str]) -> str:
    """SHA-256 over a `listing`."""
    total = hashlib.sha256()
    for name, content in contents.items():
        total.update(os.fsencode(name) + b"\0" + os.fsencode(content) + b"\0")
    return total.hexdigest()


def digest(source: Path, exclude: Sequence[str]) -> str:
    """SHA-256 over names, kinds, executable bits and contents of the tree, left-out entries excepted."""
    return digest_of(listing(source, exclude))


def content_of(path: str | Path, go_on: Callable[[], None] = lambda: None) -> str:
    """What is at the path, in one line; "" for what cannot be copied, such as a socket."""
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        return "link " + os.readlink(path)
    if stat.S_ISREG(info.st_mode):
        return ("program " if info.st_mode & 0o111 else "file ") + sha256_file(path, go_on=go_on)
    return "directory" if stat.S_ISDIR(info.st_mode) else ""


def copy(source: Path, target: Path, exclude: Sequence[str], go_on: Callable[[], None] = lambda: None) -> None:
    """Copy the tree with its times (make compares them) and links as they are; sockets and pipes are left out.

    ``go_on`` as for `listing`.
    """
    target.mkdir(parents=True)
    directories = []
    for name, path in _entries(source, exclude):
        destination = target / name
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(path), destination)
        elif stat.S_ISDIR(mode):
            destination.mkdir()
            directories.append((path, destination))
        elif stat.S_ISREG(mode):
            copy_file(Path(path), destination, go_on)
    for path, destination in reversed(directories):
        shutil.copystat(path, destination)
        destination.chmod(stat.S_IMODE(destination.stat().st_mode) | 0o700)


def _entries(source: Path, exclude: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Relative name and path of everything in the tree, parents first, in an order no file system decides.

    A source has thousands of files, and each build looks at all: what is the same for all is found out before.
    """
    ours = list(_printed_to())
    unwanted, left_by_editors = _any_of(tuple(exclude)), _any_of(_LEFT_BY_EDITORS)
    pending = [""]
    while pending:
        directory = pending.pop()
        children = sorted(os.scandir(source / directory), key=lambda entry: os.fsencode(entry.name))
        for entry in children:
            name = f"{directory}/{entry.name}" if directory else entry.name
            if name in ALWAYS_LEFT_OUT or unwanted(name) or left_by_editors(entry.name):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and _is_among(ours, entry.path):
                continue
            if is_folder and (entry.name in _NEVER_ENTERED or is_cache(Path(entry.path))):
                continue
            yield name, entry.path
            if is_folder:
                pending.append(name)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(_any_of(patterns)(name))


@lru_cache(maxsize=16)
def _any_of(patterns: tuple[str, ...]) -> Callable[[str], object]:
    """What says whether a name matches one of the patterns of a shell."""
    if not patterns:
        return lambda _name: None
    return re.compile("|".join(translate(pattern.rstrip("/")) for pattern in patterns)).match


def is_printed_to(path: Path) -> bool:
    """Whether this command prints into the file: a shell has made it in the source (`> results`), and it grows yet."""
    return _is_among(_printed_to(), path)


def _is_among(files: Iterable[os.stat_result], path: str | Path) -> bool:
    return any(os.path.samestat(os.lstat(path), each) for each in files)


def _printed_to() -> Iterator[os.stat_result]:
    """The ordinary files that this command prints into."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):  # closed before our start
            info = os.fstat(descriptor)
            if stat.S_ISREG(info.st_mode):
                yield info


def is_ours(name: str) -> bool:
    """Whether what has this name in the tree is git's or layoutrand's, and so no part of the source."""
    parts = name.split("/")
    return parts[0] in ALWAYS_LEFT_OUT or _RESULTS in parts[:-1]


def is_by_editors(name: str) -> bool:
    """Whether editors leave such files or directories behind, which are no part of a source that is a directory."""
    return any(_matches(part, _LEFT_BY_EDITORS) for part in name.split("/"))


def left_out(name: str, exclude: Sequence[str]) -> bool:
    """Whether the patterns match the name or a directory above it."""
    parts = name.split("/")
    return any(_matches("/".join(parts[:count]), tuple(exclude)) for count in range(1, len(parts) + 1))
