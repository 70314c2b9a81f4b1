"""The JSON documents of `run`, `analyse` and `compare`: keys may be added, never renamed.

null stands for an infinite bound, because JSON has no infinity, and for what the data cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from layoutrand.core.disturbance import Disturbed
from layoutrand.core.disturbance import summary as disturbed_benchmarks
from layoutrand.model import BuildFailure, Execution
from layoutrand.stats import Interval
from layoutrand.usecases.analyse import Analysis, AnalysisReport, Control
from layoutrand.usecases.compare import BenchmarkRatio, Comparison
from layoutrand.usecases.execute import Summary
from layoutrand.usecases.selection import Source


def run_document(summary: Summary) -> dict[str, Any]:
    """``layoutrand/run/1``."""
    return {
        "schema": "layoutrand/run/1",
        "executions": summary.total,
        "executed": summary.executed,
        "already": summary.already,
        "unbuilt": summary.unbuilt,
        "failures": [failure_json(execution) for execution in summary.failures],
        "build_failures": [build_failure_json(failure) for failure in summary.build_failures],
        "disturbed": [disturbed_json(row) for row in summary.disturbed],
        "repeated": summary.repeated,
        "results": str(summary.results),
    }


def source_json(sources: Sequence[Source]) -> dict[str, Any]:
    """Where the numbers are from: layoutrand's own results, or files that were imported."""
    if not sources:
        return {"kind": "results"}
    files = [
        {"file": source.file, "format": source.format, "systems": list(source.systems), "binary": source.binary}
        for source in sources
    ]
    return {"kind": "import", "files": files}


def failure_json(execution: Execution) -> dict[str, Any]:
    """A failed execution for reports."""
    return {
        "system": execution.system, "benchmark": execution.benchmark, "seed": execution.layout,
        "instrument": execution.instrument, "round": execution.round, "repetition": execution.repetition,
        "attempt": execution.attempt, "status": execution.status, "reason": execution.reason, "log": execution.log,
    }  # fmt: skip


def disturbed_json(row: Disturbed) -> dict[str, Any]:
    """How many executions of a benchmark were disturbed, and by what."""
    return {
        "benchmark": row.benchmark, "executions": row.executions, "disturbed": row.disturbed,
        "by": dict(row.by), "systems": dict(row.systems),
        "examples": dict(row.examples),
    }  # fmt: skip


def build_failure_json(failure: BuildFailure) -> dict[str, Any]:
    """A failed binary for reports."""
    return {
        "system": failure.system, "artefact": failure.artefact, "seed": failure.layout, "error": failure.error,
        "log": None if failure.log is None else str(failure.log),
    }  # fmt: skip


def analyse_document(report: AnalysisReport) -> dict[str, Any]:
    """``layoutrand/analyse/1``; null stands for infinite bounds and for what the data cannot tell."""
    return {
        "schema": "layoutrand/analyse/1",
        "source": source_json(report.selection.sources),
        "confidence": report.confidence,
        "benchmarks": [_analysis_json(analysis) for analysis in report.analyses],
        "failures": [failure_json(execution) for execution in report.selection.failures],
        "disturbed": [disturbed_json(row) for row in disturbed_benchmarks(report.selection.executions)],
        "build_failures": [build_failure_json(failure) for failure in report.selection.build_failures],
        "warnings": list(report.warnings),
    }


def compare_document(comparison: Comparison) -> dict[str, Any]:
    """``layoutrand/compare/1``."""
    suite = comparison.suite
    return {
        "schema": "layoutrand/compare/1",
        "baseline": comparison.baseline, "candidate": comparison.candidate,
        "source": source_json(comparison.sources),
        "confidence": comparison.confidence, "threshold": comparison.threshold,
        "benchmarks": [_pair_json(pair) for pair in comparison.benchmarks],
        "suite": None if suite is None else {
            "ratio": suite.ratio.centre, **interval_json(suite.ratio), "p_value": suite.p_value,
            "verdict": suite.verdict, "n_benchmarks": suite.n_benchmarks,
            "paired": None if suite.paired is None else {"ratio": suite.paired.centre, **interval_json(suite.paired)},
            "warnings": list(suite.ratio.warnings),
        },
        "only_baseline": list(comparison.only_baseline), "only_candidate": list(comparison.only_candidate),
        "failures": [failure_json(execution) for execution in comparison.failures],
        "disturbed": [disturbed_json(row) for row in comparison.disturbed],
        "build_failures": [build_failure_json(failure) for failure in comparison.build_failures],
        "warnings": list(comparison.warnings),
    }  # fmt: skip


def _pair_json(pair: BenchmarkRatio) -> dict[str, Any]:
    return {
        "benchmark": pair.benchmark, "instrument": pair.instrument, "metric": pair.metric, "unit": pair.unit,
        "better": pair.better,
        "ratio": None if pair.ratio is None else pair.ratio.centre,
        **(dict.fromkeys(_INTERVAL_KEYS) if pair.ratio is None else interval_json(pair.ratio)),
        "verdict": pair.verdict,
        "baseline": {"mean": pair.baseline_mean, f"n_{pair.counted}": pair.n_baseline},
        "candidate": {"mean": pair.candidate_mean, f"n_{pair.counted}": pair.n_candidate},
        "paired": None if pair.paired is None else {
            "ratio": pair.paired.centre, **interval_json(pair.paired), "n_pairs": pair.n_pairs,
            "correlation": finite(pair.correlation), "variance_reduction": pair.variance_reduction,
        },
        "warnings": list(pair.warnings),
    }  # fmt: skip


_INTERVAL_KEYS = ("interval", "confidence", "half_width", "relative_half_width", "method")


def interval_json(interval: Interval) -> dict[str, Any]:
    """The keys that every interval has in JSON."""
    return {
        "interval": [finite(interval.low), finite(interval.high)],
        "confidence": interval.confidence,
        "half_width": finite(interval.half_width),
        "relative_half_width": finite(interval.relative_half_width),
        "method": interval.method,
    }


def finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


def _analysis_json(analysis: Analysis) -> dict[str, Any]:
    means = [mean for _, mean in analysis.binary_means]
    return {
        "system": analysis.system, "benchmark": analysis.benchmark, "instrument": analysis.instrument,
        "metric": analysis.metric, "unit": analysis.unit,
        "primary": analysis.is_primary, "n_binaries": analysis.n_binaries, "n_executions": analysis.n_executions,
        "n_iterations": analysis.n_iterations, "mean": analysis.mean.centre, **interval_json(analysis.mean),
        "range": [min(means), max(means)],
        "binaries": [{"seed": seed, "mean": mean} for seed, mean in analysis.binary_means],
        "levels": [vars(level) for level in analysis.levels],
        "collapsed": list(analysis.collapsed),
        "layout": None if analysis.layout is None else vars(analysis.layout),
        "stock": _control_json(analysis.stock), "identity": _control_json(analysis.identity),
        "warnings": list(analysis.warnings),
    }  # fmt: skip


def _control_json(control: Control | None) -> dict[str, Any] | None:
    if control is None:
        return None
    shift = control.shift
    return {
        "n_executions": control.n_executions, "mean": control.mean, "sd": control.sd,
        "percentile": control.percentile,
        "shift": None if shift is None else {"ratio": shift.centre, **interval_json(shift)},
        "warnings": list(control.warnings),
    }  # fmt: skip
