"""Submodules of a checked-out commit, and the places where each may be fetched from.

Submodules are not left to ``git submodule``: each is mirrored too, so that the next build needs no network, and an
address inside somebody else's repository may not reach into this machine's files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from layoutrand.capture.source import left_out
from layoutrand.errors import BuildFailed
from layoutrand.platform.disk import readable
from layoutrand.platform.git_command import git, git_directory, names
from layoutrand.platform.repository_addresses import without_credentials

# Paths that the user names, and those in repositories at paths, are fetched from whatever git's own setting is.
OWN: Final = ("protocol.file.allow=always",)
# That an address in a repository from elsewhere is no path is seen to in `places`, which helpers may be started in
# `layoutrand.platform.git_command`.
STRANGERS: Final = ("protocol.ext.allow=never",)


@dataclass(frozen=True)
class Repository:
    """A repository: its address, from where it is fetched, and its git directory if that is on this machine.

    The first two differ for submodules that a clone on this machine holds already.
    """

    url: str
    source: str
    folder: Path | None


@dataclass(frozen=True)
class Submodule:
    """One submodule of a commit: its name in .gitmodules, path, address and commit."""

    name: str
    path: str
    url: str
    commit: str


def is_local(url: str) -> bool:
    """Whether git takes the address for a path: no scheme but file, and no ``host:`` before the first slash."""
    return url.startswith("file://") or ("://" not in url and ":" not in url.split("/", 1)[0])


def joined(base: str, url: str) -> str:
    """A submodule's address; one that begins with ./ or ../ is relative to its superproject's, ``base``."""
    if not re.match(r"\.\.?(/|$)", url):
        return url
    base = base.rstrip("/")
    while match := re.match(r"(\.\.?)(/+|$)", url):
        url = url[match.end() :]
        if match[1] == "..":
            cut = max(base.rfind("/"), base.rfind(":"))
            if cut < 0 or base.endswith(("//", ":")):
                raise BuildFailed(f"the relative address leads out of {without_credentials(base)!r}")
            base = base[: cut + 1] if base[cut] == ":" else base[:cut]
    return base if not url else f"{base}{url}" if base.endswith(":") else f"{base}/{url}"


def described(url: str, source: str) -> Repository:
    """The repository at ``source``; its git directory is looked for where that is a path."""
    if not is_local(source):
        return Repository(url, source, None)
    path = Path(unquote(source.removeprefix("file://")) if source.startswith("file://") else source)
    return Repository(url, source, git_directory(path))  # a bundle has none


def places(parent: Repository, module: Submodule) -> Iterator[tuple[Repository, Sequence[str]]]:
    """Where a submodule may be had, with the settings of git that are right for each place.

    A clone on this machine has its submodules' repositories, too: they need no network, and are there where the
    relative address of a submodule does not lead beside the clone. The clone's own origin is what it does lead beside.
    """
    url = joined(parent.url, module.url)
    own = OWN if is_local(parent.url) else STRANGERS
    if is_local(url) and own is STRANGERS:
        raise BuildFailed(
            f"its address {module.url} is a path on this machine, which a repository from elsewhere may not name"
        )
    if parent.folder is not None and ".." not in module.name.split("/"):
        inside = parent.folder / "modules" / module.name
        if inside.is_dir():
            yield Repository(url, str(inside), inside), OWN
    yield described(url, url), own
    if parent.folder is not None and module.url.startswith("."):
        try:
            origin = os.fsdecode(git("config", "remote.origin.url", cwd=parent.folder).removesuffix(b"\n"))
        except BuildFailed:  # it has none
            return
        beside = joined(origin, module.url)
        yield described(beside, beside), OWN if is_local(origin) else STRANGERS


def submodules(tree: Path, prefix: str, exclude: Sequence[str]) -> Iterator[Submodule]:
    """The submodules of what is checked out, but those left out and those that .gitmodules says not to fetch."""
    links = []
    has_table = False
    for line in names(git("ls-files", "--stage", "-z", cwd=tree, plain=True)):
        facts, _, path = line.partition("\t")
        mode, commit, _stage = facts.split(" ")
        has_table = has_table or path == ".gitmodules"
        if mode == "160000" and not left_out(prefix + path, exclude):
            links.append((path, commit))
    if not links:
        return
    known = _gitmodules(tree) if has_table else {}
    for path, commit in links:
        name, table = next(((name, t) for name, t in known.items() if t.get("path") == path), ("", {}))
        if table.get("update") == "none":
            continue
        if "url" not in table:
            raise BuildFailed(
                f"submodule {readable(prefix + path)}: .gitmodules has no address for it. If the build does not need "
                "it, name it in build.exclude"
            )
        yield Submodule(name, path, table["url"], commit)


def _gitmodules(tree: Path) -> dict[str, dict[str, str]]:
    """Name -> keys of each submodule in .gitmodules, as it was committed."""
    found: dict[str, dict[str, str]] = {}
    for entry in names(git("config", "-z", "--blob", ":.gitmodules", "--list", cwd=tree, plain=True)):
        key, _, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        name, _, setting = rest.rpartition(".")
        if section == "submodule":
            found.setdefault(name, {})[setting] = value
    return found
