"""Whole numbers as people and programs write them, however many digits they are given.

Python refuses to convert some thousand digits, and has no floating-point number for some hundred.
"""

from __future__ import annotations


def whole_number(text: str, most: int) -> int | None:
    """The number that these ASCII digits are; None for anything else, and for what is above ``most``.

    >>> whole_number("0042", 100), whole_number("9" * 5000, 100), whole_number("-1", 100)
    (42, None, None)
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    number = int(digits) if len(digits) <= len(str(most)) else most + 1
    return number if number <= most else None
