"""What earlier builds were made from: a capture by its key, and the latest build of each system.

The key alone decides whether a capture is used again. What is remembered beside it is for people: with what key, source
and layout policy a system was built last, so that `explain` can say what has changed since.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from layoutrand.build.build_setup import BuildSetup
from layoutrand.cache.capture_record import Capture
from layoutrand.cache.keys import latest_build_name
from layoutrand.cache.sealed_records import RecordState
from layoutrand.cache.store import Cache
from layoutrand.capture.build_order import BuildOrder
from layoutrand.config.build_recipe import Variant

_VERSION: Final = 1  # of what is remembered of the latest build; another version's is as good as none


@dataclass(frozen=True)
class Remembered:
    """The latest build of a system: its key and what that was made of, the layout policy, when (s) and where.

    ``source`` says where the source came from; ``contents`` is its listing, if it was a directory and is still known.
    """

    key: str
    facts: Mapping[str, Any]
    source: Mapping[str, Any]
    contents: Mapping[str, str] | None
    policy: Mapping[str, Any]
    at: float
    directory: str


def recall_capture(cache: Cache, order: BuildOrder) -> tuple[Capture | None, RecordState]:
    """The capture that the order's key gave, as if made for this system, and what is recorded under the key.

    Builds with different keys can give one capture; what it says of source and tools is this order's, and what there
    was to warn of is what its own build told, such as flags that were for nobody.
    """
    known, state = cache.look_up(order.key)
    found = cache.load_capture(known["capture"]) if known else None
    if known is None or found is None:
        return None, state
    told = known.get("warnings", {})
    return replace(
        found,
        system=order.recipe.system,
        toolchain=order.toolbox.toolchain.name,
        tools=order.toolbox.facts(),
        source={**order.origin.record(), **known.get("learned", {})},
        build_s=known.get("build_s", found.build_s),
        n_links=known.get("n_links", found.n_links),
        links=tuple(replace(link, warnings=tuple(told.get(link.artefact, link.warnings))) for link in found.links),
    ), state


def remember_build(setup: BuildSetup, order: BuildOrder) -> None:
    """Make this the latest build of its system."""
    origin = order.origin
    digest = order.facts["source"].get("digest")
    listing = None if origin.contents is None else f"source-{digest}"
    if listing is not None and setup.cache.recall(listing) is None:
        setup.cache.remember(listing, origin.contents or {})
    setup.cache.remember(
        _name(setup, order.recipe.system, order.recipe.variant),
        {
            "version": _VERSION,
            "key": order.key,
            "facts": order.facts,
            "source": {name: value for name, value in origin.about.items() if name != "git"},
            "listing": listing,
            "policy": setup.config.layout.facts(),
            "at": time.time(),
            "directory": str(setup.project.resolve()),
        },
    )


def latest_build(setup: BuildSetup, system: str, variant: Variant) -> Remembered | None:
    """The latest build of the system in this variant, or None."""
    found = setup.cache.recall(_name(setup, system, variant))
    if found is None or found.get("version") != _VERSION:
        return None
    contents = setup.cache.recall(found["listing"]) if found["listing"] else None
    return Remembered(
        found["key"], found["facts"], found["source"], contents, found["policy"], found["at"], found["directory"]
    )


def _name(setup: BuildSetup, system: str, variant: Variant) -> str:
    return latest_build_name(setup.config.project.name, system, variant, setup.config.build.mode)
