"""The shared directory: a place that several machines see, through which captures and binaries travel.

::

    objects/ab/abcdef...    any content, compressed, under its SHA-256
    bundles/....json        manifests of captures, under theirs
    carried/....json        which builds gave them, for another machine to find them by
    results/                what was linked elsewhere, until the submitting side has taken it

Nothing in it is believed: whatever is read is checked against the SHA-256 under which it was asked for, which for a
result is the seal that the node's answer names.  A result that no answer came for is taken from nobody but this user
(or a trusted group), and is proved by whoever asks.  Files are renamed into place whole, so that any number of machines
may write the same one.

Contents are compressed by zlib at its fastest level.  Tried on a capture of HotSpot, 155 MB, on one core: to 0.26 of
the size at 124 MB/s and back at 312 MB/s.  lzma (preset 0) made 0.14 of a part of it, at 48 and 136 MB/s; zstd (level
1) 0.22 of the whole at 580 and 863 MB/s, but would be one more thing to install on every node, to save a second each.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shlex
import stat
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from layoutrand.cluster.manifest import is_digest
from layoutrand.errors import BundleError, ClusterError
from layoutrand.platform.disk import canonical_json, sha256_bytes, shared_errors, write_atomically
from layoutrand.platform.owned_files import foreign, make_folder_within, objection, read_owned
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular, open_regular

_LEVEL: Final = 1
_LARGEST: Final = 4 << 30  # bytes: no binary is longer, whatever a record of one says
_LATELY_S: Final = 3600.0
_AT_ONCE: Final = 1 << 20  # bytes
_SLACK: Final = 1 << 12  # bytes: zlib makes what it cannot compress longer by 5 for every 16 KiB, and 6


class SharedDirectory:
    """The shared directory under one root."""

    def __init__(self, root: Path, *, trust_group: bool = False) -> None:
        """Use the directory, which is made when something is put there; ``trust_group`` as in ``[cluster]``."""
        self.root = root.absolute()
        self.trust_group = trust_group

    def require_own(self) -> None:
        """Raise `ClusterError` where others may write: what lies there is executed as this user, here and on nodes."""
        with shared_errors("read", self.root):
            try:
                names = sorted(os.listdir(self.root))
            except FileNotFoundError:
                return
            for path in (self.root, *(self.root / name for name in names)):
                link, found = path.lstat(), _led_to(path)
                if not stat.S_ISDIR(found.st_mode):
                    continue
                if reason := foreign(link, group=self.trust_group) or objection(found, group=self.trust_group):
                    raise ClusterError(f"{path} is not yours alone: {reason}. {_advice(path)}")

    def object_path(self, digest: str) -> Path:
        """Where the content with this SHA-256 is or will be."""
        return self.root / "objects" / digest[:2] / digest

    def manifest_path(self, digest: str) -> Path:
        """Where the manifest with this SHA-256 is or will be."""
        return self.root / "bundles" / f"{digest}.json"

    def put(self, digest: str, data: bytes, *, secret: bool = False) -> int:
        """Put a content of that SHA-256 there unless it is there whole; how many bytes were written.

        What is ``secret`` only this user may read, or the trusted group.
        """
        path = self.object_path(digest)
        with shared_errors("write", path):
            try:
                self._read(path, digest, len(data))
                _used(path)
            except (BundleError, FileNotFoundError, PermissionError):
                packed = zlib.compress(data, _LEVEL)
                self._write(path, packed, secret=secret)
                return len(packed)
        return 0

    def get(self, digest: str, size: int) -> tuple[bytes, int]:
        """The content of that SHA-256 and size, and how many bytes were read; raises `BundleError` if damaged."""
        path = self.object_path(digest)
        with shared_errors("read", path):
            return self._read(path, digest, size)

    def fetch(self, digest: str, size: int, target: BinaryIO) -> int:
        """Write the content of that SHA-256 and size; how many bytes were read.

        Raises `BundleError` if it is damaged, and then something of it is written; a part of it at a time is in memory.
        """
        path = self.object_path(digest)
        with shared_errors("read", path):
            file, length = self._opened(path, size)
        with file:
            parts = _parts(file, path, digest, size)
            while True:
                with shared_errors("read", path):
                    part = next(parts, None)
                if part is None:
                    return length
                target.write(part)

    def put_manifest(self, data: bytes) -> str:
        """Put a manifest there; its SHA-256."""
        digest = sha256_bytes(data)
        path = self.manifest_path(digest)
        with shared_errors("write", path):
            self._write(path, data)
        return digest

    def manifest(self, digest: str, *, use: bool = True) -> bytes:
        """The manifest of that SHA-256; raises `BundleError` if it is not there or damaged.

        To ``use`` it keeps it, and all that it refers to, from being collected (`cluster/unneeded.py`).
        """
        path = self.manifest_path(digest)
        with shared_errors("read", path):
            if use:
                with suppress(OSError):  # of another user, who alone can delete it, or on a disk that cannot be written
                    _used(path)
            data = content_of_regular(path, largest=RECORD)
        if sha256_bytes(data) != digest:
            raise BundleError(f"{path} is damaged: its content is not what its name says. Delete it and build again")
        return data

    def put_carried(self, data: bytes) -> str:
        """Put there which build gave a capture; the SHA-256."""
        digest = sha256_bytes(data)
        path = self.root / "carried" / f"{digest}.json"
        with shared_errors("write", path):
            self._write(path, data)
        return digest

    def carried(self) -> list[str]:
        """The digests of what was put there so."""
        folder = self.root / "carried"
        with shared_errors("read", folder):
            return sorted(path.stem for path in folder.glob("*.json") if not path.name.startswith("."))

    def carried_files(self) -> list[Path]:
        """Every file of what was put there so, by names that nothing else has; of the captures, too."""
        with shared_errors("read", self.root):
            found = [path for folder in ("objects", "bundles", "carried") for path in (self.root / folder).rglob("*")]
            return sorted(path for path in found if is_digest(path.name.removesuffix(".json")) and path.is_file())

    def get_carried(self, digest: str) -> bytes:
        """What was put there under the SHA-256; raises `BundleError` if it is not there or damaged."""
        path = self.root / "carried" / f"{digest}.json"
        with shared_errors("read", path):
            data = content_of_regular(path, largest=RECORD)
        if sha256_bytes(data) != digest:
            raise BundleError(f"{path} is damaged: its content is not what its name says. Export it again")
        return data

    def result_path(self, key: str) -> Path:
        """Where the binary with this key waits to be collected."""
        return self.root / "results" / key[:2] / key

    def put_result(self, key: str, meta: Mapping[str, Any], data: bytes) -> str:
        """Put a binary there with its record, of which ``sha256`` is the binary's; the seal, the record's SHA-256."""
        path = self.result_path(key)
        head = canonical_json({**meta, "key": key, "size": len(data)})
        seal = sha256_bytes(head)
        with shared_errors("write", path):
            self._write(path, seal.encode() + b"\n" + head + b"\n" + zlib.compress(data, _LEVEL))
        return seal

    def result(self, key: str, seal: str | None) -> tuple[dict[str, Any], bytes] | None:
        """The binary with this key and its record, or None if it is not there.

        Raises `BundleError` where it is damaged, of others, or not what has the ``seal`` that came by another way than
        this directory.  Without one (None) anybody who may write here can have made both: prove what it is.
        """
        path = self.result_path(key)

        def refused(reason: str) -> BundleError:
            return BundleError(f"{path} is not taken: {reason}. {_advice(path)}")

        with shared_errors("read", path):
            try:
                stored = read_owned(path, refused, largest=_LARGEST, group=self.trust_group)
            except FileNotFoundError:
                return None
        own_seal, _, rest = stored.partition(b"\n")
        head, _, packed = rest.partition(b"\n")
        if sha256_bytes(head).encode() != own_seal:
            raise _damaged(path)
        if seal is not None and seal.encode() != own_seal:
            raise BundleError(f"{path} is not what the node says that it put there, so it is linked again")
        meta = _result_record(path, head)
        if meta["key"] != key:
            raise _damaged(path)
        return meta, _unpacked(path, packed, meta["sha256"], meta["size"])

    def drop_result(self, key: str) -> None:
        """Forget a binary that was collected, or damaged."""
        path = self.result_path(key)
        with shared_errors("delete", path):
            path.unlink(missing_ok=True)

    def _write(self, path: Path, data: bytes, *, secret: bool = False) -> None:
        make_folder_within(self.root, path.parent)
        own, trusted = (0o600, 0o660) if secret else (0o644, 0o664)
        write_atomically(path, data, at_most=trusted if self.trust_group else own)

    def _read(self, path: Path, digest: str, size: int) -> tuple[bytes, int]:
        file, length = self._opened(path, size)
        with file:
            return b"".join(_parts(file, path, digest, size)), length

    def _opened(self, path: Path, size: int) -> tuple[BinaryIO, int]:
        """A stored content with its length; raises `BundleError` where it is longer than it can be stored."""
        file = open_regular(path, largest=PROGRAM)
        length = os.fstat(file.fileno()).st_size
        if length > size + size // 1000 + _SLACK:
            file.close()
            raise _damaged(path)
        return file, length


def _led_to(path: Path) -> os.stat_result:
    """What is there, for a link where that leads, unless it leads nowhere."""
    try:
        return path.stat()
    except FileNotFoundError:
        return path.lstat()


def _advice(path: Path) -> str:
    """What to do where a directory or file may be another user's doing."""
    return (
        f"chmod go-w {shlex.quote(str(path))} and have nodes execute tasks as you, or name another directory as "
        "cluster.shared, or set cluster.trust_group = true if every member of its group may execute anything as you"
    )


def _result_record(path: Path, head: bytes) -> dict[str, Any]:
    """The record of a binary, whatever wrote it; raises `BundleError`."""
    try:
        meta = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    kinds = {"key": str, "sha256": str, "size": int, "text_sha256": str, "link_s": int | float, "node": str}
    if not isinstance(meta, dict) or not isinstance(meta.get("verification"), dict | None):
        raise _damaged(path)
    for name, kind in kinds.items():
        if not isinstance(meta.get(name, "" if name == "node" else None), kind) or isinstance(meta.get(name), bool):
            raise _damaged(path)
    if not 0 <= meta["size"] <= _LARGEST or not 0 <= meta["link_s"] < math.inf:
        raise _damaged(path)
    return meta


def _used(path: Path) -> None:
    """Give the file the time of its use, unless it is of late; raises `PermissionError` for another user's."""
    if time.time() - path.stat().st_mtime > _LATELY_S:
        os.utime(path)


def _unpacked(path: Path, packed: bytes, digest: str, size: int) -> bytes:
    return b"".join(_parts(io.BytesIO(packed), path, digest, size))


def _parts(file: BinaryIO, path: Path, digest: str, size: int) -> Iterator[bytes]:
    """What is stored at the path, unpacked, never more of it than ``size`` says: it may unpack to far more.

    Raises `BundleError` at the latest after the last part if it is damaged.
    """
    unpacker, hashed, left = zlib.decompressobj(), hashlib.sha256(), size
    while left >= 0 and not unpacker.eof:
        packed = unpacker.unconsumed_tail or file.read(_AT_ONCE)
        try:
            part = unpacker.decompress(packed, _AT_ONCE)
        except zlib.error as error:
            raise _damaged(path) from error
        if not packed and not part:  # cut short
            break
        hashed.update(part)
        left -= len(part)
        yield part
    if left or not unpacker.eof or unpacker.unused_data or file.read(1) or hashed.hexdigest() != digest:
        raise _damaged(path)


def _damaged(path: Path) -> BundleError:
    return BundleError(
        f"{path} is damaged: its content is not what its name says. The same `layoutrand build` puts it there again"
    )
