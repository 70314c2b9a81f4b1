"""A capture to another machine and from there: exported to a shared directory, imported into a node's cache.

Both sides check every byte by SHA-256, and only contents that the other side lacks are stored or read.
"""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from layoutrand.cache import capture_record as captures
from layoutrand.cache.capture_record import Capture, identity_facts
from layoutrand.cache.keys import captured_id
from layoutrand.cache.store import Cache, captured_contents
from layoutrand.cluster import manifest as bundle
from layoutrand.cluster.manifest import BundledFile, Manifest
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.errors import BundleError, CacheError
from layoutrand.platform.disk import cache_errors, canonical_json, link_or_copy, sha256_bytes, sha256_file
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular

_LOG = "build.log"


@dataclass(frozen=True)
class Travelled:
    """What moved: contents and bytes (as stored, compressed), and the size in bytes of all contents unpacked."""

    contents: int
    moved: int
    size: int


@dataclass(frozen=True)
class Exported:
    """A bundle in a shared directory: the SHA-256 of its manifest, and what had to be written for it."""

    digest: str
    travelled: Travelled


def export_capture(cache: Cache, capture: Capture, shared: SharedDirectory, *, jobs: int = 1) -> Exported:
    """Put a bundle of the capture into the shared directory, ``jobs`` files at a time.

    Raises `CacheError` if a captured file is not what was captured, and `BundleError` where the directory cannot be
    written; a manifest is written last, so that one that is there is whole.
    """
    base = cache.capture_path(capture.id)
    record = canonical_json(captures.to_json(capture))
    wanted = capture.contents()
    with cache_errors("read", base):
        if (base / _LOG).is_file():
            wanted[_LOG] = sha256_file(base / _LOG)
        files = [_described(base / path, path, digest) for path, digest in sorted(wanted.items())]
    files.append(BundledFile(bundle.RECORD, sha256_bytes(record), len(record), 0o644))
    first = {file.sha256: base / file.path for file in reversed(files)}
    first.pop(sha256_bytes(record))

    def put(digest: str) -> int:
        with cache_errors("read", first[digest]):
            data = content_of_regular(first[digest], largest=PROGRAM)
        if sha256_bytes(data) != digest:
            raise CacheError(f"{first[digest]} is damaged: its content is not what was captured")
        return shared.put(digest, data)

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        written = [*pool.map(put, first), shared.put(sha256_bytes(record), record)]
    manifest = Manifest(capture.id, tuple(files))
    digest = shared.put_manifest(canonical_json(bundle.to_table(manifest)))
    size = sum(manifest.sizes().values())
    return Exported(digest, Travelled(sum(count > 0 for count in written), sum(written), size))


def _described(path: Path, name: str, digest: str) -> BundledFile:
    stat = path.stat()
    return BundledFile(name, digest, stat.st_size, stat.st_mode & 0o777)


def import_capture(cache: Cache, shared: SharedDirectory, digest: str) -> tuple[Capture, Travelled]:
    """The capture of the bundle whose manifest has that SHA-256, in this cache, and what had to be read for it.

    Contents that other captures of this cache have are taken from there. Raises `BundleError` for a bundle that is
    incomplete or damaged, `CacheError` where the cache cannot be written; nothing half is left of either.
    """
    where = str(shared.manifest_path(digest))
    manifest = bundle.parse_manifest(shared.manifest(digest), where=where)
    size = sum(manifest.sizes().values())
    with cache.lock(f"import-{manifest.capture[:32]}"):
        present = cache.load_capture(manifest.capture)
        if present is not None and not cache.damaged_files(present):
            return present, Travelled(0, 0, size)
        with cache.scratch("import") as scratch:
            contents, moved = _unpack(cache, shared, manifest, scratch)
            capture = _record(scratch, manifest, where)
            cache.commit_capture(scratch, capture)
    return capture, Travelled(contents, moved, size)


def _unpack(cache: Cache, shared: SharedDirectory, manifest: Manifest, target: Path) -> tuple[int, int]:
    """Write the bundle's files below ``target``; how many contents were read from the shared directory, in bytes."""
    known = _known(cache, manifest)
    written: dict[tuple[str, int], Path] = {}
    contents, moved = 0, 0
    for file in manifest.files:
        path = target / file.path
        with cache_errors("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            same = written.setdefault((file.sha256, file.mode), path)
            if same != path:
                link_or_copy(same, path)
                continue
            if not _copied(known.get(file.sha256), path, file.sha256):
                with path.open("wb") as written_to:
                    stored = shared.fetch(file.sha256, file.size, written_to)
                contents, moved = contents + 1, moved + stored
                known[file.sha256] = path
            path.chmod(file.mode)
    return contents, moved


def _copied(source: Path | None, target: Path, digest: str) -> bool:
    """Whether the target is now a copy of the source, with that SHA-256: another capture's file may be damaged."""
    if source is None:
        return False
    with suppress(FileNotFoundError):  # evicted in the meantime
        shutil.copyfile(source, target)
        return sha256_file(target) == digest
    return False


def _known(cache: Cache, manifest: Manifest) -> dict[str, Path]:
    """Where this cache has contents of the manifest already, by other captures' records."""
    wanted = manifest.sizes()
    return {digest: path for digest, path in captured_contents(cache) if digest in wanted and path.is_file()}


def _record(folder: Path, manifest: Manifest, where: str) -> Capture:
    """The capture that the unpacked record describes, once it is known to be the manifest's."""
    path = folder / bundle.RECORD
    try:
        capture = captures.from_json(json.loads(content_of_regular(path, largest=RECORD)), where=where)
        computed = captured_id(identity_facts(capture.links, capture.tools))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, CacheError) as error:
        raise BundleError(f"{where}: its record of the capture cannot be read: {error}") from error
    bundle.check_record(manifest, capture, computed, where=where)
    path.unlink()  # the cache keeps the record in a form of its own
    return capture
