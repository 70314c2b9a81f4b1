"""With what the binaries of a capture were made: what is recorded beside their executions, and what the report says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from layoutrand.cache.capture_record import Capture


def tools_of(capture: Capture) -> dict[str, str]:
    """Its "compilers", "linker" and "source", in words."""
    versions = {role: facts.get("version", "") for role, facts in capture.tools.items()}
    compilers = dict.fromkeys(versions[role] for role in ("cc", "cxx", "fc") if versions.get(role))
    return {
        "compilers": "; ".join(compilers), "linker": versions.get("ld", ""), "source": _source(capture.source),
    }  # fmt: skip


def _source(source: Mapping[str, Any]) -> str:
    """A commit, or the digest of the files and what git said of them."""
    if source.get("commit"):
        return f"commit {source['commit'][:12]} of {source.get('repo', 'a repository')}"
    files = f"files {source['digest'][:12]}" if source.get("digest") else "not recorded"
    git = source.get("git") or {}
    if not git.get("commit"):
        return files
    return f"{files}, commit {git['commit'][:12]}{' with changes' if git.get('dirty') else ''}"
