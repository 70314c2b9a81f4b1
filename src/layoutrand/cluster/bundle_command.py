"""`layoutrand bundle`: a system's capture to a machine that shares no file system with this one.

The bundle is as for nodes (`cluster/bundle.py`). Beside it stands by which key the build is known, so that a build of
the same source with the same tools and flags finds the capture there as it would here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from layoutrand.build.build_setup import BuildSetup
from layoutrand.build.earlier_builds import recall_capture
from layoutrand.build.two_builds import find_order
from layoutrand.cache.keys import build_key
from layoutrand.cache.store import Cache
from layoutrand.cluster.bundle import Travelled, export_capture, import_capture
from layoutrand.cluster.manifest import is_digest
from layoutrand.cluster.shared_directory import SharedDirectory
from layoutrand.errors import BundleError, CacheError, UsageError
from layoutrand.platform.disk import canonical_json

SCHEMA: Final = "layoutrand/carried/1"


@dataclass(frozen=True)
class Carried:
    """A capture on its way: the digest that names it, of which system and capture it is, and what moved."""

    digest: str
    system: str
    capture: str
    travelled: Travelled


def export_system(setup: BuildSetup, system: str, folder: Path) -> Carried:
    """Put the capture that a build of the system would use now into the directory.

    Raises `UsageError` in rebuild mode, which has no such capture, `CacheError` where it is not in the cache, and
    `BundleError` where the directory cannot be written.
    """
    if setup.config.build.mode == "rebuild":
        raise UsageError('build.mode = "rebuild" builds once per layout: there is no capture that could be carried')
    cache = setup.cache
    order = find_order(setup, system, "capture")
    capture, _ = recall_capture(cache, order)
    known = cache.recall(order.key)
    if capture is None or known is None:
        raise CacheError(
            f"system {system} has no capture in the cache that is of its present source, tools and flags: "
            f"`layoutrand build --system {system} --seeds 1` makes it, `layoutrand build --explain` says what changed"
        )
    shared = SharedDirectory(folder)
    done = export_capture(cache, capture, shared, jobs=setup.jobs)
    table = {
        "schema": SCHEMA,
        "system": system,
        "bundle": done.digest,
        "key": order.key,
        "facts": order.facts,
        "known": known,
    }
    return Carried(shared.put_carried(canonical_json(table)), system, capture.id, done.travelled)


def import_system(cache: Cache, folder: Path, digest: str | None) -> Carried:
    """Put the capture of that digest, or the only one in the directory, into the cache.

    Raises `UsageError` where it is not clear which, `BundleError` for one that is incomplete or damaged, and
    `CacheError` where the cache cannot be written.
    """
    shared = SharedDirectory(folder)
    digest = digest or _only(shared)
    if not is_digest(digest):
        raise UsageError(f"{digest} is not a digest: `layoutrand bundle export` prints one, 64 hexadecimal digits")
    table = _parsed(shared.get_carried(digest), f"{folder}/carried/{digest}.json")
    capture, travelled = import_capture(cache, shared, table["bundle"])
    if table["known"].get("capture") != capture.id:
        raise BundleError(f"{folder}/carried/{digest}.json is of another capture than its bundle. Export it again")
    cache.remember(table["key"], table["known"], system=table["system"], facts=table["facts"])
    return Carried(digest, table["system"], capture.id, travelled)


def _only(shared: SharedDirectory) -> str:
    found = shared.carried()
    if not found:
        raise UsageError(f"nothing was exported to {shared.root}: `layoutrand bundle export SYSTEM DIR` does that")
    if len(found) > 1:
        listed = []
        for digest in found:
            table = _parsed(shared.get_carried(digest), f"{shared.root}/carried/{digest}.json")
            listed.append(f"\n  {digest} ({table['system']})")
        raise UsageError(f"{shared.root} holds several captures; name one of them:{''.join(listed)}")
    return found[0]


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    try:
        table: dict[str, Any] = json.loads(data)
        schema = table["schema"]
        right = (
            is_digest(table["bundle"])
            and is_digest(table["key"])
            and isinstance(table["system"], str)
            and isinstance(table["known"], dict)
            and isinstance(table.setdefault("facts", {}), dict)
            and (not table["facts"] or build_key(table["facts"]) == table["key"])
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(f"{where} does not say of which build it is: {error}") from error
    if schema != SCHEMA:
        raise BundleError(f"{where}: schema {schema!r}, this layoutrand reads {SCHEMA!r}")
    if not right:
        raise BundleError(f"{where} does not say of which build it is. Export it again")
    return table
