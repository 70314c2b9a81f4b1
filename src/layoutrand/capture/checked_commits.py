"""Two commits of a repository to check: what revisions name, where they branched off, the work tree as a commit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from layoutrand.capture.own_files import own_files
from layoutrand.capture.repository import Mirrors, nearest_revision
from layoutrand.capture.source import is_ours, is_printed_to, left_out
from layoutrand.capture.submodules import is_local
from layoutrand.errors import BuildFailed, UsageError
from layoutrand.platform.disk import is_cache
from layoutrand.platform.git_command import DUBIOUS, commit_named, git, names
from layoutrand.platform.repository_addresses import without_credentials

_DEFAULT_BRANCHES: Final = ("refs/remotes/origin/HEAD", "origin/main", "origin/master", "main", "master", "trunk")
"""Where the default branch is looked for, in this order."""

_NONE: Final = "fatal: not a git repository (or any "
"""What git says where there is none, in this directory or above; of a damaged one it says which."""

_BY: Final = "layoutrand <layoutrand@localhost>"
_SHORT: Final = 7


@dataclass(frozen=True)
class CheckedCommit:
    """One of the commits of a check: ``commit`` in full, ``label`` for people.

    ``changed`` counts the files by which the work tree differs from its commit; 0 for a commit itself.
    """

    commit: str
    label: str
    changed: int = 0


@dataclass(frozen=True)
class SourceRepository:
    """Where the source of a project is kept: address of the repository, and the directory of the source in it.

    ``root`` is its work tree on this machine, None where there is none; ``project`` is the project's own directory.
    """

    url: str
    root: Path | None
    inside: str
    project: Path


def source_repository(project: Path, source: str, repo: str | None) -> SourceRepository:
    """The repository that the source of the project belongs to; raises `UsageError` where there is none."""
    if repo is not None and not (project / repo).exists() and not (is_local(repo) and "://" not in repo):
        return SourceRepository(repo, None, "", project)
    folder = (project / (repo if repo is not None else source)).resolve()
    try:
        top = os.fsdecode(git("rev-parse", "--show-toplevel", cwd=folder).removesuffix(b"\n"))
    except BuildFailed as error:
        if repo is not None:  # a bare repository
            return SourceRepository(str(folder), None, "", project)
        if DUBIOUS in error.message:
            raise UsageError(
                f"git refuses the repository of {folder}, which belongs to another user: {error.message}"
            ) from error
        more = "" if error.message.startswith(_NONE) else f": {error.message}"
        raise UsageError(f"{folder} is in no git repository, so there are no commits to go by{more}") from error
    root = Path(top).resolve()
    inside = "" if repo is not None or folder == root else folder.relative_to(root).as_posix()
    return SourceRepository(str(root), root, inside, project)


def chosen_commits(
    where: SourceRepository, mirrors: Mirrors, base: str | None, head: str | None
) -> tuple[CheckedCommit, CheckedCommit]:
    """BASE and HEAD: where HEAD branched off and the work tree, unless they are given.

    Without ``head`` it is the work tree, or the commit that is checked out where that has no changes.  Without ``base``
    it is where ``head`` left the default branch; on this branch itself the commit before.  Raises `UsageError` or
    `BuildFailed` for what is not there.
    """
    if where.root is None:
        if base is None:
            shown = without_credentials(where.url)
            raise UsageError(f"{shown} is not on this machine: say which commits, as in `layoutrand check BASE HEAD`")
        named = [(rev, mirrors.resolve(where.url, rev)) for rev in (base, head or "HEAD")]
        there = [CheckedCommit(commit, _label(rev, commit)) for rev, commit in named]
        return there[0], there[1]
    root = where.root
    last = _commit(root, head or "HEAD")
    new = CheckedCommit(last, _label(head or "HEAD", last)) if head is not None else _work_tree(where, mirrors, last)
    if base is not None:
        old = _commit(root, base)
        return CheckedCommit(old, _label(base, old)), new
    return _merge_base(root, last, is_changed=new.commit != last), new


def _commit(root: Path, rev: str) -> str:
    try:
        return commit_named(rev, cwd=root)
    except BuildFailed as error:
        near = nearest_revision(error, rev, root)
        raise UsageError(f"there is no commit {rev} in {root}{near}{_shallow(root)}") from error


def _shallow(root: Path) -> str:
    """What to do where history was cut off."""
    is_cut = git("rev-parse", "--is-shallow-repository", cwd=root).decode().strip() == "true"
    return "; the clone is shallow: fetch its history (`git fetch --unshallow`, or fetch-depth: 0)" if is_cut else ""


def _merge_base(root: Path, head: str, *, is_changed: bool) -> CheckedCommit:
    branch = next((name for name in _DEFAULT_BRANCHES if _has(root, name)), None)
    if branch is None:
        raise UsageError(
            f"which commit is HEAD to be compared with? {root} has none of {', '.join(_DEFAULT_BRANCHES)}; "
            f"name it, as in `layoutrand check HEAD~1`{_shallow(root)}"
        )
    try:
        found = git("merge-base", branch, head, cwd=root).decode().split()[0]
    except (BuildFailed, IndexError) as error:
        raise UsageError(f"{branch} and HEAD have no common commit in {root}{_shallow(root)}") from error
    short = git("rev-parse", "--abbrev-ref", branch, cwd=root).decode().strip().removeprefix("origin/")
    if found == head and not is_changed:
        if not _has(root, f"{head}^"):
            raise UsageError(
                f"HEAD is the first commit there is, so there is nothing to compare it with{_shallow(root)}"
            )
        before = _commit(root, f"{head}^")
        return CheckedCommit(before, _label("HEAD^", before))
    return CheckedCommit(found, _label("HEAD" if found == head else short, found))


def _has(root: Path, rev: str) -> bool:
    try:
        git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", cwd=root)
    except BuildFailed:
        return False
    return True


def _label(rev: str, commit: str) -> str:
    short = commit[:_SHORT]
    return short if commit.startswith(rev) else f"{rev} {short}"


def _work_tree(where: SourceRepository, mirrors: Mirrors, head: str) -> CheckedCommit:
    """The work tree as a commit that the mirror alone has: what git knows, and what it would add, but nothing of ours.

    The same files on the same commit are the same commit, whenever it is made; its time is that of the commit below.
    """
    assert where.root is not None
    root = where.root
    mirrors.resolve(where.url, "HEAD")  # so that there is a mirror, and it has the commit
    mirror = mirrors.path(where.url)
    listed = names(git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=root))
    in_cache = cache(lambda top: is_cache(root / top))  # as layoutrand's in a job of a CI system may be
    wanted = [name for name in dict.fromkeys(listed) if not (is_ours(name) or in_cache(name.partition("/")[0]))]
    wanted = [name for name in wanted if not name.endswith("/")]  # a repository of its own, and no submodule
    ours = own_files(where.project, root)
    wanted = [name for name in wanted if not left_out(name, ours)]
    wanted = [name for name in wanted if not (os.path.lexists(root / name) and is_printed_to(root / name))]
    with mirrors.lock(mirror.name):
        _in(mirror, root, "read-tree", head)
        _in(mirror, root, "update-index", "--add", "--remove", "-z", "--stdin", stdin=_lines(wanted))
        tree = _in(mirror, root, "write-tree").decode().strip()
        if tree == _in(mirror, root, "rev-parse", f"{head}^{{tree}}").decode().strip():
            return CheckedCommit(head, _label("HEAD", head))
        changed = names(_in(mirror, root, "diff", "--no-ext-diff", "--name-only", "-z", head, tree))
        when = _in(mirror, root, "show", "-s", "--format=%ct", head).decode().strip()
        text = f"tree {tree}\nparent {head}\nauthor {_BY} {when} +0000\ncommitter {_BY} {when} +0000\n\nThe work tree\n"
        commit = _in(mirror, root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())
    return CheckedCommit(commit.decode().strip(), f"work tree {head[:_SHORT]}+", len(changed))


def _lines(wanted: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in wanted)


def _in(mirror: Path, root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """What git says with the mirror's objects and index and the user's files; neither their index nor objects."""
    return git(f"--git-dir={mirror}", f"--work-tree={root}", *arguments, cwd=root, stdin=stdin)
