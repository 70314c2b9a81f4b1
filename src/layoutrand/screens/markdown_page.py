"""A page of Markdown on which results are shown."""

from __future__ import annotations

import io
from collections.abc import Sequence

from layoutrand.text import markdown


class Markdown:
    """A `Display` that collects tables and lines as Markdown."""

    def __init__(self) -> None:
        """Begin with an empty page."""
        self.text = io.StringIO()

    def line(self, text: str = "") -> None:
        """A paragraph."""
        self.text.write(text + "\n\n" if text else "")

    def item(self, text: str) -> None:
        """A paragraph, too."""
        self.line(text)

    def warn(self, text: str) -> None:
        """A warning, set off."""
        self.text.write(f"> warning: {text}\n\n")

    def fail(self, text: str) -> None:
        """A failure, set off."""
        self.text.write(f"> failed: {text}\n\n")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table under a heading of its own."""
        self.text.write(markdown.table(title, columns, rows))
