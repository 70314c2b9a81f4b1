"""Figures of characters: intervals on an axis, how many values lie where, values in order.

A line is a list of spans, each a text and the style it has on a terminal that knows colours; where characters beyond
ASCII cannot be written, others stand for them.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len

from layoutrand.text.quantities import MINUS, digits_of, signed

Span = tuple[str, str]
Line = list[Span]

NARROWEST: Final = 60
WIDEST: Final = 120
ELSEWHERE: Final = 80
"""Columns where there is no terminal, such as in a file."""

SCREEN_LINES: Final = 22
"""Lines of a screen, beside a prompt and the command."""

_BARS: Final = "▁▂▃▄▅▆▇█"
_FEWEST_COLUMNS: Final = 20
_FINEST: Final = 9
"""Digits after the point at the ends of an axis, at most."""

_NOTHING: Final = 1e-5
"""Percent: an axis of no more has no end that anything reaches."""

_PLAIN: Final = {
    "◄": "<",
    "►": ">",
    "░": ":",
    "┆": "|",
    "├": "[",
    "┤": "]",
    "─": "-",
    "●": "o",
    "◇": "*",
    "≈": "~",
    "✓": "+",
    "✗": "x",
    "ⓘ": "i",
    "⚠": "!",
    MINUS: "-",
    "…": "..",
    "·": "-",
    "★": "*",
    "±": "+-",
    "→": "->",
    **dict(zip(_BARS, "_..::|||", strict=True)),
}


def screen_width(columns: int | None) -> int:
    """Columns of a screen, on a terminal of so many; None where there is none."""
    return ELSEWHERE if columns is None else min(max(columns, NARROWEST), WIDEST)


def paragraph(text: str, blank: str, width: int, below: str | None = None) -> list[Line]:
    """Whole sentences in lines of so many columns, words and options unbroken.

    ``blank`` stands before the first line, and before the others unless that is ``below``.
    """
    parts = textwrap.wrap(
        text,
        width,
        initial_indent=blank,
        subsequent_indent=blank if below is None else below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [[(part, "")] for part in parts]


def can_draw(encoding: str | None = None) -> bool:
    """Whether what is written to stdout may hold the characters of figures."""
    name = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "".join(_PLAIN).encode(name)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plain(line: Line) -> Line:
    """The same in ASCII, as far as this module's characters go."""
    return [("".join(_PLAIN.get(c, c) for c in text), style) for text, style in line]


def width_of(line: Line) -> int:
    """Columns that it takes."""
    return sum(cell_len(text) for text, _ in line)


@dataclass(frozen=True)
class PercentAxis:
    """Percent from ``low`` to ``high``, with 0 between them, over so many ``columns``; ``band`` is the threshold."""

    low: float
    high: float
    columns: int
    band: float

    @classmethod
    def of(cls, ends: Sequence[float], band: float, columns: int) -> PercentAxis:
        """That holds all finite ends and the threshold on both sides, with some room."""
        finite = [each for each in ends if math.isfinite(each)]
        low, high = min([*finite, -1.6 * band, -1e-6]), max([*finite, 1.6 * band, 1e-6])
        room = 0.03 * (high - low)
        least = -100.0 if low >= -100 else low  # nothing takes less than no time
        return cls(max(low - room, least), high + room, max(columns, _FEWEST_COLUMNS), band)

    def place(self, value: float) -> int:
        """The column of a value; the first or the last of what lies beyond."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return min(self.columns - 1, max(0, math.floor(share * self.columns)))

    def interval(self, low: float, centre: float, high: float, style: str) -> Line:
        """``├──●──┤`` over the band of the threshold and the line of no difference; an arrow where it goes on."""
        cells = [(" ", "")] * self.columns
        left, right = self.place(-self.band), self.place(self.band)
        for edge in (left, right) if self.band else ():
            cells[edge] = ("░", "dim")
        cells[self.place(0)] = ("┆", "dim")
        first, last = self.place(low), self.place(high)
        for column in range(first, last + 1):
            if cells[column][0] == " ":
                cells[column] = ("─", style)
        if last - first >= 2:
            cells[first] = ("├" if math.isfinite(low) else "◄", style)
            cells[last] = ("┤" if math.isfinite(high) else "►", style)
        cells[self.place(centre)] = ("●", f"bold {style}".strip())
        return joined(cells)

    def scale(self) -> Line:
        """The ends and 0 in figures."""
        span = self.high - self.low
        digits = 0 if span >= 10 else 1 if span >= 1 else max(3, digits_of(span, _FINEST)) if span > _NOTHING else 3
        cells = [" "] * self.columns
        said = [(self.place(0), "0")]
        for value, at_end in ((self.low, False), (self.high, True)):
            text = signed(value, digits) + " %"
            said.append((self.columns - len(text) if at_end else 0, text))
        for start, text in said:
            if all(cell == " " for cell in cells[max(0, start - 1) : start + len(text) + 1]):
                cells[start : start + len(text)] = list(text)
        return [("".join(cells).rstrip(), "dim")]


def joined(cells: Sequence[Span]) -> Line:
    """Neighbours of one style as one span."""
    line: Line = []
    for text, style in cells:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + text, style)
        else:
            line.append((text, style))
    return line


def histogram(values: Sequence[float], low: float, high: float, columns: int) -> str:
    """How many values lie where between ``low`` and ``high``: a bar for each column, nothing where there are none."""
    counts = [0] * columns
    for value in values:
        share = (value - low) / (high - low) if high > low else 0.5
        counts[min(columns - 1, max(0, math.floor(share * columns)))] += 1
    most = max(counts, default=0)
    return "".join(" " if not n else _BARS[math.ceil(n / most * len(_BARS)) - 1] for n in counts)


def in_order(values: Sequence[float], columns: int) -> str:
    """Values one after the other, the lowest as the lowest bar; means of neighbours where they are more than fit."""
    if not values:
        return ""
    means = _thinned(values, columns)
    return _bars(means, min(means), max(means))


def between(values: Sequence[float], low: float, high: float, columns: int) -> str:
    """The same on a scale that is given, so that lines of bars can be compared."""
    return _bars(_thinned(values, columns), low, high)


def _thinned(values: Sequence[float], columns: int) -> list[float]:
    size = max(1, math.ceil(len(values) / columns))
    return [sum(part) / len(part) for part in (values[k : k + size] for k in range(0, len(values), size))]


def _bars(means: Sequence[float], low: float, high: float) -> str:
    span = (high - low) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, math.floor((each - low) / span * len(_BARS)))] for each in means)
