"""What a paper needs beside figures and tables: captions that stand alone, panels, LaTeX that includes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape as escape_xml

from layoutrand.report import canvas
from layoutrand.report.page_parts import Forest, Page
from layoutrand.report.ratios import caption_of_ratios
from layoutrand.text.document import Figure, Table, plain
from layoutrand.text.latex import escape

_SVG: Final = "http://www.w3.org/2000/svg"
_HEAD: Final = 22
_GAP: Final = 14
_MOST_IN_PANEL: Final = 8
_LETTERS: Final = "abcdefgh"
_PANEL: Final = "Panel"
_SENTENCES: Final = re.compile(r"(?<=[.]) ")


@dataclass(frozen=True)
class CaptionedFile:
    """A figure or a table by the stem of its files, and what is said of it."""

    stem: str
    caption: str
    is_table: bool = False


def panels(page: Page) -> Iterator[tuple[Figure, int]]:
    """The ratios and where the binaries of each benchmark lie, up to eight in a figure; and how many columns it has."""
    chosen = [(forest.title, "ratios", forest.figure) for forest in page.forests if forest.figure is not None]
    chosen += [(card.name, _lead(card.figures[0]), card.figures[0]) for card in page.cards if card.figures]
    if len(chosen) < 2:
        return
    groups = [chosen[k : k + _MOST_IN_PANEL] for k in range(0, len(chosen), _MOST_IN_PANEL)]
    for number, group in enumerate(groups, 1):
        said = "; ".join(
            f"({letter}) {title}: {what}" for letter, (title, what, _) in zip(_LETTERS, group, strict=False)
        )
        notes = dict.fromkeys(note for _, _, figure in group for note in _SENTENCES.split(figure.caption))
        drawn = [(letter, (title, figure)) for letter, (title, _, figure) in zip(_LETTERS, group, strict=False)]
        heading = _PANEL if len(groups) == 1 else f"{_PANEL} {number}"
        yield Figure(heading, _combined(drawn), f"{said}. {' '.join(notes)}"), min(2, len(group))


def _lead(figure: Figure) -> str:
    return figure.heading[:1].lower() + figure.heading[1:]


def _combined(lettered: Sequence[tuple[str, tuple[str, Figure]]]) -> str:
    """Figures in two columns, each below its letter and title, as one SVG in the classes of the page."""
    across = min(2, len(lettered))
    parts: list[str] = []
    top = 0.0
    for start in range(0, len(lettered), across):
        heights = []
        for place, (letter, (title, figure)) in enumerate(lettered[start : start + across]):
            root = ET.fromstring(figure.svg)  # noqa: S314 - made by our own figures
            heights.append(float(root.attrib["viewBox"].split()[3]))
            inside = [child for child in root if child.tag.rpartition("}")[2] not in {"title", "desc"}]
            x = place * (canvas.WIDTH + _GAP)
            parts.append(f'<g transform="translate({x},{top:.0f})">')
            parts.append(canvas.text(2, 14, f"({letter}) {title}", style="strong"))
            parts.append(f'</g><g transform="translate({x},{top + _HEAD:.0f})">')
            parts += [ET.tostring(child, encoding="unicode") for child in inside]
            parts.append("</g>")
        top += max(heights) + _HEAD + _GAP
    width = across * canvas.WIDTH + (across - 1) * _GAP
    titles = escape_xml(plain("; ".join(f"({letter}) {title}" for letter, (title, _) in lettered)))
    ET.register_namespace("", _SVG)
    return (
        f'<svg xmlns="{_SVG}" viewBox="0 0 {width} {top:.0f}" role="img"><title>{titles}</title>'
        f"<desc>{len(lettered)} figures; each is in a file of its own as well.</desc>{''.join(parts)}</svg>"
    )


@dataclass(frozen=True)
class Behind:
    """What stands behind a figure or a table: ``origin`` is of what it was made, ``doubts`` what casts doubt on it."""

    origin: str
    doubts: str = ""

    def __str__(self) -> str:
        return f"{self.origin} Doubtful: {self.doubts}." if self.doubts else self.origin


def behind_figure(page: Page, title: str, figure: Figure) -> Behind:
    """Of a figure's comparison, or of the benchmark that it is titled by; else of the whole page."""
    if (own := _forest_of(page, figure)) is not None:
        return Behind(_origin(page, own.systems), own.doubts)
    card = next((each for each in page.cards if title and each.name == title), None)
    if card is not None:
        return Behind(_origin(page, card.systems), page.doubts.get(title, ""))
    return Behind(_origin(page), page.doubts.get("", ""))


def behind_table(page: Page, table: Table) -> Behind:
    """Of a table's comparison; else of the whole page."""
    for each in page.forests:
        if each.figure is not None and table.caption == caption_of_ratios(each.figure):
            return behind_figure(page, "", each.figure)
    return Behind(_origin(page), page.doubts.get("", ""))


def caption_of(page: Page, title: str, figure: Figure) -> str:
    """What the figure shows, of which sources and seeds, where and when it was measured, and what casts doubt on it."""
    if not title and figure.heading.startswith(_PANEL):
        shown = figure.caption
    elif _forest_of(page, figure) is not None:
        shown = f"{title}: {figure.heading}. {figure.caption}"
    else:
        shown = f"{title}: {_lead(figure)}. {figure.caption}"
    return f"{shown} {behind_figure(page, title, figure)}"


def _forest_of(page: Page, figure: Figure) -> Forest | None:
    return next((each for each in page.forests if each.figure is figure), None)


def _origin(page: Page, systems: Sequence[str] = ()) -> str:
    """``Built from commit 19c4d91a2b3c. Measured on vm, ... Seeds 1..30 (30); layoutrand 0.1.0.``.

    It names what these ``systems`` were built from, or all: those of one commit together, where there are several.
    """
    groups: dict[str, list[str]] = {}
    for system, words in page.sources.items():
        if not systems or system in systems:
            groups.setdefault(words, []).append(system)
    built = "; ".join(f"{', '.join(own)}: {words}" for words, own in groups.items())
    built = next(iter(groups)) if len(groups) == 1 else built
    return " ".join(filter(None, [f"Built from {built}." if built else "", page.subtitle, page.rests_on]))


def captions_text(files: Sequence[CaptionedFile]) -> str:
    """All captions as plain text, for whatever a paper is written with."""
    return "\n".join(f"{each.stem}{' (table)' if each.is_table else ''}\n    {plain(each.caption)}\n" for each in files)


def captions_latex(files: Sequence[CaptionedFile], widths_mm: dict[str, float], *, drawn: bool) -> str:
    """A float for each figure and table; ``drawn`` where there are files of the figures that LaTeX can read."""
    lines = [
        "% Every figure and table with its caption: copy what you need, or \\input this file from its directory.",
        "% Needs \\usepackage{graphicx}, \\usepackage{booktabs} and \\usepackage{siunitx} (version 3).",
    ]
    if not drawn:
        lines.append("% LaTeX reads PDF and PNG, which were not asked for: layoutrand figures --format pdf,tex")
    for each in files:
        kind = "table" if each.is_table else "figure"
        wide = "*" if widths_mm.get(each.stem, 0.0) > 100 and not each.is_table else ""
        size = f"width={widths_mm[each.stem]:g}mm" if each.stem in widths_mm else ""
        inside = rf"\input{{{each.stem}}}" if each.is_table else rf"\includegraphics[{size}]{{{each.stem}}}"
        caption = [rf"  \caption{{{escape(each.caption)}}}", rf"  \label{{{kind[:3]}:{each.stem}}}"]
        body = [*caption, f"  {inside}"] if each.is_table else [f"  {inside}", *caption]
        lines += ["", rf"\begin{{{kind}{wide}}}", r"  \centering", *body, rf"\end{{{kind}{wide}}}"]
    return "\n".join([*lines, ""])
