"""Shares as people write them: ``1%``, ``0.01``."""

from __future__ import annotations

from layoutrand.errors import UsageError
from layoutrand.text.foreign_fields import excerpt


def share(text: str, option: str, *, may_be_zero: bool = False) -> float:
    """``1%`` or ``0.01`` as a fraction below 1, and above 0 unless that ``may_be_zero``; raises `UsageError`."""
    percentage = text.strip().endswith("%")
    given = f"{option} {excerpt(text, quoted=False)}"
    try:
        value = float(text.strip().removesuffix("%")) / (100 if percentage else 1)
    except ValueError as error:
        raise UsageError(f"{given}: write a percentage such as 1% or a fraction such as 0.01") from error
    if not (0 < value < 1 or (may_be_zero and value == 0)):
        meant = "" if percentage or not 1 <= value < 100 else f"; did you mean {text.strip()}%?"
        raise UsageError(f"{given}: must lie between 0 and 100 %{meant}")
    return value
