"""Cells of CSV that a spreadsheet shows and does not execute.

Spreadsheets take a cell that begins with one of ``= + - @``, a tab or the end of a line for a formula, quoted or not;
and names of benchmarks and messages of programs come from anywhere.  Such a cell gets an apostrophe in front, which
says that it is text.  Cells that begin with apostrophes and then one of these get one more, so that every cell comes
back.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n]")
_SHOWN_AS_TEXT: Final = re.compile(r"'+[=+\-@\t\r\n]")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def cell(value: Any, *, raw: bool = False) -> str:
    """A value as a cell: nothing for None, numbers with all their digits; text that is no formula, unless ``raw``.

    >>> cell("=1+1"), cell("-1.5"), cell(-1.5), cell("-O2"), cell("=1+1", raw=True)
    ("'=1+1", '-1.5', '-1.5', "'-O2", '=1+1')
    """
    if value is None:
        return ""
    text = str(value)
    if raw or isinstance(value, int | float) or _NUMBER.fullmatch(text) or not _FORMULA.match(text):
        return text
    return f"'{text}"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Cells as a table after RFC 4180, with line feeds alone."""
    text = io.StringIO(newline="")
    for row in rows:
        line = io.StringIO(newline="")
        csv.writer(line).writerow(row)  # which quotes what holds the end of its own lines, and that is both characters
        text.write(line.getvalue().removesuffix("\r\n") + "\n")
    return text.getvalue()


def text_of_cell(shown: str) -> str:
    """What `cell` made that cell of.

    >>> text_of_cell("'=1+1"), text_of_cell("''=1+1"), text_of_cell("'tis"), text_of_cell("-1.5")
    ('=1+1', "'=1+1", "'tis", '-1.5')
    """
    return shown[1:] if shown.startswith("'") and _SHOWN_AS_TEXT.match(shown) else shown
