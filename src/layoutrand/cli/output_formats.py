"""How `analyse` and `compare` write: tables on the terminal, or one document of JSON, CSV or Markdown on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import typer

from layoutrand.cli.terminal import Terminal
from layoutrand.errors import UsageError
from layoutrand.screens.display import printable
from layoutrand.text import markdown

Csv = Annotated[
    bool, typer.Option("--csv", help="Print one CSV table on stdout: a row for each benchmark, numbers in full.")
]
RawCsv = Annotated[
    bool,
    typer.Option(
        "--raw-csv", help="As --csv, but cells that a spreadsheet takes for formulas (= + - @) as they are, with no '."
    ),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables and sentences as Markdown on stdout.")]


def terminal(*, json: bool, csv: bool, markdown: bool, quiet: bool) -> Terminal:
    """Where this command writes; raises `UsageError` where more than one format is asked for."""
    asked = [name for name, wanted in (("--json", json), ("--csv", csv), ("--markdown", markdown)) if wanted]
    if len(asked) > 1:
        raise UsageError(f"give one of {' and '.join(asked)}: stdout holds one document")
    return MarkdownPage(json=False, quiet=quiet) if markdown else Terminal(json or csv, quiet)


@dataclass(frozen=True)
class MarkdownPage(Terminal):
    """A `Display` that collects Markdown until `finish`; warnings and failures go to stderr at once, and to its end."""

    parts: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def line(self, text: str = "") -> None:
        """A paragraph."""
        if text:
            self.parts.append(f"{markdown.paragraph(text)}\n\n")

    def item(self, text: str) -> None:
        """A paragraph, too."""
        self.line(text)

    def warn(self, text: str) -> None:
        """A warning."""
        super().warn(text)
        self.remarks.append(f"- warning: {markdown.plain(text)}\n")

    def fail(self, text: str) -> None:
        """A recorded failure."""
        super().fail(text)
        self.remarks.append(f"- failed: {markdown.plain(text)}\n")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table."""
        self.parts.append(markdown.table(title, columns, rows))

    def finish(self) -> None:
        """Write the document."""
        ending = ["### Warnings\n\n", *dict.fromkeys(self.remarks)] if self.remarks else []
        sys.stdout.write(printable("".join([*self.parts, *ending]).rstrip("\n") + "\n", keep="\n\t"))
