"""Rows of a table read by column.

All that is plainly right is read at once; what is not is looked at row by row, so that an error is that of the first
row that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.errors import UnreadableResults
from layoutrand.interop.column_cells import BoolArray, Cells, FloatArray, IntArray
from layoutrand.interop.csv_chunks import Chunk
from layoutrand.interop.imported import Imported
from layoutrand.interop.imported_numbers import Numbers, known_starts
from layoutrand.interop.table_kinds import RowKind, RowKinds
from layoutrand.text.digits import digits_of_cell, whole_number
from layoutrand.text.foreign_fields import excerpt, parse_number, unreadable
from layoutrand.text.measurable_columns import are_measurable

_COUNTED: Final = ("execution", "iteration")
_STARTED: Final = "started_at"
_LARGEST_COUNT: Final = 10**18 - 1


@dataclass(frozen=True)
class TableForm:
    """A table with these columns in the file ``source``.

    ``by_line`` says that errors name the line and not the number of the row, ``held`` what a cell holds.
    """

    columns: Sequence[str]
    source: str
    by_line: bool
    held: Callable[[str], str]

    def place(self, number: int) -> tuple[str, int | None]:
        """What errors name, as `unreadable` takes it."""
        return (self.source, number) if self.by_line else (f"{self.source}, row {number}", None)


@dataclass(frozen=True)
class _Columns:
    """Rows: the place of each one's kind, its value, its line or number, what columns of counts say, and its start.

    A start is NaN where the row has none; there are none where the table has no such column.
    """

    kind: IntArray
    values: FloatArray
    lines: IntArray
    counts: Mapping[str, IntArray]
    started: FloatArray | None

    def first(self, count: int) -> _Columns:
        """The first of them."""
        counts = {name: each[:count] for name, each in self.counts.items()}
        started = None if self.started is None else self.started[:count]
        return _Columns(self.kind[:count], self.values[:count], self.lines[:count], counts, started)


def read_table(chunks: Iterable[Chunk], form: TableForm) -> Imported:
    """Everything in the chunks; raises `UnreadableResults`."""
    reading = _Reading(form)
    try:
        for chunk in chunks:
            reading.add(chunk)
    except UnreadableResults:
        reading.refuse_repeated()  # one that is earlier in the file is told first
        raise
    reading.refuse_repeated()
    return reading.imported()


class _Reading:
    """What has been read of a table."""

    def __init__(self, form: TableForm) -> None:
        """Of such a table, nothing so far."""
        self._form = form
        self._at = {column: place for place, column in enumerate(form.columns)}
        self._kinds = RowKinds(form.columns, form.held)
        self._counted = [column for column in _COUNTED if column in self._at]
        self._parts: list[_Columns] = []

    def add(self, chunk: Chunk) -> None:
        """Check and keep a chunk, or those of its rows that are before one that is wrong; raises as `read_table`."""
        rows, doubtful = self._at_once(chunk)
        kept = len(chunk.cells)
        try:
            for row in np.flatnonzero(doubtful).tolist():
                kept = row
                self._read_place(chunk, rows, row)
                kept = row + 1
                kind = self._kinds.known[rows.kind[row]]
                rows.values[row] = kind.value_of(self._cell(chunk, "value", row), *self._place(chunk, row))
            kept = len(chunk.cells)
        finally:
            self._parts.append(rows.first(kept))

    def _at_once(self, chunk: Chunk) -> tuple[_Columns, BoolArray]:
        """The rows, and in which of them something is not plainly right."""
        codes, different = chunk.cells.alike(self._kinds.places)
        places = np.array([self._kinds.place(cells) for cells in different], dtype=np.int64)
        kinds = [self._kinds.known[place] for place in places.tolist()]
        doubtful = np.array([bool(kind.problem) for kind in kinds])[codes]
        counts: dict[str, IntArray] = {}
        for column in self._counted:
            counts[column], fits = chunk.cells.whole_numbers(self._at[column])
            doubtful |= ~fits
        values, right = self._values(chunk.cells, codes, kinds)
        started = None
        if _STARTED in self._at:
            started = chunk.cells.decimals(self._at[_STARTED], np.arange(len(chunk.cells)))
            doubtful |= ~np.isfinite(started) & ~chunk.cells.is_empty(self._at[_STARTED])
        return _Columns(places[codes], values, chunk.lines, counts, started), doubtful | ~right

    def _values(self, cells: Cells, codes: IntArray, kinds: Sequence[RowKind]) -> tuple[FloatArray, BoolArray]:
        """The values in base units, and which of them are right."""
        rows = np.flatnonzero(~np.array([kind.failed for kind in kinds])[codes])
        read = cells.decimals(self._at["value"], rows)
        codes = codes[rows]
        right = are_measurable(read)
        divisors, factors = (np.array([getattr(kind, name) for kind in kinds]) for name in ("divisor", "factor"))
        found = np.where(right, read, np.nan) / divisors[codes] * factors[codes]
        right &= are_measurable(found)
        for value, same in ((-1.0, found < 0), (0.0, found == 0)):
            if same.any():
                right &= ~(same & np.array([kind.is_impossible(value) for kind in kinds])[codes])
        values, is_right = np.full(len(cells), np.nan), np.zeros(len(cells), np.bool_)
        values[rows], is_right[rows] = found, right
        return values, is_right

    def _read_place(self, chunk: Chunk, rows: _Columns, row: int) -> None:
        """Which execution and iteration the row is of; raises `UnreadableResults`."""
        where, line = self._place(chunk, row)
        if problem := self._kinds.known[rows.kind[row]].problem:
            raise unreadable(where, problem, line=line)
        for column in self._counted:
            text = self._cell(chunk, column, row)
            is_short = len(text) <= len(str(_LARGEST_COUNT))
            count = whole_number(digits_of_cell(text), _LARGEST_COUNT) if is_short else None
            if count is None:
                raise unreadable(where, f"{column} is {excerpt(text)}; expected a whole number from 0", line=line)
            rows.counts[column][row] = count
        if rows.started is not None and (text := self._cell(chunk, _STARTED, row)):
            rows.started[row] = parse_number(text, where, _STARTED, line=line)

    def _cell(self, chunk: Chunk, column: str, row: int) -> str:
        return self._form.held(chunk.cells.cell(self._at[column], row))

    def _place(self, chunk: Chunk, row: int) -> tuple[str, int | None]:
        return self._form.place(int(chunk.lines[row]))

    def refuse_repeated(self) -> None:
        """Raise `UnreadableResults` for a row that is there twice; none can be where iterations are just counted."""
        if "iteration" not in self._counted or not self._parts:
            return
        rows = self._whole()
        executions = rows.counts.get("execution", np.zeros(rows.kind.size, np.int64))
        columns = (self._measured(rows), executions, rows.counts["iteration"])
        order, new = _groups(columns)
        if new.all():
            return
        second = int(order[~new].min())
        same = np.ones(rows.kind.size, np.bool_)
        for column in columns:
            same &= column == column[second]
        first = int(np.flatnonzero(same)[0])
        where, line = self._form.place(int(rows.lines[second]))
        place = "line" if self._form.by_line else "row"
        message = f"the same system, benchmark, seed, metric, execution and iteration as {place} {rows.lines[first]}"
        raise unreadable(where, message, line=line)

    def _whole(self) -> _Columns:
        """All rows."""
        parts = self._parts
        if len(parts) > 1:
            self._parts = parts = [
                _Columns(
                    kind=np.concatenate([part.kind for part in parts]),
                    values=np.concatenate([part.values for part in parts]),
                    lines=np.concatenate([part.lines for part in parts]),
                    counts={name: np.concatenate([part.counts[name] for part in parts]) for name in self._counted},
                    started=_joined([part.started for part in parts]),
                )
            ]
        return parts[0]

    def _measured(self, rows: _Columns) -> IntArray:
        return np.array([kind.measured for kind in self._kinds.known], dtype=np.int64)[rows.kind]

    def imported(self) -> Imported:
        """All of it; raises `UnreadableResults` for a table without rows."""
        if not self._parts:
            raise unreadable(self._form.source, "holds no measurement below its header")
        rows = self._whole()
        # Executions and iterations are counted in the order of the rows where the table does not say.
        executions, iterations = rows.counts.get("execution"), rows.counts.get("iteration")
        none = np.zeros(rows.kind.size, np.int64)
        if executions is None:
            executions = _numbers_in(self._measured(rows)) if iterations is None else none
            iterations = none if iterations is None else iterations
        elif iterations is None:
            iterations = _numbers_in(self._measured(rows), executions)
        known = self._kinds.known
        started = None if rows.started is None else known_starts(rows.started)
        numbers = Numbers(tuple(kind.number for kind in known), rows.kind, rows.values, executions, iterations, started)
        failed = np.array([kind.failed for kind in known])[rows.kind]
        if not failed.any():
            return Imported(numbers.under(numbers.kinds))
        failures = [
            known[rows.kind[row]].failed_run(int(executions[row]), None if started is None else float(started[row]))
            for row in np.flatnonzero(failed).tolist()
        ]
        kept = numbers.chosen(~failed)
        return Imported(kept.under(kept.kinds), tuple(failures))


def _joined(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    """The starts of all parts of a table, which have some or not as a whole."""
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if there else None


def _groups(columns: Sequence[IntArray]) -> tuple[IntArray, BoolArray]:
    """The order in which rows that are the same in all columns stand together, and where another group begins."""
    order = np.lexsort(columns[::-1])
    new = np.zeros(order.size, np.bool_)
    new[:1] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, new


def _numbers_in(*columns: IntArray) -> IntArray:
    """The number of each row among those that are the same in all columns, in the order of the rows."""
    order, new = _groups(columns)
    starts = np.flatnonzero(new)
    numbers = np.empty(order.size, np.int64)
    numbers[order] = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    return numbers
