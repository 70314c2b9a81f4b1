"""Where a system's source comes from: a directory, or a revision of a repository."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutrand.cache.store import Cache
from layoutrand.capture import source
from layoutrand.capture.capture_warnings import ChangedSource, LfsPointers, NotCommitted, UnknownState
from layoutrand.capture.checkout import pointers_of_lfs
from layoutrand.capture.moved_profiles import name_anew, profiles_of
from layoutrand.capture.own_files import own_files, remember_written
from layoutrand.capture.repository import Mirrors
from layoutrand.capture.submodules import is_local
from layoutrand.capture.worktree import git_state
from layoutrand.config.build_recipe import Recipe
from layoutrand.config.config import Config, GeneratedSource
from layoutrand.errors import BuildFailed, LayoutrandError, UsageError
from layoutrand.platform import git_command
from layoutrand.platform.disk import digest_of_input, readable, sha256_bytes, write_files
from layoutrand.platform.repository_addresses import without_credentials
from layoutrand.warning import AnyWarning

Say = Callable[[str], None]
"""Takes one line about what is happening."""


@dataclass(frozen=True)
class Origin:
    """The source to build: ``facts`` identify it in keys and records; ``fetch`` puts a private copy at a path.

    ``about`` says where the source was found, in records but in no key: what is there counts, not where.  ``contents``
    is the `source.listing` of a directory, ``in_place`` the directory itself where it is built without a copy.
    ``home`` is where its user builds it, None where nothing of it is on this machine but the mirror.  ``notes`` are
    what a user should know of it.  ``exclude`` are the patterns of what was left out of a directory.
    """

    facts: Mapping[str, Any]
    about: Mapping[str, Any]
    fetch: Callable[[Path], None]
    in_place: Path | None
    contents: Mapping[str, str] | None
    notes: tuple[AnyWarning, ...]
    home: Path | None = None
    exclude: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """What a capture keeps of it."""
        return {**self.facts, **self.about}


class Origins:
    """The sources of one project, each looked at once per command however many systems are built from it."""

    def __init__(self, project: Path, cache: Cache, say: Say) -> None:
        """For the project in that directory; mirrors of repositories are kept in the cache."""
        self.project = project
        self.mirrors = Mirrors(cache.root / "repos", cache.lock, say)
        self._found: dict[tuple[str | None, ...], Origin | LayoutrandError] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def find(self, recipe: Recipe) -> Origin:
        """Where the recipe's source comes from; raises `BuildFailed` or `UsageError` where there is none."""
        build = recipe.build
        rev = (recipe.options.rev or build.rev) if build.repo is not None else None
        with self._lock:
            self._go_on()
            if (build.repo, rev) not in self._found:
                try:
                    self._found[build.repo, rev] = self._revision(recipe, rev) if build.repo else self._folder(recipe)
                except LayoutrandError as error:
                    self._found[build.repo, rev] = error
            found = self._found[build.repo, rev]
        if isinstance(found, LayoutrandError):
            raise found
        return found

    def names(self, recipe: Recipe) -> list[str]:
        """The names of the files that the recipe's source has, relative to it; raises as `find` does."""
        origin = self.find(recipe)
        if origin.contents is not None or recipe.build.repo is None:
            return list(origin.contents or {})
        inside = origin.facts.get("directory", "")
        return self.mirrors.files(self.url(recipe.build.repo), origin.facts["commit"], inside)

    def stop(self) -> None:
        """End git where it is at work, from any thread, and look at nothing more."""
        self._stopped = True
        git_command.stop()

    def _go_on(self) -> None:
        if self._stopped:
            raise BuildFailed("the source was not read to its end: layoutrand is being interrupted")

    def notes(self) -> list[AnyWarning]:
        """What there is to say of the sources that were found."""
        return [note for found in self._found.values() if isinstance(found, Origin) for note in found.notes]

    def url(self, repo: str) -> str:
        """The repository's address; a path is made absolute."""
        path = self.project / repo
        return os.path.abspath(path) if path.exists() or (is_local(repo) and "://" not in repo) else repo

    def _revision(self, recipe: Recipe, rev: str | None) -> Origin:
        build = recipe.build
        assert build.repo is not None
        url = self.url(build.repo)
        commit = self.mirrors.resolve(url, rev)
        exclude = list(build.exclude)
        notes: list[AnyWarning] = []
        if re.match(r"(HEAD|@)($|[~^@])", rev or "HEAD") and os.path.isdir(url):
            state = git_state(Path(url))
            if state and state["dirty"]:
                notes.append(NotCommitted(commit, url, state["n_changed"]))
        # The file gives either directory or repository; both are those of a directory at a commit (`at_commits`).
        inside = "" if build.source == "." else build.source
        git = {**self.mirrors.facts(url, commit, inside), "dirty": False}

        def fetch(target: Path) -> None:
            if inside:
                self.mirrors.check_out_part(url, commit, target, exclude, inside)
            else:
                self.mirrors.check_out(url, commit, target, exclude)

        return Origin(
            facts={
                "commit": commit,
                **({"exclude": exclude} if exclude else {}),
                **({"directory": inside} if inside else {}),
            },
            about={"repo": without_credentials(url), "rev": rev or "HEAD", "git": git},
            fetch=fetch,
            in_place=None,
            contents=None,
            notes=tuple(notes),
            home=Path(url, inside) if os.path.isdir(url) else None,
        )

    def _folder(self, recipe: Recipe) -> Origin:
        build = recipe.build
        if generated := build.generated():
            return _generated(generated)
        folder = (self.project / build.source).resolve()  # the wrappers see physical paths
        exclude = (*build.exclude, *own_files(self.project, folder))
        contents = source.listing(folder, exclude, self._go_on)
        state = git_state(folder, exclude)
        notes: list[AnyWarning] = []
        if state and "error" in state:
            notes.append(UnknownState(str(folder), state["error"]))
        elif state and state["dirty"]:
            notes.append(ChangedSource(str(folder), state["commit"], state["n_changed"], tuple(state["changed"])))
        if state and "error" not in state:
            pointers = [name for name in pointers_of_lfs(folder) if not source.left_out(name, exclude)]
            if pointers:
                notes.append(LfsPointers(str(folder), tuple(readable(name) for name in pointers)))
        profiles = [] if build.in_place else profiles_of(folder, contents)

        def fetch(target: Path) -> None:
            source.copy(folder, target, exclude, self._go_on)
            name_anew(target, folder, profiles)

        return Origin(
            facts={
                "digest": source.digest_of(contents),
                "in_place": build.in_place,
                # Copied to another place, they are profiles of this one.
                **({"profiles_of": str(folder)} if profiles else {}),
            },
            about={"git": state},
            fetch=fetch,
            in_place=folder if build.in_place else None,
            contents=contents,
            notes=tuple(notes),
            home=folder,
            exclude=exclude,
        )


def is_part_of_source(config: Config, project: Path, path: Path) -> bool:
    """Whether a file written there would change the source of a capture, so that all of it is captured anew."""
    build = config.build
    if build.generated() is not None or build.repo is not None:
        return False
    if all(system.prebuilt is not None for system in config.systems.values()):
        return False
    folder, place = (project / build.source).resolve(), path.resolve()
    if folder not in place.parents:
        return False
    name = place.relative_to(folder).as_posix()
    return not source.is_ours(name) and not source.left_out(name, build.exclude)


def leave_out_of_source(config: Config, project: Path, files: Iterable[Path]) -> None:
    """Have files that layoutrand has written be no part of the source, where they lie in it; raises `OSError`."""
    if written := [file for file in files if is_part_of_source(config, project, file)]:
        remember_written(project, written)


def _generated(build: GeneratedSource) -> Origin:
    """The files that layoutrand generates for a suite's tools; what those tools build from is identified beside them.

    Named by their places below the installation, two installations of one version are the same source.
    """
    top = os.path.commonpath(build.outside)
    try:
        outside = {os.path.relpath(place, top): digest_of_input(Path(place)) for place in build.outside}
    except OSError as error:
        raise UsageError(f"suite.root: cannot read {error.filename}: {error.strerror}") from error
    contents = {name: f"file {sha256_bytes(text.encode())}" for name, text in build.files.items()}
    return Origin(
        facts={"digest": source.digest_of(contents), "in_place": False, "suite": outside},
        about={"git": None},
        fetch=lambda target: write_files(target, build.files),
        in_place=None,
        contents=contents | {name: f"suite {digest}" for name, digest in outside.items()},
        notes=(),
    )
