"""What results can be shown on, and what of a text can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from layoutrand.screens.charts import Line


class Display(Protocol):
    """Something that results can be shown on: the terminal, or a written report."""

    def line(self, text: str = "") -> None:
        """A line of results."""

    def item(self, text: str) -> None:
        """A sentence of results, one of several."""

    def warn(self, text: str) -> None:
        """A warning."""

    def fail(self, text: str) -> None:
        """A recorded failure."""

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table whose first column is text; the others are right-aligned."""


class Screen(Display, Protocol):
    """A `Display` whose lines are as wide as a screen: the terminal."""

    def sentence(self, text: str) -> None:
        """Results in words, in lines of the screen."""

    def screen(self, lines: Sequence[Line]) -> None:
        """Lines of spans with styles."""


def printable(text: str, keep: str = "") -> str:
    """The text with what would move the cursor or colour the terminal shown as an escape, but for ``keep``."""
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)
