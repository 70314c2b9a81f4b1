"""What the sections that can be placed are called, each by itself (`layoutrand.objects.edit` names them so)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from layoutrand.objects.kinds import PLAIN, is_code

DIGITS = 7
SYMBOL_PREFIX = ".lr."


@cache  # asked for again for every layout
def section_name(index: int, kind: str = PLAIN) -> str:
    """The unique section name of section ``index`` of a capture; it begins so that linkers keep it in its family."""
    return f".{PLAIN if is_code(kind) else kind}.lr.{index:0{DIGITS}d}"


@cache
def symbol_name(index: int) -> str:
    """The unique local symbol of section ``index`` of a capture."""
    return f"{SYMBOL_PREFIX}{index:0{DIGITS}d}"


def symbol_names(indices: Sequence[int]) -> str:
    """`symbol_name` of each, a line each."""
    import numpy as np  # which who links nothing need not wait for

    digits = np.array(indices, np.int64)[:, None] // 10 ** np.arange(DIGITS - 1, -1, -1) % 10
    prefix = np.broadcast_to(np.frombuffer(SYMBOL_PREFIX.encode(), np.uint8), (len(digits), len(SYMBOL_PREFIX)))
    ends = np.full((len(digits), 1), ord("\n"), np.uint8)
    return np.hstack([prefix, (digits + ord("0")).astype(np.uint8), ends]).tobytes().decode()
