"""How a program uses its variables: which it reads and writes often, and which it reads shortly after it wrote others.

Made of a trace of the identity binary (`layoutrand.instruments.memory_trace`).  Only what the linker places counts:
where the heap and the stack lie no layout decides, and under valgrind they lie elsewhere than without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from layoutrand.instruments.memory_trace import Accesses

STORE_LOAD: Final = "store-load"
"""What the mechanism is called, and the feature."""

SHORTLY: Final = 100
"""Instructions: a processor has so many and more in flight, so a store may not have reached the cache by then."""

STORES: Final = 32
"""A load is held against so many of the last stores at most."""

ALIAS: Final = 4096
"""Bytes: processors compare a load with stores before it by the low 12 bits of addresses first."""

GRAIN: Final = 16
"""Bytes: so fine it is kept where in their variables accesses go; lines of caches are multiples of it."""

_OFTEN: Final = 0.01
"""StoreLoads that are rarer, by the most frequent one, are not looked at."""

_ENOUGH: Final = 20_000_000
"""Accesses to the variable, or to all variables together where none is the one."""

_LARGEST: Final = 64
"""Bytes of an access, the widest vector's."""

_MOST: Final = 1 << 20
"""So many different places, or pairs of them, are kept at most."""


@dataclass(frozen=True)
class StoreLoads:
    """Loads shortly after stores, of two variables, each shape (kinds,).

    ``stored`` and ``loaded`` are their sections, and of the two places, in the binary that was traced, ``distance`` is
    the loaded one's minus the stored one's, modulo `ALIAS`; ``wrote`` and ``read`` are bytes, and ``count`` how often.
    """

    stored: NDArray[np.int64]
    loaded: NDArray[np.int64]
    distance: NDArray[np.int64]
    wrote: NDArray[np.int64]
    read: NDArray[np.int64]
    count: NDArray[np.int64]


@dataclass(frozen=True)
class DataUse:
    """What variables are used for.

    ``touched`` counts accesses: rows of a section, a `GRAIN` in it and how often, shape (grains, 3); ``own`` has those
    of one section alone: rows of a place in it, bytes and how often, shape (places, 3).  ``address`` is where each
    section lies in the binary that was traced, shape (sections,), -1 for none.  ``instructions`` were traced, and with
    ``whole`` that is all that the program executed.
    """

    touched: NDArray[np.int64]
    own: NDArray[np.int64]
    pairs: StoreLoads
    address: NDArray[np.int64]
    instructions: int
    whole: bool


class DataCounter:
    """Counts what a trace has, stretch by stretch, of variables in ``sections`` (their numbers).

    ``address`` and ``size`` are of all sections of the capture, ``moved`` is where the program was loaded; ``section``
    is the one of which every access is kept, None for none.  ``most`` instructions are counted, or a few more.
    """

    def __init__(
        self,
        sections: Sequence[int],
        address: NDArray[np.int64],
        size: NDArray[np.int64],
        *,
        moved: int,
        section: int | None,
        most: int = 1 << 62,
    ) -> None:
        there = np.array([n for n in sections if address[n] >= 0 and size[n] > 0], np.int64)
        self._numbers = there[np.argsort(address[there], kind="stable")]
        self._begin = address[self._numbers] + moved
        self._end = self._begin + size[self._numbers]
        self._address, self._own, self._most = address, section, most
        self._touched: Counter[tuple[int, ...]] = Counter()
        self._of_own: Counter[tuple[int, ...]] = Counter()
        self._pairs: Counter[tuple[int, ...]] = Counter()
        self._late = _Variables.none()
        self.instructions = 0
        self.accesses = 0

    def add(self, accesses: Accesses, instructions: int) -> None:
        """Count a stretch that follows the one before."""
        found = self._of_variables(accesses)
        self.instructions += instructions
        if self._own is not None:
            self.accesses += int((found.section == self._own).sum())
        else:
            self.accesses += len(found.at)
        self._count_places(found)
        together = self._late.then(found)
        self._count_pairs(together, fresh=len(self._late.at))
        last = int(accesses.at[-1]) if len(accesses.at) else -1
        self._late = together.chosen(together.writes & (together.at >= last - SHORTLY))

    @property
    def has_enough(self) -> bool:
        """Whether more says nothing else."""
        return self.instructions >= self._most or self.accesses >= _ENOUGH

    def end_process(self) -> None:
        """What follows is another process: numbers of instructions begin again."""
        self._late = _Variables.none()

    def use(self, *, whole: bool) -> DataUse:
        """What was counted."""
        pairs = StoreLoads(*_table(self._pairs, width=6).T)
        touched, own = (_table(counts, width=3) for counts in (self._touched, self._of_own))
        return DataUse(touched, own, pairs, self._address, self.instructions, whole)

    def _of_variables(self, accesses: Accesses) -> _Variables:
        """Those accesses that go to variables."""
        slot = np.searchsorted(self._begin, accesses.address, side="right") - 1
        inside = (slot >= 0) & (accesses.address < self._end[slot]) if len(self._end) else np.zeros(len(slot), bool)
        slot = slot[inside]
        return _Variables(
            at=accesses.at[inside],
            address=accesses.address[inside],
            section=self._numbers[slot],
            place=accesses.address[inside] - self._begin[slot],
            size=np.minimum(accesses.size[inside], _LARGEST),
            reads=accesses.reads[inside],
            writes=accesses.writes[inside],
        )

    def _count_places(self, found: _Variables) -> None:
        _count(self._touched, found.section, found.place // GRAIN)
        if self._own is not None:
            own = found.chosen(found.section == self._own)
            _count(self._of_own, own.place, own.size)

    def _count_pairs(self, together: _Variables, *, fresh: int) -> None:
        """Of each load from the ``fresh``-th on, the last stores to other variables that it does not read itself."""
        stores = together.chosen(together.writes)
        loads = together.chosen(together.reads & (np.arange(len(together.at)) >= fresh))
        if not len(stores.at) or not len(loads.at):
            return
        before = np.searchsorted(stores.at, loads.at)  # the first store that is not of an earlier instruction
        open_ = np.ones(len(loads.at), bool)
        for back in range(1, STORES + 1):
            which = before - back
            open_ &= which >= 0
            open_ &= loads.at - stores.at[np.maximum(which, 0)] <= SHORTLY
            if not open_.any():
                return
            load, store = loads.chosen(open_), stores.chosen(which[open_])
            distance = load.address - store.address
            forwarded = (distance < store.size) & (distance > -load.size)
            other = ~forwarded & (load.section != store.section)
            _count(
                self._pairs,
                *(values[other] for values in (store.section, load.section, distance % ALIAS, store.size, load.size)),
            )
            open_[np.flatnonzero(open_)[forwarded]] = False  # what it reads is there, whatever was stored before


@dataclass(frozen=True)
class _Variables:
    """Accesses to variables, each shape (accesses,): by which instruction, to which place of which section."""

    at: NDArray[np.int64]
    address: NDArray[np.int64]
    section: NDArray[np.int64]
    place: NDArray[np.int64]
    size: NDArray[np.int64]
    reads: NDArray[np.bool_]
    writes: NDArray[np.bool_]

    @classmethod
    def none(cls) -> _Variables:
        numbers, marks = np.empty(0, np.int64), np.empty(0, bool)
        return cls(numbers, numbers, numbers, numbers, numbers, marks, marks)

    def chosen(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> _Variables:
        return _Variables(*(values[which] for values in vars(self).values()))

    def then(self, other: _Variables) -> _Variables:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Variables(*(np.concatenate(pair) for pair in pairs))


def _count(counts: Counter[tuple[int, ...]], *columns: NDArray[np.int64]) -> None:
    """Count equal rows of the columns."""
    if not len(columns[0]):
        return
    order = np.lexsort(columns[::-1])
    rows = np.stack(columns, axis=1)[order]
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
    times = np.diff(np.append(first, len(rows)))
    for row, count in zip(rows[first].tolist(), times.tolist(), strict=True):
        counts[tuple(row)] += count
    if len(counts) > _MOST:  # what is rare is let go, so that a program with much data needs no more memory
        for rare, _ in counts.most_common()[_MOST // 2 :]:
            del counts[rare]


def _table(counts: Counter[tuple[int, ...]], *, width: int) -> NDArray[np.int64]:
    """Rows of what was counted and how often, sorted, shape (rows, width)."""
    return np.array([(*key, count) for key, count in sorted(counts.items())], np.int64).reshape(-1, width)


def by_pairs(use: DataUse, *, most: int) -> tuple[tuple[int, int, StoreLoads], ...]:
    """The pairs of variables of which one is loaded most often after stores to the other, at most so many of them.

    Each is the stored one's section, the loaded one's, and their `StoreLoads`, of which ``distance`` is what it would
    be if both began at one address.
    """
    pairs = use.pairs
    count: Counter[tuple[int, int]] = Counter()
    for stored, loaded, times in zip(pairs.stored.tolist(), pairs.loaded.tolist(), pairs.count.tolist(), strict=True):
        count[stored, loaded] += times
    often = _OFTEN * max(count.values(), default=0)
    found = []
    for (stored, loaded), times in count.most_common(most):
        if times < often:
            break
        own = (pairs.stored == stored) & (pairs.loaded == loaded)
        chosen = StoreLoads(*(values[own] for values in vars(pairs).values()))
        apart = chosen.distance - int(use.address[loaded] - use.address[stored])
        found.append((stored, loaded, replace(chosen, distance=apart % ALIAS)))
    return tuple(found)


def aliased(pairs: StoreLoads, moved: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether load and store of each pair overlap modulo `ALIAS`, where their ``distance`` is larger by ``moved``.

    ``moved`` is of shape (kinds,), or (layouts, 1), and then so is the answer: (layouts, kinds).
    """
    distance = (pairs.distance + moved) % ALIAS
    return (distance < pairs.wrote) | (distance > ALIAS - pairs.read)
