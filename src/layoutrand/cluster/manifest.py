"""Manifests of bundles: which files a capture consists of, by content, so that another machine can have it whole.

A manifest is canonical JSON and known by its SHA-256; the files are known by theirs.  Who trusts the manifest's digest
can check everything below it, wherever it was stored meanwhile.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from layoutrand.cache.capture_record import Capture
from layoutrand.errors import BundleError
from layoutrand.platform.regular_file import PROGRAM

SCHEMA: Final = "layoutrand/bundle/1"
RECORD: Final = "record.json"
"""The file of a bundle that holds the record of the capture."""

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MODES: Final = 0o777
_LONGEST_PATH: Final = 4095  # bytes: PATH_MAX without its NUL
_LONGEST_NAME: Final = 255
_SHOWN: Final = 100


@dataclass(frozen=True)
class BundledFile:
    """One file: its path relative to the capture's directory, SHA-256, size in bytes and permission bits."""

    path: str
    sha256: str
    size: int
    mode: int


@dataclass(frozen=True)
class Manifest:
    """The files of the capture of this id, in the order of their paths."""

    capture: str
    files: tuple[BundledFile, ...]

    def sizes(self) -> dict[str, int]:
        """Size in bytes of each content, by SHA-256."""
        return {file.sha256: file.size for file in self.files}


def to_table(manifest: Manifest) -> dict[str, Any]:
    """The manifest as JSON values."""
    files = [[file.path, file.sha256, file.size, file.mode] for file in manifest.files]
    return {"schema": SCHEMA, "capture": manifest.capture, "files": files}


def parse_manifest(data: bytes, *, where: str) -> Manifest:
    """The manifest in a file's content; raises `BundleError` for one that must not be followed.

    Its paths become files of this machine: each must stay below the directory that it is relative to, and none may be
    a directory of another.
    """
    try:
        table = json.loads(data)
        schema = table["schema"]
        manifest = Manifest(table["capture"], tuple(BundledFile(*row) for row in table["files"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(f"{where} is not the manifest of a bundle: {error}") from error
    if schema != SCHEMA:
        raise BundleError(f"{where}: schema {schema!r}, this layoutrand reads {SCHEMA!r}")
    if not is_digest(manifest.capture):
        raise BundleError(f"{where}: {manifest.capture!r} is not the id of a capture")
    for file in manifest.files:
        wrong = _wrong(file)
        if wrong:
            raise BundleError(f"{where}: {_in_brief(file.path)} {wrong}")
    _refuse_clashes(manifest.files, where)
    return manifest


def is_digest(value: object) -> bool:
    """Whether the value is a SHA-256 as it is written here."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _wrong(file: BundledFile) -> str:
    """What is wrong with one row, or ""."""
    path = file.path
    if not isinstance(path, str) or not path or "\0" in path or not _can_be_named(path):
        return "cannot be the name of a file"
    if path.startswith("/") or ".." in path.split("/") or posixpath.normpath(path) != path or path == ".":
        return "is not a path below the capture's directory"
    if not is_digest(file.sha256):
        return f"has {file.sha256!r} for its SHA-256"
    if type(file.size) is not int or not 0 <= file.size <= PROGRAM:
        return f"has {_in_brief(file.size)} for its size"
    if type(file.mode) is not int or file.mode & ~_MODES:
        return f"has {file.mode!r} for its permissions: only the nine bits of reading, writing and executing travel"
    return ""


def _can_be_named(path: str) -> bool:
    """Whether a file may be called so: bytes that are no UTF-8 have their own stand-ins, other lone halves none."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return len(encoded) <= _LONGEST_PATH and max(map(len, encoded.split(b"/"))) <= _LONGEST_NAME


def _in_brief(value: object) -> str:
    """The value as it would be written, not longer than a line can hold."""
    whole = repr(value)
    return whole if len(whole) <= _SHOWN else f"{whole[:_SHOWN]}..."


def _refuse_clashes(files: Sequence[BundledFile], where: str) -> None:
    paths = {file.path for file in files}
    if len(paths) != len(files):
        raise BundleError(f"{where} lists a path twice")
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in paths:
                raise BundleError(f"{where}: {'/'.join(parts[:depth])!r} is both a file and a directory")
    sizes: dict[str, int] = {}
    for file in files:
        if sizes.setdefault(file.sha256, file.size) != file.size:
            raise BundleError(f"{where}: one content, {file.sha256}, has two sizes")


def check_record(manifest: Manifest, capture: Capture, computed_id: str, *, where: str) -> None:
    """Raise `BundleError` unless the record is the manifest's capture and all its files are in the manifest.

    ``computed_id`` is the id that follows from what the record says, so that a record of one capture cannot pass for
    another's.
    """
    if not manifest.capture == capture.id == computed_id:
        raise BundleError(
            f"{where} is a bundle of capture {manifest.capture}, but its record is of {capture.id}, and by its content "
            f"of {computed_id}"
        )
    absent = missing(manifest, capture.contents())
    if absent:
        raise BundleError(f"{where} lacks {absent[0]} of capture {capture.id}, or has it with another content")


def missing(manifest: Manifest, wanted: Mapping[str, str]) -> list[str]:
    """Those of the ``wanted`` paths that the manifest does not have with the SHA-256 that they are wanted with."""
    there = {file.path: file.sha256 for file in manifest.files}
    return sorted(path for path, digest in wanted.items() if there.get(path) != digest)
