"""What one verified link gave."""

from __future__ import annotations

from dataclasses import dataclass

from layoutrand.model import Verification


@dataclass(frozen=True)
class Linked:
    """What one verified link gave; ``data`` is the whole file."""

    data: bytes
    sha256: str
    text_sha256: str
    link_s: float
    verification: Verification
    engine: str = "link"
