"""Binaries in the cache are what was verified when they were built, or nothing is executed."""

from __future__ import annotations

from collections.abc import Iterable

from layoutrand.errors import CacheError
from layoutrand.model import Binary
from layoutrand.platform.disk import sha256_file


def check_as_built(binaries: Iterable[Binary]) -> None:
    """Raise `CacheError` that names the first binary that is gone or was changed."""
    for binary in binaries:
        try:
            actual = sha256_file(binary.path)
        except OSError as error:
            raise CacheError(
                f"{_called(binary)}: cannot read {binary.path}: {error.strerror}; `layoutrand build` links it again"
            ) from error
        if actual != binary.sha256:
            raise CacheError(
                f"{_called(binary)}: {binary.path} was changed since it was built (sha256 {actual[:12]}..., "
                f"expected {binary.sha256[:12]}...); nothing was executed. `layoutrand build` mends it"
            )


def _called(binary: Binary) -> str:
    layout = f"seed {binary.layout}" if isinstance(binary.layout, int) else binary.layout
    return f"system {binary.system}, {layout}, artefact {binary.artefact}"
