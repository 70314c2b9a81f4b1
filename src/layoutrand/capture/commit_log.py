"""The commits of a repository in order: which there are between two, which came first, and what is told of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from layoutrand.capture.checked_commits import SourceRepository
from layoutrand.capture.repository import Mirrors, nearest_revision
from layoutrand.errors import BuildFailed, UsageError
from layoutrand.platform.git_command import git, one_commit
from layoutrand.platform.repository_addresses import without_credentials


@dataclass(frozen=True)
class LoggedCommit:
    """One commit: its hash, its date in seconds since the epoch (None where it is not known), and its subject."""

    commit: str
    committed_at: float | None = None
    subject: str = ""

    @property
    def day(self) -> str:
        """The date in UTC; "" where it is not known, or none that a calendar has: git takes any number for one."""
        try:
            return "" if self.committed_at is None else f"{datetime.fromtimestamp(self.committed_at, UTC):%Y-%m-%d}"
        except (ValueError, OverflowError, OSError):
            return ""

    @property
    def short(self) -> str:
        """The hash as people write it."""
        return self.commit[:_SHORT]

    def to_json(self) -> dict[str, Any]:
        """The commit as JSON values."""
        return {"commit": self.commit, "committed_at": self.committed_at, "subject": self.subject}


_SHORT = 9


class CommitLog:
    """The commits of one repository; every method raises `UsageError` for what it does not have."""

    def __init__(self, folder: Path, name: str, *, is_bare: bool = False) -> None:
        """Of the repository that the folder is in, or that it is where ``is_bare``; ``name`` is for messages."""
        self._folder, self._name, self._where = folder, name, ("--git-dir=.",) if is_bare else ()

    @classmethod
    def of(cls, home: SourceRepository, mirrors: Mirrors, *, fetch: bool) -> CommitLog:
        """Of the repository on this machine, or of its mirror, which is brought up to date where ``fetch``."""
        here = home.root or Path(home.url)  # which may be a repository without a work tree
        if here.is_dir():
            return cls(here, home.url)
        if fetch:
            mirrors.resolve(home.url, None)
        mirror, shown = mirrors.path(home.url), without_credentials(home.url)
        if not mirror.is_dir():
            raise UsageError(f"{shown} is not on this machine, so the order of its commits is not known")
        return cls(mirror, shown, is_bare=True)

    def resolve(self, rev: str) -> str:
        """The commit that a revision names."""
        if rev.startswith("-"):
            raise UsageError(f"{rev} is no revision: it must not begin with a dash")
        try:
            return one_commit(self._git("rev-parse", "--verify", f"{rev}^{{commit}}").encode())
        except BuildFailed as error:
            near = nearest_revision(error, rev, self._folder, *self._where)
            cut = "" if not self._is_shallow() else "; history is cut off there: `git fetch --unshallow`"
            raise UsageError(f"{self._name} has no commit {rev}{near}{cut}") from error

    def order(self, until: str, since: str | None = None) -> list[str]:
        """The history of ``until``, oldest first, from ``since`` on, which is the first."""
        if since is None:
            return self._git("rev-list", "--topo-order", "--reverse", until).split()
        self._must_descend(since, until)
        return [since, *self._git("rev-list", "--topo-order", "--reverse", f"{since}..{until}").split()]

    def first_parents(self, since: str, until: str) -> list[str]:
        """From ``since`` to ``until``, both included, each the first parent of the next; side branches are left out."""
        self._must_descend(since, until)
        line = self._git("rev-list", "--first-parent", "--reverse", f"{since}..{until}").split()
        first = self._git("rev-parse", "--verify", f"{line[0]}^").strip() if line else since
        if first == since:
            return [since, *line]
        # ``since`` is on a side branch: what leads from it to ``until`` is the only line there is.
        path = self._git("rev-list", "--ancestry-path", "--topo-order", "--reverse", f"{since}..{until}").split()
        return [since, *path]

    def parents(self, commit: str) -> list[str]:
        """The commits that it was made from."""
        return self._git("rev-list", "--parents", "-n", "1", commit).split()[1:]

    def merged(self, commit: str, before: str) -> tuple[str, str] | None:
        """Where the branch that the commit merged began, and its last commit; None of a commit that merged none.

        ``before`` is the commit before it on the line that is looked at, which need not be its first parent.
        """
        parents = self.parents(commit)
        if len(parents) != 2 or before not in parents:  # of an octopus there are several
            return None
        (last,) = (each for each in parents if each != before)
        try:
            return one_commit(self._git("merge-base", before, last).encode()), last
        except BuildFailed:  # histories with nothing in common
            return None

    def described(self, commits: Sequence[str]) -> dict[str, LoggedCommit]:
        """What is told of each of these; those that are not there are left out."""
        found: dict[str, LoggedCommit] = {}
        for commit in commits:
            try:
                told = self._git("show", "-s", "--format=%H %ct %s", "--end-of-options", commit).strip()
            except BuildFailed:
                continue
            name, moment, subject = (told + "  ").split(" ", 2)
            found[commit] = LoggedCommit(name, float(moment), subject.strip())
        return found

    def descends(self, later: str, earlier: str) -> bool:
        """Whether commits lead from the earlier one to the later."""
        return not self._git("rev-list", "--max-count=1", earlier, f"^{later}").strip()

    def _must_descend(self, since: str, until: str) -> None:
        if not self.descends(until, since):
            raise UsageError(
                f"{since[:_SHORT]} is no ancestor of {until[:_SHORT]} in {self._name}, so no commits lead from one to "
                "the other; name the older one first"
            )

    def _is_shallow(self) -> bool:
        return self._git("rev-parse", "--is-shallow-repository").strip() == "true"

    def _git(self, *arguments: str) -> str:
        return git(*self._where, *arguments, cwd=self._folder, plain=True).decode("utf-8", "backslashreplace")
