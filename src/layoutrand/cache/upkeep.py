"""What is in the cache: listed, checked, and evicted where it is too much."""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.in_use import evicting
from layoutrand.cache.kept_builds import RECORD_OF_BUILD, is_anothers
from layoutrand.cache.node_inputs import is_used, replicas
from layoutrand.cache.sealed_records import unsealed
from layoutrand.cache.storage_record import CAPTURE_RECORD, CAPTURES, RECORD_OF_BINARY, MadeWith, made_with
from layoutrand.cache.store import KEPT_BUILDS, MIRROR_DESCRIPTION, Cache, probe_lock, read_capture
from layoutrand.platform.disk import cache_errors, remove_tree
from layoutrand.platform.orphans import is_at_work
from layoutrand.platform.regular_file import RECORD, content_of_regular
from layoutrand.text.foreign_fields import excerpt

_FOLDERS: Final = {"capture": CAPTURES, "binary": "binaries", "build": KEPT_BUILDS}
_RECORDS: Final = {"capture": CAPTURE_RECORD, "binary": RECORD_OF_BINARY, "build": RECORD_OF_BUILD}
"""What says what an entry is, and when it was used last."""
_LABEL: Final = ("system", "artefact", "layout", "variant")


@dataclass(frozen=True)
class CacheEntry:
    """One thing in the cache: its kind, its bytes, and when it was last used.

    It is a "capture", "binary", "build" (a finished one that is kept), "repository" or "inputs".  What binaries are
    made of counts as used when they were; ``made_with`` says what that is, of a binary that is no whole file.
    """

    kind: str
    name: str
    path: Path
    size: int
    used_at: float
    label: str
    made_with: MadeWith | None = None


def entries(cache: Cache) -> list[CacheEntry]:
    """Everything in the cache, least recently used first."""
    found = _recorded(cache, *_RECORDS)
    for path in replicas(cache.root):
        with suppress(FileNotFoundError):  # a node has just removed it
            used_at, name = path.lstat().st_mtime, f"{path.parent.name}/{path.name}"
            found.append(CacheEntry("inputs", name, path, _size(path), used_at, "of a project"))
    return sorted(found + _mirrors(cache), key=lambda entry: entry.used_at)


def _recorded(cache: Cache, *kinds: str) -> list[CacheEntry]:
    """What there is of kinds that have records, least recently used first."""
    found = [_entry(kind, path) for kind in kinds for path in _folders(cache, kind)]
    return sorted(_with_bases(cache, found), key=lambda entry: (entry.used_at, entry.made_with is None))


def _folders(cache: Cache, kind: str) -> list[Path]:
    return sorted(path for path in (cache.root / _FOLDERS[kind]).iterdir() if path.is_dir())


def _entry(kind: str, path: Path) -> CacheEntry:
    made, record = None, path / _RECORDS[kind]
    try:
        used_at = record.stat().st_mtime
        table = unsealed(content_of_regular(record, largest=RECORD))
        label = _label(kind, table)
        made = made_with(table) if kind == "binary" else None
    except (OSError, ValueError, KeyError, TypeError):
        used_at, label = 0.0, "another user's" if kind == "build" and is_anothers(path) else "damaged"
    return CacheEntry(kind, path.name, path, _size(path), used_at, label, made)


def _label(kind: str, table: Mapping[str, Any]) -> str:
    """What it is: a binary's layout, what a capture is of, by which commands a build was made."""
    words = " ".join(str(table[name]) for name in _LABEL if name in table)
    of = ""
    if kind == "capture":
        of = ", ".join(str(link["artefact"]) for link in table.get("links", ()))
    elif kind == "build":
        facts = table.get("facts", {})
        commands = facts["commands"] if "commands" in facts else ()  # noqa: SIM401 -- what is no table has no `get`
        of = excerpt(" && ".join(map(str, commands)), quoted=False)
    return f"{words}: {of}" if of else words


_BASES: Final = {"delta": "binary", "order": "capture"}
"""The kind of entry that has what binaries are made of, by how they are kept."""
_GONE: Final = {"delta": "delta against what is gone", "order": "order of what is gone"}


def _with_bases(cache: Cache, found: Sequence[CacheEntry]) -> Iterator[CacheEntry]:
    """Each with the time at which it was used, of what others are made of; those of what is gone are no use."""
    whole = {(entry.kind, entry.name) for entry in found if entry.made_with is None}
    if "capture" not in {entry.kind for entry in found}:  # which nobody asked for
        whole |= {("capture", path.name) for path in _folders(cache, "capture")}
    needed: dict[tuple[str, str], float] = {}
    for entry in found:
        if entry.made_with is not None:
            base = _BASES[entry.made_with.storage], entry.made_with.entry
            needed[base] = max(entry.used_at, needed.get(base, 0.0))
    for entry in found:
        if entry.made_with is None:
            yield replace(entry, used_at=max(entry.used_at, needed.get((entry.kind, entry.name), 0.0)))
        elif (_BASES[entry.made_with.storage], entry.made_with.entry) in whole:
            yield replace(entry, label=f"{entry.label} ({entry.made_with.storage})")
        else:
            yield replace(entry, used_at=0.0, label=f"{entry.label} ({_GONE[entry.made_with.storage]})")


def record_entries(cache: Cache) -> list[CacheEntry]:
    """The records of what keys gave; they are not counted among `entries`, and never evicted."""
    found = []
    for path in sorted((cache.root / "keys").glob("*.json")):
        with suppress(FileNotFoundError):  # lists of files are dropped when nobody refers to them any more
            state = path.lstat()
            found.append(CacheEntry("record", path.stem, path, state.st_blocks * 512, state.st_mtime, "of a key"))
    return found


def _mirrors(cache: Cache) -> list[CacheEntry]:
    """Mirrors of repositories; git notices damage in them by itself, and what is gone is fetched again."""
    root = cache.root / "repos"
    found = []
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        try:
            used_at = (path / "HEAD").stat().st_mtime
        except OSError:  # being fetched, or left behind while it was
            used_at = path.lstat().st_mtime
        found.append(CacheEntry("repository", path.name, path, _size(path), used_at, f"mirror of {_mirrored(path)}"))
    return found


def _mirrored(mirror: Path) -> str:
    """Of what it is a mirror; what earlier versions made does not say it."""
    try:
        said = (mirror / MIRROR_DESCRIPTION).read_text(encoding="utf-8", errors="backslashreplace").strip()
    except OSError:
        said = ""
    return said or "a repository"


@dataclass(frozen=True)
class Collected:
    """What was evicted, and what would have been, but is in use: both least recently used first."""

    evicted: tuple[CacheEntry, ...]
    in_use: tuple[CacheEntry, ...]


def collect(cache: Cache, max_size: int) -> Collected:
    """Evict least recently used entries until at most ``max_size`` bytes remain, but nothing that may be in use.

    Kept builds go before all else: what was captured of them stays.  What binaries are made of goes after all of
    these.  Unfinished work of processes that are gone is cleared first; it is not counted as an entry.
    """
    _clear_abandoned(cache)
    _clear_listings(cache)
    present = entries(cache)
    return _evict(cache, sorted(present, key=lambda entry: entry.kind != "build"), max_size)


def collect_builds(cache: Cache, max_size: int) -> Collected:
    """The same of kept builds alone."""
    return _evict(cache, _recorded(cache, "build"), max_size)


def collect_layouts(cache: Cache) -> Collected:
    """Evict all binaries whose captures are there: from these they are made again, without a build."""
    captures = {
        path.name
        for path in (cache.root / _FOLDERS["capture"]).iterdir()
        if (capture := read_capture(path / _RECORDS["capture"])) is not None and not capture.is_rebuilt
    }
    return _evict(cache, [entry for entry in _recorded(cache, "binary") if _capture_of(entry) in captures], 0)


def _capture_of(binary: CacheEntry) -> str | None:
    try:
        facts = unsealed(content_of_regular(binary.path / _RECORDS["binary"], largest=RECORD)).get("facts")
    except (OSError, ValueError):
        return None
    capture = facts.get("capture") if isinstance(facts, dict) else None
    return capture if isinstance(capture, str) else None


def _evict(cache: Cache, present: Sequence[CacheEntry], max_size: int) -> Collected:
    """Evict the first of them that are too many; kept builds of other users are theirs to evict."""
    present = [entry for entry in present if entry.kind != "build" or not is_anothers(entry.path)]
    total = sum(entry.size for entry in present)
    evicted, in_use = [], []
    for entry in present:
        if total <= max_size:
            break
        if _evicted(cache, entry):
            total -= entry.size
            evicted.append(entry)
        else:
            in_use.append(entry)
    return Collected(tuple(evicted), tuple(in_use))


def _evicted(cache: Cache, entry: CacheEntry) -> bool:
    """Evict the entry, unless somebody may be using it; whether it is gone.

    A capture, a binary or a build is out of everybody's way at once, and removed then.
    """
    if entry.kind == "repository" and probe_lock(cache, entry.name):
        return False
    if entry.kind == "inputs" and is_used(entry.path):
        return False
    with cache_errors("evict", entry.path):
        if entry.kind not in _RECORDS:
            remove_tree(entry.path)
            return True
        aside = cache.root / "work" / f"aside-{uuid.uuid4().hex}"
        with evicting(cache.locks()) as used_since, suppress(FileNotFoundError):  # evicted or replaced by others
            if used_since is not None and _used_at(entry) >= used_since:
                return False
            os.rename(entry.path, aside)
        remove_tree(aside)
        return True


def _used_at(entry: CacheEntry) -> int:
    """When a capture, a binary or a build was used last, in nanoseconds since the epoch; 0 where nobody can use it."""
    try:
        return (entry.path / _RECORDS[entry.kind]).stat().st_mtime_ns
    except OSError:
        return 0


def _clear_abandoned(cache: Cache) -> None:
    hour_ago = time.time() - 3600
    for path in (cache.root / "work").iterdir():
        parts = path.name.rsplit("-", 2)
        alive = len(parts) == 3 and parts[1].isdigit() and is_at_work(int(parts[1]))
        with suppress(FileNotFoundError):  # its own process was as quick
            if not alive and path.lstat().st_mtime < hour_ago and not _is_held(path):
                remove_tree(path)


def _is_held(path: Path) -> bool:
    """Whether somebody holds the lock on the directory: a build that was put back has the number of who made it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:  # another one says that there are no such locks here
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False


def _clear_listings(cache: Cache) -> None:
    """Drop lists of source files that no system's latest build refers to any more (or not yet: those are young)."""
    latest = [cache.recall(path.stem) for path in (cache.root / "keys").glob("latest-*.json")]
    wanted = {found["listing"] for found in latest if found}
    for path in (cache.root / "keys").glob("source-*.json"):
        if path.stem not in wanted and path.stat().st_mtime < time.time() - 3600:
            path.unlink(missing_ok=True)


def _size(path: Path) -> int:
    """Bytes on the disk below the path; what goes while they are counted (git and executions write there) is none."""
    total = 0
    for folder, below, names in os.walk(path):
        for name in (*below, *names):
            with suppress(FileNotFoundError, NotADirectoryError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total
