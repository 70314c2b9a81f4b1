"""Files of the system that one link of a build reads after the other: read, hashed and copied once.

A file is known by path, file number, size and times; one that changes is read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layoutrand.platform.disk import link_or_copy, sha256_bytes
from layoutrand.platform.regular_file import PROGRAM, content_of_regular

_SETTLED_NS: Final = 2_000_000_000
"""Changes within one tick of the file system's clock look alike, so a file counts as known only when it is older."""

_LARGEST: Final = 32 << 20
_LARGEST_ALL: Final = 256 << 20


@dataclass(frozen=True)
class _Known:
    facts: tuple[int, ...]
    content: bytes
    sha256: str
    copy: Path | None


class KnownFiles:
    """What is known, in memory and as copies in the directory ``copies``; without one nothing ever becomes known."""

    def __init__(self, copies: Path | None = None) -> None:
        """Know nothing yet."""
        self._copies = copies
        self._by_path: dict[str, _Known] = {}
        self._by_content: dict[int, _Known] = {}
        self._left = _LARGEST_ALL

    def read(self, path: str) -> bytes | None:
        """The content as it is now; None if it cannot be read."""
        known = self._by_path.get(path)
        try:
            if known is not None and known.facts == _facts(path):
                return known.content
            return content_of_regular(path, largest=PROGRAM)
        except OSError:
            return None

    def sha256(self, content: bytes) -> str:
        """Hexadecimal SHA-256."""
        known = self._by_content.get(id(content))  # it is kept, so no other object can have its address
        return sha256_bytes(content) if known is None else known.sha256

    def write(self, content: bytes, target: Path) -> None:
        """Make a new file with the content; it may be a hard link, so it must not be written to."""
        known = self._by_content.get(id(content))
        if known is None or known.copy is None:
            target.write_bytes(content)
        else:
            link_or_copy(known.copy, target)

    def remember(self, paths: Iterable[str]) -> None:
        """Know these from now on, as far as they can be read and there is room."""
        for path in paths if self._copies is not None else ():
            try:
                facts = _facts(path)
                old = self._by_path.get(path)
                if old is not None and old.facts == facts:
                    continue
                size = facts[2]
                if size > min(_LARGEST, self._left) or time.time_ns() - max(facts[3:]) < _SETTLED_NS:
                    continue
                content = content_of_regular(path, largest=_LARGEST)
                if _facts(path) != facts:
                    continue
            except OSError:
                continue
            if old is not None:  # its copy stays: who knows the old content may be about to use it
                self._left += len(old.content)
                del self._by_content[id(old.content)]
            known = _Known(facts, content, sha256_bytes(content), self._copied(content))
            self._by_path[path] = known
            self._by_content[id(content)] = known
            self._left -= size

    def _copied(self, content: bytes) -> Path | None:
        assert self._copies is not None
        copy = self._copies / f"{len(self._by_content)}-{time.monotonic_ns()}"
        try:
            self._copies.mkdir(exist_ok=True)
            copy.write_bytes(content)
        except OSError:  # each link then writes its own, and says why it cannot
            copy.unlink(missing_ok=True)
            return None
        return copy


def _facts(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
