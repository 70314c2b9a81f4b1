"""Where valgrind ends an execution by itself: what its log says of the cause, and what to do about it.

It ends with exit status 1 then, as a program may, and tells the cause in its log alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from layoutrand.text.foreign_fields import excerpt

NAME: Final = "valgrind.log"

_LABEL: Final = re.compile(r"^(?:==\d+==|--\d+--) *")
_OF_ITS_OWN: Final = re.compile(
    r"^\w*grind: (?:debuginfo reader: Possibly|FATAL: |fatal error|.*the 'impossible' happened)"
    r"|^ *Valgrind's memory management: out of memory",
    re.IGNORECASE,
)
_READER: Final = "debuginfo reader"
_DEBUG_INFORMATION: Final = (
    "it does not know all debugging information that compilers write; compiled with -gdwarf-4, or without -g, the "
    "program may be counted"
)


def why_it_gave_up(logs: Iterable[str]) -> str:
    """What valgrind says of why it ended the program, and what may help; "" where it does not say that it did."""
    for log in logs:
        lines = [words for line in log.splitlines() if (words := _LABEL.sub("", line).strip())]
        for line, below in zip(lines, [*lines[1:], ""], strict=False):
            if _OF_ITS_OWN.match(line):
                said = f"{line} {below}" if line.endswith(":") else line
                told = f"valgrind gave up: {excerpt(said.rstrip('. '))}"
                return f"{told}; {_DEBUG_INFORMATION}" if _READER in line else told
    return ""
