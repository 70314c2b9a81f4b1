"""Programs that were never compiled: hot functions with loops and branches, and where their layouts put them."""

from __future__ import annotations

import numpy as np

from layoutrand.explain.hotness import HotFunction
from layoutrand.objects.branches import Branch

SHARES = (0.6, 0.15, 0.1, 0.05, 0.05, 0.05)
BASE = 0x401000


def function(rng: np.random.Generator, number: int, size: int, at: int, loop: int) -> HotFunction:
    """One of ``size`` bytes with a hot loop of ``loop`` bytes from ``at`` on, which ends with a fused branch."""
    begins = [0]
    while begins[-1] < size - 8:
        begins.append(begins[-1] + int(rng.integers(2, 7)))
    ends = dict(zip(begins, [*begins[1:], size], strict=True))
    inside = [begin for begin in begins if at <= begin < at + loop] or begins[:1]
    last = inside[-1]
    branches = [Branch(last, ends[last], inside[-2] if len(inside) > 1 else last)]
    branches += [Branch(begin, ends[begin], begin) for begin in inside[:-1] if rng.random() < 0.15]
    return HotFunction(
        number,
        f"f{number}",
        SHARES[number],
        size,
        tuple(inside),
        tuple(inside),
        tuple((begin, 1000.0 if begin in inside else 1.0) for begin in begins),
        tuple(sorted(branches, key=lambda each: each.at)),
    )


def program(rng: np.random.Generator, *, long: int = 0) -> tuple[HotFunction, ...]:
    """Six hot functions, the first ``long`` of them of some kilobytes and hot almost everywhere."""
    made = []
    for number in range(len(SHARES)):
        size = int(rng.integers(60, 150) if number < long else rng.integers(6, 40)) * 16
        loop = size - 80 if number < long else int(rng.integers(12, 60))
        at = 16 if number < long else int(rng.integers(1, max(2, size - loop - 10)))
        made.append(function(rng, number, size, at, loop))
    return tuple(made)


def layouts(rng: np.random.Generator, hot: tuple[HotFunction, ...], count: int, align: int = 16) -> np.ndarray:
    """Addresses of the hot functions in layouts in which they and sixty others have a random order."""
    sizes = [each.size for each in hot] + rng.integers(16, 976, 60).tolist()
    starts = np.empty((count, len(hot)), np.int64)
    for row in starts:
        cursor = BASE
        for slot in rng.permutation(len(sizes)).tolist():
            cursor = -(-cursor // align) * align
            if slot < len(hot):
                row[slot] = cursor
            cursor += sizes[slot]
    return starts
