"""Revisions of repositories: mirrors in the cache, and private work trees of one commit with its submodules."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.store import MIRROR_DESCRIPTION
from layoutrand.capture import source
from layoutrand.capture.checkout import leave_out, refuse_pointers, set_times, work_trees
from layoutrand.capture.damaged_refs import fetch_sound, is_of_damage
from layoutrand.capture.submodules import OWN, Repository, Submodule, described, places, submodules
from layoutrand.config.problems import suggest
from layoutrand.errors import BuildFailed
from layoutrand.platform.disk import readable, remove_tree, sha256_bytes
from layoutrand.platform.git_command import (
    FULL_HASH,
    commit_facts,
    commit_named,
    git,
    git_with_remarks,
    names,
    one_commit,
)
from layoutrand.platform.repository_addresses import without_credentials

_EVERYTHING: Final = "+refs/*:refs/*"


class Mirrors:
    """Bare copies of repositories below one directory, fetched into when a revision is asked for."""

    def __init__(
        self, root: Path, lock: Callable[[str], AbstractContextManager[None]], say: Callable[[str], None]
    ) -> None:
        """Keep them below ``root``; ``lock`` lets one process at a time use the mirror it is given the name of."""
        self.root = root
        self.lock = lock
        self.say = say
        self._fetched: set[tuple[Path, str, bool]] = set()  # once per command is enough

    def path(self, url: str) -> Path:
        """Where the repository's mirror is or will be."""
        return self.root / sha256_bytes(os.fsencode(without_credentials(url)))[:16]

    def resolve(self, url: str, rev: str | None) -> str:
        """The commit that ``rev`` (default: HEAD) names in the repository now.

        A full hash that the mirror has needs no network.  Raises `BuildFailed` for an unknown revision, and for a
        name that is both a branch and a tag.
        """
        mirror = self.path(url)
        wanted = rev or "HEAD"
        try:
            with self.lock(mirror.name):
                if not (FULL_HASH.fullmatch(wanted) and _has(mirror, wanted)):
                    self._fetch(url, mirror, OWN, head=re.match(r"(HEAD|@)($|[~^@:])", wanted) is not None)
                    if FULL_HASH.fullmatch(wanted) and not _has(mirror, wanted):
                        _fetch_commit(url, mirror, wanted, OWN)
                out, said = _parsed(mirror, wanted)
                commit = one_commit(out)
                os.utime(mirror / "HEAD")  # for the collection of what was not used for long
        except BuildFailed as error:
            shown = without_credentials(url)
            raise BuildFailed(f"build.repo: cannot get {wanted} of {shown}: {error.message}") from error
        if "ambiguous" in said:
            shown = without_credentials(url)
            raise BuildFailed(
                f"build.repo: {wanted} of {shown} is ambiguous; write refs/heads/{wanted} for the branch or "
                f"refs/tags/{wanted} for the tag"
            )
        return commit

    def facts(self, url: str, commit: str, inside: str = "") -> dict[str, Any]:
        """What is recorded of the commit beside its hash, the tree that of the directory ``inside``.

        Nothing where the mirror does not have it.
        """
        try:
            return commit_facts(commit, cwd=self.path(url), prefix=inside, bare=True)
        except BuildFailed:
            return {}

    def files(self, url: str, commit: str, inside: str = "") -> list[str]:
        """The names of all files of the commit below the directory ``inside``, relative to it; not of submodules.

        Raises `BuildFailed` where the mirror does not have the commit.
        """
        tree = f"{commit}:{inside}" if inside else commit
        return names(_in(self.path(url), "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree))

    def changes(self, url: str, old: str, new: str) -> list[tuple[str, str]] | None:
        """(A, M, D or T; name) of what differs between two commits; None if the mirror does not have both."""
        try:
            parts = names(_in(self.path(url), "diff", "--no-ext-diff", "--no-renames", "--name-status", "-z", old, new))
        except BuildFailed:
            return None
        return list(zip(parts[::2], parts[1::2], strict=True))

    def check_out_part(self, url: str, commit: str, target: Path, exclude: Sequence[str], inside: str) -> None:
        """What lies in the directory ``inside`` of the commit, as a copy of that directory: without .git.

        ``exclude`` is relative to it.  Raises `BuildFailed`, also where the commit has no such directory.
        """
        whole = target.with_name(f"{target.name}.whole")
        self.check_out(url, commit, whole, ())
        part = whole / inside
        if part.is_symlink() or not part.is_dir():
            shown = without_credentials(url)
            raise BuildFailed(f"build.source: commit {commit[:12]} of {shown} has no directory {readable(inside)}")
        part.rename(target)
        remove_tree(whole)
        for name in [name for name in source.listing(target, ()) if source.left_out(name, exclude)]:
            path = target / name
            if path.is_symlink() or not path.is_dir():
                path.unlink(missing_ok=True)
            else:
                remove_tree(path)

    def check_out(self, url: str, commit: str, target: Path, exclude: Sequence[str]) -> None:
        """A work tree of the commit with its submodules at ``target``, with .git, since builds ask it for a version.

        What ``exclude`` matches is left out (git takes it for unchanged).  All files have the time of the commit, so
        that make finds nothing out of date that was committed together.  Raises `BuildFailed`.
        """
        try:
            self._populate(described(url, url), commit, target, "", exclude)
            git("submodule", "absorbgitdirs", cwd=target, plain=True)
            trees = list(work_trees(target))
            for tree, prefix in trees:
                leave_out(tree, prefix, exclude)
                refuse_pointers(tree, prefix)
            set_times(target, int(git("show", "-s", "--format=%ct", commit, cwd=target, plain=True)))
            for tree, _prefix in reversed(trees):  # for builds that ask git whether the tree is dirty
                git("update-index", "-q", "--refresh", cwd=tree, plain=True)
        except BuildFailed as error:
            shown = without_credentials(url)
            raise BuildFailed(f"build.repo: cannot check out {commit[:12]} of {shown}: {error.message}") from error

    def _populate(self, repository: Repository, commit: str, target: Path, prefix: str, exclude: Sequence[str]) -> None:
        mirror = self.path(repository.url)
        try:
            with self.lock(mirror.name):
                clone = ("clone", "--quiet", "--no-checkout", "--template=", "--origin", "origin")
                git(*clone, "--no-recurse-submodules", "--", str(mirror), str(target), cwd=self.root, plain=True)
            git("remote", "set-url", "origin", without_credentials(repository.url), cwd=target, plain=True)
            if not _has(target / ".git", commit):
                _bring(mirror, commit, target)
            git("checkout", "--quiet", "--detach", commit, cwd=target, plain=True)
        except BuildFailed as error:
            raise BuildFailed(f"{error.message} (without its mirror, {mirror}, it would be fetched anew)") from error
        for module in submodules(target, prefix, exclude):
            try:
                found = self._obtain(repository, module)
            except BuildFailed as error:
                raise BuildFailed(
                    f"submodule {readable(prefix + module.path)}: {error.message}. If the build does not need it, "
                    "name it in build.exclude"
                ) from error
            for setting, value in (
                ("url", without_credentials(found.url)),
                ("active", "true"),
            ):  # as `git submodule init` does
                git("config", f"submodule.{module.name}.{setting}", value, cwd=target, plain=True)
            self._populate(found, module.commit, target / module.path, f"{prefix}{module.path}/", exclude)

    def _obtain(self, parent: Repository, module: Submodule) -> Repository:
        """The first place that has the submodule's commit, now in its mirror; the error tells all that was tried."""
        tried = []
        known = list(places(parent, module))
        for place, _settings in known:
            if _has(self.path(place.url), module.commit):
                return place
        for place, settings in known:
            mirror = self.path(place.url)
            try:
                with self.lock(mirror.name):
                    self._fetch(place.source, mirror, settings, head=False)
                    if not _has(mirror, module.commit):
                        _fetch_commit(place.source, mirror, module.commit, settings)
            except BuildFailed as error:
                tried.append(f"{without_credentials(place.source)}: {error.message}")
            else:
                return place
        raise BuildFailed(f"cannot get its commit {module.commit[:12]} from " + "; nor from ".join(tried))

    def _fetch(self, url: str, mirror: Path, settings: Sequence[str], *, head: bool) -> None:
        """Bring the mirror up to date; one that is not there or damaged (git was killed) is made beside its place."""
        if (mirror, url, head) in self._fetched:
            return
        if not self._updated(url, mirror, settings):
            self.say(f"fetching {without_credentials(url)}")
            fresh = mirror.with_name(f"{mirror.name}.new")
            remove_tree(fresh)
            fresh.mkdir(parents=True)
            git("init", "--quiet", "--bare", "--template=", cwd=fresh, plain=True)
            self._fetch_everything(url, fresh, settings)
            (fresh / MIRROR_DESCRIPTION).write_text(
                f"{without_credentials(url)}\n", encoding="utf-8", errors="surrogateescape"
            )
            remove_tree(mirror)
            fresh.rename(mirror)
        if head:  # a mirror's HEAD does not follow by itself when the repository's moves to another branch
            _fetch_into(mirror, url, "HEAD", settings)
            _in(mirror, "update-ref", "--no-deref", "HEAD", "FETCH_HEAD")
        self._fetched |= {(mirror, url, head), (mirror, url, False)}

    def _updated(self, url: str, mirror: Path, settings: Sequence[str]) -> bool:
        """Fetch into the mirror; False if there is none, or one that is damaged."""
        if not _succeeds(mirror, "rev-parse", "--git-dir"):
            return False
        try:
            self._fetch_everything(url, mirror, settings, "--prune")
        except BuildFailed as error:
            try:
                git("ls-remote", "--quiet", "--", url, "HEAD", cwd=self.root, settings=settings)
            except BuildFailed:  # the mirror is not to blame
                raise error from None
            self.say(f"the mirror of {without_credentials(url)} is damaged")
            return False
        return True

    def _fetch_everything(self, url: str, mirror: Path, settings: Sequence[str], *options: str) -> None:
        """All branches and tags; of a repository on this machine without those that are damaged, which is said."""
        try:
            _fetch_into(mirror, url, _EVERYTHING, settings, *options)
        except BuildFailed as error:
            if not is_of_damage(error) or not os.path.isdir(url) or _promisor(url) is not None:
                raise
            self.say(
                fetch_sound(
                    url, error, lambda what: _fetch_into(mirror, url, "", settings, *options, "--stdin", refspecs=what)
                )
            )


class LocalRevisions(Mirrors):
    """What revisions name without a network: of repositories on this machine, and what is written out in full."""

    def resolve(self, url: str, rev: str | None) -> str:
        """As `Mirrors.resolve`, but nothing is fetched; raises `BuildFailed` where that would be needed to tell."""
        wanted = rev or "HEAD"
        if FULL_HASH.fullmatch(wanted):
            return wanted
        if not os.path.isdir(url):
            shown = without_credentials(url)
            raise BuildFailed(f"what {wanted} of {shown} is by now was not asked, since it is not on this machine")
        return commit_named(wanted, cwd=Path(url))


_UNKNOWN: Final = "fatal: Needed a single revision"
"""What git says of a revision that is none, which tells a user nothing."""


def _parsed(mirror: Path, rev: str) -> tuple[bytes, str]:
    """The commit that a revision names, and what git remarks; an unknown one is an error with the nearest name."""
    try:
        return git_with_remarks("--git-dir=.", "rev-parse", "--verify", f"{rev}^{{commit}}", cwd=mirror, plain=True)
    except BuildFailed as error:
        if error.message != _UNKNOWN:
            raise
        raise BuildFailed(f"it has no such revision{nearest_revision(error, rev, mirror, '--git-dir=.')}") from error


def nearest_revision(error: BuildFailed, rev: str, folder: Path, *where: str) -> str:
    """``; did you mean 'v1.2'?`` where git does not know the revision, or nothing; what else it said is repeated."""
    if error.message != _UNKNOWN:
        return f": {error.message}"
    command = (*where, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags")
    return suggest(rev, git(*command, cwd=folder, plain=True).decode("utf-8", "backslashreplace").splitlines())


def _fetch_commit(url: str, mirror: Path, commit: str, settings: Sequence[str]) -> None:
    """Ask for a commit that no branch or tag leads to, as submodules' may be; servers allow it or not."""
    _fetch_into(mirror, url, commit, settings)


def _fetch_into(
    mirror: Path, url: str, what: str, settings: Sequence[str], *options: str, refspecs: Sequence[str] = ()
) -> None:
    """Fetch ``what`` into the mirror, or else what ``refspecs`` say, of which there may be many."""
    # A clone with little history, such as a continuous-integration service makes, is good enough to build from.
    fetch = ("--git-dir=.", "fetch", "--quiet", "--no-tags", "--update-shallow", *options)
    try:
        listed = b"".join(os.fsencode(refspec) + b"\n" for refspec in refspecs)
        git(*fetch, "--", url, *([what] if what else []), cwd=mirror, settings=settings, stdin=listed)
    except BuildFailed as error:
        is_unknown = "couldn't find remote ref" in error.message or f"not our ref {what}" in error.message
        if is_unknown or (promisor := _promisor(url)) is None:
            raise
        whole = shlex.join(["git", "-C", url, "fetch", "--refetch", "--no-filter", promisor])
        raise BuildFailed(
            f"it is a partial clone, which lacks files of its own history: `{whole}` fetches them "
            f"(in CI: a clone without filter). git says: {error.message}"
        ) from error


def _promisor(url: str) -> str | None:
    """The remote that a partial clone on this machine left files with; None of every other repository."""
    if not os.path.isdir(url):
        return None
    try:
        names_and_values = git("config", "--get-regexp", r"^remote\..*\.promisor$", cwd=Path(url), plain=True)
    except BuildFailed:  # git found none
        return None
    listed = names_and_values.decode("utf-8", "backslashreplace").splitlines()
    found = [line.rpartition(" ")[0] for line in listed if line.endswith(" true")]
    return found[0].removeprefix("remote.").removesuffix(".promisor") if found else None


def _bring(mirror: Path, commit: str, target: Path) -> None:
    """Have the work tree's repository hold a commit of the mirror that git did not clone.

    Of a mirror with little history git clones what branches and tags lead to, not all objects: no work tree with
    changes, which none leads to, and no commit that a service has under another name, as refs/remotes/pull/1/merge.
    """
    fetch = ("fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head")
    git(*fetch, "--", str(mirror), commit, cwd=target, plain=True, settings=("protocol.version=2",))


def _in(mirror: Path, *arguments: str) -> bytes:
    return git("--git-dir=.", *arguments, cwd=mirror, plain=True)


def _has(mirror: Path, commit: str) -> bool:
    """Whether the mirror holds the commit."""
    return _succeeds(mirror, "cat-file", "-e", f"{commit}^{{commit}}")


def _succeeds(mirror: Path, *arguments: str) -> bool:
    if not mirror.is_dir():
        return False
    try:
        _in(mirror, *arguments)
    except BuildFailed:
        return False
    return True
