"""The cache: captures and binaries, content-addressed, shared by any number of processes.

::

    keys/<build key>.json            which capture (or stock build) an input combination gave
    keys/learned-*.json              what a first build linked, and what was chosen of it (`layoutrand init`, `try`)
    keys/latest-*.json, source-*     what each system was built from last, and the files of its source, for people
    repos/                           mirrors of repositories
    nodes/<node>/<inputs>/           inputs of projects whose executions are made here for a cluster
    captures/<capture id>/           capture.json, build.log, one numbered directory per artefact
    binaries/<binary key>/           the linked file and meta.json
    work/, logs/, locks/

An entry is written in ``work`` and renamed into place, so that it is there whole or not at all.  Contents are checked
against their SHA-256 on use; the records themselves begin with a seal, the SHA-256 of the rest.  A binary can be
linked again from its capture, so evicting is never loss.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from layoutrand.cache import capture_record as captures
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.node_inputs import is_used, replicas
from layoutrand.errors import CacheError
from layoutrand.platform.disk import CACHE_TAG, cache_errors, remove_tree, sha256_bytes, sha256_file, write_atomically
from layoutrand.platform.own_file import take_write_permission


@dataclass(frozen=True)
class CachedBinary:
    """A binary found whole in the cache, with the record kept beside it."""

    path: Path
    meta: Mapping[str, Any]


def default_root() -> Path:
    """``$LAYOUTRAND_CACHE``, else the user's cache directory."""
    given = os.environ.get("LAYOUTRAND_CACHE")
    return Path(given).absolute() if given else user_cache_path("layoutrand")


class Cache:
    """The cache under one root directory, created on first use."""

    def __init__(self, root: Path) -> None:
        """Open (or make) the cache; raises `CacheError` if the directory cannot be used."""
        self.root = root = root.absolute()
        with cache_errors("make the cache in", root):
            for name in ("keys", "captures", "binaries", "work", "logs", "locks"):
                (root / name).mkdir(parents=True, exist_ok=True)
            if not (root / "CACHEDIR.TAG").exists():
                write_atomically(root / "CACHEDIR.TAG", CACHE_TAG)

    def logs(self) -> Path:
        """Where logs of builds and links are kept."""
        return self.root / "logs"

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Held by one process per key at a time; others wait, and a killed holder frees it."""
        lock = FileLock(self.root / "locks" / f"{key}.lock")
        with cache_errors("lock", Path(lock.lock_file)):
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def scratch(self, label: str) -> Iterator[Path]:
        """A private directory that vanishes at the end, unless it was renamed into place."""
        path = self.root / "work" / f"{label}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        with cache_errors("make", path):
            path.mkdir()
        try:
            yield path
        finally:
            remove_tree(path)

    @contextmanager
    def thread_scratch(self, label: str) -> Iterator[Callable[[], Path]]:
        """What gives each thread that asks a `scratch` of its own, the same every time: for much small work."""
        own = threading.local()
        with ExitStack() as stack:

            def own_scratch() -> Path:
                if not hasattr(own, "path"):
                    own.path = stack.enter_context(self.scratch(label))
                path: Path = own.path
                return path

            yield own_scratch

    def remember(self, key: str, value: Mapping[str, Any]) -> None:
        """Record what a build key gave."""
        path = self.root / "keys" / f"{key}.json"
        with cache_errors("write", path):
            write_atomically(path, sealed(value))

    def recall(self, key: str) -> dict[str, Any] | None:
        """What a build key gave, or None; a damaged record counts as none."""
        try:
            return unsealed((self.root / "keys" / f"{key}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def capture_path(self, capture_id: str) -> Path:
        """Directory of a capture."""
        return self.root / "captures" / capture_id

    def load_capture(self, capture_id: str) -> Capture | None:
        """The capture, which counts as used; None if it is not here or its record is damaged."""
        path = self.capture_path(capture_id) / "capture.json"
        capture = _read_capture(path)
        if capture is not None:
            with cache_errors("use", path):
                os.utime(path)
        return capture

    def commit_capture(self, scratch: Path, capture: Capture) -> None:
        """Put a finished capture in place; an undamaged one that another process put there first stays."""
        with cache_errors("write", scratch):
            write_atomically(scratch / "capture.json", sealed(captures.to_json(capture)))
        present = self.load_capture(capture.id)
        self._commit(
            scratch, self.capture_path(capture.id), replace=present is None or bool(self.damaged_files(present))
        )

    def damaged_files(self, capture: Capture) -> list[str]:
        """Captured files that are missing or whose content is not what was captured."""
        base = self.capture_path(capture.id)
        damaged = []
        for name, digest in capture.contents().items():
            try:
                intact = sha256_file(base / name) == digest
            except OSError:
                intact = False
            if not intact:
                damaged.append(str(base / name))
        return damaged

    def drop_capture(self, capture_id: str) -> None:
        """Forget a damaged capture."""
        remove_tree(self.capture_path(capture_id))

    def binary_path(self, key: str, name: str) -> Path:
        """Where the binary with this key is or will be."""
        return self.root / "binaries" / key / name

    def load_binary(self, key: str, name: str) -> CachedBinary | None:
        """The binary, which counts as used, if it is here with the content that was verified; else None.

        One that an earlier layoutrand left writable is not any more.
        """
        folder = self.root / "binaries" / key
        found = _read_binary(folder, name)
        if found is not None:
            with suppress(OSError):  # evicted at this moment, or somebody else's: it is what it is all the same
                take_write_permission(found.path)
                os.utime(folder / "meta.json")
        return found

    def has_entry(self, key: str) -> bool:
        """Whether there is anything under the key, whole or damaged."""
        return (self.root / "binaries" / key).exists()

    def commit_binary(self, scratch: Path, key: str, meta: Mapping[str, Any]) -> None:
        """Put a directory holding one verified binary in place, read-only from now on, replacing a damaged entry."""
        with cache_errors("write", scratch):
            for path in scratch.iterdir():
                take_write_permission(path)
            (scratch / "meta.json").write_bytes(sealed({"key": key, **meta}))
        self._commit(scratch, self.root / "binaries" / key, replace=True)

    def _commit(self, scratch: Path, target: Path, *, replace: bool = False) -> None:
        with cache_errors("write", target):
            for _attempt in range(100):
                try:
                    os.rename(scratch, target)
                except OSError:
                    if not target.exists():
                        raise
                    if not replace:
                        return
                    aside = self.root / "work" / f"aside-{uuid.uuid4().hex}"
                    try:
                        os.rename(target, aside)
                    except FileNotFoundError:
                        continue  # another process moved it in the meantime
                    remove_tree(aside)
                else:
                    return
        raise CacheError(f"cannot put {target} in place: other processes keep replacing it")


def _read_capture(path: Path) -> Capture | None:
    """What the record at the path says; None for none, or a damaged one, which whoever uses it is told of."""
    try:
        return captures.from_json(unsealed(path.read_bytes()), where=str(path))
    except (OSError, ValueError, KeyError, TypeError, CacheError):
        return None


def _read_binary(folder: Path, name: str) -> CachedBinary | None:
    """The binary in an entry of the cache, with the content that its record says; else None."""
    try:
        meta = unsealed((folder / "meta.json").read_bytes())
        if meta["key"] != folder.name or sha256_file(folder / name) != meta["sha256"]:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return CachedBinary(folder / name, meta)


_SEAL_SIZE = len('{"seal":"') + 64 + len('",')


def _seal_of(body: bytes) -> bytes:
    return f'{{"seal":"{sha256_bytes(body)}",'.encode()


def sealed(value: Mapping[str, Any]) -> bytes:
    """JSON as it is stored, compact, with a first key "seal" that holds the SHA-256 of what follows it."""
    body = json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    return _seal_of(body[1:]) + body[1:]


def unsealed(data: bytes) -> dict[str, Any]:
    """The value of a sealed record without its seal; raises ValueError if one does not fit the other."""
    body = data[_SEAL_SIZE:]
    if data[:_SEAL_SIZE] != _seal_of(body):
        raise ValueError("the record is damaged")
    value: dict[str, Any] = json.loads(b"{" + body)
    return value


def captured_contents(cache: Cache) -> Iterator[tuple[str, Path]]:
    """SHA-256 and place of every captured file here, unchecked; looking at them does not count as use."""
    for record in sorted((cache.root / "captures").glob("*/capture.json")):
        capture = _read_capture(record)
        for path, digest in capture.contents().items() if capture is not None else ():
            yield digest, record.parent / path


@dataclass(frozen=True)
class CacheEntry:
    """One thing in the cache: a "capture", "binary", "repository" or "inputs", its bytes, and when it was last used."""

    kind: str
    name: str
    path: Path
    size: int
    used_at: float
    label: str


def entries(cache: Cache) -> list[CacheEntry]:
    """Everything in the cache, least recently used first."""
    found = []
    for kind, folder, record in (("capture", "captures", "capture.json"), ("binary", "binaries", "meta.json")):
        for path in sorted(path for path in (cache.root / folder).iterdir() if path.is_dir()):
            try:
                used_at = (path / record).stat().st_mtime
                table = unsealed((path / record).read_bytes())
                label = f"{table.get('system', '?')} {table.get('artefact', '')} {table.get('layout', '')}".strip()
            except (OSError, ValueError):
                used_at, label = 0.0, "damaged"
            found.append(CacheEntry(kind, path.name, path, _size(path), used_at, label))
    for path in replicas(cache.root):
        with suppress(FileNotFoundError):  # a node has just removed it
            used_at, name = path.lstat().st_mtime, f"{path.parent.name}/{path.name}"
            found.append(CacheEntry("inputs", name, path, _size(path), used_at, "of a project"))
    return sorted(found + _mirrors(cache), key=lambda entry: entry.used_at)


def _mirrors(cache: Cache) -> list[CacheEntry]:
    """Mirrors of repositories; git notices damage in them by itself, and what is gone is fetched again."""
    root = cache.root / "repos"
    found = []
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        try:
            used_at = (path / "HEAD").stat().st_mtime
        except OSError:  # being fetched, or left behind while it was
            used_at = path.lstat().st_mtime
        found.append(CacheEntry("repository", path.name, path, _size(path), used_at, "mirror of a repository"))
    return found


def collect(cache: Cache, max_size: int) -> list[CacheEntry]:
    """Evict least recently used entries until at most ``max_size`` bytes remain; what was evicted.

    Unfinished work of processes that are gone is cleared first; it is not counted as an entry.
    """
    _clear_abandoned(cache)
    _clear_listings(cache)
    present = entries(cache)
    total = sum(entry.size for entry in present)
    evicted = []
    for entry in present:
        if total <= max_size:
            break
        if entry.kind == "repository" and probe_lock(cache, entry.name):
            continue  # in use
        if entry.kind == "inputs" and is_used(entry.path):
            continue
        with cache_errors("evict", entry.path):
            remove_tree(entry.path)
        total -= entry.size
        evicted.append(entry)
    return evicted


def verify(cache: Cache) -> list[tuple[CacheEntry, str]]:
    """Entries that are damaged, with what is wrong with them; looking at them does not count as use."""
    problems = []
    for entry in entries(cache):
        if not entry.path.exists():
            continue  # evicted meanwhile
        if entry.kind == "capture":
            capture = _read_capture(entry.path / "capture.json")
            damaged = ["capture.json"] if capture is None else cache.damaged_files(capture)
            if damaged:
                problems.append((entry, "damaged: " + ", ".join(damaged)))
        elif entry.kind == "binary":
            files = [path for path in entry.path.iterdir() if path.name != "meta.json"]
            if len(files) != 1 or _read_binary(entry.path, files[0].name) is None:
                problems.append((entry, "content differs from the record"))
    return problems


def _clear_abandoned(cache: Cache) -> None:
    import psutil

    hour_ago = time.time() - 3600
    for path in (cache.root / "work").iterdir():
        parts = path.name.rsplit("-", 2)
        alive = len(parts) == 3 and parts[1].isdigit() and psutil.pid_exists(int(parts[1]))
        with suppress(FileNotFoundError):  # its own process was as quick
            if not alive and path.lstat().st_mtime < hour_ago:
                remove_tree(path)


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


def probe_lock(cache: Cache, key: str) -> bool:
    """Whether another process holds the key's lock at this moment."""
    lock = FileLock(cache.root / "locks" / f"{key}.lock")
    try:
        with lock.acquire(timeout=0):
            return False
    except Timeout:
        return True


def link_seconds(cache: Cache) -> dict[str, float]:
    """Seconds that the link of each binary in the cache took, by the binary's SHA-256; damaged entries left out."""
    found: dict[str, float] = {}
    for record in sorted((cache.root / "binaries").glob("*/meta.json")):
        try:
            meta = unsealed(record.read_bytes())
        except (OSError, ValueError):
            continue  # the next build says so and mends it; a plan can do without one of many
        found[str(meta["sha256"])] = float(meta["link_s"])
    return found
