"""Paths in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_NAMED: Final = 12


def several_paths(paths: Sequence[str]) -> str:
    """The paths, the first of them where they are many.

    >>> several_paths(["a", "b"])
    'a, b'
    """
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more
