"""Layouts that are in the cache already: whole files made deltas of, and what is no whole file made one.

An entry is changed in its place, and at any moment it is one or the other, intact: the new file comes beside the old
one, the record is replaced by one that tells of the new, and the old file goes.  What a killed process leaves beside is
removed the next time.  What may be in use stays as it is, as with evicting.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from layoutrand.cache.contents import place, sha256_of
from layoutrand.cache.delta import zstandard
from layoutrand.cache.in_use import evicting
from layoutrand.cache.sealed_records import sealed, unsealed
from layoutrand.cache.storage_record import (
    RECORD_OF_BINARY,
    WHOLE_FILE,
    KeptAs,
    MadeWith,
    file_name,
    file_names,
    made_with,
    name_in,
    with_storage,
    write_delta,
)
from layoutrand.cache.store import Cache, read_binary
from layoutrand.model import IDENTITY, Storage, Stored
from layoutrand.platform.disk import cache_errors, write_atomically
from layoutrand.platform.regular_file import RECORD, content_of_regular


@dataclass(frozen=True)
class PackedLayouts:
    """How many layouts are kept in the other way now, how many were left because they may be in use, and bytes on disk.

    ``others`` were left since they are damaged, no smaller as deltas, or the only layout of their program.  What the
    deltas are against is none of these, nor are layouts that are kept as orders, which are smaller than deltas.
    """

    changed: int
    in_use: int
    others: int
    before: int
    after: int


@dataclass(frozen=True)
class _Layout:
    """A layout in the cache: its entry, the name of its file, and what its record says, as it lies there."""

    folder: Path
    name: str
    record: bytes

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        meta: Mapping[str, Any] = unsealed(self.record)
        return meta

    def file(self, storage: Storage) -> Path:
        """Where its file is or would be, kept so."""
        return self.folder / file_name(self.name, storage)

    @property
    def program(self) -> tuple[str, str]:
        """The same for all layouts of one program: capture and artefact."""
        return self.meta["facts"]["capture"], self.meta["facts"]["artefact"]

    @property
    def made_with(self) -> MadeWith | None:
        """What it is made of; None for a whole file."""
        return made_with(self.meta)


@dataclass(frozen=True)
class _Change:
    """The new file of an entry, beside the old one, and the record that tells of it."""

    file: Path
    meta: Mapping[str, Any]

    @property
    def base(self) -> str | None:
        """The entry that it is a delta against from now on."""
        made = made_with(self.meta)
        return None if made is None else made.entry


def keep_as_deltas(cache: Cache) -> PackedLayouts:
    """Make deltas of all layouts that are whole files, against identity's file, else that of another layout.

    Raises `ToolNotFound` where what makes deltas is not installed, `CacheError` where the cache cannot be written.
    """
    zstandard()
    with cache.lock("pack"):
        layouts = list(_layouts(cache))
        bases = {made.entry for layout in layouts if (made := layout.made_with) is not None}
        programs: dict[tuple[str, str], list[_Layout]] = {}
        for layout in layouts:
            if layout.made_with is None:
                programs.setdefault(layout.program, []).append(layout)
        chosen = {program: _base_of(whole, bases) for program, whole in programs.items()}
        tally = _Tally(cache)
        for layout in layouts:
            base = chosen.get(layout.program)
            is_base = layout == base or layout.folder.name in bases
            if layout.made_with is not None or base is None or is_base:
                tally.leave(layout, counted=layout.made_with is None and not is_base)
            else:
                tally.change(layout, _as_delta(layout, base))
        return tally.packed()


def keep_whole(cache: Cache) -> PackedLayouts:
    """Make whole files of all layouts that are none; raises as `keep_as_deltas`."""
    with cache.lock("pack"):
        tally = _Tally(cache)
        for layout in _layouts(cache):
            if layout.made_with is None:
                tally.leave(layout, counted=False)
            else:
                tally.change(layout, _as_whole(layout))
        return tally.packed()


def _layouts(cache: Cache) -> Iterator[_Layout]:
    """All layouts in the cache that were made of something that is known; damaged records left out."""
    for folder in sorted(path for path in (cache.root / "binaries").iterdir() if path.is_dir()):
        try:
            record = content_of_regular(folder / RECORD_OF_BINARY, largest=RECORD)
            meta, name = unsealed(record), name_in(folder)
            made_with(meta)
            program = meta["facts"]["capture"], meta["facts"]["artefact"]
            if name is not None and meta["key"] == folder.name and all(isinstance(each, str) for each in program):
                yield _Layout(folder, name, record)
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _base_of(whole: Sequence[_Layout], bases: Collection[str]) -> _Layout | None:
    """The first that is intact: identity, before one that deltas are against already, before any other."""

    def rank(layout: _Layout) -> tuple[bool, bool]:
        return layout.meta.get("layout") != IDENTITY, layout.folder.name not in bases

    intact = (layout for layout in sorted(whole, key=rank) if read_binary(layout.folder, layout.name))
    return next(intact, None) if len(whole) > 1 else None


def _as_delta(layout: _Layout, base: _Layout) -> _Change | None:
    """The layout's delta, which gives its content again; None where there is none."""
    with cache_errors("write", layout.folder):
        layout.file("delta").unlink(missing_ok=True)  # which a killed process left
        if read_binary(layout.folder, layout.name) is None:
            return None
        delta = write_delta(layout.file("whole"), base.file("whole"))
        if delta is None:
            return None
        if sha256_of(Stored(delta, base.file("whole"))) != layout.meta["sha256"]:
            delta.unlink()
            return None
    return _Change(delta, with_storage(layout.meta, KeptAs("delta", base.file("whole"))))


def _as_whole(layout: _Layout) -> _Change | None:
    """The layout's whole file; None where it is damaged."""
    with cache_errors("write", layout.folder):
        file = layout.file("whole")
        file.unlink(missing_ok=True)  # which a killed process left
        found = read_binary(layout.folder, layout.name)
        if found is None:
            return None
        place(found.stored, file)
    return _Change(file, with_storage(layout.meta, WHOLE_FILE))


class _Tally:
    """What came of layouts, one after the other."""

    def __init__(self, cache: Cache) -> None:
        self._locks = cache.locks()
        self._changed = self._in_use = self._others = self._before = self._after = 0

    def packed(self) -> PackedLayouts:
        return PackedLayouts(self._changed, self._in_use, self._others, self._before, self._after)

    def leave(self, layout: _Layout, *, counted: bool) -> None:
        """Leave it as it is, but for what a killed process left beside it."""
        self._before += _bytes(layout)
        with evicting(self._locks) as used_since:
            if _is_free(layout, used_since):
                _leave_one(layout, layout.made_with)
        self._others += counted
        self._after += _bytes(layout)

    def change(self, layout: _Layout, made: _Change | None) -> None:
        """Have its record tell of the new file, if there is one, unless the entry may be in use."""
        self._before += _bytes(layout) - (0 if made is None else _blocks(made.file))
        if made is None:
            self._others += 1
        elif self._put(layout, made):
            self._changed += 1
        else:
            self._in_use += 1
        self._after += _bytes(layout)

    def _put(self, layout: _Layout, made: _Change) -> bool:
        record, base = layout.folder / RECORD_OF_BINARY, made.base
        with evicting(self._locks) as used_since, cache_errors("write", record):
            is_kept = base is None or os.path.isfile(layout.folder.with_name(base) / layout.name)
            is_there = made.file.is_file()  # and not in an entry that another one took the place of
            if not (is_kept and is_there and _is_free(layout, used_since)):
                made.file.unlink(missing_ok=True)
                return False
            state = record.stat()
            write_atomically(record, sealed(dict(made.meta)))
            os.utime(record, ns=(state.st_atime_ns, state.st_mtime_ns))
            _leave_one(layout, made_with(made.meta))
        return True


def _is_free(layout: _Layout, used_since: int | None) -> bool:
    """Whether the entry is what it was when it was read, and nobody may be using it."""
    record = layout.folder / RECORD_OF_BINARY
    try:
        is_same = content_of_regular(record, largest=RECORD) == layout.record
        return is_same and (used_since is None or record.stat().st_mtime_ns < used_since)
    except OSError:  # evicted
        return False


def _leave_one(layout: _Layout, made: MadeWith | None) -> None:
    """Remove what the record does not tell of."""
    kept = file_name(layout.name, "whole" if made is None else made.storage)
    for name in file_names(layout.name):
        if name != kept:
            (layout.folder / name).unlink(missing_ok=True)


def _bytes(layout: _Layout) -> int:
    """Bytes on the disk of the entry's files."""
    return sum(_blocks(layout.folder / name) for name in (*file_names(layout.name), RECORD_OF_BINARY))


def _blocks(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_blocks * 512
    return 0
