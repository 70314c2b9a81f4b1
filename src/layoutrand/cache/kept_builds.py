"""Finished builds that are kept, so that other links of them can be captured without building again.

::

    builds/<key>/build.json   of which build, where it lay, what its links read elsewhere
    builds/<key>/files.json   every path with its permissions and time, and which contents it has
    builds/<key>/contents     the contents

Links name files by absolute paths, and so do makefiles and scripts of libraries: a build is put back where it lay, and
nowhere else.  What is put back is a copy, so that nothing that is done with it reaches what is kept.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.in_use import finding
from layoutrand.cache.packed_tree import PackedTree, TooMuch, is_whole, pack, parse_tree, unpack
from layoutrand.cache.sealed_records import sealed, unsealed
from layoutrand.cache.store import KEPT_BUILDS, Cache
from layoutrand.errors import CacheError
from layoutrand.platform.disk import cache_errors, sha256_bytes
from layoutrand.platform.regular_file import RECORD, content_of_regular
from layoutrand.text.sizes import size_of, sized

RECORD_OF_BUILD: Final = "build.json"
ROOM: Final = "LAYOUTRAND_KEPT_BUILDS"
"""The variable that says how many bytes all kept builds may have."""

_SCHEMA: Final = "layoutrand/kept-build/1"
_FILES: Final = "files.json"
_CONTENTS: Final = "contents"
_DEFAULT_ROOM: Final = "8G"
_SHARE_OF_FREE: Final = 4
_OWN: Final = 0o700
"""Of what is kept: a build writes into its tree what its environment told it."""

_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("key", "system", "variant", "base", "files_sha256"), str),
    **dict.fromkeys(("facts", "outside"), dict),
    **dict.fromkeys(("at", "build_s"), (int, float)),
}


@dataclass(frozen=True)
class KeptBuild:
    """A build that is kept: the ``facts`` that its key is made of, the directory ``base`` it lay in, when it ended.

    ``outside`` are directories and files elsewhere that its links read, with their times (ns; None for what was not
    there).
    """

    key: str
    system: str
    variant: str
    facts: Mapping[str, Any]
    base: str
    at: float
    build_s: float
    outside: Mapping[str, int | None]
    files_sha256: str = ""

    @property
    def when(self) -> str:
        """When it ended, for people."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.at))


class NotKept(Exception):
    """A build is not kept; ``str()`` says why."""


def kept_folder(cache: Cache, key: str) -> Path:
    """Where the build of that key is, if it is kept."""
    return cache.root / KEPT_BUILDS / key


def is_anothers(folder: Path) -> bool:
    """Whether what is kept there is another user's, who alone can read it."""
    return folder.exists() and not os.access(folder, os.R_OK | os.X_OK)


def room() -> int:
    """How many bytes all kept builds may have together; raises `UsageError` for what is no size."""
    return size_of(os.environ.get(ROOM) or _DEFAULT_ROOM, ROOM)


def store_build(cache: Cache, build: KeptBuild, beside: Mapping[str, Path], is_wanted: Callable[[str], bool]) -> None:
    """Keep a build that has ended, with files from ``beside``; raises `NotKept` where it cannot be.

    Of paths that are not wanted the names alone are kept.
    """
    free = shutil.disk_usage(cache.root).free // _SHARE_OF_FREE
    most = min(room(), free)
    if most == 0 and free:
        raise NotKept(f"{ROOM} is 0")
    if is_anothers(kept_folder(cache, build.key)):
        raise NotKept(f"another user's is there ({kept_folder(cache, build.key)})")
    with cache.scratch("keep") as scratch:
        try:
            scratch.chmod(_OWN)
            tree = pack(Path(build.base), beside, scratch / _CONTENTS, is_wanted=is_wanted, most=most)
            files = tree.to_json()
            (scratch / _FILES).write_bytes(files)
            table = {**vars(build), "files_sha256": sha256_bytes(files)}
            (scratch / RECORD_OF_BUILD).write_bytes(sealed({"schema": _SCHEMA, **table}))
        except TooMuch as error:
            limit = f"a quarter of what is free, {sized(free)}" if free < room() else f"{ROOM}, {sized(most)}"
            raise NotKept(f"it has more than {limit}") from error
        except OSError as error:
            raise NotKept(f"{error.filename or scratch}: {error.strerror}") from error
        cache.commit_kept_build(scratch, build.key, RECORD_OF_BUILD)


def read_build(folder: Path) -> KeptBuild | None:
    """What the record in the folder says; None for none, one that is damaged, or another build's."""
    try:
        table = unsealed(content_of_regular(folder / RECORD_OF_BUILD, largest=RECORD))
        if table.pop("schema", None) != _SCHEMA or not all(isinstance(table[name], _KINDS[name]) for name in _KINDS):
            return None
        build = KeptBuild(**table)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return build if build.key == folder.name else None


def load_build(cache: Cache, key: str) -> KeptBuild | None:
    """The build of that key, which counts as used, if it is kept."""
    folder = kept_folder(cache, key)
    with finding(cache.locks()):
        build = read_build(folder)
        if build is not None:
            with cache_errors("use", folder):
                os.utime(folder / RECORD_OF_BUILD)
    return build


def kept_tree(folder: Path, build: KeptBuild) -> tuple[PackedTree, Path] | None:
    """What is kept of a build, and where its contents are; None where it is damaged, as far as that is seen here."""
    try:
        files = content_of_regular(folder / _FILES, largest=RECORD)
        tree = parse_tree(files) if sha256_bytes(files) == build.files_sha256 else None
        if tree is None or (folder / _CONTENTS).stat().st_size != tree.size():
            return None
    except (OSError, ValueError):
        return None
    return tree, folder / _CONTENTS


def unpack_build(tree: PackedTree, contents: Path, base: Path) -> None:
    """Put what is kept of a build into its directory, which is empty; raises `CacheError` where that cannot be."""
    with cache_errors("put a kept build back into", base):
        try:
            unpack(tree, contents, base)
        except ValueError as error:
            raise CacheError(f"{contents} is damaged: {error}; give the same command again") from error


def is_undamaged(folder: Path, build: KeptBuild) -> bool:
    """Whether all of a build that is kept is what it was."""
    found = kept_tree(folder, build)
    return found is not None and is_whole(*found)
