"""Binaries in the cache: found whole, or stored with the proof of what they are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from layoutrand.cache import keys
from layoutrand.cache.storage_record import WHOLE_FILE, KeptAs
from layoutrand.cache.store import Cache
from layoutrand.config.build_recipe import binary_facts
from layoutrand.config.layout_policy import LayoutPolicy
from layoutrand.errors import BuildError, LayoutrandError, WrongArtefact
from layoutrand.link.linked import Linked
from layoutrand.model import STOCK, Binary, BuildFailure, Coincidence, LayoutName, Stored, Verification
from layoutrand.platform.disk import cache_errors, sha256_bytes
from layoutrand.platform.own_file import write_program


def binary_key(capture_id: str, artefact: str, policy: LayoutPolicy, layout: LayoutName, coupled: str = "") -> str:
    """The key of one linked binary in the cache; ``coupled`` is that of a reconciled layout."""
    return keys.binary_key(binary_facts(capture_id, artefact, policy, layout, coupled))


def cached_binary(cache: Cache, system: str, artefact: str, layout: LayoutName, key: str) -> Binary | None:
    """The binary under the key, if its content is what was verified; else None."""
    found = cache.load_binary(key, os.path.basename(artefact))
    return None if found is None else binary_of(found.stored, found.meta, system, artefact, layout, cached=True)


def kept_addresses(cache: Cache, binary: Binary) -> list[int] | None:
    """Addresses of its sections in capture order, of a binary whose link was verified inside a build; else None."""
    found = cache.load_binary(binary.path.parent.name, os.path.basename(binary.artefact))
    return found.meta.get("addresses") if found else None


def store_linked(
    cache: Cache,
    entry: Path,
    linked: Linked,
    *,
    system: str,
    facts: Mapping[str, Any],
    beside: Mapping[str, Any] | None = None,
    kept: KeptAs = WHOLE_FILE,
) -> Binary:
    """Put the verified file in the directory ``entry``, or its order, into the cache, ``beside`` in its record.

    Its key is a digest of the ``facts``, which are as `layoutrand.config.build_recipe.binary_facts` has them;
    ``kept`` is as `Cache.commit_binary` takes it.
    """
    key, artefact, layout = keys.binary_key(facts), facts["artefact"], facts["layout"]
    meta = {**linked_record(linked, system=system, facts=facts), **(beside or {})}
    stored = cache.commit_binary(entry, key, meta, kept=kept)
    return binary_of(stored, meta, system, artefact, layout, cached=False)


def linked_record(linked: Linked, *, system: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the cache keeps beside a binary whose link was verified; ``facts`` as in `store_linked`."""
    return {
        "system": system,
        "artefact": facts["artefact"],
        "layout": facts["layout"],
        "facts": facts,
        "sha256": linked.sha256,
        "text_sha256": linked.text_sha256,
        "link_s": linked.link_s,
        "verification": asdict(linked.verification),
        "engine": linked.engine,
    }


def as_failure(system: str, artefact: str, layout: LayoutName, error: LayoutrandError) -> BuildFailure:
    """The record of an error that left a layout without a binary."""
    log, cause = (error.log, error.cause) if isinstance(error, BuildError) else (None, str(error))
    absent = error.absent if isinstance(error, WrongArtefact) else ""
    return BuildFailure(system, artefact, layout, str(error), log, cause, absent)


def store_stock(cache: Cache, system: str, artefact: str, key: str, data: bytes) -> Binary:
    """Put the user's own binary into the cache; there is nothing to verify it against."""
    return store_file(cache, system, artefact, STOCK, key, data)


def store_file(
    cache: Cache, system: str, artefact: str, layout: LayoutName, key: str, data: bytes, *, made_s: float = 0.0
) -> Binary:
    """Put a file that no link of ours made, in ``made_s`` seconds, into the cache."""
    name = os.path.basename(artefact)
    meta = {
        "system": system,
        "artefact": artefact,
        "layout": layout,
        "sha256": sha256_bytes(data),
        "text_sha256": "",
        "link_s": made_s,
        "verification": None,
    }
    with cache.scratch("stock") as scratch:
        entry = scratch / "entry"
        with cache_errors("write", entry):
            entry.mkdir()
            write_program(entry / name, data)
        stored = cache.commit_binary(entry, key, meta)
    return binary_of(stored, meta, system, artefact, layout, cached=False)


def binary_of(stored: Stored, meta: Any, system: str, artefact: str, layout: LayoutName, *, cached: bool) -> Binary:
    """The binary that a record of the cache describes."""
    proof = meta["verification"]
    return Binary(
        system=system,
        artefact=artefact,
        layout=layout,
        path=stored.path,
        sha256=meta["sha256"],
        text_sha256=meta["text_sha256"],
        cached=cached,
        link_s=meta["link_s"],
        verification=_proof_of(proof) if proof else None,
        node=meta.get("node", ""),
        engine=meta.get("engine", "link"),
        base=stored.base,
    )


def _proof_of(proof: Mapping[str, Any]) -> Verification:
    found = proof.get("coincidence")
    if not found:
        return Verification(**proof)
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    return Verification(**{**proof, "coincidence": Coincidence(**values)})
