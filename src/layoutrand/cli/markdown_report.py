"""A written report in Markdown: what was done, and the tables that the terminal shows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.cli import building, comparing, terminal_tables
from layoutrand.platform.disk import write_atomically
from layoutrand.text import markdown
from layoutrand.version import __version__

if TYPE_CHECKING:
    from layoutrand.analysis.analyse import AnalysisReport
    from layoutrand.analysis.compare import Comparison
    from layoutrand.build.build import SystemBuild
    from layoutrand.config.config import Config
    from layoutrand.execute.run_progress import Summary


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


def write_report(
    directory: Path,
    config: Config,
    results: Sequence[SystemBuild],
    summary: Summary,
    report: AnalysisReport,
    comparison: Comparison,
) -> Path:
    """Write ``report.md`` in the project; its path."""
    page = Markdown()
    page.line(f"# {config.project.name}: how much does layout matter?")
    host = report.selection.experiment.hostname
    page.line(f"layoutrand {__version__}, measured on {host}; results in {summary.results}.")
    page.line("## Build")
    building.show_build(results, page)
    for result in results:
        if result.capture is not None:
            tools = result.capture.tools
            page.line(
                f"{result.system}: {tools['cc']['version']}; {tools['ld']['version']}; capture {result.capture.id[:16]}"
            )
    page.line("## Analysis")
    terminal_tables.show_analysis(report, page, every=True)
    page.line("## Comparison")
    comparing.show_comparison(comparison, page)
    path = directory / "report.md"
    write_atomically(path, page.text.getvalue().encode("utf-8", "replace"))
    return path
