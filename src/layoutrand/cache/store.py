"""The cache: captures and binaries, content-addressed, shared by any number of processes.

::

    keys/<build key>.json            which capture (or stock build) an input combination gave
    keys/learned-*.json              what a first build linked, and what was chosen of it (`layoutrand init`, `try`)
    keys/kept-*.json                 whether a finished build was kept, or why not
    keys/latest-*.json, source-*     what each system was built from last, and the files of its source, for people
    repos/                           mirrors of repositories
    nodes/<node>/<inputs>/           inputs of projects whose executions are made here for a cluster
    builds/<key>/                    a finished build, to capture other links of it (`kept_builds`)
    captures/<capture id>/           capture.json, build.log, log.json with its digest, one directory per artefact
    binaries/<binary key>/           the linked file, or what stands for it (`storage_record`), and meta.json
    work/, logs/, locks/

An entry is written in ``work`` and renamed into place, so that it is there whole or not at all.  Contents are checked
against their SHA-256 on use; the records themselves begin with a seal, the SHA-256 of the rest.  A binary can be
linked again from its capture, so evicting is never loss.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from layoutrand.cache import capture_record as captures
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.contents import sha256_of
from layoutrand.cache.in_use import finding
from layoutrand.cache.sealed_records import KeyRecord, RecordState, key_record, sealed, unsealed
from layoutrand.cache.storage_record import (
    CAPTURE_RECORD,
    CAPTURES,
    RECORD_OF_BINARY,
    WHOLE_FILE,
    KeptAs,
    record_of_base,
    stored_as,
    with_storage,
    write_delta,
)
from layoutrand.errors import CacheError
from layoutrand.model import Stored
from layoutrand.platform.disk import (
    CACHE_TAG,
    cache_errors,
    check_writable,
    make_folder,
    remove_tree,
    sha256_file,
    write_atomically,
)
from layoutrand.platform.own_file import take_write_permission
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular

_LOG: Final = "build.log"
KEPT_BUILDS: Final = "builds"
LOGGED: Final = "log.json"
"""Of a capture: the log of its build, and the record of what that is."""

_FOLDERS: Final = ("keys", "captures", "binaries", KEPT_BUILDS, "work", "logs", "locks")
"""What every cache has."""

MIRROR_DESCRIPTION: Final = "description"
"""Of a mirror: the file that says of which repository, as git calls the file in which people say what theirs is."""


@dataclass(frozen=True)
class CachedBinary:
    """A binary found intact in the cache, with the record kept beside it.

    What is at ``path`` is the whole file, or, where there is a ``base``, what the binary is made of with that.
    """

    path: Path
    meta: Mapping[str, Any]
    base: Path | None = None

    @property
    def stored(self) -> Stored:
        """Where its content is."""
        return Stored(self.path, self.base)


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
            for name in _FOLDERS:
                make_folder(root / name)
            if not (root / "CACHEDIR.TAG").exists():
                write_atomically(root / "CACHEDIR.TAG", CACHE_TAG)

    def check_writable(self) -> None:
        """Raise the `CacheError` that stands in the way of new entries, before a build takes its time for nothing."""
        for name in _FOLDERS:
            folder = self.root / name
            with cache_errors("write in", folder):
                try:
                    check_writable(folder / "entry")
                except OSError as error:
                    error.filename = str(folder)
                    raise

    def logs(self) -> Path:
        """Where logs of builds and links are kept."""
        return self.root / "logs"

    def locks(self) -> Path:
        """Where the locks are."""
        return self.root / "locks"

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Held by one process per key at a time; others wait, and a killed holder frees it."""
        lock = FileLock(self.locks() / f"{key}.lock")
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

    def remember(
        self, key: str, value: Mapping[str, Any], *, system: str = "", facts: Mapping[str, Any] | None = None
    ) -> None:
        """Record what a key gave; that of a build with its system, and the facts that the key is made of."""
        path = self.root / "keys" / f"{key}.json"
        with cache_errors("write", path):
            write_atomically(path, KeyRecord(key, value, system, facts or {}).stored())

    def forget(self, key: str) -> None:
        """Have nothing recorded under the key."""
        path = self.root / "keys" / f"{key}.json"
        with cache_errors("remove", path):
            path.unlink(missing_ok=True)

    def recall(self, key: str) -> Mapping[str, Any] | None:
        """What a key gave, or None; a record that is damaged, or of another key, counts as none."""
        return self.look_up(key)[0]

    def look_up(self, key: str) -> tuple[Mapping[str, Any] | None, RecordState]:
        """As `recall`, with what there is under the key."""
        try:
            found, state = key_record(content_of_regular(self.root / "keys" / f"{key}.json", largest=RECORD), key)
        except FileNotFoundError:
            return None, "none"
        except OSError:
            return None, "damaged"
        return None if found is None else found.value, state

    def capture_path(self, capture_id: str) -> Path:
        """Directory of a capture."""
        return self.root / CAPTURES / capture_id

    def load_capture(self, capture_id: str) -> Capture | None:
        """The capture, which counts as used; None if it is not here or its record is damaged."""
        path = self.capture_path(capture_id) / CAPTURE_RECORD
        with finding(self.locks()):
            capture = read_capture(path)
            if capture is not None:
                with cache_errors("use", path):
                    os.utime(path)
        return capture

    def commit_capture(self, scratch: Path, capture: Capture) -> None:
        """Put a finished capture in place; an undamaged one that another process put there first stays."""
        with cache_errors("write", scratch):
            write_atomically(scratch / CAPTURE_RECORD, sealed(captures.to_json(capture)))
            if (scratch / _LOG).exists():
                logged = {"capture": capture.id, "sha256": sha256_file(scratch / _LOG)}
                write_atomically(scratch / LOGGED, sealed(logged))
        present = self.load_capture(capture.id)
        self._commit(
            scratch,
            self.capture_path(capture.id),
            CAPTURE_RECORD,
            replace=present is None or bool(self.damaged_files(present)),
        )

    def damaged_files(self, capture: Capture) -> list[str]:
        """Captured files that are missing or whose content is not what was captured."""
        base = self.capture_path(capture.id)
        damaged = []
        for name, digest in capture.contents().items():
            try:
                intact = sha256_file(base / name, largest=PROGRAM) == digest
            except OSError:
                intact = False
            if not intact:
                damaged.append(str(base / name))
        return damaged

    def damaged_log(self, capture_id: str) -> Path | None:
        """The log of a capture's build, or its record, if it is not what was logged; None of captures without one."""
        folder = self.capture_path(capture_id)
        log, logged = folder / _LOG, folder / LOGGED
        try:
            wanted = unsealed(content_of_regular(logged, largest=RECORD))
        except FileNotFoundError:
            return logged if log.exists() else None
        except (OSError, ValueError):
            return logged
        try:
            digest = sha256_file(log, largest=PROGRAM)
        except OSError:
            return log
        return None if wanted == {"capture": capture_id, "sha256": digest} else log

    def drop_capture(self, capture_id: str) -> None:
        """Forget a damaged capture."""
        remove_tree(self.capture_path(capture_id))

    def load_binary(self, key: str, name: str) -> CachedBinary | None:
        """The binary, which counts as used, if it is here with the content that was verified; else None.

        What it is made of counts as used with it.  One that an earlier layoutrand left writable is not any more.
        Raises `ToolNotFound` where a library is not installed that its storage takes.
        """
        folder = self.root / "binaries" / key
        with finding(self.locks()):
            found = read_binary(folder, name)
            if found is not None:
                with suppress(OSError):  # somebody else's: it is what it is all the same
                    take_write_permission(found.path)
                    os.utime(folder / RECORD_OF_BINARY)
                    if (record := record_of_base(found.stored)) is not None:
                        os.utime(record)  # after it, so that it is evicted after it
        return found

    def has_entry(self, key: str) -> bool:
        """Whether there is anything under the key, whole or damaged."""
        return (self.root / "binaries" / key).exists()

    def commit_binary(self, scratch: Path, key: str, meta: Mapping[str, Any], *, kept: KeptAs = WHOLE_FILE) -> Stored:
        """Put a directory holding one verified binary in place, read-only from now on, replacing a damaged entry.

        It holds the whole file, of which a delta is made where it is ``kept`` so and that is smaller, or the binary's
        order, where it is kept so.
        """
        folder = self.root / "binaries" / key
        with cache_errors("write", scratch):
            (path,) = scratch.iterdir()
            if kept.storage == "delta" and kept.base is not None:
                if (delta := write_delta(path, kept.base)) is not None:
                    path.unlink()
                    path = delta
                else:
                    kept = WHOLE_FILE
            take_write_permission(path)
            (scratch / RECORD_OF_BINARY).write_bytes(sealed(with_storage({"key": key, **meta}, kept)))
        self._commit(scratch, folder, RECORD_OF_BINARY, replace=True)
        return Stored(folder / path.name, kept.base)

    def commit_kept_build(self, scratch: Path, key: str, record: str) -> None:
        """Put a kept build in place, instead of an earlier one of that key."""
        self._commit(scratch, self.root / KEPT_BUILDS / key, record, replace=True)

    def _commit(self, scratch: Path, target: Path, record: str, *, replace: bool) -> None:
        with finding(self.locks()), cache_errors("write", target):
            os.utime(scratch / record)  # written a moment ago, and perhaps before we are known to use the cache
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


def read_capture(path: Path) -> Capture | None:
    """What the record at the path says; None for none, one that is damaged, or another capture's.

    Whoever uses the capture is told of it.
    """
    try:
        capture = captures.from_json(unsealed(content_of_regular(path, largest=RECORD)), where=str(path))
    except (OSError, ValueError, KeyError, TypeError, CacheError):
        return None
    return capture if capture.id == path.parent.name else None


def read_binary(folder: Path, name: str) -> CachedBinary | None:
    """The binary in an entry of the cache, with the content that its record says; else None.

    Raises `ToolNotFound` where a library is not installed that its storage takes.
    """
    try:
        meta = unsealed(content_of_regular(folder / RECORD_OF_BINARY, largest=RECORD))
        stored = stored_as(folder, name, meta)
        if meta["key"] != folder.name or sha256_of(stored) != meta["sha256"]:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return CachedBinary(stored.path, meta, stored.base)


def captured_contents(cache: Cache) -> Iterator[tuple[str, Path]]:
    """SHA-256 and place of every captured file here, unchecked; looking at them does not count as use."""
    for record in sorted((cache.root / CAPTURES).glob(f"*/{CAPTURE_RECORD}")):
        capture = read_capture(record)
        for path, digest in capture.contents().items() if capture is not None else ():
            yield digest, record.parent / path


def probe_lock(cache: Cache, key: str) -> bool:
    """Whether another process holds the key's lock at this moment."""
    lock = FileLock(cache.locks() / f"{key}.lock")
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
            meta = unsealed(content_of_regular(record, largest=RECORD))
            found[str(meta["sha256"])] = float(meta["link_s"])
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            continue  # the next build says so and mends it; a plan can do without one of many
    return found
