"""Bytes, as people write and read them."""

from __future__ import annotations

import math
import re
from typing import Final

from layoutrand.errors import UsageError
from layoutrand.text.foreign_fields import excerpt

_TOO_LARGE: Final = 2**63
_SMALL: Final = 2**20


def size_of(text: str, of: str) -> int:
    """``500M``, ``2G``, ``1.5T`` or plain bytes; raises `UsageError` that names what it is the size ``of``."""
    given = f"{of} {excerpt(text, quoted=False)}"
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE | re.ASCII)
    if match is None:
        raise UsageError(f"{given}: write a size such as 500M or 2G")
    size = float(match[1]) * 1024 ** (" KMGT".index(match[2].upper()) if match[2] else 0)
    if size >= _TOO_LARGE:
        raise UsageError(f"{given}: must be below 2^63 bytes")
    return int(size)


def sized(size: int) -> str:
    """Bytes for people."""
    if size < _SMALL:
        return f"{math.ceil(size / 2**10)} KiB"
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
