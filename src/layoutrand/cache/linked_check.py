"""Whether what is in the cache is whole, and belongs together: records, the captures they name, binaries and logs.

Each object has its own digest, which says that it is whole, and nothing of where it belongs.  So links are followed
from one to the next: the record of a build is of its key, and of what that key is a digest of; it names a capture,
which must be of that build; that has its id, its files and its log; and a binary names what its key is a digest of,
and in it a capture that has its artefact.  A kept build is of its key, too, and has its contents.  Where an end of a
link is not there it was evicted, which is no damage; but what a binary is made of is evicted after it alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from layoutrand.cache import keys
from layoutrand.cache.capture_record import Capture, identity_facts
from layoutrand.cache.kept_builds import RECORD_OF_BUILD, is_anothers, is_undamaged, read_build
from layoutrand.cache.learned_program import read_learned
from layoutrand.cache.sealed_records import KeyRecord, key_record, unsealed
from layoutrand.cache.storage_record import CAPTURE_RECORD, RECORD_OF_BINARY, MadeWith, name_in, stored_as
from layoutrand.cache.store import LOGGED, Cache, read_binary, read_capture
from layoutrand.cache.upkeep import CacheEntry, entries, record_entries
from layoutrand.cache.written_order import WrittenOrder
from layoutrand.errors import NotPermuted
from layoutrand.platform.regular_file import PROGRAM, RECORD, content_of_regular

Problem = tuple[CacheEntry, str]
"""An entry, and what is wrong with it."""


def verify(cache: Cache) -> list[Problem]:
    """Entries that are damaged or do not belong where they are; looking at them does not count as use."""
    captures: dict[str, Capture] = {}
    problems: list[Problem] = []
    found = [entry for entry in entries(cache) if entry.path.exists()]  # others were evicted meanwhile
    for entry in (entry for entry in found if entry.kind == "capture"):
        capture = read_capture(entry.path / CAPTURE_RECORD)
        if what := _of_capture(cache, capture):
            problems.append((entry, what))
        elif capture is not None:
            captures[capture.id] = capture
            problems += _of_log(cache, entry)
    binaries = [entry for entry in found if entry.kind == "binary"]
    problems += [(entry, what) for entry in binaries if (what := _of_binary(entry, captures))]
    problems += [(entry, what) for entry in found if entry.kind == "build" and (what := _of_build(entry))]
    return problems + list(_of_records(cache, captures))


def _of_capture(cache: Cache, capture: Capture | None) -> str:
    """What is wrong with a capture, "" for nothing."""
    if capture is None:
        return "damaged: capture.json, or it is another capture's"
    if damaged := cache.damaged_files(capture):
        return "damaged: " + ", ".join(damaged)
    if not capture.is_rebuilt and keys.captured_id(identity_facts(capture.links, capture.tools)) != capture.id:
        return "its id is not that of what was captured"
    return ""


def _of_log(cache: Cache, entry: CacheEntry) -> list[Problem]:
    """What is wrong with the log of a capture's build, which takes nothing from the capture."""
    damaged = cache.damaged_log(entry.name)
    if damaged is None:
        return []
    return [(replace(entry, kind="log", path=entry.path / LOGGED), f"damaged: {damaged}")]


def _of_binary(entry: CacheEntry, captures: Mapping[str, Capture]) -> str:
    """What is wrong with a binary, "" for nothing."""
    name = name_in(entry.path)
    found = read_binary(entry.path, name) if name else None
    if found is None:
        what = _of_base(entry, entry.made_with, name) if entry.made_with is not None and name else ""
        return what or "content differs from the record"
    facts = found.meta.get("facts")
    if facts is None:  # no link of a capture made it, or an earlier layoutrand
        return ""
    said = {name: found.meta.get(name) for name in ("artefact", "layout")}
    if keys.binary_key(facts) != entry.name or said != {name: facts.get(name) for name in said}:
        return "it is not what its key is of"
    capture = captures.get(facts.get("capture", ""))
    if capture is not None and facts["artefact"] not in {link.artefact for link in capture.links}:
        return f"the capture that it names, {capture.id[:12]}, has no {facts['artefact']}"
    return ""


def _of_base(entry: CacheEntry, made: MadeWith, name: str) -> str:
    """What is wrong with what a binary is made of, "" for nothing."""
    what, gone, damaged = f"it is a delta against {made.entry[:16]}, which", False, False
    if made.storage == "delta":
        base = entry.path.with_name(made.entry)
        gone = not os.path.isfile(base / name)
        damaged = read_binary(base, name) is None
    else:
        what = f"it is written from what was learned of the capture {made.entry[:12]}, which"
        try:
            record = unsealed(content_of_regular(entry.path / RECORD_OF_BINARY, largest=RECORD))
            stored = stored_as(entry.path, name, record)
            order = WrittenOrder.of_stored(content_of_regular(stored.path, largest=PROGRAM))
            gone = stored.base is None or read_learned(stored.base, order.learned) is None
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        except NotPermuted:
            damaged = True
    return f"{what} is gone" if gone else f"{what} is damaged" if damaged else ""


def _of_build(entry: CacheEntry) -> str:
    """What is wrong with a build that is kept, "" for nothing; its owner alone can know of another user's."""
    if is_anothers(entry.path):
        return ""
    build = read_build(entry.path)
    if build is None:
        return f"damaged: {RECORD_OF_BUILD}, or it is another build's"
    if not is_undamaged(entry.path, build):
        return "damaged: what is kept of it is not what it was"
    return "" if keys.kept_build_key(build.facts) == build.key else "it is not what its key is of"


def _of_records(cache: Cache, captures: Mapping[str, Capture]) -> Iterator[Problem]:
    """Records of keys that are damaged, another key's, or of another build than the capture that they name."""
    for entry in record_entries(cache):
        try:
            record, state = key_record(content_of_regular(entry.path, largest=RECORD), entry.name)
        except OSError as error:
            yield entry, f"cannot be read: {error.strerror}"
            continue
        if record is None and state != "without its key":
            yield entry, "it is the record of another key" if state == "of another key" else "damaged"
        elif record is not None and (what := _of_record(record, captures)):
            yield entry, what


def _of_record(record: KeyRecord, captures: Mapping[str, Capture]) -> str:
    """What is wrong with the record of a build, "" for nothing and for records of anything else."""
    if not record.facts:
        return ""
    build = keys.build_key(record.facts)
    rebuilt = record.key == keys.reference_key(build)
    if record.key != build and not rebuilt:
        return "its key is not that of the build which it describes"
    capture = captures.get(str(record.value.get("capture", "")))
    if capture is None:
        return ""
    same_id = not rebuilt or keys.rebuilt_id(build, capture.source.get("programs", [])) == capture.id
    same_mode = rebuilt == capture.is_rebuilt
    if same_id and same_mode and _made(capture) == _asked(record.facts):
        return ""
    return f"the capture that it names, {capture.id[:12]}, is of another build"


def _made(capture: Capture) -> list[Any]:
    """What of a capture its build decides, whichever of several builds that give it was the first."""
    return [[link.artefact for link in capture.links], capture.tools.get("ld", {}).get("sha256")]


def _asked(facts: Mapping[str, Any]) -> list[Any]:
    """The same of a build, by what its key is made of."""
    return [list(facts.get("artefacts", [])), facts.get("tools", {}).get("ld", {}).get("sha256")]
