"""What `Results.analyse` gives: how much layout matters, for each system and benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layoutrand.analysis.conclusion import LayoutConclusion, LayoutVerdict, Trust, of_layouts, possible
from layoutrand.analysis.documents import analyse_document
from layoutrand.analysis.evidence import Evidence, evidence
from layoutrand.analysis.sentences import of_analysis
from layoutrand.config.config import choose
from layoutrand.errors import UsageError
from layoutrand.library.sample_rows import with_pandas
from layoutrand.library.shown_text import HTML_COLUMNS, as_html, as_text
from layoutrand.model import BinaryName
from layoutrand.stats import Interval
from layoutrand.text.flat import analysis_rows
from layoutrand.warning import AnyWarning

if TYPE_CHECKING:
    import pandas as pd

    from layoutrand.analysis.analyse import Analysis, AnalysisReport
    from layoutrand.screens.charts import Line


@dataclass(frozen=True, repr=False)
class LayoutsOfSystem:
    """How much layout matters to one metric of one system on one benchmark.

    Attributes
    ----------
    system, benchmark, metric, unit, instrument, is_primary
        What was analysed; ``is_primary`` of the benchmark's main metric.
    verdict
        ``"layout matters"``, ``"practically none"``, ``"cannot tell"``, ``"machine, not layout"`` or ``"one layout"``.
    trust
        ``"doubtful"`` where something casts doubt on the numbers, else ``"sound"``.
    mean
        Mean over layouts in ``unit``, with its interval.
    layout_sd
        Standard deviation that layout alone adds, as a fraction of the mean, with its interval; None where it cannot
        be told.
    layout_at_most
        Upper bound of the same, known also where there is no ``layout_sd``.
    noise_sd
        Standard deviation of executions of one binary, as a fraction of the mean; None where nothing shows it.
    one_more
        Range that one more layout would be measured in, in ``unit``; None where it cannot be told.
    stock, identity
        Means of the user's own build, and of the original order with the tool's flags; None where not executed.
    layouts
        Of each layout its name and mean, in ``unit``.
    n_layouts, n_executions
        How many there are, without those of stock and identity.
    sentence
        All of it in words that can be quoted.
    conclusion
        The verdict with its reasons and the next steps, as the commands have it.
    warnings
        Everything found about these numbers; ``str()`` of one is a sentence.
    details
        The value that the tables of ``analyse --full`` are made from; its fields may change.
    """

    system: str
    benchmark: str
    metric: str
    unit: str
    instrument: str
    is_primary: bool
    verdict: LayoutVerdict
    trust: Trust
    mean: Interval
    layout_sd: Interval | None
    layout_at_most: float | None
    noise_sd: float | None
    one_more: Interval | None
    stock: float | None
    identity: float | None
    layouts: tuple[tuple[BinaryName, float], ...]
    n_layouts: int
    n_executions: int
    sentence: str
    conclusion: LayoutConclusion
    warnings: tuple[AnyWarning, ...]
    details: Analysis

    def __repr__(self) -> str:
        doubt = ", doubtful" if self.trust == "doubtful" else ""
        whose = f"{self.benchmark} {self.metric}, {self.system}"
        return f"<{whose}: {self.verdict}, mean {self.mean.centre:.6g} {self.unit}{doubt}>"


@dataclass(frozen=True, repr=False)
class AnalysedLayouts:
    """How much layout matters: rows, and by itself the first screen of `layoutrand analyse`.

    Iterating gives the rows, ``analysed["parse", "O2"]`` the row of a benchmark and system.

    Attributes
    ----------
    rows
        One for each benchmark, system and metric that was asked for.
    confidence
        Of all intervals, a fraction.
    warnings
        What is to be known of all rows: what was left out, what disturbed the machine.
    """

    rows: tuple[LayoutsOfSystem, ...]
    confidence: float
    warnings: tuple[AnyWarning, ...]
    _report: AnalysisReport = field(repr=False)
    _every: bool = field(repr=False)

    def __iter__(self) -> Iterator[LayoutsOfSystem]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str | tuple[str, str]) -> LayoutsOfSystem:
        return self.row(name) if isinstance(name, str) else self.row(*name)

    def row(self, benchmark: str, system: str | None = None, metric: str | None = None) -> LayoutsOfSystem:
        """The one row of a benchmark; raises `UsageError` for an unknown name, and where several rows are meant."""
        choose("benchmark", [benchmark], list(dict.fromkeys(row.benchmark for row in self.rows)))
        choose("system", [system] if system else [], list(dict.fromkeys(row.system for row in self.rows)))
        of_it = [row for row in self.rows if row.benchmark == benchmark and system in {None, row.system}]
        choose("metric", [metric] if metric else [], list(dict.fromkeys(row.metric for row in of_it)))
        found = [row for row in of_it if metric in {None, row.metric}]
        if len(found) != 1:
            named = ", ".join(f"{row.system} by {row.metric} ({row.instrument})" for row in found) or "none"
            raise UsageError(f"{benchmark} has not one row but {named}; name system and metric, or look into rows")
        return found[0]

    def document(self) -> dict[str, Any]:
        """All of it as JSON values: what `layoutrand analyse --json` prints (``layoutrand/analyse/1``)."""
        return analyse_document(self._report)

    def frame(self) -> pd.DataFrame:
        """What `analyse --csv` prints, a row for each of ``rows``; raises `ToolNotFound` without pandas."""
        rows = analysis_rows(self.document(), every=self._every)
        found: pd.DataFrame = with_pandas().DataFrame(rows)
        return found

    def text(self, columns: int = 80) -> str:
        """The first screen of `layoutrand analyse` for so many columns, without colours."""
        return as_text(self._screen(columns))

    def full(self) -> str:
        """The tables, sentences and warnings of ``analyse --full``, as Markdown."""
        from layoutrand.screens.layout_tables import show_analysis
        from layoutrand.screens.markdown_page import Markdown

        page = Markdown()
        show_analysis(self._report, page, every=self._every)
        return page.text.getvalue()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return as_html(self._screen(HTML_COLUMNS))

    def _screen(self, columns: int) -> list[Line]:
        from layoutrand.screens.layout_screen import analysis_screen

        return analysis_screen(self._report, [row.details for row in self.rows], columns)


def analysed_layouts(report: AnalysisReport, *, every: bool) -> AnalysedLayouts:
    """What there is to say of an analysis; of main metrics alone unless ``every`` one is wanted."""
    shown: Sequence[Analysis] = [each for each in report.analyses if every or each.is_primary]
    told = evidence(report.selection)
    return AnalysedLayouts(
        rows=tuple(_row(each, report, told) for each in shown),
        confidence=report.confidence,
        warnings=report.warnings,
        _report=report,
        _every=every,
    )


def _row(analysis: Analysis, report: AnalysisReport, told: Evidence) -> LayoutsOfSystem:
    concluded, found = possible(of_layouts(analysis, report.warnings), told), analysis.findings
    one = None if found is None else found.one_binary
    return LayoutsOfSystem(
        system=analysis.system,
        benchmark=analysis.benchmark,
        metric=analysis.metric,
        unit=analysis.unit,
        instrument=analysis.instrument,
        is_primary=analysis.is_primary,
        verdict=concluded.verdict,
        trust=concluded.trust,
        mean=analysis.mean,
        layout_sd=None if found is None else found.layout.sd,
        layout_at_most=None if found is None else found.layout.upper,
        noise_sd=None if found is None else found.layout.noise_sd,
        one_more=None if one is None else one.next,
        stock=None if analysis.stock is None else analysis.stock.mean,
        identity=None if analysis.identity is None else analysis.identity.mean,
        layouts=analysis.binary_means,
        n_layouts=analysis.n_binaries,
        n_executions=analysis.n_executions,
        sentence=of_analysis(analysis, report.warnings),
        conclusion=concluded,
        warnings=analysis.warnings,
        details=analysis,
    )
