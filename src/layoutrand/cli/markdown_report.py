"""A written report in Markdown: what was done, and the tables that the terminal shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from layoutrand.platform.disk import write_atomically
from layoutrand.screens.build_screen import show_build
from layoutrand.screens.comparison_tables import show_comparison
from layoutrand.screens.layout_tables import show_analysis
from layoutrand.screens.markdown_page import Markdown
from layoutrand.version import __version__

if TYPE_CHECKING:
    from layoutrand.analysis.analyse import AnalysisReport
    from layoutrand.analysis.compare import Comparison
    from layoutrand.build.build import SystemBuild
    from layoutrand.config.config import Config
    from layoutrand.execute.run_progress import Summary


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
    show_build(results, page)
    for result in results:
        if result.capture is not None:
            tools = result.capture.tools
            page.line(
                f"{result.system}: {tools['cc']['version']}; {tools['ld']['version']}; capture {result.capture.id[:16]}"
            )
    page.line("## Analysis")
    show_analysis(report, page, every=True)
    page.line("## Comparison")
    show_comparison(comparison, page)
    path = directory / "report.md"
    write_atomically(path, page.text.getvalue().encode("utf-8", "replace"))
    return path
