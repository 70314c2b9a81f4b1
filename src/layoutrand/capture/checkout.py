"""The last touches to a checked-out tree: what is left out, what cannot be built, and times that suit make."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from layoutrand.capture.source import left_out
from layoutrand.config.build_recipe import SOURCE_EPOCH
from layoutrand.errors import BuildFailed
from layoutrand.platform.disk import readable
from layoutrand.platform.git_command import git, names

_LFS_START: Final = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_LARGEST: Final = 1024  # bytes; by its specification a pointer is smaller


def work_trees(target: Path) -> Iterator[tuple[Path, str]]:
    """Every checked-out repository with its path in the whole tree ("" or ending in a slash), parents first."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        tree = target / prefix
        yield tree, prefix
        for line in names(git("ls-files", "--stage", "-z", cwd=tree, plain=True)):
            facts, _, path = line.partition("\t")
            if facts.startswith("160000") and os.path.lexists(tree / path / ".git"):
                pending.append(f"{prefix}{path}/")


def leave_out(tree: Path, prefix: str, exclude: Sequence[str]) -> None:
    """Remove what the patterns match, and have git not miss it."""
    listed = [line.split("\t", 1) for line in names(git("ls-files", "--stage", "-z", cwd=tree, plain=True))]
    gone = [name for facts, name in listed if not facts.startswith("160000") and left_out(prefix + name, exclude)]
    if not gone:
        return
    given = b"".join(os.fsencode(name) + b"\0" for name in gone)
    git("update-index", "--skip-worktree", "-z", "--stdin", cwd=tree, plain=True, stdin=given)
    for name in gone:
        (tree / name).unlink()
        for parent in Path(name).parents:
            if parent == Path() or any((tree / parent).iterdir()):
                break
            (tree / parent).rmdir()


def pointers_of_lfs(tree: Path) -> list[str]:
    """Names relative to ``tree``, a directory of a work tree, of files that are kept in git LFS and were not got."""
    found = []
    for name in names(git("ls-files", "-z", "--", ":(attr:filter=lfs)", cwd=tree, plain=True)):
        path = tree / name
        small = path.is_file() and not path.is_symlink() and path.stat().st_size < _LFS_LARGEST
        if small and path.read_bytes().startswith(_LFS_START):
            found.append(name)
    return found


def refuse_pointers(tree: Path, prefix: str) -> None:
    """Refuse files whose content is in git LFS: what lies there is a pointer to it, which no build can use."""
    stored = [readable(prefix + name) for name in pointers_of_lfs(tree)]
    if stored:
        listed = ", ".join(stored[:3]) + (f" and {len(stored) - 3} more" if len(stored) > 3 else "")
        raise BuildFailed(
            f"{listed}: kept in git LFS, the repository itself has only a pointer. Name in build.exclude what the "
            "build does not need; or clone it, git lfs pull, and give that directory as build.source"
        )


def set_times(target: Path, committed: int) -> None:
    """Give everything but git's own files one time: the commit's, or the nearest that tools can live with."""
    moment = min(max(committed, int(SOURCE_EPOCH)), int(time.time()))
    for folder, folders, files in os.walk(target, topdown=False):
        if ".git" in Path(folder).relative_to(target).parts:
            continue
        for name in [*folders, *files]:
            if name != ".git":
                os.utime(os.path.join(folder, name), (moment, moment), follow_symlinks=False)
    os.utime(target, (moment, moment))
