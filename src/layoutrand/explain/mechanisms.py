"""What may make a place of code a bad one: mechanisms, and how much of each code meets where it lies.

Each is a number that is counted from addresses and from which instructions are executed often, and from nothing else:

- *line*, *window*, *fetch*: how many cache lines, 32-byte windows (as caches of decoded instructions hold code) and
  16-byte blocks (in which it is fetched and decoded) the function's hottest instructions lie on;
- *jcc*: how many of its hottest branches, with the comparisons that they are one operation with, cross or end at a
  multiple of 32 bytes; looked at where the processor has that erratum (`layoutrand.host.errata`);
- *page*: how many pages they lie on;
- *sets*: how many of its hot lines lie in sets of the first-level instruction cache that hold more hot lines than they
  have ways;
- *branches*: how many of its hot branches lie, modulo 16 KiB, in 16 bytes that hold a hot branch of another function,
  as predictors find a branch by low bits of its address.  Makers do not tell which bits these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import AnalysisError
from layoutrand.explain.caches import USUAL, CodeCaches
from layoutrand.explain.hotness import MOST_OFTEN, OFTEN, Hotness
from layoutrand.objects.branches import Branch

WINDOW: Final = 32
BLOCK: Final = 16
STRIDE: Final = 16384
"""Bytes: places that lie a multiple of it apart share entries in many tables of branch predictors."""

_LONGEST: Final = 15
"""Bytes of an instruction."""

_JUMP: Final = 2
"""Bytes of a short jump, as a loop that is never left ends with."""

MECHANISMS: Final = ("line", "window", "jcc", "fetch", "page", "sets", "aliasing")
IN_COMMON: Final = frozenset({"sets", "aliasing"})
"""What functions do to each other: counts are many, and each by itself would be a class that nothing speaks against."""


@dataclass(frozen=True)
class HotCode:
    """What of a function is executed how often, by offset from its begin, ascending, and all its ``branches``.

    ``others`` are numbers of lines that other functions are hot on, and ``other_branches`` addresses of their hot
    branches; ``caches`` are those of the machine that executes it.
    """

    executed: tuple[tuple[int, float], ...]
    others: tuple[int, ...]
    caches: CodeCaches = USUAL
    branches: tuple[Branch, ...] = ()
    other_branches: tuple[int, ...] = ()


def levels(code: HotCode, starts: Sequence[int]) -> dict[str, tuple[float, ...]]:
    """Of each mechanism how much the function meets of it where it begins at each of these addresses.

    What the processor does not have is left out.
    """
    return in_classes([counts(code, at) for at in starts])


def in_classes(counted: Sequence[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    """By mechanism, of `counts` at several places; of what functions have in common none, some and many."""
    found = {name: np.array([each[name] for each in counted]) for name in (counted[0] if counted else ())}
    for name in found.keys() & IN_COMMON:
        most = found[name].max(initial=0.0)
        found[name] = np.ceil(2 * found[name] / most) if most else found[name]
    return {name: tuple(values.tolist()) for name, values in found.items()}


def counts(code: HotCode, at: int) -> dict[str, float]:
    """Of each mechanism how much the function meets of it where it begins at this address."""
    hottest = _bytes(code.executed, MOST_OFTEN)
    line, page = code.caches.line, code.caches.page
    found = {
        name: len(np.unique((at + hottest) // unit))
        for name, unit in (("line", line), ("window", WINDOW), ("fetch", BLOCK), ("page", page))
    }
    if code.caches.jcc:
        hottest_ones = hot_branches(code.executed, code.branches, MOST_OFTEN)
        found["jcc"] = sum((at + each.begin) // WINDOW != (at + each.end) // WINDOW for each in hottest_ones)
    others = np.unique(np.array(code.others, np.int64))
    found["sets"] = _conflicts(np.unique((at + _bytes(code.executed, OFTEN)) // line), others, code.caches)
    taken = {other % STRIDE // BLOCK for other in code.other_branches}
    hot_ones = hot_branches(code.executed, code.branches, OFTEN)
    found["aliasing"] = sum((at + each.at) % STRIDE // BLOCK in taken for each in hot_ones)
    return {name: float(found[name]) for name in MECHANISMS if name in found}


def hot_branches(executed: Sequence[tuple[int, float]], branches: Sequence[Branch], part: float) -> list[Branch]:
    """Those that are executed at least this often, by the most frequent instruction."""
    limit = part * max(count for _, count in executed)
    often = {offset for offset, count in executed if count >= limit}
    return [each for each in branches if each.at in often or each.begin in often]


def levels_in_layouts(
    hotness: Hotness, functions: Sequence[int], starts: NDArray[np.int64]
) -> dict[str, tuple[float, ...]]:
    """Of each mechanism how much hot functions (by their positions) meet together in each layout.

    ``starts`` has the address of each hot function in each layout, shape (layouts, functions).
    """
    counted = counts_in_layouts(hotness, functions, starts)
    return {name: tuple(each[name] for each in counted) for name in (counted[0] if counted else ())}


def counts_in_layouts(hotness: Hotness, functions: Sequence[int], starts: NDArray[np.int64]) -> list[dict[str, float]]:
    """As `counts`, of these functions together in each layout; see `levels_in_layouts`."""
    line = hotness.caches.line
    hot = [np.array(each.hot, np.int64) for each in hotness.functions]
    jumps = [
        np.array([one.at for one in hot_branches(each.executed, each.branches, OFTEN)], np.int64)
        for each in hotness.functions
    ]
    counted: list[dict[str, float]] = []
    for row in starts.tolist():
        together: dict[str, float] = {}
        lines = [np.unique((at + offsets) // line).tolist() for at, offsets in zip(row, hot, strict=True)]
        places = [(at + offsets).tolist() for at, offsets in zip(row, jumps, strict=True)]
        for own in functions:
            function = hotness.functions[own]
            code = HotCode(
                function.executed,
                tuple(each for number, of_one in enumerate(lines) if number != own for each in of_one),
                hotness.caches,
                function.branches,
                tuple(each for number, of_one in enumerate(places) if number != own for each in of_one),
            )
            for name, count in counts(code, row[own]).items():
                together[name] = together.get(name, 0.0) + count
        counted.append(together)
    return counted


def hot_code(
    executed: Sequence[tuple[int, float]], others: Sequence[int], name: str, caches: CodeCaches = USUAL
) -> HotCode:
    """Raises `AnalysisError` for a function that is not executed."""
    if not executed:
        raise AnalysisError(f"{name} is not executed, or not for long enough to be seen in a profile")
    return HotCode(tuple(sorted(executed)), tuple(others), caches)


def _bytes(executed: Sequence[tuple[int, float]], part: float) -> NDArray[np.int64]:
    """Offsets of all bytes of instructions that are executed at least this often, by the most frequent one."""
    limit = part * max(count for _, count in executed)
    places = [offset for offset, _ in executed]
    found: list[int] = []
    for number, (offset, count) in enumerate(executed):
        if count >= limit:
            size = places[number + 1] - offset if number + 1 < len(places) else _JUMP
            found += range(offset, offset + (size if size <= _LONGEST else _JUMP))
    return np.array(found, np.int64)


def _conflicts(lines: NDArray[np.int64], others: NDArray[np.int64], caches: CodeCaches) -> int:
    """How many of the lines lie in sets that hold more hot lines than they have ways."""
    everything = np.union1d(lines, others)
    held = np.bincount(everything % caches.sets, minlength=caches.sets)
    return int((held[lines % caches.sets] > caches.ways).sum())
