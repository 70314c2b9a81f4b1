"""The JSON document of `build`: keys may be added, never renamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from layoutrand.model import Binary, BuildFailure

if TYPE_CHECKING:  # results are shown without all that builds
    from layoutrand.build.build import SystemBuild


def build_document(results: Sequence[SystemBuild]) -> dict[str, Any]:
    """``layoutrand/build/1``; ``capture`` is the only system's, ``captures`` has one per system."""
    captures = [_capture_json(result) for result in results]
    return {
        "schema": "layoutrand/build/1",
        "binaries": [_binary_json(binary) for result in results for binary in result.binaries],
        "failures": [build_failure_json(failure) for result in results for failure in result.failures],
        "capture": captures[0] if len(captures) == 1 else None,
        "captures": captures,
        "unwritten": [asdict(each) for result in results for each in result.unwritten],
        "warnings": [str(note) for result in results for note in result.notes],
    }


def build_failure_json(failure: BuildFailure) -> dict[str, Any]:
    """A failed binary for reports."""
    return {
        "system": failure.system,
        "artefact": failure.artefact,
        "seed": failure.layout,
        "error": failure.error,
        "log": None if failure.log is None else str(failure.log),
    }


def _capture_json(result: SystemBuild) -> dict[str, Any] | None:
    capture = result.capture
    if capture is None:
        return None
    return {
        "id": capture.id,
        "system": result.system,
        "cached": result.cached,
        "build_s": capture.build_s,
        "links": capture.n_links,
        "sections": sum(len(link.sections) for link in capture.links),
        "movable": sum(link.movable() for link in capture.links),
        "tools": {role: dict(facts) for role, facts in capture.tools.items()},
        "source": dict(capture.source),
    }


def _binary_json(binary: Binary) -> dict[str, Any]:
    return {
        "system": binary.system,
        "artefact": binary.artefact,
        "seed": binary.layout,
        "path": str(binary.path),
        "storage": binary.stored.storage,
        "base": None if binary.base is None else str(binary.base),
        "sha256": binary.sha256,
        "text_sha256": binary.text_sha256,
        "cached": binary.cached,
        "link_s": binary.link_s,
        "node": binary.node or None,
        "engine": binary.engine,
        "verified": None if binary.verification is None else asdict(binary.verification),
    }
