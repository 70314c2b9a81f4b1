"""The caches of simulated processors, and what their misses are taken to cost: the same on every machine.

They are fixed so that counts can be compared across machines and repeat to the digit, and sized like those of common
desktop processors: 32 KiB first-level caches and an 8 MiB last level, each in lines of 64 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LINE: Final = 64
"""Bytes in a line of each of them."""

ESTIMATED_CYCLES: Final = "estimated_cycles"


@dataclass(frozen=True)
class SimulatedCache:
    """A cache of ``size`` bytes that replaces what was used least recently of the ``ways`` lines of a set."""

    size: int
    ways: int

    @property
    def sets(self) -> int:
        """How many sets of lines it has."""
        return self.size // (self.ways * LINE)

    def words(self) -> str:
        """As valgrind is told, and as experiments record it: bytes, ways, bytes in a line."""
        return f"{self.size},{self.ways},{LINE}"


I1: Final = SimulatedCache(32 << 10, 8)
D1: Final = SimulatedCache(32 << 10, 8)
LL: Final = SimulatedCache(8 << 20, 16)


def estimated_cycles(instructions: float, first_level: float, last_level: float, mispredictions: float = 0.0) -> float:
    """KCachegrind's estimate from instructions, misses of both levels, and mispredicted branches."""
    return instructions + 10 * (first_level + mispredictions) + 100 * last_level
