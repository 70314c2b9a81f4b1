"""What `layoutrand analyse` says of what `explain` and `predict` look at."""

from __future__ import annotations

from layoutrand.analysis.analyse import Analysis, AnalysisReport, analyse
from layoutrand.analysis.sample import Sample
from layoutrand.analysis.selection import Selection


def as_analysed(sample: Sample, selection: Selection, confidence: float) -> Analysis | None:
    """The analysis of a sample beside all others of its metric; None where nothing was measured."""
    return of_system(analyse(selection, confidence=confidence, metrics=[sample.metric]), sample, sample.system)


def of_system(report: AnalysisReport, sample: Sample, system: str) -> Analysis | None:
    """The analysis of the sample's benchmark and metric in a system; None where nothing was measured."""
    wanted = (system, sample.benchmark, sample.metric)
    return next((each for each in report.analyses if (each.system, each.benchmark, each.metric) == wanted), None)
