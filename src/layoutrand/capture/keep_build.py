"""A build that has ended is kept: its tree as the commands left it, and the records of its links."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.cache.kept_builds import KeptBuild, NotKept, room, store_build
from layoutrand.cache.keys import kept_name
from layoutrand.cache.store import Cache
from layoutrand.cache.upkeep import collect_builds
from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild
from layoutrand.capture.build_put_back import LOG, time_of
from layoutrand.capture.linked_files import first_bytes
from layoutrand.capture.origin import Say
from layoutrand.capture.records import LinkRecord, read_records
from layoutrand.capture.workspace import Workspace
from layoutrand.config.build_recipe import built_facts
from layoutrand.errors import CacheError
from layoutrand.linkers import linkline
from layoutrand.objects import elf

_KERNEL: Final = "kernel"
_LOADED: Final = (b"\x02\x00", b"\x03\x00")
"""Types of ELF files that are executed or loaded."""


def keep_build(order: BuildOrder, made: InstrumentedBuild, cache: Cache, say: Say) -> None:
    """Keep a build that has just ended, and tell where that cannot be; earlier ones go where there are too many."""
    key, space = order.kept_key, made.space
    records = read_records(space.records)
    if not key or not records:  # what linked nothing has nothing else to capture
        return
    build = KeptBuild(
        key,
        order.recipe.system,
        order.recipe.variant,
        built_facts(order.facts),
        str(space.base),
        time.time(),
        made.build_s,
        _outside(records, str(space.base)),
    )
    is_wanted = _to_capture if order.recipe.variant == "capture" else _Executed(space)
    try:
        store_build(cache, build, {LOG: made.log}, is_wanted)
    except (NotKept, CacheError) as error:
        cache.remember(kept_name(key), {"why": str(error)})
        if room():
            say(
                f"{order.recipe.system}: the {order.called} is not kept: {error}. Another artefact of it needs another "
                "build"
            )
        return
    cache.remember(kept_name(key), {"why": ""})
    collect_builds(cache, room())


def _to_capture(path: str) -> bool:
    """Whether a path is kept of an instrumented build: all that a link might read."""
    return path != _KERNEL and ".git" not in path.split("/")


@dataclass(frozen=True)
class _Executed:
    """Whether a path is kept of a stock build: what is executed of it, and what says what that is."""

    space: Workspace

    def __call__(self, path: str) -> bool:
        top, _, rest = path.partition("/")
        if top == "rec":
            return not rest.endswith("/inputs.tar") and "/lto/" not in rest
        begin = first_bytes(self.space.base / path) if top == "src" else b""
        return elf.is_elf(begin) and begin[16:18] in _LOADED


def _outside(records: Sequence[LinkRecord], base: str) -> dict[str, int | None]:
    """Directories and files that links read outside of the build, with their times."""
    found: dict[str, int | None] = {}
    for path in dict.fromkeys(path for record in records for path in _read(record)):
        if linkline.inside(path, base) is None:
            found[path] = time_of(path)
    return found


def _read(record: LinkRecord) -> Iterator[str]:
    words = record.words()
    folders = [record.absolute(word.text) for word in words if word.kind == "directory"]
    yield from folders
    for word in words:
        if word.kind in ("input", "file"):
            yield record.absolute(word.text)
        elif word.kind == "library":
            names = [word.text[1:]] if word.text.startswith(":") else [f"lib{word.text}.so", f"lib{word.text}.a"]
            yield from (path for name in names for folder in folders if os.path.exists(path := f"{folder}/{name}"))
