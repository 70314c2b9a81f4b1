"""What git says of the user's source tree: its commit, and what in it differs from that."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from layoutrand.capture.source import content_of, digest_of, is_by_editors, is_ours, is_printed_to, left_out
from layoutrand.errors import BuildFailed, ToolNotFound
from layoutrand.platform.disk import readable
from layoutrand.platform.git_command import commit_facts, commit_named, git, names

MOST_NAMED: Final = 50
"""How many changed files are recorded by name."""

_NO_COMMIT: Final = "fatal: Needed a single revision"
"""What git says of HEAD in a new repository."""

_SETTINGS: Final = ("status.renames=false", "status.showUntrackedFiles=all")
# A submodule has a configuration of its own, which git would obey when it looks into it itself.
_STATUS: Final = (
    *("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=traditional", "--no-renames"),
    "--ignore-submodules=dirty",
)
_FIELDS: Final = {"1": 8, "u": 10}  # words before the name, in lines of that kind


def git_state(source: Path, exclude: Sequence[str] = ()) -> dict[str, Any] | None:
    """Commit and dirtiness of the part of a git work tree that is built, or None outside one.

    A commit that has nothing of it says nothing of it: None, too.
    ``tree``, ``committed_at`` and ``subject`` are the commit's (`layoutrand.platform.git_command.commit_facts`).
    ``dirty`` is whether any of it differs from the commit, untracked files included; ``changed`` names the first
    `MOST_NAMED` of ``n_changed`` files, ``diff_sha256`` is the same where commit and contents are.  ``ignored`` counts
    files that git ignores, though the build sees them.  ``error`` stands in place of all where git refuses to say.
    """
    if not any((folder / ".git").exists() for folder in (source, *source.parents)):
        return None
    try:
        commit = commit_named("HEAD", cwd=source)
        if not git("ls-tree", "HEAD", "--", ".", cwd=source):
            return None  # a directory that the commit does not know, as one that the repository ignores
        prefix = os.fsdecode(git("rev-parse", "--show-prefix", cwd=source).strip()).rstrip("/")
        facts = commit_facts(commit, cwd=source, prefix=prefix)
        changed, ignored = _changed(source, exclude)
    except (BuildFailed, ToolNotFound) as error:
        why = "no commit is made there yet" if str(error) == _NO_COMMIT else str(error)
        return {"commit": None, "dirty": None, "error": why}
    return {
        "commit": commit,
        **facts,
        "dirty": bool(changed),
        "n_changed": len(changed),
        "changed": [readable(name) for name in changed][:MOST_NAMED],
        "diff_sha256": digest_of(changed) if changed else None,
        "ignored": ignored,
    }


def _changed(source: Path, exclude: Sequence[str]) -> tuple[dict[str, str], int]:
    """Name relative to the source -> content or "removed" of what differs from the commit; how many are ignored."""
    changed: dict[str, str] = {}
    ignored = 0
    for name in _submodules(source):
        if is_ours(name) or is_by_editors(name) or left_out(name, exclude):
            continue
        inner, more = _changed(source / name, ())
        changed |= {f"{name}/{path}": what for path, what in inner.items() if not left_out(f"{name}/{path}", exclude)}
        ignored += more
    for kind, name, submodule in _entries(source):
        if is_ours(name) or is_by_editors(name) or left_out(name, exclude):
            continue
        if kind == "?" and os.path.lexists(source / name) and is_printed_to(source / name):
            continue
        if kind == "!":
            ignored += 1
        elif submodule.startswith("S") and (source / name / ".git").exists():  # another commit, perhaps only staged
            head = git("rev-parse", "--verify", "HEAD", cwd=source / name).decode().strip()
            changed[name] = f"commit {head}"
        else:
            path = source / name
            changed[name] = content_of(path) if os.path.lexists(path) else "removed"
    return dict(sorted(changed.items(), key=lambda item: os.fsencode(item[0]))), ignored


def _submodules(source: Path) -> list[str]:
    """Names relative to the source of the submodules that are checked out there."""
    return [name for name in _all_submodules(source) if (source / name / ".git").exists()]


def changed_submodules(source: Path, exclude: Sequence[str] = ()) -> list[str]:
    """Names relative to the source of submodules whose own work trees have changes; none where git does not say.

    What the build leaves out (``exclude``) does not count.
    """
    try:
        return [
            name
            for name in _submodules(source)
            if any(not left_out(f"{name}/{path}", exclude) for path in _changed(source / name, ())[0])
        ]
    except (BuildFailed, ToolNotFound, OSError):
        return []


def empty_submodules(source: Path) -> list[str]:
    """Names relative to the source of submodules of which it has no file; none where git does not say."""
    try:
        return [name for name in _all_submodules(source) if not any((source / name).glob("*"))]
    except (BuildFailed, ToolNotFound, OSError):
        return []


def _all_submodules(source: Path) -> list[str]:
    listed = (line.partition("\t") for line in names(git("ls-files", "--stage", "-z", "--", ".", cwd=source)))
    return [name for facts, _, name in listed if facts.startswith("160000")]


def _entries(source: Path) -> Iterator[tuple[str, str, str]]:
    """Kind of line, name relative to the source, and the field on submodules of each line of git's status."""
    prefix = os.fsdecode(git("rev-parse", "--show-prefix", cwd=source).removesuffix(b"\n"))
    for line in names(git(*_STATUS, "--", ".", cwd=source, settings=_SETTINGS)):
        kind = line[0]
        words = line.split(" ", _FIELDS.get(kind, 1))
        name = words[-1].rstrip("/")
        yield kind, name.removeprefix(prefix), words[2] if kind in _FIELDS else ""
