"""Records of executions that nodes return, in the shared directory, and what nodes agree on before the first.

::

    executions/RUN/KEY      one execution, sealed and packed, until the submitting side has recorded it
    processors/RUN.json     the processor of the nodes that execute the run (a directory with it, without hard links)

A record is renamed into place whole, under a key that follows from what was executed: who executes the same again
writes the same name.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from layoutrand.errors import BundleError, DamagedRecord
from layoutrand.platform.disk import (
    canonical_json,
    new_file,
    new_folder,
    remove_tree,
    sha256_bytes,
    shared_errors,
    write_atomically,
)
from layoutrand.platform.owned_files import make_folder_within, read_owned
from layoutrand.platform.regular_file import RECORD, content_of_regular

_LEVEL: Final = 1
_INNER: Final = "agreed"
_LARGEST: Final = 1 << 30  # bytes: no record of an execution is longer, whatever a damaged one may unpack to


class ReturnedRecords:
    """What nodes leave for one run below the shared directory ``root``; methods raise `BundleError`."""

    def __init__(self, root: Path, run: str, *, trust_group: bool = False) -> None:
        """``run`` is the digest that tells this run from others that share the directory; see `SharedDirectory`."""
        self._root = root.absolute()
        self._trust_group = trust_group
        self._rows = root.absolute() / "executions" / run
        self._agreements = root.absolute() / "processors"
        self._run = run

    def put(self, key: str, record: Mapping[str, Any]) -> None:
        """Leave the record, whole or not at all; one of the same key is replaced."""
        packed = zlib.compress(canonical_json(record), _LEVEL)
        path = self.path(key)
        with shared_errors("write", path):
            make_folder_within(self._root, path.parent)
            data = sha256_bytes(packed).encode() + b"\n" + packed
            write_atomically(path, data, at_most=0o664 if self._trust_group else 0o644)

    def path(self, key: str) -> Path:
        """Where the record is or will be."""
        return self._rows / key

    def names(self) -> list[str]:
        """Keys of the records that are there."""
        with shared_errors("read", self._rows):
            try:
                with os.scandir(self._rows) as entries:
                    return [entry.name for entry in entries if not entry.name.startswith(".")]
            except FileNotFoundError:
                return []

    def get(self, key: str) -> Mapping[str, Any] | None:
        """The record, or None if it is not there; raises `DamagedRecord` where it is none."""
        path = self.path(key)

        def refused(reason: str) -> DamagedRecord:
            return DamagedRecord(f"{path} is not taken ({reason}), so what it records is executed again")

        with shared_errors("read", path):
            try:
                stored = read_owned(path, refused, largest=_LARGEST, group=self._trust_group)
            except FileNotFoundError:
                return None
        seal, _, packed = stored.partition(b"\n")
        damaged = DamagedRecord(f"{path} is damaged, so what it records is executed again")
        if sha256_bytes(packed).encode() != seal:
            raise damaged
        try:
            record = json.loads(zlib.decompressobj().decompress(packed, _LARGEST))
        except (zlib.error, ValueError, RecursionError) as error:
            raise damaged from error
        if not isinstance(record, dict):
            raise damaged
        return record

    def drop(self, key: str) -> None:
        """Forget a record that is recorded, or damaged."""
        path = self.path(key)
        with shared_errors("delete", path):
            path.unlink(missing_ok=True)

    def agreed(self, name: str) -> Mapping[str, Any] | None:
        """What `agree` left under this name, or None."""
        path = self._agreements / f"{self._run}-{name}.json"
        with shared_errors("read", path):
            try:
                found: Mapping[str, Any] = json.loads(
                    content_of_regular(path / _INNER if path.is_dir() else path, largest=RECORD)
                )
            except FileNotFoundError:
                return None
            except (ValueError, RecursionError) as error:
                raise BundleError(f"{path} is damaged: {error}. Delete it and give the same command again") from error
        if not isinstance(found, dict):
            raise BundleError(f"{path} is damaged: it holds no table. Delete it and give the same command again")
        return found

    def agree(self, name: str, proposal: Mapping[str, Any]) -> Mapping[str, Any]:
        """What all agree on under this name: the first proposal, however many are made at once."""
        path = self._agreements / f"{self._run}-{name}.json"
        with shared_errors("write", path):
            make_folder_within(self._root, path.parent)
            descriptor, temporary = new_file(path.parent, 0o644)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(canonical_json(proposal))
                _place(temporary, path)
            finally:
                os.unlink(temporary)
        agreed = self.agreed(name)
        if agreed is None:
            raise BundleError(f"{path} was deleted while it was read")
        return agreed


def _place(file: Path, path: Path) -> None:
    """Put the file at the path unless something is there, in one step that one of many succeeds with.

    Where the file system has no hard links it is put there in a directory: a directory takes the name of no other one
    that is not empty, and of no file.
    """
    with contextlib.suppress(FileExistsError):
        try:
            os.link(file, path)
        except FileExistsError:
            raise
        except OSError as error:
            folder = new_folder(path.parent)
            try:
                shutil.copyfile(file, folder / _INNER)
                os.rename(folder, path)
            except OSError:
                remove_tree(folder)
                if not path.exists():
                    raise error from None
