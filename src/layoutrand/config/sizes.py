"""Sizes of memory and files: ``"2GiB"`` in layoutrand.toml, bytes everywhere else."""

from __future__ import annotations

import re
from typing import Any, Final

_UNITS: Final = {"B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("iB", 1024), ("B", 1000))
}
_FORM: Final = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", re.ASCII)
_LARGEST: Final = 2**63 - 1  # what setrlimit(2) takes


def size_in_bytes(value: Any) -> Any:
    """Bytes of a whole number or of a text such as "1.5GiB" or "500 MB"; anything else is left for its type check.

    Raises `ValueError` for a text that is no size, and for a size that is no limit: below one byte, or above 2^63 - 1.
    """
    size = value
    if isinstance(value, str):
        form = _FORM.fullmatch(value.strip())
        unit = {name.lower(): factor for name, factor in _UNITS.items()}.get(form[2].lower()) if form else None
        if form is None or unit is None:
            raise ValueError(f"must be bytes, or a number and one of {', '.join(_UNITS)}")
        size = round(float(form[1]) * unit)
    if isinstance(size, int) and not isinstance(size, bool) and not 1 <= size <= _LARGEST:
        raise ValueError("must be from 1 byte to 2^63 - 1")
    return size


def size_in_words(size: int) -> str:
    """The size in the largest binary unit that it reaches, as in "1.5 GiB"."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.4g} {unit}"
    return f"{size} B"
