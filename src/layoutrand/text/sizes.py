"""Bytes, as people write and read them."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from layoutrand.errors import UsageError
from layoutrand.text.foreign_fields import excerpt

_PREFIXES: Final = "KMGT"
_UNITS: Final = {"B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate(_PREFIXES, start=1)
    for suffix, base in (("iB", 1024), ("B", 1000))
}
_BY_NAME: Final = {name.lower(): factor for name, factor in _UNITS.items()}
_LETTERS: Final = {"": 1} | {prefix.lower(): _UNITS[f"{prefix}iB"] for prefix in _PREFIXES}
"""The short names of binary units, as GNU's programs take them: 1K is 1 KiB, and 1 KB is 1000 bytes."""

_FORM: Final = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", re.ASCII)
_LARGEST: Final = 2**63 - 1  # what setrlimit(2) takes
_SMALL: Final = 2**20


def _factor(unit: str, *, is_short: bool) -> int | None:
    return (_BY_NAME | _LETTERS if is_short else _BY_NAME).get(unit.lower())


def size_in_bytes(value: Any) -> Any:
    """Bytes of a whole number or of a text such as "1.5GiB" or "500 MB"; anything else is left for its type check.

    Raises `ValueError` for a text that is no size, and for a size that is no limit: below one byte, or above 2^63 - 1.
    """
    size = value
    if isinstance(value, str):
        form = _FORM.fullmatch(value.strip())
        factor = _factor(form[2], is_short=False) if form else None
        if form is None or factor is None:
            raise ValueError(f"must be bytes, or a number and one of {', '.join(_UNITS)}")
        amount = float(form[1]) * factor
        size = round(amount) if amount <= _LARGEST else _LARGEST + 1
    if isinstance(size, int) and not isinstance(size, bool) and not 1 <= size <= _LARGEST:
        raise ValueError("must be from 1 byte to 2^63 - 1")
    return size


def size_of(text: str, of: str) -> int:
    """``500M``, ``2G``, ``1.5TiB``, ``500 MB`` or plain bytes.

    Raises `UsageError` that names what it is the size ``of``.
    """
    given = f"{of} {excerpt(text, quoted=False)}"
    form = _FORM.fullmatch(text.strip())
    factor = _factor(form[2], is_short=True) if form else None
    if form is None or factor is None:
        raise UsageError(f"{given}: write a size such as 500M or 2G")
    size = float(form[1]) * factor
    if size > _LARGEST:
        raise UsageError(f"{given}: must be below 2^63 bytes")
    return int(size)


def size_in_words(size: int) -> str:
    """The size in the largest binary unit that it reaches, as in "1.5 GiB"."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.4g} {unit}"
    return f"{size} B"


def sized(size: int) -> str:
    """Bytes that a disk has, rounded up to whole KiB where they are few, for columns."""
    if size < _SMALL:
        return f"{math.ceil(size / 2**10)} KiB"
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.1f} MiB"
