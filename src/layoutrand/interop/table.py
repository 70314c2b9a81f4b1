"""A plain table of measurements: CSV with a header, or the rows of a ``layoutrand/export/1`` document.

One row is one number.  ``value`` alone is required; columns may stand in any order, and one that is not known is an
error.  Without ``seed`` everything is of one binary; without ``execution`` every row is an execution of its own, unless
there is ``iteration``: then all are iterations of one.  A row with a ``status`` other than ok is a failed execution.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from layoutrand.config.metric import Better
from layoutrand.interop.imported import (
    PROGRAM_ITSELF,
    FailedRun,
    Imported,
    ImportedNumber,
    in_base_unit,
    member,
    refuse_impossible,
)
from layoutrand.text.csv_cells import text_of_cell
from layoutrand.text.digits import MEASURABLE, is_measurable
from layoutrand.text.foreign_fields import excerpt, json_excerpt, parse_number, plain, unreadable

COLUMNS: Final = (
    "system",
    "benchmark",
    "seed",
    "execution",
    "iteration",
    "value",
    "metric",
    "unit",
    "warmup",
    "better",
    "instrument",
    "status",
    "reason",
    "node",
)
SCHEMA: Final = "layoutrand/export/1"
OK: Final = "ok"
NO_BENCHMARK: Final = "benchmark"
NO_METRIC: Final = "value"
_FLAGS: Final = {"": False, "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}
_LONGEST_HEADER: Final = 10_000
_COUNT: Final = re.compile(r"[0-9]{1,18}")

Record = tuple[int, Sequence[str]]
"""Line, or number of the row, and its cells in the order of the columns."""


def recognise(document: Any) -> bool:
    """Whether a JSON document is what ``layoutrand export --format json`` writes."""
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def recognise_csv(text: str) -> bool:
    """Whether it is a table with a column ``value``."""
    return "value" in _header(text)


def _header(text: str) -> list[str]:
    """The cells of the first line; none where it is longer than any header."""
    if len(text) > _LONGEST_HEADER and "\n" not in text[:_LONGEST_HEADER]:
        return []
    return [cell.strip() for cell in next(csv.reader(re.split(r"\r?\n|\r", text, maxsplit=1)[:1]), [])]


def parse_csv(text: str, source: str) -> Imported:
    """Rows of the table; raises `UnreadableResults` with the line."""
    header = _header(text)
    _check_header(header, text, source)
    return _parse(_records(text, header, source), header, source, "line")


def parse(document: Any, source: str) -> Imported:
    """Rows of a ``layoutrand/export/1`` document; raises `UnreadableResults`."""
    records = []
    for number, row in enumerate(member(document, "rows", list, source, "the document")):
        if not isinstance(row, dict) or not set(row) <= set(COLUMNS):
            raise unreadable(
                source, f"row {number} is {json_excerpt(row)}; expected an object with {', '.join(COLUMNS)}"
            )
        records.append((number, [_cell(row.get(column)) for column in COLUMNS]))
    return _parse(records, COLUMNS, source, "row")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _check_header(header: list[str], text: str, source: str) -> None:
    unknown = [column for column in header if column not in COLUMNS]
    if "value" not in header or unknown:
        first = text.split("\n", 1)[0]
        hint = ""
        if len(header) == 1 and any(mark in first for mark in ";\t"):
            hint = "; cells must be separated by commas"
        what = f"unknown column {', '.join(map(excerpt, unknown))}" if unknown else "no column 'value'"
        expected = "the first line must name the columns, some of " + ", ".join(COLUMNS)
        raise unreadable(source, f"{what}{hint}; {expected}", line=1)
    for column in header:
        if header.count(column) > 1:
            raise unreadable(source, f"two columns are called {column!r}", line=1)


def _records(text: str, header: list[str], source: str) -> Iterator[Record]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        next(reader)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise unreadable(source, f"{len(cells)} cells under {len(header)} columns", line=reader.line_num)
            yield reader.line_num, [text_of_cell(cell) if cell[:1] == "'" else cell for cell in map(str.strip, cells)]
    except csv.Error as error:
        raise unreadable(source, f"no CSV ({error})", line=reader.line_num) from error


class _Plain(dict[str, str]):
    """Names as they can be shown; of the rows of a file many have the same, which are one object then."""

    def __missing__(self, name: str) -> str:
        self[name] = found = plain(name)
        return found


@dataclass(frozen=True, slots=True)
class _Alike:
    """What is the same in all rows that differ in value, execution and iteration alone; a file has few of these.

    ``number`` is that of what is measured: rows of one binary in several units, or on several nodes, have the same.
    """

    name: Mapping[str, str]
    metric: str
    number: int
    status: str
    unit: str
    is_base: bool
    node: str
    warmup: bool = False
    better: Better = "less"


class _Rows:
    """The rows of one table, told apart."""

    def __init__(self, columns: Sequence[str]) -> None:
        """Of a table with these columns."""
        self.columns = {column: place for place, column in enumerate(columns)}
        self._rest = [
            place for column, place in self.columns.items() if column not in ("value", "execution", "iteration")
        ]
        self._plainly = _Plain()
        self._known: dict[tuple[str, ...], _Alike] = {}
        self._numbers: dict[tuple[object, ...], int] = {}

    def cell(self, cells: Sequence[str], column: str) -> str:
        """The cell of that column, "" where the table has none."""
        place = self.columns.get(column)
        return "" if place is None else cells[place]

    def alike(self, cells: Sequence[str], where: str, line: int | None) -> _Alike:
        """What the row shares with others; raises `UnreadableResults` for flags that are none."""
        key = tuple([cells[place] for place in self._rest])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._read(cells, where, line)
        return found

    def _read(self, cells: Sequence[str], where: str, line: int | None) -> _Alike:
        def named(column: str) -> str:
            return self._plainly[self.cell(cells, column)]

        name = {
            "system": named("system"),
            "benchmark": named("benchmark") or NO_BENCHMARK,
            "binary": named("seed"),
            "instrument": named("instrument") or PROGRAM_ITSELF,
        }
        metric, unit, status = named("metric") or NO_METRIC, named("unit"), self.cell(cells, "status") or OK
        series = (*name.values(), metric)
        number = self._numbers.setdefault(series, len(self._numbers))
        is_base = in_base_unit(1.0, unit) == (1.0, unit)
        found = _Alike(name, metric, number, status, unit, is_base, named("node"))
        if status != OK:
            return found
        warmup, better = self.cell(cells, "warmup"), self.cell(cells, "better")
        return replace(found, warmup=_flag(warmup, where, line), better=_better(better, where, line))


def _parse(records: Iterable[Record], columns: Sequence[str], source: str, place: str) -> Imported:
    table = _Rows(columns)
    execution_of, iteration_of = table.columns.get("execution"), table.columns.get("iteration")
    value_of, by_line = table.columns["value"], place == "line"
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    seen: dict[tuple[int, int, int], int] = {}
    counts: dict[object, int] = {}
    for number, cells in records:
        where = source if by_line else f"{source}, row {number}"
        line = number if by_line else None
        same = table.alike(cells, where, line)
        # Executions and iterations are counted in the order of the rows where the table does not say.
        if execution_of is not None:
            execution = _count(cells[execution_of], "execution", where, line)
        elif iteration_of is not None:
            execution = 0
        else:
            execution = counts[same.number] = counts.get(same.number, -1) + 1
        if iteration_of is not None:
            iteration = _count(cells[iteration_of], "iteration", where, line)
        elif execution_of is not None:
            iteration = counts[same.number, execution] = counts.get((same.number, execution), -1) + 1
        else:
            iteration = 0
        key = (same.number, execution, iteration)
        if key in seen:
            message = f"the same system, benchmark, seed, metric, execution and iteration as {place} {seen[key]}"
            raise unreadable(where, message, line=line)
        seen[key] = number
        text = cells[value_of]
        if same.status != OK:
            if text:
                raise unreadable(where, f"status is {same.status!r}, so value must be empty", line=line)
            reason, status = plain(table.cell(cells, "reason")), plain(same.status)
            failures.append(FailedRun(status=status, reason=reason, execution=execution, node=same.node, **same.name))
            continue
        value, unit = _value(text, same, where, line)
        rows.append(
            ImportedNumber(
                value=value,
                metric=same.metric,
                unit=unit,
                execution=execution,
                iteration=iteration,
                warmup=same.warmup,
                better=same.better,
                node=same.node,
                system=same.name["system"],
                benchmark=same.name["benchmark"],
                binary=same.name["binary"],
                instrument=same.name["instrument"],
            )
        )
    if not rows and not failures:
        raise unreadable(source, "holds no measurement below its header")
    return Imported(tuple(rows), tuple(failures))


def _value(text: str, same: _Alike, where: str, line: int | None) -> tuple[float, str]:
    """The number and its base unit."""
    value, unit = parse_number(text, where, "value", line=line), same.unit
    if not same.is_base:
        value, unit = in_base_unit(value, unit)
        if not is_measurable(value):
            size = "large" if abs(value) > 1 else "small"
            raise unreadable(where, f"value is too {size} in its base unit: {MEASURABLE}", line=line)
    if not value > 0:
        refuse_impossible(value, unit, same.metric, where, "value", line=line)
    return value, unit


def _count(text: str, column: str, source: str, line: int | None) -> int:
    if not _COUNT.fullmatch(text):
        raise unreadable(source, f"{column} is {excerpt(text)}; expected a whole number from 0", line=line)
    return int(text)


def _flag(text: str, source: str, line: int | None) -> bool:
    if text.lower() not in _FLAGS:
        raise unreadable(source, f"warmup is {excerpt(text)}; expected 0 or 1", line=line)
    return _FLAGS[text.lower()]


def _better(text: str, source: str, line: int | None) -> Better:
    for choice in get_args(Better):
        if (text or "less") == choice:
            found: Better = choice
            return found
    raise unreadable(source, f"better is {excerpt(text)}; expected less or more", line=line)
