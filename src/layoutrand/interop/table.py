"""A plain table of measurements: CSV with a header, or the rows of a ``layoutrand/export/1`` document.

One row is one number.  ``value`` alone is required; columns may stand in any order, and one that is not known is an
error.  Without ``seed`` everything is of one binary; without ``execution`` every row is an execution of its own, unless
there is ``iteration``: then all are iterations of one.  A row with a ``status`` other than ok is a failed execution.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
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

Record = tuple[int, Mapping[str, str]]
"""Line, or number of the row, and its cells."""


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
        records.append((number, {key: _cell(value) for key, value in row.items()}))
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
            yield reader.line_num, dict(zip(header, (text_of_cell(cell.strip()) for cell in cells), strict=True))
    except csv.Error as error:
        raise unreadable(source, f"no CSV ({error})", line=reader.line_num) from error


class _Plain(dict[str, str]):
    """Names as they can be shown; of the rows of a file many have the same, which are one object then."""

    def __missing__(self, name: str) -> str:
        self[name] = found = plain(name)
        return found


def _parse(records: Iterable[Record], columns: Iterable[str], source: str, place: str) -> Imported:
    known = set(columns)
    rows: list[ImportedNumber] = []
    failures: list[FailedRun] = []
    seen: dict[tuple[int, int, int], int] = {}
    counts: dict[tuple[object, ...], int] = {}
    plainly = _Plain()
    series_numbers: dict[tuple[object, ...], int] = {}
    for number, cells in records:
        where = source if place == "line" else f"{source}, row {number}"
        line = number if place == "line" else None
        name = {
            "system": plainly[cells.get("system", "")],
            "benchmark": plainly[cells.get("benchmark", "")] or NO_BENCHMARK,
            "binary": plainly[cells.get("seed", "")],
            "instrument": plainly[cells.get("instrument", "")] or PROGRAM_ITSELF,
        }
        metric = plainly[cells.get("metric", "")] or NO_METRIC
        series = (*name.values(), metric)
        execution, iteration = _place(cells, known, counts, series, where, line)
        status = cells.get("status", "") or OK
        key = (series_numbers.setdefault(series, len(series_numbers)), execution, iteration)
        if key in seen:
            message = f"the same system, benchmark, seed, metric, execution and iteration as {place} {seen[key]}"
            raise unreadable(where, message, line=line)
        seen[key] = number
        if status != OK:
            if cells.get("value", ""):
                raise unreadable(where, f"status is {status!r}, so value must be empty", line=line)
            reason = plain(cells.get("reason", ""))
            node = plainly[cells.get("node", "")]
            failures.append(FailedRun(status=plain(status), reason=reason, execution=execution, node=node, **name))
            continue
        value = parse_number(cells.get("value", ""), where, "value", line=line)
        value, unit = in_base_unit(value, plainly[cells.get("unit", "")])
        if not is_measurable(value):
            size = "large" if abs(value) > 1 else "small"
            raise unreadable(where, f"value is too {size} in its base unit: {MEASURABLE}", line=line)
        refuse_impossible(value, unit, metric, where, "value", line=line)
        rows.append(
            ImportedNumber(
                value=value,
                metric=metric,
                unit=unit,
                execution=execution,
                iteration=iteration,
                warmup=_flag(cells, where, line),
                better=_better(cells, where, line),
                node=plainly[cells.get("node", "")],
                system=name["system"],
                benchmark=name["benchmark"],
                binary=name["binary"],
                instrument=name["instrument"],
            )
        )
    if not rows and not failures:
        raise unreadable(source, "holds no measurement below its header")
    return Imported(tuple(rows), tuple(failures))


def _place(
    cells: Mapping[str, str],
    known: set[str],
    counts: dict[tuple[object, ...], int],
    series: tuple[object, ...],
    source: str,
    line: int | None,
) -> tuple[int, int]:
    """Execution and iteration, counted in the order of the rows where the table does not say."""
    if "execution" in known:
        execution = _count(cells, "execution", source, line)
        if "iteration" in known:
            return execution, _count(cells, "iteration", source, line)
        series = (*series, execution)
        counts[series] = counts.get(series, 0) + 1
        return execution, counts[series] - 1
    if "iteration" in known:
        return 0, _count(cells, "iteration", source, line)
    counts[series] = counts.get(series, 0) + 1
    return counts[series] - 1, 0


def _count(cells: Mapping[str, str], column: str, source: str, line: int | None) -> int:
    text = cells.get(column, "")
    if not _COUNT.fullmatch(text):
        raise unreadable(source, f"{column} is {excerpt(text)}; expected a whole number from 0", line=line)
    return int(text)


def _flag(cells: Mapping[str, str], source: str, line: int | None) -> bool:
    text = cells.get("warmup", "")
    if text.lower() not in _FLAGS:
        raise unreadable(source, f"warmup is {excerpt(text)}; expected 0 or 1", line=line)
    return _FLAGS[text.lower()]


def _better(cells: Mapping[str, str], source: str, line: int | None) -> Better:
    text = cells.get("better", "") or "less"
    for choice in get_args(Better):
        if text == choice:
            found: Better = choice
            return found
    raise unreadable(source, f"better is {excerpt(text)}; expected less or more", line=line)
