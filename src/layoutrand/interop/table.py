"""A plain table of measurements: CSV with a header, or the rows of a ``layoutrand/export/1`` document.

One row is one number.  ``value`` alone is required; columns may stand in any order, and one that is not known is an
error.  Without ``seed`` everything is of one binary; without ``execution`` every row is an execution of its own, unless
there is ``iteration``: then all are iterations of one.  A row with a ``status`` other than ok is a failed execution.
``started_at`` is when an execution began, ``round`` the round that it belongs to, ``disturbances`` names what disturbed
it, divided by spaces.  ``program_sha256`` is a digest of all that was executed: systems that have the same in all
layouts that both have are one program.  ``output_sha256`` is written for others: nothing here reads it.  A document
also has the ``labels`` of systems and benchmarks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from layoutrand.analysis.display_names import DisplayNames
from layoutrand.interop.column_cells import cells_of_rows
from layoutrand.interop.csv_chunks import Chunk, csv_chunks
from layoutrand.interop.imported import NO_LABELS, Imported, member
from layoutrand.interop.table_kinds import DISTURBANCES, NOT_READ, PROGRAM
from layoutrand.interop.table_rows import TableForm, read_table
from layoutrand.text.csv_cells import text_of_cell
from layoutrand.text.foreign_fields import excerpt, json_excerpt, plain, unreadable

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
    NOT_READ,
    PROGRAM,
    "round",
    "started_at",
    DISTURBANCES,
)
_TELLING: Final = frozenset({"system", "benchmark", "seed", "execution", "iteration"})
"""Columns that a header of measurements has."""

SCHEMA: Final = "layoutrand/export/1"
_LONGEST_HEADER: Final = 10_000

_ROWS: Final = 500
"""Of a document that are read at once."""


def recognise(document: Any) -> bool:
    """Whether a JSON document is what ``layoutrand export --format json`` writes."""
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def recognise_csv(text: str) -> bool:
    """Whether it is a table with a column ``value``."""
    return "value" in _header(text)


def recognise_other_cut(text: str) -> bool:
    """Whether it would be one, were its cells separated by commas, or its columns called as they have to be."""
    first = text[:_LONGEST_HEADER].partition("\n")[0]
    cells = [cell.strip().strip('"').lower() for cell in re.split(r"[,;\t]", first)]
    return "value" in cells or (len(cells) > 1 and not _TELLING.isdisjoint(cells))


def _header(text: str) -> list[str]:
    """The cells of the first line; none where it is longer than any header."""
    if len(text) > _LONGEST_HEADER and "\n" not in text[:_LONGEST_HEADER]:
        return []
    return [cell.strip() for cell in next(csv.reader(re.split(r"\r?\n|\r", text, maxsplit=1)[:1]), [])]


def parse_csv(text: str, source: str) -> Imported:
    """Rows of the table; raises `UnreadableResults` with the line."""
    header = _header(text)
    _check_header(header, text, source)
    return read_table(csv_chunks(text, len(header), source), TableForm(header, source, by_line=True, held=_held))


def parse(document: Any, source: str) -> Imported:
    """Rows of a ``layoutrand/export/1`` document; raises `UnreadableResults`."""
    records: list[list[str]] = []
    for number, row in enumerate(member(document, "rows", list, source, "the document")):
        if not isinstance(row, dict) or not set(row) <= set(COLUMNS):
            raise unreadable(
                source, f"row {number} is {json_excerpt(row)}; expected an object with {', '.join(COLUMNS)}"
            )
        records.append([_cell(row.get(column)) for column in COLUMNS])
    chunks = (
        Chunk(cells_of_rows(records[at : at + _ROWS], len(COLUMNS)), np.arange(at, min(at + _ROWS, len(records))))
        for at in range(0, len(records), _ROWS)
    )
    found = read_table(chunks, TableForm(COLUMNS, source, by_line=False, held=str))
    return replace(found, labels=_labels(document, source))


def _labels(document: Mapping[str, Any], source: str) -> DisplayNames:
    """The labels of a document, which older ones have none of; raises `UnreadableResults`."""
    if "labels" not in document:
        return NO_LABELS
    given = member(document, "labels", dict, source, "the document")
    found = {}
    for kind in ("systems", "benchmarks"):
        labels = member(given, kind, dict, source, "labels")
        if wrong := [each for each in labels.values() if not isinstance(each, str) or not plain(each)]:
            what = f"a label of {kind} is {json_excerpt(wrong[0])}"
            raise unreadable(source, f"{what}; expected a string with something in it")
        found[kind] = {plain(name): plain(label) for name, label in labels.items()}
    return DisplayNames(**found)


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
        elif unknown and "value" not in map(str.lower, header):
            hint = "; no column 'value', which numbers stand in"
        what = f"unknown column {', '.join(map(excerpt, unknown))}" if unknown else "no column 'value'"
        expected = "the first line must name the columns, some of " + ", ".join(COLUMNS)
        raise unreadable(source, f"{what}{hint}; {expected}", line=1)
    for column in header:
        if header.count(column) > 1:
            raise unreadable(source, f"two columns are called {column!r}", line=1)


def _held(cell: str) -> str:
    """What a cell of CSV holds."""
    return text_of_cell(cell.strip())
