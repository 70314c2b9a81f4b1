"""Names in a sentence: all of them, or the first and how many more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_NAMED: Final = 12
"""Paths of a build, which whoever reads looks for the one that was meant."""


def first_names(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """The first ``most`` of the names, and how many more there are.

    >>> first_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = len(names) - most
    return between.join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def fitting_names(names: Sequence[str], most: int, *, between: str = ", ") -> str:
    """All of up to ``most`` names; of others one less, as the count takes a place, too, so that it is 2 or more.

    >>> fitting_names(["a", "b", "c"], 3)
    'a, b, c'
    >>> fitting_names(["a", "b", "c", "d"], 3)
    'a, b and 2 more'
    """
    return first_names(names, most if len(names) <= most else most - 1, between=between)


def joined_names(names: Sequence[str]) -> str:
    """All of the names, of which there is one at least.

    >>> joined_names(["a", "b", "c"])
    'a, b and c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def several_files(files: Sequence[str]) -> str:
    """Up to three files, which may be numbered; of more the first, the last and how many they are.

    >>> several_files(["1.csv", "2.csv", "3.csv", "4.csv"])
    '1.csv ... 4.csv (4 files)'
    """
    return ", ".join(files) if len(files) <= 3 else f"{files[0]} ... {files[-1]} ({len(files)} files)"


def several_paths(paths: Sequence[str]) -> str:
    """The paths, the first of them where they are many.

    >>> several_paths(["a", "b"])
    'a, b'
    """
    return first_names(paths, MOST_NAMED)
