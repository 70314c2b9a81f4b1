"""Drawings as wide as there is room: intervals of one row and the axis below, with places in percent of the width.

They stand in cells of a table whose other cells have the same numbers, so readers of the screen are spared them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.report import canvas

_HEIGHT: Final = 26
_MIDDLE: Final = 13
_EDGE: Final = 2.0
"""Percent of the width that stay free at both ends, for marks."""

_FURTHEST: Final = 4.0
"""Ends of intervals further out than so many times the largest centre are arrows: they would squeeze all others."""


@dataclass(frozen=True)
class TrackScale:
    """From data to percent of the width."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Percent from the left; beyond the scale it is the edge."""
        share = (value - self.low) / (self.high - self.low)
        return _EDGE + min(max(share, 0.0), 1.0) * (100 - 2 * _EDGE)

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies outside."""
        return not self.low <= value <= self.high


def scale_for(centres: Iterable[float], ends: Iterable[float], band: float) -> TrackScale:
    """A scale around 0 that has room for all centres, the threshold ``band``, and ends that are not far out."""
    shown = [value for value in centres if math.isfinite(value)]
    reach = max([abs(value) for value in shown] + [1.5 * band]) or 1.0
    inside = [value for value in ends if math.isfinite(value) and abs(value) <= _FURTHEST * reach]
    far = any(not math.isfinite(value) or abs(value) > _FURTHEST * reach for value in ends)
    low, high = min([*shown, *inside, -1.2 * band, 0.0]), max([*shown, *inside, 1.2 * band, 0.0])
    if far:
        low, high = min(low, -1.5 * reach), max(high, 1.5 * reach)
    if low == high:
        low, high = -1.0, 1.0
    room = 0.02 * (high - low)
    return TrackScale(low - room, high + room)


def interval(
    scale: TrackScale,
    bounds: tuple[float, float, float],
    key: str,
    *,
    band: float,
    hollow: float | None = None,
) -> str:
    """One row: low, centre and high as a whisker in the colour of ``key``, ``hollow`` as a hollow diamond."""
    low, centre, high = bounds
    parts = [*_ground(scale, band), _line(scale.place(low), _MIDDLE, scale.place(high), _MIDDLE, f"whisker {key}")]
    for bound, side in ((low, 1), (high, -1)):
        if scale.is_beyond(bound):
            parts.append(_at(scale.place(bound), f'<path class="whisker {key}" d="M{6 * side}-5L0 0l{6 * side} 5"/>'))
        else:
            parts.append(_line(scale.place(bound), _MIDDLE - 5, scale.place(bound), _MIDDLE + 5, f"whisker {key}"))
    if math.isfinite(centre) and not scale.is_beyond(centre):
        parts.append(_at(scale.place(centre), f'<path class="dot large {key}" d="M0 0h0"/>'))
    if hollow is not None and math.isfinite(hollow):
        parts.append(_at(scale.place(hollow), '<path class="hollow" d="M0-6l6 6l-6 6l-6-6z"/>'))
    return _drawing("track", _HEIGHT, parts)


def empty(scale: TrackScale, *, band: float) -> str:
    """A row of which nothing can be drawn but the ground."""
    return _drawing("track", _HEIGHT, _ground(scale, band))


def axis(scale: TrackScale, most: int = 6) -> str:
    """The ticks of all rows, in percent."""
    ticks = canvas.labelled_ticks(scale.low, scale.high, most)
    parts = [f'<line class="axis" x1="{_EDGE}%" x2="{100 - _EDGE:g}%" y1="1" y2="1"/>']
    for value, label in ticks:
        x = scale.place(value)
        parts.append(_line(x, 1, x, 5, "axis"))
        anchor = "start" if x < 6 else "end" if x > 94 else "middle"
        words = f"+{label}" if value > 0 else label.replace("-", "\N{MINUS SIGN}")
        parts.append(f'<text x="{x:.1f}%" y="17" text-anchor="{anchor}">{words} %</text>')
    return _drawing("track", 20, parts)


def stacked(shares: Sequence[tuple[float, str]]) -> str:
    """One bar of parts beside each other: (share of the whole, class of its colour)."""
    parts, start = [], 0.0
    for share, style in shares:
        width = 100 * share
        parts.append(f'<rect class="{style}" x="{start:.1f}%" y="3" width="{width:.1f}%" height="14"/>')
        start += width
    return _drawing("track", 20, parts)


def _ground(scale: TrackScale, band: float) -> list[str]:
    """The threshold on both sides, and the line of no difference."""
    parts = []
    if band:
        left, right = scale.place(-band), scale.place(band)
        parts.append(f'<rect class="band" x="{left:.2f}%" y="0" width="{right - left:.2f}%" height="{_HEIGHT}"/>')
    return [*parts, _line(scale.place(0), 0, scale.place(0), _HEIGHT, "reference")]


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.2f}%" y1="{y1:g}" x2="{x2:.2f}%" y2="{y2:g}"/>'


def _at(x: float, drawn: str) -> str:
    """Something with a size of its own at this place."""
    return f'<svg x="{x:.2f}%" y="{_MIDDLE}" overflow="visible">{drawn}</svg>'


def _drawing(style: str, height: int, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{style}" height="{height}" aria-hidden="true" '
        f'focusable="false">{inside}</svg>'
    )
