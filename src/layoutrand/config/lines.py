"""In which line of a TOML text each key stands, so that a message can say where."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from layoutrand.config.problems import key_path
from layoutrand.config.toml_text import DEEPEST

_Place = tuple[int | str, ...]


def lines_of(text: str) -> dict[str, int]:
    """Key path, as problems name it (``benchmarks[0].name``) -> line, from 1; nothing for what is no valid TOML.

    Of a table it is the line of its header, of what stands in an array or inline table the line where that begins.
    """
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, int] = {}
    counts: dict[_Place, int] = {}
    here: _Place = ()
    rows = text.split("\n")
    row = 0
    while row < len(rows):
        statement, height = _statement(rows, row)
        if statement is None:
            return {}
        if rows[row].lstrip().startswith("["):
            here = _header(statement, counts)
            found.setdefault(key_path(here), row + 1)
        else:
            for place in _places(statement, here):
                found.setdefault(key_path(place), row + 1)
        row += height
    return found


def line_of(problem: str, lines: Mapping[str, int]) -> int | None:
    """The line of the innermost key that is there of the path with which the problem begins."""
    known = [
        path for path in lines if problem.startswith(path) and problem[len(path) : len(path) + 1] in {".", ":", "["}
    ]
    return lines[max(known, key=len)] if known else None


def _statement(rows: list[str], first: int) -> tuple[Mapping[str, Any] | None, int]:
    """The table that a header or an assignment is by itself, and how many lines it has; None if it never ends."""
    for last in range(first, len(rows)):
        try:
            return tomllib.loads("\n".join(rows[first : last + 1])), last + 1 - first
        except ValueError:  # it goes on in the next line
            continue
    return None, 0


def _header(statement: Mapping[str, Any], counts: dict[_Place, int]) -> _Place:
    """The place that a header opens, numbered where it is one of several."""
    place: _Place = ()
    inner: Any = statement
    while isinstance(inner, dict) and inner:
        ((key, inner),) = inner.items()
        place = (*place, key)
        if isinstance(inner, list):  # [[key]]: another one
            counts[place] = counts.get(place, -1) + 1
            return (*place, counts[place])
        if place in counts:
            place = (*place, counts[place])
    return place


def _places(value: Any, place: _Place) -> Iterator[_Place]:
    if len(place) > DEEPEST:
        return
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in parts:
        yield (*place, part)
        yield from _places(inner, (*place, part))
