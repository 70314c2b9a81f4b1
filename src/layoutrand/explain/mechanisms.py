"""What may make a place of code a bad one: mechanisms, and how much of each code meets where it lies.

Each is a number that is counted from addresses and from which instructions are executed often, and from nothing else:

- *line*, *window*, *fetch*: how many cache lines, 32-byte windows (as caches of decoded instructions hold code) and
  16-byte blocks (in which it is fetched and decoded) the function's hottest instructions lie on;
- *jcc*: how many of its hottest branches, with the comparisons that they are one operation with, cross or end at a
  multiple of 32 bytes; looked at where the processor has that erratum (`layoutrand.host.errata`);
- *page*: how many pages the hottest instructions lie on;
- *sets*: how many of its hot lines lie in sets of the first-level instruction cache that hold more hot lines than they
  have ways;
- *itlb*: how many of its hot pages lie in sets of the first-level TLB for instructions that hold more hot pages than
  they have ways; of one that is fully associative, which has one set, in a program with more hot pages than entries.
  Looked at where the processor tells its sizes (`layoutrand.host.instruction_tlb`);
- *aliasing*: how many of its hot branches lie, modulo 16 KiB, in 16 bytes that hold a hot branch of another function,
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

MECHANISMS: Final = ("line", "window", "jcc", "fetch", "page", "sets", "itlb", "aliasing")
IN_COMMON: Final = frozenset({"sets", "itlb", "aliasing"})
"""What functions do to each other: counts are many, and each by itself would be a class that nothing speaks against."""

Counts = NDArray[np.float64]


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


def repeats_within(mechanism: str, caches: CodeCaches) -> int:
    """Bytes: code that is moved by so many meets as much of the mechanism as it did, all else in its place."""
    return {
        "line": caches.line,
        "window": WINDOW,
        "jcc": WINDOW,
        "fetch": BLOCK,
        "page": caches.page,
        "sets": caches.sets * caches.line,
        "itlb": (caches.itlb[0] if caches.itlb else 1) * caches.page,
        "aliasing": STRIDE,
    }[mechanism]


def levels(code: HotCode, starts: Sequence[int]) -> dict[str, tuple[float, ...]]:
    """Of each mechanism how much the function meets of it where it begins at each of these addresses.

    What the processor does not have is left out; of what functions do to each other there is none, some, and many.
    """
    at = np.array(starts, np.int64)
    places = _Places(code.executed, code.branches, code.caches)
    others = np.unique(np.array(code.others, np.int64))
    taken = np.zeros(STRIDE // BLOCK, bool)
    taken[_entries(np.array(code.other_branches, np.int64))] = True
    found = places.alone(at)
    found["sets"] = np.array([float(places.conflicts(each, others)) for each in at.tolist()])
    if code.caches.itlb is not None:
        pages = np.unique(others * code.caches.line // code.caches.page)
        found["itlb"] = np.array([float(places.page_conflicts(each, pages)) for each in at.tolist()])
    found["aliasing"] = np.array([float(taken[_entries(each + places.jumps)].sum()) for each in at.tolist()])
    for name in IN_COMMON & found.keys():
        most = found[name].max(initial=0.0)
        found[name] = np.ceil(2 * found[name] / most) if most else found[name]
    return {name: tuple(found[name].tolist()) for name in MECHANISMS if name in found}


def counts_in_layouts(hotness: Hotness, starts: NDArray[np.int64]) -> tuple[dict[str, Counts], ...]:
    """Of each hot function, by mechanism how much it meets in each layout, shape (layouts,).

    ``starts`` has the address of each of `Hotness.sections` in each layout, shape (layouts, sections).
    """
    caches = hotness.caches
    starts = starts[:, : len(hotness.functions)]
    places = [_Places(each.executed, each.branches, caches) for each in hotness.functions]
    found = [of_one.alone(starts[:, number]) for number, of_one in enumerate(places)]
    for each in found:
        each["sets"], each["aliasing"] = np.zeros(len(starts)), np.zeros(len(starts))
        if caches.itlb is not None:
            each["itlb"] = np.zeros(len(starts))
    hot = [np.array(each.hot, np.int64) for each in hotness.functions]
    for layout, row in enumerate(starts.tolist()):
        lines = [np.unique((at + offsets) // caches.line) for at, offsets in zip(row, hot, strict=True)]
        entries = [_entries(at + of_one.jumps) for at, of_one in zip(row, places, strict=True)]
        held = np.zeros(STRIDE // BLOCK, np.int64)
        for of_one in entries:
            held[np.unique(of_one)] += 1
        for number, each in enumerate(found):
            others = np.unique(np.concatenate([np.empty(0, np.int64), *lines[:number], *lines[number + 1 :]]))
            each["sets"][layout] = places[number].conflicts(row[number], others)
            if "itlb" in each:
                pages = np.unique(others * caches.line // caches.page)
                each["itlb"][layout] = places[number].page_conflicts(row[number], pages)
            each["aliasing"][layout] = (held[entries[number]] > 1).sum()
    return tuple({name: each[name] for name in MECHANISMS if name in each} for each in found)


def together(counted: Sequence[dict[str, Counts]]) -> dict[str, Counts]:
    """What several functions meet of each mechanism, by what each of them does."""
    return {name: np.sum([each[name] for each in counted], axis=0) for name in (counted[0] if counted else ())}


def hot_branches(executed: Sequence[tuple[int, float]], branches: Sequence[Branch], part: float) -> list[Branch]:
    """Those that are executed at least this often, by the most frequent instruction."""
    limit = part * max((count for _, count in executed), default=0.0)
    often = {offset for offset, count in executed if count >= limit}
    return [each for each in branches if each.at in often or each.begin in often]


def hot_code(
    executed: Sequence[tuple[int, float]], others: Sequence[int], name: str, caches: CodeCaches = USUAL
) -> HotCode:
    """Raises `AnalysisError` for a function that is not executed."""
    if not executed:
        raise AnalysisError(f"{name} is not executed, or not for long enough to be seen in a profile")
    return HotCode(tuple(sorted(executed)), tuple(others), caches)


class _Places:
    """What of a function mechanisms count, as offsets from its begin."""

    def __init__(self, executed: Sequence[tuple[int, float]], branches: Sequence[Branch], caches: CodeCaches) -> None:
        self.caches = caches
        self.hottest = _stretches(executed, MOST_OFTEN)
        self.hot = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(begin, end) for begin, end in _stretches(executed, OFTEN).tolist())]
        )
        self.jumps = np.array([each.at for each in hot_branches(executed, branches, OFTEN)], np.int64)
        hottest = hot_branches(executed, branches, MOST_OFTEN)
        self.operations = np.array([(each.begin, each.end) for each in hottest], np.int64).reshape(-1, 2)

    def alone(self, at: NDArray[np.int64]) -> dict[str, Counts]:
        """What it meets whatever lies around it, where it begins at each of these addresses."""
        caches = self.caches
        units = (("line", caches.line), ("window", WINDOW), ("fetch", BLOCK), ("page", caches.page))
        found = {name: self._units(at, unit) for name, unit in units}
        if caches.jcc:
            begin, end = ((at[:, None] + self.operations[:, side]) // WINDOW for side in (0, 1))
            found["jcc"] = (begin != end).sum(axis=1).astype(float)
        return found

    def _units(self, at: NDArray[np.int64], size: int) -> Counts:
        """How many blocks of so many bytes the hottest stretches lie on; two of them may share one."""
        first = (at[:, None] + self.hottest[:, 0]) // size
        last = (at[:, None] + self.hottest[:, 1] - 1) // size
        shared = first[:, 1:] == last[:, :-1]
        return np.asarray((last - first + 1).sum(axis=1) - shared.sum(axis=1), np.float64)

    def conflicts(self, at: int, others: NDArray[np.int64]) -> int:
        """How many of its hot lines lie in sets that hold more hot lines than they have ways."""
        lines = np.unique((at + self.hot) // self.caches.line)
        return _overfull(lines, others, self.caches.sets, self.caches.ways)

    def page_conflicts(self, at: int, others: NDArray[np.int64]) -> int:
        """The same of its hot pages in the TLB."""
        pages = np.unique((at + self.hot) // self.caches.page)
        return _overfull(pages, others, *self.caches.itlb) if self.caches.itlb else 0


def _overfull(own: NDArray[np.int64], others: NDArray[np.int64], sets: int, ways: int) -> int:
    """How many of these lines or pages lie in sets that hold more than they have ways, with those of others."""
    held = np.bincount(np.union1d(own, others) % sets, minlength=sets)
    return int((held[own % sets] > ways).sum())


def _entries(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The 16-byte blocks modulo 16 KiB of these addresses."""
    return places % STRIDE // BLOCK


def _stretches(executed: Sequence[tuple[int, float]], part: float) -> NDArray[np.int64]:
    """Begin and end of what is executed at least this often, by the most frequent instruction, shape (stretches, 2)."""
    limit = part * max((count for _, count in executed), default=0.0)
    found: list[list[int]] = []
    for number, (offset, count) in enumerate(executed):
        if count < limit:
            continue
        size = executed[number + 1][0] - offset if number + 1 < len(executed) else _JUMP
        end = offset + (size if size <= _LONGEST else _JUMP)
        if found and found[-1][1] == offset:
            found[-1][1] = end
        else:
            found.append([offset, end])
    return np.array(found, np.int64).reshape(-1, 2)
