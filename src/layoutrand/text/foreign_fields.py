"""Names and numbers in files of other programs: what they are, or an error that names file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from layoutrand.errors import UnreadableResults
from layoutrand.text.digits import MEASURABLE, is_measurable

_EXCERPT: Final = 80
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def unreadable(source: str, message: str, *, line: int | None = None) -> UnreadableResults:
    """The error that names file and line."""
    return UnreadableResults(f"{source}{'' if line is None else f', line {line}'}: {message}")


def plain(name: str) -> str:
    """A name as it can be shown on one line: white space is one space, and what cannot be printed is escaped."""
    text = " ".join(name.split())
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


class MadeOnce(dict[str, str]):
    """What a function makes of texts, of which many are the same: that is one object then, and made once."""

    def __init__(self, made: Callable[[str], str]) -> None:
        """Of this function, such as `plain`."""
        super().__init__()
        self._made = made

    def __missing__(self, text: str) -> str:
        """Made when it is first asked for."""
        self[text] = found = self._made(text)
        return found


def parse_number(text: str, source: str, what: str, *, line: int | None = None) -> float:
    """A measured value as text; raises `UnreadableResults`."""
    if not _NUMBER.fullmatch(text):
        raise unreadable(source, f"{what} is {excerpt(text)}, which is no number such as 0.25 or 1e-3", line=line)
    value = float(text)
    if not is_measurable(value):
        size = "large" if abs(value) > 1 else "small"
        raise unreadable(source, f"{what} is {excerpt(text)}, which is too {size}: {MEASURABLE}", line=line)
    return value


def excerpt(line: str, *, quoted: bool = True) -> str:
    """What fits into a message, as Python writes a string or as it is."""
    short = line if len(line) <= _EXCERPT else line[: _EXCERPT - 3] + "..."
    return repr(short) if quoted else short


def json_excerpt(value: Any) -> str:
    """A JSON value in a message."""
    try:
        return excerpt(json.dumps(value, ensure_ascii=False), quoted=False)
    except RecursionError:  # read with less around it than there is here
        return "arrays or objects nested too deeply to show"
