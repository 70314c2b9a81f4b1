"""Text and tables as Markdown in which names, however odd, stay text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ACTIVE = re.compile(r"[\\`*|~$]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|&(?=[A-Za-z#])")
"""Whatever may begin markup; an underscore inside a word, or a sign for "less", does not.

GitHub takes what stands between two tildes, also of two versions such as 1.0~rc1, for struck out, and what stands
between two signs of the dollar for a formula.
"""

_START = re.compile(r"([-+#>=]|\d+(?=[.)]))")


def plain(text: str) -> str:
    """The text with everything escaped that Markdown or HTML would act on; one line."""
    line = _ACTIVE.sub(r"\\\g<0>", " ".join(text.split()))
    if "](" in line or "][" in line or "]:" in line:
        line = line.replace("[", "\\[").replace("]", "\\]")
    return line


def paragraph(text: str) -> str:
    """Plain text that does not begin a list, a heading or a quotation."""
    line = plain(text)
    found = _START.match(line)
    if found is None:
        return line
    end = found.end() if found[0][0].isdecimal() else 0
    return f"{line[:end]}\\{line[end:]}"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table under a heading of its own, the first column left-aligned, the others right."""
    return f"### {plain(title)}\n\n{plain_table(columns, rows)}\n"


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same without a heading, and without a blank line behind it."""
    lines = [_line(columns), "|---" + "|---:" * (len(columns) - 1) + "|"]
    return "\n".join([*lines, *map(_line, rows)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(plain, cells)) + " |"
