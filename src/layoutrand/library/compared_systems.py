"""What `Results.compare` gives: a verdict for each benchmark, with what `layoutrand compare` shows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layoutrand.analysis.conclusion import Conclusion, Trust, Verdict, of_pair, of_suite, possible
from layoutrand.analysis.conclusion_words import is_speed, verdict_words
from layoutrand.analysis.sentences import of_ratio
from layoutrand.config.config import choose
from layoutrand.config.metric import Better
from layoutrand.errors import UsageError
from layoutrand.library.sample_rows import with_pandas
from layoutrand.library.shown_text import HTML_COLUMNS, as_html, as_text
from layoutrand.stats import Interval
from layoutrand.text.flat import comparison_rows
from layoutrand.text.quantities import ratio_words
from layoutrand.warning import AnyWarning

if TYPE_CHECKING:
    import pandas as pd

    from layoutrand.analysis.aa import SelfComparison
    from layoutrand.analysis.compare import BenchmarkRatio, Comparison
    from layoutrand.analysis.selection import Selection


@dataclass(frozen=True, repr=False)
class BenchmarkVerdict:
    """What is concluded from one benchmark, or one metric of it, of two systems.

    Attributes
    ----------
    baseline, candidate, benchmark, metric, unit, instrument, better
        What was compared, by what; the means are in ``unit``.
    verdict
        Of the candidate: ``"faster"``, ``"slower"``, ``"same"`` (within the threshold), ``"cannot tell"`` or
        ``"same program"``.  Where more is better, more is called faster.
    beside
        The verdict that stands beside all that are given at once (Holm), else ``"cannot tell"``.
    trust
        ``"doubtful"`` where something casts doubt on the numbers, else ``"sound"``.
    ratio
        Candidate over baseline, with its interval: by round the geometric mean of the rounds' ratios, else the quotient
        of the two means; None where there is none.
    baseline_mean, candidate_mean
        The means over layouts.
    n_baseline, n_candidate
        Layouts behind them; executions, of a system that has one layout alone.
    sentence
        All of it in words that can be quoted.
    conclusion
        The verdict with its reasons and the next steps, as the commands have it.
    warnings
        Everything found about these numbers; ``str()`` of one is a sentence.
    details
        The value that the tables of ``compare --full`` are made from; its fields may change.
    """

    baseline: str
    candidate: str
    benchmark: str
    metric: str
    unit: str
    instrument: str
    better: Better
    verdict: Verdict
    beside: Verdict
    trust: Trust
    ratio: Interval | None
    baseline_mean: float
    candidate_mean: float
    n_baseline: int
    n_candidate: int
    sentence: str
    conclusion: Conclusion
    warnings: tuple[AnyWarning, ...]
    details: BenchmarkRatio

    def __repr__(self) -> str:
        how = "no ratio" if self.ratio is None else _in_figures(self.ratio)
        doubt = ", doubtful" if self.trust == "doubtful" else ""
        said = verdict_words(self.verdict, 0, of_speed=is_speed(self.details))
        return f"<{self.benchmark} {self.metric}, {self.candidate} against {self.baseline}: {said}, {how}{doubt}>"


@dataclass(frozen=True, repr=False)
class SuiteVerdict:
    """What is concluded from the geometric mean over the benchmarks; attributes as in `BenchmarkVerdict`."""

    baseline: str
    candidate: str
    n_benchmarks: int
    verdict: Verdict
    trust: Trust
    ratio: Interval
    conclusion: Conclusion

    def __repr__(self) -> str:
        whose = f"geometric mean of {self.n_benchmarks}, {self.candidate} against {self.baseline}"
        return f"<{whose}: {self.verdict}, {_in_figures(self.ratio)}>"


@dataclass(frozen=True, repr=False)
class ComparedSystems:
    """One or more candidates against a baseline: rows, and by itself the first screen of `layoutrand compare`.

    Iterating gives the rows, ``compared["parse"]`` the row of a benchmark.

    Attributes
    ----------
    baseline, candidates
        Names of the systems.
    rows
        One for each candidate and benchmark.
    suites
        One for each candidate, where there are several benchmarks and a ratio of them.
    threshold, confidence
        Fractions: within 1 +- threshold is the same; confidence of all intervals.
    warnings
        What is to be known of all rows: what was left out, what disturbed the machine.
    """

    baseline: str
    candidates: tuple[str, ...]
    rows: tuple[BenchmarkVerdict, ...]
    suites: tuple[SuiteVerdict, ...]
    threshold: float
    confidence: float
    warnings: tuple[AnyWarning, ...]
    _comparisons: tuple[Comparison, ...] = field(repr=False)
    _selection: Selection = field(repr=False)
    _document: dict[str, Any] = field(repr=False, compare=False)
    _selves: tuple[SelfComparison, ...] = field(repr=False)

    def __iter__(self) -> Iterator[BenchmarkVerdict]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, benchmark: str) -> BenchmarkVerdict:
        return self.row(benchmark)

    def row(self, benchmark: str, candidate: str | None = None, metric: str | None = None) -> BenchmarkVerdict:
        """The one row of a benchmark; raises `UsageError` for an unknown name, and where several rows are meant."""
        choose("benchmark", [benchmark], list(dict.fromkeys(row.benchmark for row in self.rows)))
        choose("candidate", [candidate] if candidate else [], list(self.candidates))
        of_it = [row for row in self.rows if row.benchmark == benchmark and candidate in {None, row.candidate}]
        choose("metric", [metric] if metric else [], list(dict.fromkeys(row.metric for row in of_it)))
        found = [row for row in of_it if metric in {None, row.metric}]
        if len(found) > 1:
            named = ", ".join(f"{row.candidate} by {row.metric} ({row.instrument})" for row in found)
            raise UsageError(f"{benchmark} has several rows: {named}; name candidate and metric, or look into rows")
        return found[0]

    def document(self) -> dict[str, Any]:
        """All of it as JSON values: what `layoutrand compare --json` prints (``layoutrand/compare/1``)."""
        return self._document

    def frame(self) -> pd.DataFrame:
        """What `compare --csv` prints, a row for each benchmark and suite; raises `ToolNotFound` without pandas."""
        found: pd.DataFrame = with_pandas().DataFrame(comparison_rows(self._document))
        return found

    def text(self, columns: int = 80) -> str:
        """The first screen of `layoutrand compare` for so many columns, without colours."""
        from layoutrand.screens.comparison_screen import comparison_screen

        return as_text(comparison_screen(self._comparisons, self._selection, columns, self._selves))

    def full(self) -> str:
        """The tables, sentences and warnings of ``compare --full``, as Markdown."""
        from layoutrand.screens.comparison_tables import show_comparisons
        from layoutrand.screens.layout_tables import show_selection_problems
        from layoutrand.screens.markdown_page import Markdown
        from layoutrand.screens.self_comparison import show_beside

        page = Markdown()
        show_comparisons(self._comparisons, page)
        show_beside(self._selves, self.confidence, page)
        show_selection_problems(self._selection, self.warnings, page)
        return page.text.getvalue()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from layoutrand.screens.comparison_screen import comparison_screen

        return as_html(comparison_screen(self._comparisons, self._selection, HTML_COLUMNS, self._selves))


def compared_systems(
    comparisons: Sequence[Comparison],
    selection: Selection,
    document: dict[str, Any],
    selves: Sequence[SelfComparison] = (),
) -> ComparedSystems:
    """What there is to say of these comparisons, which have one baseline; ``selves`` of systems executed twice."""
    first = comparisons[0]
    return ComparedSystems(
        baseline=first.baseline,
        candidates=tuple(each.candidate for each in comparisons),
        rows=tuple(_row(result, pair) for result in comparisons for pair in result.benchmarks),
        suites=tuple(found for result in comparisons if (found := _suite(result)) is not None),
        threshold=first.threshold,
        confidence=first.confidence,
        warnings=tuple(dict.fromkeys(warning for result in comparisons for warning in result.warnings)),
        _comparisons=tuple(comparisons),
        _selection=selection,
        _document=document,
        _selves=tuple(selves),
    )


def _row(result: Comparison, pair: BenchmarkRatio) -> BenchmarkVerdict:
    concluded = possible(of_pair(result, pair), result.evidence)
    return BenchmarkVerdict(
        baseline=result.baseline,
        candidate=result.candidate,
        benchmark=pair.benchmark,
        metric=pair.metric,
        unit=pair.unit,
        instrument=pair.instrument,
        better=pair.better,
        verdict=concluded.verdict,
        beside=concluded.beside,
        trust=concluded.trust,
        ratio=pair.ratio,
        baseline_mean=pair.baseline_mean,
        candidate_mean=pair.candidate_mean,
        n_baseline=pair.n_baseline,
        n_candidate=pair.n_candidate,
        sentence=of_ratio(result, pair),
        conclusion=concluded,
        warnings=pair.warnings,
        details=pair,
    )


def _suite(result: Comparison) -> SuiteVerdict | None:
    suite, concluded = result.suite, of_suite(result)
    if suite is None or concluded is None or suite.n_benchmarks < 2:
        return None
    return SuiteVerdict(
        baseline=result.baseline,
        candidate=result.candidate,
        n_benchmarks=suite.n_benchmarks,
        verdict=concluded.verdict,
        trust=concluded.trust,
        ratio=suite.ratio,
        conclusion=possible(concluded, result.evidence),
    )


def _in_figures(ratio: Interval) -> str:
    return " ".join(ratio_words(ratio.centre, ratio.low, ratio.high))
