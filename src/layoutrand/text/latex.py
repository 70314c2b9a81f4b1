r"""Tables as LaTeX for papers, in the style of booktabs: one ``tabular`` each, which ``\input`` puts into a table."""

from __future__ import annotations

import re
from typing import Final

from layoutrand.text.document import Table, plain

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


def tabular(table: Table) -> str:
    """The table; what it is, and what it needs beside booktabs, stands in comments above it."""
    rows = [[escape(cell) for cell in row] for row in table.rows]
    shown = plain("".join("".join(row) for row in [table.columns, *table.rows]))
    others = "".join(dict.fromkeys(c for c in shown if c not in _SPECIAL and not _TYPESET.match(c)))
    lines = [f"% {plain(table.caption)}", r"% Needs \usepackage{booktabs}."]
    if "\N{MICRO SIGN}" in shown:
        lines.append(r"% LaTeX before 2020 needs \usepackage{textcomp}, too.")
    if others:
        lines.append(f"% Has {' '.join(others)}, which take xelatex or lualatex and a font that has them.")
    if len(rows) > _ROWS_OF_A_PAGE:
        lines.append(f"% {len(rows)} rows: longer than a page.")
    alignment = "l" * len(table.columns) if table.is_text else "l" + "r" * (len(table.columns) - 1)
    lines += [f"\\begin{{tabular}}{{{alignment}}}", r"  \toprule"]
    lines += [f"  {' & '.join(escape(name) for name in table.columns)} \\\\", r"  \midrule"]
    lines += [f"  {' & '.join(row)} \\\\" for row in rows]
    return "\n".join([*lines, r"  \bottomrule", r"\end{tabular}", ""])


def escape(words: str) -> str:
    """Text that LaTeX typesets as it stands, whatever is in it; with minus signs and units that stay beside."""
    marked = _MINUS.sub("\N{MINUS SIGN}", plain(words))
    if marked == "-":
        return "--"
    apart = marked.replace("--", "-\0-").replace("--", "-\0-")  # two of them side by side would become a dash
    shown = "".join(_SPECIAL.get(character, character) for character in apart).replace("\0", "{}")
    text = _BEFORE_UNIT.sub(r"\\,", shown)
    return f"{{}}{text}" if text.startswith(("[", "*")) else text  # after \\ these would be an argument
