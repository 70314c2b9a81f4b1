"""Numbers of a file by column: a file may hold millions, and few of them differ in more than value and place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Final, overload

import numpy as np

from layoutrand.interop.column_cells import BoolArray, FloatArray, IntArray
from layoutrand.interop.imported import ImportedNumber, is_impossible

_PLACE: Final = frozenset({"value", "execution", "iteration", "started_at"})
_KIND: Final = attrgetter(*(each.name for each in fields(ImportedNumber) if each.name not in _PLACE))


@dataclass(frozen=True, eq=False)
class Numbers(Sequence[ImportedNumber]):
    """Rows as columns.

    ``kind`` is for each row the place in ``kinds`` of what it shares with others: a number of which value, execution,
    iteration and start mean nothing.  Kinds are in the order in which they first occur, and all do.  ``started`` is
    NaN for a row that does not say, and None where none does.
    """

    kinds: tuple[ImportedNumber, ...]
    kind: IntArray
    values: FloatArray
    executions: IntArray
    iterations: IntArray
    started: FloatArray | None = None

    def __len__(self) -> int:
        """How many rows there are."""
        return self.kind.size

    @overload
    def __getitem__(self, place: int) -> ImportedNumber: ...

    @overload
    def __getitem__(self, place: slice) -> Numbers: ...

    def __getitem__(self, place: int | slice) -> ImportedNumber | Numbers:
        """The row at that place, or rows."""
        if isinstance(place, slice):
            return self.chosen(np.arange(len(self))[place])
        value, execution, iteration = self.values[place], self.executions[place], self.iterations[place]
        kind = self.kinds[int(self.kind[place])]
        started = None if self.started is None or np.isnan(self.started[place]) else float(self.started[place])
        return replace(kind, value=float(value), execution=int(execution), iteration=int(iteration), started_at=started)

    def __iter__(self) -> Iterator[ImportedNumber]:
        """All rows, one by one."""
        return (self[place] for place in range(len(self)))

    def chosen(self, rows: IntArray | BoolArray) -> Numbers:
        """These rows alone."""
        kind = self.kind[rows]
        first = _first_of_each(kind, len(self.kinds))
        order = [each for each in np.argsort(first).tolist() if first[each] < kind.size]
        places = np.zeros(len(self.kinds), np.int64)
        places[order] = np.arange(len(order))
        kinds = tuple(self.kinds[each] for each in order)
        started = None if self.started is None else self.started[rows]
        return Numbers(kinds, places[kind], self.values[rows], self.executions[rows], self.iterations[rows], started)

    def under(self, kinds: Sequence[ImportedNumber]) -> Numbers:
        """The same numbers, of other kinds in place of these; several may become one."""
        places: dict[ImportedNumber, int] = {}
        of_each = np.array([places.setdefault(kind, len(places)) for kind in kinds], dtype=np.int64)
        kind = self.kind if len(places) == len(kinds) else of_each[self.kind]
        return replace(self, kinds=tuple(places), kind=kind)

    def of_each_kind(self, facts: Sequence[bool]) -> BoolArray:
        """For each row what is known of its kind."""
        return np.array(facts, dtype=np.bool_)[self.kind]

    def first_of_kinds(self) -> IntArray:
        """The first row of each kind."""
        return _first_of_each(self.kind, len(self.kinds))

    def first_impossible(self) -> int | None:
        """The first row that cannot have been measured."""
        unlikely = np.flatnonzero(~(self.values > 0))
        if not unlikely.size:
            return None
        kinds, values = self.kind[unlikely], self.values[unlikely]
        wrong = np.isnan(values)
        for value, same in ((-1.0, values < 0), (0.0, values == 0)):
            wrong |= same & np.array([is_impossible(value, each.unit, each.metric) for each in self.kinds])[kinds]
        found = unlikely[wrong]
        return int(found[0]) if found.size else None


def _first_of_each(kind: IntArray, count: int) -> IntArray:
    """The first place of each of so many; behind the last for one that does not occur."""
    first = np.full(count, kind.size, np.int64)
    first[kind[::-1]] = np.arange(kind.size)[::-1]  # of several values for one place the last is kept
    return first


def numbers_of(rows: Sequence[ImportedNumber]) -> Numbers:
    """Rows by column."""
    if isinstance(rows, Numbers):
        return rows
    kinds: dict[tuple[object, ...], tuple[int, ImportedNumber]] = {}
    kind = []
    for row in rows:
        facts = _KIND(row)
        if facts not in kinds:
            kinds[facts] = len(kinds), replace(row, value=0.0, execution=0, iteration=0, started_at=None)
        kind.append(kinds[facts][0])
    return Numbers(
        kinds=tuple(each for _, each in kinds.values()),
        kind=np.array(kind, dtype=np.int64),
        values=np.array([row.value for row in rows], dtype=np.float64),
        executions=np.array([row.execution for row in rows], dtype=np.int64),
        iterations=np.array([row.iteration for row in rows], dtype=np.int64),
        started=known_starts(np.array([row.started_at for row in rows], dtype=np.float64)),  # NaN for None
    )


def known_starts(started: FloatArray) -> FloatArray | None:
    """When executions began, NaN where that is not known; None where it is known of none."""
    return None if np.isnan(started).all() else started


def together(several: Sequence[Numbers]) -> tuple[Numbers, IntArray]:
    """The rows of all, and for each row the number of that of several which it is from."""
    if len(several) == 1:
        return several[0], np.zeros(len(several[0]), np.int64)
    kinds = [kind for each in several for kind in each.kinds]
    before = np.cumsum([0, *(len(each.kinds) for each in several)])
    found = Numbers(
        kinds=tuple(kinds),
        kind=np.concatenate([each.kind + add for each, add in zip(several, before[:-1], strict=True)]),
        values=np.concatenate([each.values for each in several]),
        executions=np.concatenate([each.executions for each in several]),
        iterations=np.concatenate([each.iterations for each in several]),
        started=known_starts(
            np.concatenate([np.full(len(each), np.nan) if each.started is None else each.started for each in several])
        ),
    )
    return found.under(kinds), np.repeat(np.arange(len(several)), [len(each) for each in several])
