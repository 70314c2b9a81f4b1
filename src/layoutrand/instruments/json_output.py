"""Numbers out of JSON that a benchmark printed: one document, or one document per line.

A number is found by a JSON pointer (RFC 6901).  Nothing is skipped unless that was asked for: a line that is no
document, or a document without the number, is an error that names line, pointer and what was found.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from layoutrand.config.metric import JsonLines
from layoutrand.errors import NoMeasurement
from layoutrand.text.digits import MEASURABLE, is_measurable, whole_number
from layoutrand.text.foreign_fields import excerpt, json_excerpt

_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_STRING_OR_NUMBER: Final = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"|(?P<number>-?(?:[0-9][0-9.eE+-]*|Infinity)|NaN)', re.DOTALL
)
"""In text that is known to be JSON."""


class _NoDocument(ValueError):
    """The text is no JSON that can be read."""


class _Nowhere(NoMeasurement):
    """The pointer leads nowhere in a document."""


def read_json_iterations(output: bytes, pointer: str, lines: JsonLines = "all", *, key: str) -> tuple[float, ...]:
    """The numbers that ``pointer`` leads to, in order of appearance: one per iteration.

    The output is one document, or else every line that is not blank is one.  Where the pointer leads to an array of
    numbers, each of them is an iteration.  With ``lines="matching"`` a line is passed over that does not begin with
    ``{`` or ``[``, or in whose document the pointer leads nowhere.  ``key`` is the place in layoutrand.toml that
    messages name.  Raises `NoMeasurement` where there is no number, or one that cannot be analysed.
    """
    text = output.decode("utf-8", "surrogateescape")
    asked = f"{key} = {pointer!r}"
    whole, trouble = _parse(text)
    if not trouble:
        return _numbers(whole, pointer, f"{asked}: in the standard output")
    values: list[float] = []
    written = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in written:
        if lines == "matching" and line.lstrip()[0] not in "{[":
            continue
        document, trouble = _parse(line)
        if trouble:
            advice = "" if lines == "matching" else '; json_lines = "matching" passes over lines that begin otherwise'
            raise NoMeasurement(
                f"{asked}: the standard output is not one JSON document, and line {number} is none either "
                f"({trouble}): {excerpt(line)}{advice}"
            )
        try:
            values += _numbers(document, pointer, f"{asked}: in line {number} of the standard output")
        except _Nowhere as error:
            if lines == "all":
                raise NoMeasurement(f'{error}; json_lines = "matching" passes over such lines') from error
    if not values:
        found = f"leads nowhere in any of {len(written)} lines" if written else "found nothing: the output is empty"
        raise NoMeasurement(f"{asked} {found}")
    return tuple(values)


class _Place(int):
    """Of a number in a document: how many stand before it."""


def spans_of_json_numbers(text: str, pointer: str, lines: JsonLines = "all") -> Iterator[tuple[int, int]]:
    """Where in an output the numbers stand that `read_json_iterations` reads, as far as it can: begin and end."""
    try:
        yield from _spans(text, pointer)
    except _NoDocument:
        start = 0
        for line in text.split("\n"):
            if lines == "all" or line.lstrip()[:1] in {"{", "["}:
                with contextlib.suppress(_NoDocument):
                    yield from ((start + low, start + high) for low, high in _spans(line, pointer))
            start += len(line) + 1


def _spans(text: str, pointer: str) -> Iterator[tuple[int, int]]:
    """The same of one document; raises `_NoDocument`."""
    counted = itertools.count()

    def place(_digits: str) -> _Place:
        return _Place(next(counted))

    try:
        document = json.loads(text, parse_int=place, parse_float=place, parse_constant=place)
    except (RecursionError, ValueError) as error:
        raise _NoDocument from error
    try:
        target = _follow(document, pointer, "")
    except _Nowhere:
        return
    places = {each for each in (target if isinstance(target, list) else [target]) if isinstance(each, _Place)}
    numbers = (found for found in _STRING_OR_NUMBER.finditer(text) if found["number"] is not None)
    yield from (found.span() for number, found in enumerate(numbers) if number in places)


def _parse(text: str) -> tuple[Any, str]:
    """The document, and what is wrong with it, or ""."""
    try:
        return json.loads(text), ""
    except RecursionError:
        return None, "nested too deeply"
    except ValueError as error:  # JSONDecodeError, and integers with more digits than Python converts
        return None, str(error)


def _numbers(document: Any, pointer: str, where: str) -> tuple[float, ...]:
    target = _follow(document, pointer, where)
    if not isinstance(target, list):
        return (_number(target, where, "the pointer leads to"),)
    if not target:
        raise NoMeasurement(f"{where} the pointer leads to an empty array, which holds no number")
    return tuple(_number(item, where, f"item {place} of the array is") for place, item in enumerate(target))


def _follow(document: Any, pointer: str, where: str) -> Any:
    """RFC 6901, section 4."""
    reached = ""
    for escaped in pointer.split("/")[1:]:
        token = escaped.replace("~1", "/").replace("~0", "~")
        place = f"{reached!r}" if reached else "the document"
        if isinstance(document, dict) and token in document:
            document = document[token]
        elif isinstance(document, list) and (index := _index(token, len(document))) is not None:
            document = document[index]
        elif isinstance(document, dict):
            known = ", ".join(map(repr, list(document)[:8])) or "none at all"
            raise _Nowhere(f"{where} {place} has no key {token!r}; there are {known}")
        elif isinstance(document, list):
            raise _Nowhere(f"{where} {place} is an array of {len(document)}, which has no item {token!r}")
        else:
            raise _Nowhere(f"{where} {place} is {json_excerpt(document)}, which has no {token!r} inside")
        reached += "/" + escaped
    return document


def _index(token: str, length: int) -> int | None:
    """The item of an array of this length that is meant, None where there is none."""
    return whole_number(token, length - 1) if _INDEX.fullmatch(token) else None


def _number(value: Any, where: str, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoMeasurement(f"{where} {what} {json_excerpt(value)}, which is no number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not is_measurable(number):
        raise NoMeasurement(f"{where} {what} {number}, which cannot be averaged; {MEASURABLE}")
    return number
