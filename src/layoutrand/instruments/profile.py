"""What a profiler tells: costs and calls by address, and where the files lay in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """What was executed: ``total`` cost, and in one file the ``cost`` by address, ``calls`` by (from, to) address.

    The cost is counted in instructions or in samples.
    """

    total: float
    cost: Mapping[int, float]
    calls: Mapping[tuple[int, int], int]

    def plus(self, other: Profile) -> Profile:
        """Both together, such as of two processes."""
        cost, calls = Counter(dict(self.cost)), Counter(dict(self.calls))
        cost.update(dict(other.cost))
        calls.update(dict(other.calls))
        return Profile(self.total + other.total, cost, calls)


@dataclass(frozen=True)
class Segment:
    """A stretch of a file that is loaded: where it begins in the file, at which address, and its size in bytes."""

    offset: int
    address: int
    size: int
