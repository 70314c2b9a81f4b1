"""`layoutrand figures`: what the report shows, as files for papers, one for each figure and each table of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape as escape_xml

from layoutrand.errors import AnalysisError
from layoutrand.report import pdf, style
from layoutrand.report.page_parts import Page
from layoutrand.report.paper import (
    CaptionedFile,
    behind_figure,
    behind_table,
    caption_of,
    captions_latex,
    captions_text,
    panels,
)
from layoutrand.text.document import Figure, plain
from layoutrand.text.latex import tabular

FORMATS: Final = ("svg", "pdf", "png", "tex")
CAPTIONS: Final = "captions.txt"
_LONGEST: Final = 80
_GUTTER_MM: Final = 4.0
"""Between the columns of a page."""


@dataclass(frozen=True)
class Look:
    """How wide figures are on paper, how fine a PNG is, and the font of PDF and PNG (None: the one that is there)."""

    width_mm: float = 88.0
    dpi: int = 300
    font: str | None = None


@dataclass(frozen=True)
class FigureFile:
    """One file: its name, without directory, and its content."""

    name: str
    data: bytes


def figure_files(page: Page, formats: Sequence[str], look: Look) -> list[FigureFile]:
    """Every figure of the report in each of ``formats``, and every table of numbers where "tex" is one of them.

    The first are panels of several figures, the last captions of all.  Raises `AnalysisError` where there is nothing to
    draw, `ToolNotFound` and `FeatureUnsupported` as `pdf` does: before anything is written.
    """
    files: list[FigureFile] = []
    told: list[CaptionedFile] = []
    taken = {"captions"}
    tables = {"captions"}
    widths: dict[str, float] = {}
    several = [("", figure, columns) for figure, columns in panels(page)]
    for title, figure, columns in [*several, *((title, figure, 1) for title, figure in figures_of(page))]:
        behind = behind_figure(page, title, figure)
        stem = _stem(f"{title} {figure.heading}".strip(), taken)
        widths[stem] = columns * look.width_mm + (columns - 1) * _GUTTER_MM
        svg = _with_origin(figure.svg, behind.origin)
        files += [FigureFile(f"{stem}.{kind}", data) for kind, data in _drawn(svg, formats, look, widths[stem])]
        told.append(CaptionedFile(stem, caption_of(page, title, figure)))
        if figure.table is not None and "tex" in formats:
            tables.add(stem.casefold())
            files.append(FigureFile(f"{stem}.tex", _utf8(tabular(figure.table, behind.origin))))
            told.append(CaptionedFile(stem, f"{figure.table.caption}. {behind}", is_table=True))
    for table in [table for section in page.sections for table in section.tables if not table.is_text]:
        if "tex" in formats:
            behind = behind_table(page, table)
            stem = _stem(table.caption, tables)
            files.append(FigureFile(f"{stem}.tex", _utf8(tabular(table, behind.origin))))
            told.append(CaptionedFile(stem, f"{table.caption}. {behind}", is_table=True))
    if not files:
        raise AnalysisError("there is nothing to draw: no seed was executed successfully")
    if "tex" in formats:
        drawn = "pdf" in formats or "png" in formats
        files.append(FigureFile("captions.tex", _utf8(captions_latex(told, widths, drawn=drawn))))
    return [*files, FigureFile(CAPTIONS, _utf8(captions_text(told)))]


def figures_of(page: Page) -> list[tuple[str, Figure]]:
    """Every figure of the report, with what it is about: the ratios first, then each benchmark, then the rest."""
    found = [("Ratios", forest.figure) for forest in page.forests if forest.figure is not None]
    found += [(card.name, figure) for card in page.cards for figure in (*card.figures, *card.more)]
    return [*found, *((section.title, figure) for section in page.sections for figure in section.figures)]


def _drawn(svg: str, formats: Sequence[str], look: Look, width_mm: float) -> Iterator[tuple[str, bytes]]:
    drawing = style.standalone(svg, width_mm)
    if "svg" in formats:
        yield "svg", drawing.encode()
    if "pdf" in formats or "png" in formats:
        page = pdf.pdf(drawing, pdf.fonts(look.font))
        if "pdf" in formats:
            yield "pdf", page
        if "png" in formats:
            yield "png", pdf.png(page, look.dpi)


def _with_origin(svg: str, origin: str) -> str:
    """A figure whose description, which is not seen, says what was built and where and when it was measured."""
    return svg.replace("</desc>", f" {escape_xml(plain(origin))}</desc>", 1)


def _utf8(words: str) -> bytes:
    return words.encode("utf-8", "replace")


def _stem(words: str, taken: set[str]) -> str:
    """A file name that every system takes and LaTeX reads: ASCII letters, digits and hyphens, each only once."""
    base = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:_LONGEST].rstrip("-") or "figure"
    stem, number = base, 2
    while stem.casefold() in taken:
        stem, number = f"{base}-{number}", number + 1
    taken.add(stem.casefold())
    return stem
