"""A build that need not be made: an earlier one is kept, and put back where it lay.

What decides what is captured of a build, such as its artefacts, is no part of the key that it is kept under.  What is
put back is the tree as the commands left it, and the records of all links with what these read, so a capture of it is
the one that the build would have given.  It is proved as any other.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.cache.kept_builds import (
    KeptBuild,
    is_anothers,
    kept_folder,
    kept_tree,
    load_build,
    room,
    unpack_build,
)
from layoutrand.cache.keys import kept_name
from layoutrand.cache.packed_tree import PackedTree, is_whole
from layoutrand.cache.store import Cache
from layoutrand.capture.build_order import BuildOrder, InstrumentedBuild
from layoutrand.capture.workspace import could_be_at, workspace
from layoutrand.platform.disk import cache_errors
from layoutrand.platform.masked_files import mask_file

LOG: Final = "log"
"""What the output of a kept build is called."""


@dataclass(frozen=True)
class WholeBuild:
    """A kept build that is undamaged: what there is of it, and the file with the contents."""

    build: KeptBuild
    tree: PackedTree
    contents: Path

    def lacks(self, artefacts: Sequence[str]) -> bool:
        """Whether one of the artefacts was there, but is not kept."""
        return not {f"src/{name}" for name in artefacts}.isdisjoint(self.tree.left_out())


def find_kept(order: BuildOrder, cache: Cache, asked: str = "") -> tuple[WholeBuild | None, str]:
    """The build, if it is kept and can be put back; else why not, "" where there was none.

    ``asked`` stands for what is asked for beside what the order says.
    """
    room()  # what it says is wrong before anything is built
    key = order.kept_key
    known, folder = _known(key, cache), kept_folder(cache, key)
    if not key or known is None:
        return None, ""
    if order.key + asked in known.get("failed", []):
        return None, "the earlier build did not give what is asked for"
    if not folder.exists():
        why = known.get("why")
        return None, f"the earlier build is not {f'kept: {why}' if why else 'in the cache any more'}"
    if is_anothers(folder):
        return None, f"the earlier build is another user's ({folder})"
    build = load_build(cache, key)
    found = kept_tree(folder, build) if build is not None else None
    if build is None or found is None or not is_whole(*found):
        return None, f"the earlier build is damaged in the cache ({folder})"
    if not could_be_at(cache, Path(build.base)):
        return None, f"the earlier build lay in {build.base}, and its links name files there"
    if changed := _changed(build):
        return None, f"{changed} is not as it was when the earlier build read it"
    whole = WholeBuild(build, *found)
    if whole.lacks(order.recipe.build.artefacts):
        return None, "of the earlier stock build programs and libraries alone are kept"
    return whole, ""


def doubt_kept(order: BuildOrder, cache: Cache, asked: str = "") -> None:
    """What is asked for cannot be had of the build: who asks for it again has changed what no key knows of.

    A library was installed that the build looks for, or what was compiled past the wrappers is not any more.  Other
    artefacts of the same build may be as they should.
    """
    known = _known(order.kept_key, cache)
    if order.kept_key and known is not None:
        failed = {*known.get("failed", []), order.key + asked}
        cache.remember(kept_name(order.kept_key), {**known, "failed": sorted(failed)})


def _known(key: str, cache: Cache) -> Mapping[str, Any] | None:
    """What is remembered of a build that may be kept, nothing where its record is lost; None where there was none."""
    known = cache.recall(kept_name(key))
    return {} if known is None and kept_folder(cache, key).exists() else known


@contextmanager
def put_back(order: BuildOrder, whole: WholeBuild, log: Path, cache: Cache) -> Iterator[InstrumentedBuild]:
    """The build where it lay, as long as this lasts; nobody else puts it there meanwhile."""
    build = whole.build
    with (
        cache.lock(f"kept-{build.key[:32]}"),
        workspace(cache, order.key, at=Path(build.base)) as space,
    ):
        unpack_build(whole.tree, whole.contents, space.base)
        with cache_errors("write", log):
            shutil.move(space.base / LOG, log)  # perhaps on another file system
            mask_file(log, order.recipe.redaction.patterns())
        yield InstrumentedBuild(space, space.tree, log, build.build_s)


def time_of(path: str) -> int | None:
    """When what is there was changed last, in nanoseconds; None where nothing is."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _changed(build: KeptBuild) -> str:
    """The first path outside of the build that has another time than then; "" if none has."""
    return next((path for path, at_ns in build.outside.items() if time_of(path) != at_ns), "")
