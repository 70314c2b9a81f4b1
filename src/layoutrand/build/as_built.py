"""Binaries in the cache are what was verified when they were built, or nothing is executed."""

from __future__ import annotations

from collections.abc import Iterable

from layoutrand.cache.contents import sha256_of, state_of
from layoutrand.config.seeds import layout_in_words
from layoutrand.errors import CacheError
from layoutrand.model import Binary, Stored
from layoutrand.platform.own_file import FileState


class BuiltContents:
    """What is known of binaries: the state of each file when its content was found to be what was built.

    A content is read again when, and only when, the file's state is another; that of links and permissions is, too.
    """

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[Stored, tuple[tuple[FileState, ...], str]] = {}

    def check(self, binaries: Iterable[Binary]) -> None:
        """Raise `CacheError` that names the first binary that is gone or was changed."""
        for binary in binaries:
            try:
                actual = self._content(binary.stored)
            except OSError as error:
                raise CacheError(
                    f"{_called(binary)}: cannot read {binary.path}: {error.strerror}; `layoutrand build` links it again"
                ) from error
            if actual != binary.sha256:
                raise CacheError(
                    f"{_called(binary)}: {binary.path} was changed since it was built (sha256 {actual[:12]}..., "
                    f"expected {binary.sha256[:12]}...); nothing was executed. `layoutrand build` mends it"
                )

    def holds(self, binary: Binary) -> bool:
        """Whether the binary is there and what was built."""
        try:
            return self._content(binary.stored) == binary.sha256
        except OSError:
            return False

    def _content(self, stored: Stored) -> str:
        """SHA-256 of the content; raises `OSError`."""
        state = state_of(stored)
        known = self._known.get(stored)
        if known is None or known[0] != state:
            known = self._known[stored] = (state, sha256_of(stored))
        return known[1]


def check_as_built(binaries: Iterable[Binary]) -> None:
    """Raise `CacheError` that names the first binary that is gone or was changed."""
    BuiltContents().check(binaries)


def _called(binary: Binary) -> str:
    return f"system {binary.system}, {layout_in_words(binary.layout)}, artefact {binary.artefact}"
