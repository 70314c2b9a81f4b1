"""Pictures of a terminal as SVG: the output of a command, with numbers beside the lines that a page explains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

COLUMN, LINE, MARGIN, FONT = 8.4, 19, 18, 14
INK, PAPER, FAINT = "#d8dee9", "#20242c", "#8c96a8"
COLOURS = {
    "✓": "#8fce7e",
    "✗": "#f07f86",
    "≈": "#82b1ff",
    "?": "#f2c66d",
    "⚠": "#f2c66d",
    "ⓘ": "#82b1ff",
    "★": "#f2c66d",
}
VERDICTS = {"faster": "✓", "less": "✓", "slower": "✗", "more": "✗", "same within": "≈", "cannot tell": "?"}


def drawn(command: str, output: str, numbers: Mapping[str, int], what: str) -> str:
    """The picture; ``numbers`` maps the beginning of a line, without its spaces, to the number beside it."""
    lines = [f"$ {command}", "", *output.splitlines()]
    width = MARGIN * 2 + COLUMN * 80 + (34 if numbers else 0)
    height = MARGIN * 2 + LINE * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(what)}">',
        f"<title>{escape(what)}</title>",
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{PAPER}"/>',
        f'<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{FONT}" fill="{INK}">',
    ]
    left = dict(numbers)
    for row, line in enumerate(lines):
        y = MARGIN + LINE * row + FONT
        if line.strip():
            parts.append(_line(line, y, bold=row in {0, 2}))
        for start in [start for start in left if line.strip().startswith(start)]:
            x = width - 26
            parts.append(f'<circle cx="{x:g}" cy="{y - 5}" r="9" fill="{COLOURS["?"]}"/>')
            parts.append(
                f'<text x="{x:g}" y="{y - 1}" fill="{PAPER}" font-size="12" text-anchor="middle">{left.pop(start)}</text>'
            )
    if left:
        raise ValueError(f"no line of the output begins with {sorted(left)}")
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _line(line: str, y: int, *, bold: bool) -> str:
    """A line, in columns of one width whatever the font: words keep their places."""
    spans = []
    if "ⓘ" in line:  # few fonts have it
        x = MARGIN + COLUMN * (line.index("ⓘ") + 0.5)
        spans.append(f'<circle cx="{x:g}" cy="{y - 5}" r="6" fill="none" stroke="{COLOURS["ⓘ"]}"/>')
        spans.append(f'<text x="{x:g}" y="{y - 1}" fill="{COLOURS["ⓘ"]}" font-size="10" text-anchor="middle">i</text>')
        line = line.replace("ⓘ ", "  ")
    for match in re.finditer(r"\S+(?: \S+)*", line):
        x, text = MARGIN + COLUMN * match.start(), match[0]
        colour = _colour(text, line)
        style = (f' fill="{colour}"' if colour else "") + (
            ' font-weight="bold"' if bold or text.startswith("Next:") else ""
        )
        length = f' textLength="{COLUMN * len(text):g}" lengthAdjust="spacingAndGlyphs"'
        spans.append(f'<text x="{x:g}" y="{y}"{length}{style}>{escape(text)}</text>')
    return "".join(spans)


def _colour(text: str, line: str) -> str:
    if text[0] in COLOURS:
        return COLOURS[text[0]]
    verdict = next((symbol for words, symbol in VERDICTS.items() if text.startswith(words)), "")
    if verdict and line.strip()[0] in COLOURS:
        return COLOURS[verdict]
    return FAINT if text.startswith(("(", "Details:", "◄")) else ""
