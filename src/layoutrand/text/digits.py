"""Numbers as people and programs write them, however many digits they are given.

Python refuses to convert some thousand digits, has no floating-point number for some hundred, and squares of numbers
that it has may be none.
"""

from __future__ import annotations

import re
from typing import Final

EXACT_FLOAT: Final = 2**53 - 1
"""The largest whole number that no other becomes as a floating-point number."""

LARGEST_COUNT: Final = 2**64 - 1
"""What counters, addresses and sizes are at most on the machines that there are."""

SMALLEST_VALUE: Final = 1e-60
LARGEST_VALUE: Final = 1e60
"""What can be analysed beside 0: fourth powers of these are floating-point numbers still."""

MEASURABLE: Final = f"values lie between {SMALLEST_VALUE:g} and {LARGEST_VALUE:g}, or are 0"
"""That in words, behind a value that does not."""


_AS_FLOAT: Final = re.compile(r"([0-9]+)\.0+")


def is_measurable(value: float) -> bool:
    """Whether a measured value can be analysed, whatever its sign: not for NaN and infinity."""
    return value == 0 or SMALLEST_VALUE <= abs(value) <= LARGEST_VALUE


def whole_number(text: str, most: int) -> int | None:
    """The number that these ASCII digits are; None for anything else, and for what is above ``most``.

    >>> whole_number("0042", 100), whole_number("9" * 5000, 100), whole_number("-1", 100)
    (42, None, None)
    """
    if not (text.isascii() and text.isdigit()):
        return None
    if most < 0:
        return None
    digits = text.lstrip("0") or "0"
    number = int(digits) if len(digits) <= len(str(most)) else most + 1
    return number if number <= most else None


def digits_of_cell(text: str) -> str:
    """What a cell of a table says without the fraction of nothing that programs give whole numbers beside a gap.

    Such a column is one of floating-point numbers to them.  All else stays as it is.

    >>> digits_of_cell("7.0"), digits_of_cell("7"), digits_of_cell("7.5"), digits_of_cell("9007199254740992.0")
    ('7', '7', '7.5', '9007199254740992.0')
    """
    found = _AS_FLOAT.fullmatch(text)
    return text if found is None or whole_number(found[1], EXACT_FLOAT) is None else found[1]
