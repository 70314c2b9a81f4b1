"""Images on disk: a copy of the user's template, and for each execution a tree of hard links to it.

The copy is ours, so that no program can write into the user's own directory through a link; it lies beside the place of
execution, so that links are possible whatever the file system of the template.  Links and not symbolic links: a
launcher such as ``java`` finds its home through the real path of itself or of its library.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from layoutrand.errors import CacheError, HostError
from layoutrand.platform.disk import cache_errors, new_folder, remove_tree, sha256_file, write_atomically
from layoutrand.platform.own_file import take_write_permission
from layoutrand.platform.regular_file import RECORD, content_of_regular


def template_digest(template: Path, exclude: Sequence[str]) -> str:
    """Digest of the names, modes and contents of a template; raises `HostError` for one that cannot be read."""
    digest = hashlib.sha256()
    with _readable(template):
        if not template.is_dir():
            raise HostError(f"{template}: no such directory; build.image.template must be one")
        for name in _files(template, exclude):
            mode = (template / name).stat().st_mode & 0o111
            digest.update(f"{os.fsencode(name).hex()} {bool(mode)} {sha256_file(template / name)}\n".encode())
    return digest.hexdigest()


def copy_template(template: Path, exclude: Sequence[str], target: Path) -> None:
    """Make ``target`` a copy of the template, symbolic links followed, whole or not at all."""
    with cache_errors("write", target):
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = new_folder(target.parent)
        try:
            for name in _files(template, exclude):
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(template / name, scratch / name)
            os.rename(scratch, target)
        except BaseException:
            remove_tree(scratch)
            raise


def seal(folder: Path) -> None:
    """Leave nobody the permission to write to files of ``folder``, and note what they are like for `check_seal`."""
    with cache_errors("write", folder):
        for name in _files(folder, ()):
            take_write_permission(folder / name)
        write_atomically(_seal_of(folder), json.dumps(_states(folder)).encode())


def is_sealed(folder: Path) -> bool:
    """Whether the folder was finished."""
    return _seal_of(folder).exists()


def check_seal(folder: Path) -> None:
    """Raise `CacheError` if a file of a sealed folder was changed since: a program wrote through one of its links."""
    with cache_errors("read", folder):
        text, now = content_of_regular(_seal_of(folder), largest=RECORD), _states(folder)
    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        known = None
    if not isinstance(known, dict):
        raise CacheError(f"{_seal_of(folder)} is damaged; remove it and {folder}, which is then made anew")
    changed = sorted(name for name in known.keys() | now.keys() if known.get(name) != now.get(name))
    if changed:
        raise CacheError(
            f"{folder / changed[0]} was changed since the image was made: a program wrote into its own home. "
            f"Executions since then may not be comparable; remove {folder} to have it made anew, and keep programs "
            "from writing there"
        )


def link_tree(source: Path, target: Path, *, leave_out: str) -> None:
    """Hard links to every file of ``source`` below ``target``, but for one."""
    for name in _files(source, ()):
        if name != leave_out:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(source / name, target / name)


def adopt_new_files(image: Path, folder: Path, *, leave_out: str) -> list[str]:
    """Move files of the ``image`` that ``folder``, which it is linked from, does not have there; their names."""
    known = set(_files(folder, ()))
    new = [name for name in _files(image, ()) if name not in known and name != leave_out]
    with cache_errors("write", folder):
        for name in new:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(image / name, folder / name)
    return new


def discard(folder: Path) -> None:
    """Remove a folder and its seal."""
    with cache_errors("remove", folder):
        _seal_of(folder).unlink(missing_ok=True)
        remove_tree(folder)


def _seal_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".json")


def _states(folder: Path) -> dict[str, list[int]]:
    found = {}
    for name in _files(folder, ()):
        status = (folder / name).stat()
        found[name] = [status.st_size, status.st_mtime_ns]
    return found


def _files(root: Path, exclude: Sequence[str]) -> Iterator[str]:
    """Paths of the files below ``root``, symbolic links followed, in a fixed order."""
    for directory, folders, names in os.walk(root, onerror=_raise, followlinks=True):
        folders.sort()
        for name in sorted(names):
            path = os.path.relpath(os.path.join(directory, name), root)
            if not _matches(path, exclude):
                yield path


def _raise(error: OSError) -> None:
    """A directory that cannot be read, or a link that leads into itself, is no directory to leave out."""
    raise error


def _matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern is of the file or of a directory that it lies in."""
    parts = path.split("/")
    names = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


@contextlib.contextmanager
def _readable(template: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HostError(
            f"cannot read {error.filename or template}, of build.image.template: {error.strerror}; "
            "a file that need not be there can be left out with build.image.exclude"
        ) from error
