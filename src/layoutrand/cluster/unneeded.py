"""What is in a shared directory, and getting rid of what nobody needs any more.

Nothing there is the only one of its kind but records of executions, which are measurements, and the processors that
nodes have settled on for these: those are never deleted.
Anything else can be made again; still nothing is deleted that a task may be about to use:

* a bundle, the day it was exported or fetched last (its manifest's time) counting as its last use;
* a content that a bundle refers to that is kept, or that is younger than a day: contents are written, and touched where
  they are there already, before the manifest that refers to them;
* a content that no bundle refers to, as inputs and descriptions of runs are: their last use is when they were sent;
* a job's files while its engine has not done with it, and all of them where the engine does not answer;
* what a writer has begun less than a day ago.

Only names that layoutrand and engines give are touched, and no symbolic link is followed.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from layoutrand.cluster import manifest as bundle
from layoutrand.cluster.manifest import Manifest
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.engines import known
from layoutrand.errors import BundleError
from layoutrand.platform.disk import shared_errors
from layoutrand.platform.regular_file import WRITTEN_BY_HAND, text_of_regular

DAY_S: Final = 86400.0
"""Nothing younger (s) is deleted."""

Kind = Literal["bundle", "carried", "content", "result", "record", "agreement", "job", "token", "scratch", "unknown"]
_WORDS: Final[Mapping[Kind, str]] = {
    "bundle": "captures for nodes",
    "carried": "captures for other machines",
    "content": "their files",
    "result": "binaries waiting to be fetched",
    "record": "executions waiting to be recorded",
    "agreement": "processors that experiments are executed on",
    "job": "files of {} jobs",
    "token": "notes of {} jobs",
    "scratch": "unfinished writing",
    "unknown": "not layoutrand's",
}

_PATTERNS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("scratch", re.compile(r"(.*/)?\.tmp-[^/]+")),
    ("content", re.compile(r"objects/([0-9a-f]{2})/\1[0-9a-f]{62}")),
    ("bundle", re.compile(r"bundles/[0-9a-f]{64}\.json")),
    ("carried", re.compile(r"carried/[0-9a-f]{64}\.json")),
    ("result", re.compile(r"results/([0-9a-f]{2})/\1[0-9a-f]{62}")),
    ("record", re.compile(r"executions/.+")),
    ("agreement", re.compile(r"processors/.+")),
)


def kinds() -> dict[Kind, str]:
    """What each kind is, in the order in which they are shown."""
    titles = " or ".join(engine.title for engine in known.engines() if engine.left)
    return {kind: words.format(titles) for kind, words in _WORDS.items()}


@dataclass(frozen=True)
class SharedFile:
    """One file, or one job's files: size on disk in bytes, time of its last use, and for people a ``label``.

    A bundle refers to contents, which are ``contents_size`` bytes on disk.  Files of a job are of an ``engine``.
    """

    kind: Kind
    name: str
    path: Path
    size: int
    used_at: float
    label: str = ""
    refers_to: frozenset[str] = frozenset()
    contents_size: int = 0
    engine: str = ""


@dataclass
class Inventory:
    """What is there; ``problems`` are paths that could not be looked at or deleted, with the reason."""

    entries: list[SharedFile] = field(default_factory=list)
    problems: list[tuple[Path, str]] = field(default_factory=list)

    def of(self, kind: Kind) -> list[SharedFile]:
        """Those of one kind, least recently used first."""
        return sorted((entry for entry in self.entries if entry.kind == kind), key=lambda entry: entry.used_at)


def inventory(root: Path) -> Inventory:
    """Everything below the shared directory; raises `BundleError` where there is none."""
    with shared_errors("read", root):
        os.scandir(root).close()
    found = Inventory()
    jobs: dict[Path, list[SharedFile]] = {}
    for path in _files(root, found):
        with suppress(FileNotFoundError):  # collected, or deleted by another, meanwhile
            entry = _entry(root, path)
            if entry.kind == "job":
                jobs.setdefault(path.parent, []).append(entry)
            else:
                found.entries.append(entry)
    for folder, files in jobs.items():
        latest = max(entry.used_at for entry in files)
        size = sum(entry.size for entry in files)
        found.entries.append(replace(files[0], path=folder, size=size, used_at=latest))
    sizes = {entry.name: entry.size for entry in found.of("content")}
    found.entries = [
        _described(SharedDirectory(root), entry, sizes, found) if entry.kind == "bundle" else entry
        for entry in found.entries
    ]
    return found


def collect(
    root: Path, *, older_s: float, now: float, active: Mapping[str, Collection[str] | None], dry_run: bool = False
) -> tuple[list[SharedFile], Inventory]:
    """Delete what is not needed and was not used for ``older_s`` (at least `DAY_S`): what that was, and what is left.

    ``active`` are, by engine, the ids of jobs that it has not done with, None where that is not known. Files that may
    not be deleted are problems of the inventory; so are manifests that cannot be read, for whose sake all contents
    stay.
    """
    older_s = max(older_s, DAY_S)
    found = inventory(root)
    deleted: list[SharedFile] = []

    def drop(entry: SharedFile, age: float) -> None:
        if now - entry.used_at >= age and _gone(entry, now - age, found, dry_run):
            deleted.append(entry)

    ages: dict[Kind, float] = {"bundle": older_s, "carried": older_s, "result": older_s, "scratch": DAY_S}
    for kind, age in ages.items():
        for entry in found.of(kind):
            drop(entry, age)
    for entry in found.entries:
        if entry.kind in {"job", "token"} and now - entry.used_at >= older_s:
            jobs = active.get(entry.engine)
            if jobs is None:
                title = known.engine(entry.engine).title
                found.problems.append((entry.path, f"{title} does not say whether the job is done"))
            elif entry.label not in {*jobs, *(job.split("_", 1)[0] for job in jobs)}:  # of an array, or the whole one
                drop(entry, older_s)
    gone = {entry.path for entry in deleted}
    kept = [entry for entry in (found if dry_run else inventory(root)).of("bundle") if entry.path not in gone]
    needed = {digest for entry in kept for digest in entry.refers_to}
    freed = {digest for entry in deleted for digest in entry.refers_to}
    if all(entry.label != _UNREADABLE for entry in kept):
        for entry in found.of("content"):
            if entry.name not in needed:
                drop(entry, DAY_S if entry.name in freed else older_s)
    gone = {entry.path for entry in deleted}
    found.entries = [entry for entry in found.entries if entry.path not in gone]
    return deleted, found


_UNREADABLE: Final = "cannot be read"


def _files(root: Path, found: Inventory) -> Iterator[Path]:
    def wrong(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            found.problems.append((Path(str(error.filename)), error.strerror or str(error)))

    for folder, directories, names in os.walk(root, onerror=wrong):
        links = [name for name in directories if os.path.islink(os.path.join(folder, name))]
        for name in sorted([*names, *links]):
            yield Path(folder, name)


def _entry(root: Path, path: Path) -> SharedFile:
    status = path.lstat()
    relative = str(path.relative_to(root))
    kind, owner = _kind(relative) if stat.S_ISREG(status.st_mode) else ("unknown", "")
    name, label = path.name, ""
    if kind == "unknown":
        name = relative
    elif kind in {"bundle", "carried"}:
        name = path.stem
    elif kind == "job":
        name = label = path.parent.name
    elif kind == "token":
        with suppress(OSError):
            label = text_of_regular(path, largest=WRITTEN_BY_HAND, encoding="ascii", errors="replace").strip()
    return SharedFile(kind, name, path, status.st_blocks * 512, status.st_mtime, label, engine=owner)


def _kind(relative: str) -> tuple[Kind, str]:
    """What a file of that name is, and the name of the engine that left it, or ""."""
    for kind, pattern in _PATTERNS:
        if pattern.fullmatch(relative):
            return kind, ""
    owner, _, inner = relative.partition("/")
    for left, pattern in known.engine(owner).left.items() if owner in known.names() else ():
        if pattern.fullmatch(inner):
            return left, owner
    return "unknown", ""


def _described(shared: SharedDirectory, entry: SharedFile, sizes: Mapping[str, int], found: Inventory) -> SharedFile:
    """The bundle with what its manifest says: which system's capture, and the size of all that it refers to."""
    try:
        manifest = bundle.parse_manifest(shared.manifest(entry.name, use=False), where=str(entry.path))
    except BundleError as error:
        if not entry.path.exists():  # deleted by another meanwhile
            return entry
        damaged = os.access(entry.path, os.R_OK)  # nobody can import it, so what it refers to is of no use to it
        found.problems.append((entry.path, str(error)))
        return replace(entry, label="damaged" if damaged else _UNREADABLE)
    size = sum(sizes.get(digest, 0) for digest in manifest.sizes())
    label = f"{_system(shared, manifest)} {manifest.capture[:16]}"
    return replace(entry, label=label, contents_size=size, refers_to=frozenset(manifest.sizes()))


def _system(shared: SharedDirectory, manifest: Manifest) -> str:
    record = next((file for file in manifest.files if file.path == bundle.RECORD), None)
    if record is None:
        return "?"
    try:
        return str(json.loads(shared.get(record.sha256, record.size)[0])["system"])
    except (BundleError, ValueError, KeyError, TypeError):
        return "incomplete:"


def _gone(entry: SharedFile, before: float, found: Inventory, dry_run: bool) -> bool:
    """Delete the entry if it was not used since; whether it is gone, or would be."""
    if dry_run:
        return True
    files = sorted(entry.path.iterdir()) if entry.kind == "job" else [entry.path]
    try:
        for path in files:
            if path.lstat().st_mtime > before:
                return False
        for path in files:
            path.unlink()
        if entry.kind == "job":
            entry.path.rmdir()
    except FileNotFoundError:
        return True  # another was quicker
    except OSError as error:
        found.problems.append((Path(str(error.filename)), error.strerror or str(error)))
        return False
    return True
