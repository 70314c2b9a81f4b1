"""What a document is made of before it is HTML, LaTeX or Markdown: chapters, tables, figures, one-line words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table; the first column is text and heads its row, the others are right-aligned unless ``is_text``."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    is_text: bool = False


@dataclass(frozen=True)
class Figure:
    """An SVG, what it shows in words, and its numbers where there are some; ``anchor`` is what links lead to."""

    heading: str
    svg: str
    caption: str
    table: Table | None = None
    anchor: str = ""


@dataclass(frozen=True)
class Chapter:
    """A part of the page: paragraphs, listed sentences, commands, figures, tables, in this order."""

    anchor: str
    title: str
    paragraphs: Sequence[str] = ()
    sentences: Sequence[str] = ()
    commands: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


def plain(words: str) -> str:
    """One line, without characters that no XML text may hold."""
    shown = "".join(character if character.isprintable() else " " for character in words)
    return " ".join(shown.split())


def cut(words: str, most: int) -> str:
    """At most so many characters; an ellipsis in the middle says that there were more, since names often end apart."""
    if len(words) <= most:
        return words
    kept = max(most - 1, 2)
    return f"{words[: (kept + 1) // 2]}…{words[-(kept // 2) :]}"
