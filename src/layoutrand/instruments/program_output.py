"""What a benchmark printed: compared with its reference output, and read for numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from layoutrand.config.metric import JsonLines
from layoutrand.errors import NoMeasurement, NothingMatched
from layoutrand.instruments.json_output import spans_of_json_numbers
from layoutrand.text.digits import MEASURABLE, is_measurable
from layoutrand.text.foreign_fields import excerpt

_LONGEST: Final = 200
_NOT_THERE: Final = (-1, -1)
_SAYS: Final = " says: "
_WHO: Final = ("; its standard error", "; its output")


def first_difference(expected: bytes, actual: bytes) -> str | None:
    """None if equal to the byte, else one sentence with the first line that differs, as both have it."""
    if expected == actual:
        return None
    wanted, given = _lines(expected), _lines(actual)
    number = next(
        (place for place, (want, got) in enumerate(zip(wanted, given, strict=False)) if want != got),
        min(len(wanted), len(given)),
    )
    want, got = _show(wanted, number), _show(given, number)
    return f"standard output differs from the reference in line {number + 1}: expected {want}, got {got}"


def _lines(text: bytes) -> list[bytes]:
    """Lines with their ends; only the newline ends a line."""
    *whole, rest = text.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def _show(lines: list[bytes], number: int) -> str:
    if number == len(lines):
        return "the end of the output"
    line = lines[number].decode("utf-8", "backslashreplace")
    return excerpt(line[:-1]) if line.endswith("\n") else f"{excerpt(line)} without a newline"


def read_iterations(output: bytes, regex: str, *, key: str = "metric.regex") -> tuple[float, ...]:
    """The numbers that the regex's one group finds, in order of appearance: one per iteration.

    ``^`` and ``$`` match at line ends.  Bytes that are not UTF-8 match nothing but ``.``.  ``key`` is the place in
    layoutrand.toml that messages name.  Raises `NoMeasurement` where there is no match, or a match that is no number
    which can be analysed.
    """
    values: list[float] = []
    text = output.decode("utf-8", "surrogateescape")
    for match in re.finditer(regex, text, re.MULTILINE):
        found = match.group(1)
        try:
            value = float(found)
        except (TypeError, ValueError) as error:  # TypeError: an optional group that took no part in the match
            matched = excerpt(match.group(0))
            raise NoMeasurement(f"{key} matched {matched}, but {found!r} is no number") from error
        if not is_measurable(value):
            raise NoMeasurement(f"{key} matched {excerpt(match.group(0))}: {value} cannot be averaged; {MEASURABLE}")
        values.append(value)
    if not values:
        raise NothingMatched(f"{key} {regex!r} matches nothing in the standard output")
    return tuple(values)


def without_numbers(output: bytes, patterns: Iterable[str], pointers: Iterable[tuple[str, JsonLines]] = ()) -> bytes:
    """The output without what the one group of each pattern finds, and the blanks that a number is filled with.

    As `read_iterations` finds it, and `read_json_iterations` by JSON pointers: what is measured may differ where
    everything else is the same.
    """
    text = output.decode("utf-8", "surrogateescape")
    found = [match.span(1) for each in patterns for match in re.finditer(each, text, re.MULTILINE)]
    for pointer, lines in pointers:
        found += spans_of_json_numbers(text, pointer, lines)
    kept, place = [], 0
    for start, end in sorted(span for span in found if span != _NOT_THERE):
        kept.append(text[place:start].rstrip(" \t"))
        place = max(place, end)
    return "".join([*kept, text[place:]]).encode("utf-8", "surrogateescape")


def with_last_words(reason: str, messages: bytes, *, merged: bool) -> str:
    """Why an execution failed, with the line of its ``messages`` that says most about it, often the last.

    These are its standard error, or all its output if ``merged``.  The line is cut, and what is not printable in it is
    escaped.  One that the reason has already is not repeated.
    """
    from layoutrand.text.telling_line import of_program  # here: its patterns take long to compile, and most go well

    line = _cut(of_program(messages.decode("utf-8", "backslashreplace")))
    if not line or line in reason:
        return reason
    return f"{reason}{_WHO[merged]}{_SAYS}{line}"


def without_last_words(reason: str) -> str:
    """The reason alone: lines that programs wrote may have numbers in them that differ from one to the next."""
    for who in _WHO:
        reason = reason.partition(f"{who}{_SAYS}")[0]
    return reason


def _cut(line: str) -> str:
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line[: _LONGEST + 1])
    return f"{escaped[:_LONGEST]}..." if len(escaped) > _LONGEST else escaped
