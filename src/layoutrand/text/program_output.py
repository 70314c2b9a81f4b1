"""What a benchmark printed: compared with its reference output, and read for numbers."""

from __future__ import annotations

import math
import re
from typing import Final

from layoutrand.errors import NoMeasurement

_EXCERPT: Final = 80


def first_difference(expected: bytes, actual: bytes) -> str | None:
    """None if equal to the byte, else one sentence with the first line that differs, as both have it."""
    if expected == actual:
        return None
    wanted, given = expected.split(b"\n"), actual.split(b"\n")
    number = next(
        (place for place, (want, got) in enumerate(zip(wanted, given, strict=False)) if want != got),
        min(len(wanted), len(given)),
    )
    want, got = _line(wanted, number), _line(given, number)
    return f"standard output differs from the reference in line {number + 1}: expected {want}, got {got}"


def _line(lines: list[bytes], number: int) -> str:
    """A line for a message; the empty remainder behind a final newline is not a line."""
    if number >= len(lines) or (number == len(lines) - 1 and not lines[number]):
        return "the end of the output"
    line = lines[number].decode("utf-8", "backslashreplace")
    if number == len(lines) - 1:
        return f"{_excerpt(line)} without a newline"
    return _excerpt(line)


def _excerpt(line: str) -> str:
    return repr(line if len(line) <= _EXCERPT else line[: _EXCERPT - 3] + "...")


def read_iterations(output: bytes, regex: str) -> tuple[float, ...]:
    """The numbers that the regex's one group finds, in order of appearance: one per iteration.

    ``^`` and ``$`` match at line ends.  Bytes that are not UTF-8 match nothing but ``.``.  Raises `NoMeasurement`
    where there is no match, or a match that is no finite number.
    """
    values: list[float] = []
    text = output.decode("utf-8", "surrogateescape")
    for match in re.finditer(regex, text, re.MULTILINE):
        found = match.group(1)
        try:
            value = float(found)
        except (TypeError, ValueError) as error:  # TypeError: an optional group that took no part in the match
            raise NoMeasurement(f"metric.regex matched {_excerpt(match.group(0))}, but {found!r} is no number") from error
        if not math.isfinite(value):
            raise NoMeasurement(f"metric.regex matched {_excerpt(match.group(0))}: {value} cannot be averaged")
        values.append(value)
    if not values:
        raise NoMeasurement(f"metric.regex {regex!r} matches nothing in the standard output")
    return tuple(values)
