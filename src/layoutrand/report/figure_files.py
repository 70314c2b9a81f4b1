"""`layoutrand figures`: what the report shows, as files for papers, one for each figure and each table of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from layoutrand.errors import AnalysisError
from layoutrand.report import pdf, style
from layoutrand.report.page_parts import Page
from layoutrand.text.document import Figure, Table
from layoutrand.text.latex import tabular

FORMATS: Final = ("svg", "pdf", "png", "tex")
_LONGEST: Final = 80


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

    Raises `AnalysisError` where there is nothing to draw, `ToolNotFound` and `FeatureUnsupported` as `pdf` does: before
    anything is written.
    """
    files: list[FigureFile] = []
    drawn: set[str] = set()
    tables: set[str] = set()
    for title, figure in figures_of(page):
        stem = _stem(f"{title} {figure.heading}".strip(), drawn)
        files += [FigureFile(f"{stem}.{kind}", data) for kind, data in _drawn(figure.svg, formats, look)]
        if figure.table is not None and "tex" in formats:
            name = _stem(f"{title} {figure.heading}", tables)
            files.append(FigureFile(f"{name}.tex", _encoded(figure.table)))
    for table in [table for section in page.sections for table in section.tables]:
        if "tex" in formats and not table.is_text:
            files.append(FigureFile(f"{_stem(table.caption, tables)}.tex", _encoded(table)))
    if not files:
        raise AnalysisError("there is nothing to draw: no seed was executed successfully")
    return files


def figures_of(page: Page) -> list[tuple[str, Figure]]:
    """Every figure of the report, with what it is about: the ratios first, then each benchmark, then the rest."""
    found = [("Ratios", forest.figure) for forest in page.forests if forest.figure is not None]
    found += [(card.name, figure) for card in page.cards for figure in (*card.figures, *card.more)]
    return [*found, *((section.title, figure) for section in page.sections for figure in section.figures)]


def _drawn(svg: str, formats: Sequence[str], look: Look) -> Iterator[tuple[str, bytes]]:
    drawing = style.standalone(svg, look.width_mm)
    if "svg" in formats:
        yield "svg", drawing.encode()
    if "pdf" in formats or "png" in formats:
        page = pdf.pdf(drawing, pdf.fonts(look.font))
        if "pdf" in formats:
            yield "pdf", page
        if "png" in formats:
            yield "png", pdf.png(page, look.dpi)


def _encoded(table: Table) -> bytes:
    return tabular(table).encode("utf-8", "replace")


def _stem(words: str, taken: set[str]) -> str:
    """A file name that every system takes and LaTeX reads: ASCII letters, digits and hyphens, each only once."""
    base = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")[:_LONGEST].rstrip("-") or "figure"
    stem, number = base, 2
    while stem.casefold() in taken:
        stem, number = f"{base}-{number}", number + 1
    taken.add(stem.casefold())
    return stem
