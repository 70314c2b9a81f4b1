"""The first screens of the commands as text and as HTML, for whatever shows a value: Python's prompt, notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

from layoutrand.screens.charts import Line, can_draw, plain
from layoutrand.screens.display import printable

HTML_COLUMNS: Final = 100
"""Columns of a screen in a notebook."""

_FULL: Final = ("Details: --full", "Details: .full()")
"""What the terminal has an option for is a method here, and as long."""

_COLOURS: Final = {
    "green": "#2a8a4a",
    "red": "#cc3b32",
    "yellow": "#a87900",
    "blue": "#3a74c8",
    "cyan": "#14808a",
    "magenta": "#a044a0",
}
"""Of the terminal's colours, those that can be read on white and on black."""


def as_text(lines: Sequence[Line]) -> str:
    """The lines of a screen, without colours; in ASCII where stdout can hold nothing else."""
    drawn = lines if can_draw() else [plain(line) for line in lines]
    text = "\n".join("".join(_said(span) for span, _ in _trimmed(line)) for line in drawn)
    return text.rstrip("\n")


def as_html(lines: Sequence[Line]) -> str:
    """The same with its colours, in one element that needs nothing else."""
    rows = "\n".join("".join(_span(_said(text), style) for text, style in _trimmed(line)) for line in lines)
    return f'<pre class="layoutrand" style="line-height:1.3;overflow-x:auto">{rows.rstrip()}</pre>'


def _trimmed(line: Line) -> Line:
    """Without blanks at its end."""
    kept = list(line)
    while kept and not kept[-1][0].strip():
        kept.pop()
    return [*kept[:-1], (kept[-1][0].rstrip(), kept[-1][1])] if kept else []


def _said(text: str) -> str:
    return printable(text).replace(*_FULL)


def _span(text: str, style: str) -> str:
    words = style.split()
    rules = [f"color:{_COLOURS[word]}" for word in words if word in _COLOURS]
    rules += ["font-weight:bold"] * ("bold" in words) + ["opacity:.7"] * ("dim" in words)
    said = html.escape(text)
    return f'<span style="{";".join(rules)}">{said}</span>' if rules and said.strip() else said
