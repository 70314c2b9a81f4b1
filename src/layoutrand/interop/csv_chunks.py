"""The rows of a CSV text, some thousand at a time, with the lines that they stand in.

Lines without quotes, and that is most tables, are taken apart here; from the first quote on, or whatever else is not
plain, the module csv reads.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from layoutrand.interop.column_cells import Cells, IntArray, cells_of_rows, cells_of_text
from layoutrand.text.foreign_fields import unreadable

_CHARACTERS: Final = 1 << 19
"""Of a chunk: what is made of it fits into the processor's cache."""

_ROWS: Final = 500
"""The same for rows of strings, which take far more."""


@dataclass(frozen=True)
class Chunk:
    """Some rows: their cells, and the line or number of each."""

    cells: Cells
    lines: IntArray


def csv_chunks(text: str, columns: int, source: str) -> Iterator[Chunk]:
    """All rows below the header, of which there are so many columns; raises `UnreadableResults` with the line.

    Rows before one that is wrong come first: an error in one of these is what the caller has to tell.
    """
    at, line = _behind_line(text, 0), 2
    if not _is_plain(text[:at]):
        yield from _read(text, columns, source, line=0, has_header=True)
        return
    while at < len(text):
        end = _behind_line(text, at + _CHARACTERS)
        found = _plainly(text[at:end], columns)
        if found is None:
            yield from _read(text[at:], columns, source, line=line - 1, has_header=False)
            return
        yield Chunk(found, np.arange(line, line + len(found)))
        at, line = end, line + len(found)


def _behind_line(text: str, at: int) -> int:
    """Where the next line begins."""
    return text.find("\n", at) + 1 or len(text)


def _is_plain(part: str) -> bool:
    """Whether each line is a row, and each comma an end of a cell."""
    return '"' not in part and "\r" not in part and "\n\n" not in part and not part.startswith("\n")


def _plainly(part: str, columns: int) -> Cells | None:
    """The cells, or None where that takes more than to look for commas and ends of lines."""
    found = cells_of_text(part, columns) if _is_plain(part) else None
    return None if found is None or found.widest > csv.field_size_limit() else found


def _read(text: str, columns: int, source: str, *, line: int, has_header: bool) -> Iterator[Chunk]:
    """The rows of a text that begins behind that line."""
    data = io.BytesIO(text.encode("utf-8", "surrogatepass"))  # a StringIO would take four bytes for each character
    reader = csv.reader(io.TextIOWrapper(data, "utf-8", "surrogatepass", newline=""), strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []

    def chunk() -> Iterator[Chunk]:
        if rows:
            yield Chunk(cells_of_rows(rows, columns), np.array(lines))
            rows.clear()
            lines.clear()

    try:
        if has_header:
            next(reader)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != columns:
                yield from chunk()
                raise unreadable(source, f"{len(cells)} cells under {columns} columns", line=line + reader.line_num)
            rows.append(cells)
            lines.append(line + reader.line_num)
            if len(rows) == _ROWS:
                yield from chunk()
    except csv.Error as error:
        yield from chunk()
        raise unreadable(source, f"no CSV ({error})", line=line + reader.line_num) from error
    yield from chunk()
