"""What may make a place of a variable a bad one: mechanisms, and how much of each a variable meets where it lies.

Each is a number that is counted from addresses and from a trace of loads and stores (`layoutrand.explain.data_use`):

- *data-split*: how many accesses cross the end of a cache line, in a variable whose elements are not aligned to it;
- *data-line*, *data-page*: how many cache lines and pages hold what is accessed most;
- *data-sets*: how many of its hot lines lie in sets of the first-level data cache that hold more hot lines of
  variables than they have ways;
- *store-load*: how many loads come shortly after a store to another address that is the same modulo 4 KiB, one of the
  two being in the variable and the other in another one.  A processor compares a load with the stores before it by
  low bits of addresses first, and where these are the same, the load waits (Intel, "64 and IA-32 Architectures
  Optimization Reference Manual", "4-KByte aliasing"; AMD's "Software Optimization Guide" says the same of bits 11:0).

Of the heap and the stack nothing is known, as no layout decides where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.errors import AnalysisError
from layoutrand.explain.caches import USUAL, CodeCaches
from layoutrand.explain.data_use import ALIAS, GRAIN, STORE_LOAD, DataUse, StoreLoads, aliased
from layoutrand.explain.hotness import MOST_OFTEN, OFTEN

DATA_MECHANISMS: Final = ("data-split", "data-line", "data-page", "data-sets", STORE_LOAD)


@dataclass(frozen=True)
class HotData:
    """What of a variable is used how, beside what of others, in the layout in which it is moved.

    ``own`` has rows of a place in it, bytes and how often, shape (places, 3); ``others`` are numbers of lines that
    other variables are hot on.  Of ``pairs`` of loads and stores of it and others, ``distance`` is what it would be if
    it began at address 0, and ``direction`` 1 where it is loaded and -1 where it is stored to.
    """

    own: NDArray[np.int64]
    others: NDArray[np.int64]
    pairs: StoreLoads
    direction: NDArray[np.int64]
    caches: CodeCaches = USUAL


def data_repeats_within(mechanism: str, caches: CodeCaches) -> int:
    """Bytes: a variable that is moved by so many meets as much of the mechanism as it did, all else in its place."""
    return {
        "data-split": caches.line,
        "data-line": caches.line,
        "data-page": caches.page,
        "data-sets": caches.data_sets * caches.line,
        STORE_LOAD: ALIAS,
    }[mechanism]


def hot_data(use: DataUse, section: int, places: NDArray[np.int64], name: str, caches: CodeCaches = USUAL) -> HotData:
    """What is known of the variable; ``places`` has where each section lies in the layout, shape (sections,).

    Raises `AnalysisError` for a variable that is never accessed.
    """
    if not len(use.own):
        part = "" if use.whole else f" its first {use.instructions / 1e6:,.0f} million instructions,"
        raise AnalysisError(f"{name} is not accessed in what was traced:{part} without the processes that it forks")
    moved = places - use.address
    least = OFTEN * use.touched[:, 2].max()
    hot = use.touched[(use.touched[:, 2] >= least) & (use.touched[:, 0] != section)]
    others = np.unique((places[hot[:, 0]] + hot[:, 1] * GRAIN) // caches.line)
    pairs = use.pairs
    concerned = (pairs.stored == section) != (pairs.loaded == section)
    chosen = StoreLoads(*(values[concerned] for values in vars(pairs).values()))
    direction = np.where(chosen.loaded == section, 1, -1)
    other = np.where(direction == 1, chosen.stored, chosen.loaded)
    at_zero = chosen.distance - direction * (use.address[section] + moved[other])
    return HotData(
        use.own,
        others,
        StoreLoads(chosen.stored, chosen.loaded, at_zero % ALIAS, chosen.wrote, chosen.read, chosen.count),
        direction,
        caches,
    )


def data_levels(data: HotData, starts: Sequence[int]) -> dict[str, tuple[float, ...]]:
    """Of each mechanism how much the variable meets of it where it begins at each of these addresses."""
    line = data.caches.line
    place, size, count = data.own.T
    hottest = count >= MOST_OFTEN * count.max()
    hot = count >= OFTEN * count.max()
    found: dict[str, list[float]] = {name: [] for name in DATA_MECHANISMS}
    for start in starts:
        at = start + place
        found["data-split"].append(float(count[at % line + size > line].sum()))
        for name, unit in (("data-line", line), ("data-page", data.caches.page)):
            ends = np.concatenate([at[hottest], at[hottest] + size[hottest] - 1])
            found[name].append(float(len(np.unique(ends // unit))))
        own = np.unique(np.concatenate([at[hot], at[hot] + size[hot] - 1]) // line)
        found["data-sets"].append(float(_overfull(own, data.others, data.caches)))
        meets = aliased(data.pairs, data.direction * start)
        found[STORE_LOAD].append(float(data.pairs.count[meets].sum()))
    least = {"data-sets": 0.0} | dict.fromkeys(("data-split", STORE_LOAD), OFTEN * float(count.sum()))
    return {name: tuple(_classes(values, least[name]) if name in least else values) for name, values in found.items()}


def _classes(values: list[float], least: float) -> list[float]:
    """None (or fewer than ``least``), some, and more than half as many as at most: 0, 1, 2."""
    counts = np.where(np.array(values) < least, 0.0, values)
    most = counts.max(initial=0.0)
    classes: list[float] = np.ceil(2 * counts / most).tolist() if most else counts.tolist()
    return classes


def _overfull(own: NDArray[np.int64], others: NDArray[np.int64], caches: CodeCaches) -> int:
    held = np.bincount(np.union1d(own, others) % caches.data_sets, minlength=caches.data_sets)
    return int((held[own % caches.data_sets] > caches.data_ways).sum())
