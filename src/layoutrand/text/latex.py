r"""Tables as LaTeX for papers, in the style of booktabs: one ``tabular`` each, which ``\input`` puts into a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from layoutrand.text.document import Table, plain
from layoutrand.text.latex_numbers import NumberColumn, number_column, quantity_words

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "'": "{'}",
    "`": "{`}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\N{MICRO SIGN}": r"\textmu{}",
    "\N{PLUS-MINUS SIGN}": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{SQUARE ROOT}": r"$\surd$",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{MIDDLE DOT}": r"$\cdot$",
    "\N{EN DASH}": "--",
    "\N{MINUS SIGN}": "$-$",
}
# What pdflatex typesets without further packages: ASCII and the letters of Western Europe.
_TYPESET: Final = re.compile(r"[ -~À-ÖØ-öø-ÿ]")
_MINUS: Final = re.compile(r"(?<![\w.)\]])-(?=[\d.])")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=\\%|(?:s|ms|MiB)\b|\\textmu\{\}s)")
_ROWS_OF_A_PAGE: Final = 45


def tabular(table: Table, origin: str = "") -> str:
    """The table; what it is, its origin, and what it needs beside booktabs, stand in comments above it.

    Columns of numbers line up at the point, and other numbers have their units, by siunitx.
    """
    columns = [[row[place] for row in table.rows] for place in range(len(table.columns))]
    made = [_column(cells, is_text=table.is_text or not place) for place, cells in enumerate(columns)]
    heads = [_head(name, column) for name, (column, _) in zip(table.columns, made, strict=True)]
    rows = list(zip(*(cells for _, cells in made), strict=True))
    shown = plain("".join("".join(row) for row in [table.columns, *table.rows]))
    others = "".join(dict.fromkeys(c for c in shown if c not in _SPECIAL and not _TYPESET.match(c)))
    uses_numbers = any(command in cell for row in rows for cell in row for command in (r"\qty", r"\num"))
    uses_numbers = uses_numbers or any(column is not None for column, _ in made)
    packages = (
        r"\usepackage{booktabs} and \usepackage{siunitx} (version 3)" if uses_numbers else r"\usepackage{booktabs}"
    )
    lines = [f"% {plain(each)}" for each in (table.caption, origin) if each]
    lines.append(f"% Needs {packages}.")
    if any(r"\textmu" in cell for row in rows for cell in row):
        lines.append(r"% LaTeX before 2020 needs \usepackage{textcomp}, too.")
    if others:
        lines.append(f"% Has {' '.join(others)}, which take xelatex or lualatex and a font that has them.")
    if len(rows) > _ROWS_OF_A_PAGE:
        lines.append(f"% {len(rows)} rows: longer than a page.")
    plainly = "l" if table.is_text else "r"
    alignment = "".join(
        column.specification if column else (plainly if place else "l") for place, (column, _) in enumerate(made)
    )
    lines += [f"\\begin{{tabular}}{{{alignment}}}", r"  \toprule"]
    lines += [f"  {' & '.join(heads)} \\\\", r"  \midrule"]
    lines += [f"  {' & '.join(row)} \\\\" for row in rows]
    return "\n".join([*lines, r"  \bottomrule", r"\end{tabular}", ""])


def _column(cells: Sequence[str], *, is_text: bool) -> tuple[NumberColumn | None, Sequence[str]]:
    """A column of numbers and its cells; of other columns the cells alone."""
    escaped = {cell: escape(cell) for cell in cells}
    if is_text:
        return None, [escaped[cell] for cell in cells]
    column = number_column(cells, escaped)
    if column is not None:
        return column, column.cells
    return None, [quantity_words(cell) or escaped[cell] for cell in cells]


def _head(name: str, column: NumberColumn | None) -> str:
    if column is None:
        return escape(name)
    return f"{{{escape(name)}{f' [{chr(92)}unit{{{column.unit}}}]' if column.unit else ''}}}"


def escape(words: str) -> str:
    """Text that LaTeX typesets as it stands, whatever is in it; with minus signs and units that stay beside."""
    marked = _MINUS.sub("\N{MINUS SIGN}", plain(words))
    if marked == "-":
        return "--"
    apart = marked.replace("--", "-\0-").replace("--", "-\0-")  # two of them side by side would become a dash
    shown = "".join(_SPECIAL.get(character, character) for character in apart).replace("\0", "{}")
    text = _BEFORE_UNIT.sub(r"\\,", shown)
    return f"{{}}{text}" if text.startswith(("[", "*")) else text  # after \\ these would be an argument
