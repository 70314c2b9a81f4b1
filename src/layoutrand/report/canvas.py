"""What all figures share: scales, ticks with enough digits, marks, escaped text, and the frame with its description.

A figure is `WIDTH` units wide, about a phone's pixels, and is scaled from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from layoutrand.text.document import cut, plain

WIDTH: Final = 380
N_COLOURS: Final = 5
_MOST_CHARACTERS: Final = 60
_MOST_ON_SHEET: Final = 240
_LARGEST: Final = 1e300  # beyond it, differences overflow

# One path draws all marks of a series.  A line of length 0 with round caps is a disc.  With square caps it would be a
# square, but where a page is printed to PDF not all readers draw that.
_MARKS: Final = (
    ("dot", "h0"),
    ("square", "m-2.2-2.2h4.4v4.4h-4.4z"),
    ("outline", "m0-3.2l3 5.4h-6z"),
    ("outline", "m0-3.4l3.2 3.4l-3.2 3.4l-3.2-3.4z"),
    ("outline", "m-2.6-2.6l5.2 5.2m-5.2 0l5.2-5.2"),
    ("outline", "m-3.2 0h6.4m-3.2-3.2v6.4"),
    ("outline", "m0 3.2l3-5.4h-6z"),
)


@dataclass(frozen=True)
class Scale:
    """From data to pixels: ``start`` is where ``low`` lies, ``length`` may be negative."""

    low: float
    high: float
    start: float
    length: float

    def __call__(self, value: float) -> float:
        """The place of a value; beyond the scale it stays at the edge."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * self.length


def span(values: Iterable[float], *, margin: float = 0.05) -> tuple[float, float]:
    """Lowest and highest of the finite values with a margin; something to show even for one value or none."""
    finite = [min(max(value, -_LARGEST), _LARGEST) for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    extra = max(margin * (high - low), 1e-9 * max(abs(low), abs(high))) or 1.0
    if high == low:
        extra = 0.05 * abs(high) or 1.0
    return low - extra, high + extra


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most so many round numbers (1, 2 or 5 times a power of ten apart) within low ... high, above low."""
    step = 10.0 ** math.floor(math.log10((high - low) / (most - 1)))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most - 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def labelled_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Round numbers within the span, written with the digits that tell them apart."""
    places = ticks(low, high, most)
    if len(places) < 2:
        return [(place, f"{place:.6g}") for place in places]
    step = places[1] - places[0]
    largest = max(abs(place) for place in places)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if largest < 1e7 and decimals <= 6:
        return [(place, f"{round(place, decimals) + 0.0:.{decimals}f}") for place in places]
    digits = max(1, math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9) + 1)
    return [(place, f"{place:.{min(digits, 17)}g}") for place in places]


def colour(series: int) -> str:
    """The class of a series' colour."""
    return f"s{series % N_COLOURS}"


def marks(points: Sequence[tuple[float, float]], series: int, told: str = "", *, style: str = "") -> str:
    """All marks of one series at these pixels, as one path; ``told`` are its further attributes (`mark_data`).

    ``style`` is the class of another colour than that of the series.
    """
    kind, shape = _MARKS[series % len(_MARKS)]
    path = "".join(f"M{x:.1f} {y:.1f}{shape}" for x, y in points)
    return f'<path class="{kind} {style or colour(series)}"{told} d="{path}"/>' if path else ""


def rings(points: Sequence[tuple[float, float]]) -> str:
    """A diamond around each mark that something is to be said of."""
    path = "".join(f"M{x:.1f} {y:.1f}m0-7l7 7l-7 7l-7-7z" for x, y in points)
    return f'<path class="axis" d="{path}"/>' if path else ""


def diamond(x: float, y: float) -> str:
    """A hollow diamond: something to compare with."""
    return f'<path class="hollow" d="M{x:.1f} {y:.1f}m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z"/>'


def line(x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> str:
    """A straight line; ``style`` is its class."""
    return f'<path class="{style}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def box(x: float, y: float, width: float, height: float, style: str) -> str:
    """A filled rectangle."""
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"/>'


def polyline(points: Sequence[tuple[float, float]], style: str, told: str = "") -> str:
    """Connected lines; ``told`` as for `marks`."""
    return f'<polyline class="{style}"{told} points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def text(
    x: float, y: float, words: str, *, anchor: str = "start", style: str = "", most: int = _MOST_CHARACTERS
) -> str:
    """A piece of text, cut where it would not fit; ``most`` counts characters."""
    chosen = f' class="{style}"' if style else ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{place}{chosen}>{escape(cut(plain(words), most))}</text>'


def tick(x: float, y: float, label: str) -> str:
    """The number below a tick: in its middle, or as near to that as the figure is wide."""
    half = 3.4 * len(label)
    return text(min(max(x, half), WIDTH - half), y, label, anchor="middle")


def legend(names: Sequence[tuple[str, int, str]], y: float) -> tuple[list[str], float]:
    """Names of series from height ``y`` on, in as many rows as it takes, and the height below.

    Before each stands its mark, or a line in the style that is given for a series without marks.
    """
    parts: list[str] = []
    x = 8.0
    for name, series, style in names:
        words = cut(plain(name), 40)
        width = 18 + 6.6 * len(words)
        if x > 8 and x + width > WIDTH:
            x, y = 8.0, y + 16
        ends = [(x, y - 4), (x + 10, y - 4)]
        key = polyline(ends, f"{style} {colour(series)}") if style else marks([(x + 5, y - 4)], series)
        parts += [key, text(x + 13, y, words)]
        x += width + 8
    return parts, y + 16


def frame(title: str, description: str, height: float, parts: Iterable[str]) -> str:
    """The figure: an image with a title and a description for those who do not see it."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {WIDTH} {height:.0f}" role="img">',
            f"<title>{escape(plain(title))}</title>",
            f"<desc>{escape(plain(description))}</desc>",
            *(part for part in parts if part),
            "</svg>",
        ]
    )


def sheet(title: str, rows: Sequence[Sequence[tuple[Sequence[str], float]]], notes: Sequence[str]) -> str:
    """Rows of drawn figures (parts, height) on white, with a heading above and notes below."""
    width = WIDTH * max(len(row) for row in rows)
    parts = [text(8, 22, title, style="strong", most=_MOST_ON_SHEET)]
    top = 36.0
    for row in rows:
        for place, (drawn, _height) in enumerate(row):
            parts += [f'<g transform="translate({place * WIDTH},{top:.0f})">', *drawn, "</g>"]
        top += max(height for _drawn, height in row) + 10
    parts += [text(8, top + 8 + 18 * place, note, most=_MOST_ON_SHEET) for place, note in enumerate(notes)]
    height = top + 18 * len(notes) + 10
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" role="img">',
            f"<title>{escape(plain(title))}</title>",
            f'<rect width="{width}" height="{height:.0f}" fill="#ffffff"/>',
            *(part for part in parts if part),
            "</svg>",
        ]
    )
