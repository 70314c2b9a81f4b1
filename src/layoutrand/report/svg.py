"""Small scatter and line plots as SVG text, without a plotting library: axes, points, lines, bars.

A `Panel` is one plot in data coordinates; `page` places rows of panels.  Numbers are written with two decimals, so
equal data give equal text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

WIDTH: Final = 360
HEIGHT: Final = 250
COLOURS: Final = ("#1f5fa8", "#c2571a", "#3a8a4d", "#8a4a9c")
PALE: Final = "#b4b4b4"
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 12, 30, 42
_DASHED: Final = ' stroke-dasharray="5 3"'

Point = tuple[float, float]


@dataclass(frozen=True)
class PanelShape:
    """Things drawn alike: ``kind`` is "line", "points" or "bars" (from 0 to each point)."""

    kind: str
    points: Sequence[Point]
    colour: str


@dataclass(frozen=True)
class Panel:
    """One plot; later shapes lie over earlier ones.

    ``horizontals`` are dashed lines at these heights, ``verticals`` (place, colour, label) lines across the panel.
    """

    title: str
    x_label: str
    y_label: str
    shapes: Sequence[PanelShape]
    horizontals: Sequence[float] = ()
    verticals: Sequence[tuple[float, str, str]] = ()


def page(title: str, rows: Sequence[Sequence[Panel]], notes: Sequence[str]) -> str:
    """An SVG document: a heading, rows of panels, and notes below."""
    width = WIDTH * max(len(row) for row in rows)
    height = 34 + HEIGHT * len(rows) + 18 * len(notes) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(12, 22, title, style=' font-size="15"'),
    ]
    for number, row in enumerate(rows):
        for place, panel in enumerate(row):
            parts.append(f'<g transform="translate({place * WIDTH},{34 + number * HEIGHT})">')
            parts += _panel(panel)
            parts.append("</g>")
    parts += [_text(12, 34 + HEIGHT * len(rows) + 16 + 18 * place, note) for place, note in enumerate(notes)]
    return "\n".join([*parts, "</svg>", ""])


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most so many round numbers (1, 2 or 5 times a power of ten apart) within low ... high, above low."""
    step = 10.0 ** math.floor(math.log10((high - low) / (most - 1)))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most - 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True)
class _Scale:
    """From data to pixels: ``start`` is where ``low`` lies, ``length`` may be negative."""

    low: float
    high: float
    start: float
    length: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * self.length


def _panel(panel: Panel) -> list[str]:
    points = [point for shape in panel.shapes for point in shape.points]
    heights = [y for _, y in points] + list(panel.horizontals)
    if any(shape.kind == "bars" for shape in panel.shapes):
        heights.append(0.0)
    places = [x for x, _ in points] + [place for place, _, _ in panel.verticals]
    across, up = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    x, y = _Scale(*_range(places), _LEFT, across), _Scale(*_range(heights), HEIGHT - _BOTTOM, -up)
    parts = [_text(_LEFT, _TOP - 12, panel.title)]
    parts.append(f'<rect x="{_LEFT}" y="{_TOP}" width="{across}" height="{up}" fill="none" stroke="#444444"/>')
    for tick in ticks(x.low, x.high):
        parts += [_line((x(tick), HEIGHT - _BOTTOM), (x(tick), HEIGHT - _BOTTOM + 4), "#444444")]
        parts += [_text(x(tick), HEIGHT - _BOTTOM + 16, f"{tick:.6g}", anchor="middle")]
    for tick in ticks(y.low, y.high):
        parts += [_line((_LEFT - 4, y(tick)), (_LEFT, y(tick)), "#444444")]
        parts += [_text(_LEFT - 7, y(tick) + 4, f"{tick:.6g}", anchor="end")]
    parts.append(_text(_LEFT + across / 2, HEIGHT - 8, panel.x_label, anchor="middle"))
    parts.append(f'<g transform="translate(12,{_TOP + up / 2:.0f}) rotate(-90)">')
    parts += [_text(0, 0, panel.y_label, anchor="middle"), "</g>"]
    parts += [_line((_LEFT, y(at)), (_LEFT + across, y(at)), "#777777", _DASHED) for at in panel.horizontals]
    for place, colour, label in panel.verticals:
        parts.append(_line((x(place), _TOP), (x(place), HEIGHT - _BOTTOM), colour, _DASHED))
        parts.append(_text(x(place) + 3, _TOP + 12, label, style=f' fill="{colour}"'))
    return parts + [part for shape in panel.shapes for part in _shape(shape, x, y)]


def _range(values: Sequence[float]) -> tuple[float, float]:
    """With a margin; something to show even for a single value."""
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _shape(shape: PanelShape, x: _Scale, y: _Scale) -> list[str]:
    places = [(x(a), y(b)) for a, b in shape.points]
    if shape.kind == "line":
        path = " ".join(f"{a:.2f},{b:.2f}" for a, b in places)
        return [f'<polyline points="{path}" fill="none" stroke="{shape.colour}" stroke-width="1.2"/>']
    if shape.kind == "bars":
        return [_line((a, y(0.0)), (a, b), shape.colour, ' stroke-width="3"') for a, b in places]
    return [f'<circle cx="{a:.2f}" cy="{b:.2f}" r="2" fill="{shape.colour}"/>' for a, b in places]


def _line(start: Point, end: Point, colour: str, style: str = "") -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{colour}"{style}/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", style: str = ' fill="#222222"') -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'
