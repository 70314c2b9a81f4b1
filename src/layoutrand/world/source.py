"""The user's source tree: what it contains, and a private copy of it to build in."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from layoutrand.errors import BuildFailed, UsageError
from layoutrand.world.disk import is_cache, remove_tree, sha256_file

ALWAYS_LEFT_OUT = (".git", ".layoutrand", "layoutrand.toml")


def digest(source: Path, exclude: Sequence[str]) -> str:
    """SHA-256 over names, kinds, executable bits and contents of the tree, left-out entries excepted."""
    if not source.is_dir():
        raise UsageError(f"build.source: {source} is not a directory")
    try:
        return _digest(source, exclude)
    except OSError as error:
        raise UsageError(f"build.source: cannot read {error.filename or source}: {error.strerror}") from error


def _digest(source: Path, exclude: Sequence[str]) -> str:
    total = hashlib.sha256()
    for name, path in _entries(source, exclude):
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            content = "link " + os.readlink(path)
        elif stat.S_ISREG(info.st_mode):
            content = ("program " if info.st_mode & 0o111 else "file ") + sha256_file(path)
        elif stat.S_ISDIR(info.st_mode):
            content = "directory"
        else:
            continue
        total.update(os.fsencode(name) + b"\0" + os.fsencode(content) + b"\0")
    return total.hexdigest()


def copy(source: Path, target: Path, exclude: Sequence[str]) -> None:
    """Copy the tree with its times (make compares them) and links as they are; sockets and pipes are left out."""
    target.mkdir(parents=True)
    directories = []
    for name, path in _entries(source, exclude):
        destination = target / name
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(path), destination)
        elif stat.S_ISDIR(mode):
            destination.mkdir()
            directories.append((path, destination))
        elif stat.S_ISREG(mode):
            shutil.copy2(path, destination)
    for path, destination in reversed(directories):
        shutil.copystat(path, destination)
        destination.chmod(stat.S_IMODE(destination.stat().st_mode) | 0o700)


def _entries(source: Path, exclude: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Relative name and path of everything in the tree, parents first, in an order no file system decides."""
    pending = [""]
    while pending:
        directory = pending.pop()
        children = sorted(os.scandir(source / directory), key=lambda entry: os.fsencode(entry.name))
        for entry in children:
            name = f"{directory}/{entry.name}" if directory else entry.name
            left_out = name in ALWAYS_LEFT_OUT or any(fnmatch(name, pattern.rstrip("/")) for pattern in exclude)
            if left_out or (entry.is_dir(follow_symlinks=False) and is_cache(source / name)):
                continue
            yield name, source / name
            if entry.is_dir(follow_symlinks=False):
                pending.append(name)


def git_state(source: Path) -> dict[str, object] | None:
    """Commit and dirtiness of the git work tree that holds the source, or None outside one."""
    import git

    try:
        repository = git.Repo(source, search_parent_directories=True, expand_vars=False)
        return {"commit": repository.head.commit.hexsha, "dirty": repository.is_dirty(untracked_files=True)}
    except (git.GitError, ValueError):  # no repository, no commit yet, or another user's
        return None


def resolve_revision(repo: str, rev: str | None, mirror: Path) -> str:
    """The commit that ``rev`` (default: HEAD) names in the repository, after fetching it into a bare ``mirror``."""
    import git

    try:
        _update(repo, mirror)
        return str(git.Repo(mirror, expand_vars=False).git.rev_parse("--verify", f"{rev or 'HEAD'}^{{commit}}"))
    except git.GitError as error:
        raise BuildFailed(f"build.repo: cannot get {rev or 'HEAD'} of {repo}: {_reason(error)}") from error


def _update(repo: str, mirror: Path) -> None:
    """Fetch into the mirror; one that is not there or damaged (git was killed) is made beside its place and renamed."""
    import git

    if mirror.exists():
        try:
            git.Repo(mirror, expand_vars=False).git.fetch("--prune", "origin", "+refs/*:refs/*")
        except git.InvalidGitRepositoryError:
            remove_tree(mirror)
        else:
            return
    fresh = mirror.with_name(f"{mirror.name}.new")
    remove_tree(fresh)
    git.Git().clone("--quiet", "--mirror", "--", repo, str(fresh))  # Repo.clone_from would expand a $ in a path
    fresh.rename(mirror)


def _reason(error: Exception) -> str:
    """What git wrote, without GitPython's frame around it."""
    said = str(getattr(error, "stderr", "") or error).strip()
    return said.removeprefix("stderr: ").strip("'\n ")


def check_out(mirror: Path, commit: str, target: Path) -> None:
    """A work tree of the mirror's commit at ``target``, with its .git, since builds ask it for a version."""
    import git

    try:
        git.Git().clone("--quiet", "--no-checkout", "--", str(mirror), str(target))
        git.Repo(target, expand_vars=False).git.checkout("--detach", commit)
    except git.GitError as error:
        raise BuildFailed(f"build.repo: cannot check out {commit}: {_reason(error)}") from error
