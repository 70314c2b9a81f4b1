"""The JSON documents of `run`, `analyse` and `compare`: keys may be added; CHANGELOG.md names those that change.

null stands for an infinite bound, because JSON has no infinity, and for what the data cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from layoutrand.analysis.aa import Halves, aa_document
from layoutrand.analysis.analyse import Analysis, AnalysisReport, Control
from layoutrand.analysis.compare import BenchmarkRatio, Comparison
from layoutrand.analysis.compared_suite import SuiteRatio
from layoutrand.analysis.comparison_document import comparison_json, interval_json
from layoutrand.analysis.conclusion import Conclusion, of_layouts, of_pair, of_suite, possible, stated
from layoutrand.analysis.conclusion_words import conclusion_json, layout_conclusion_json
from layoutrand.analysis.display_names import labels_json
from layoutrand.analysis.evidence import Evidence, evidence, evidence_json
from layoutrand.analysis.findings import Findings
from layoutrand.analysis.forecasting import forecast_json
from layoutrand.analysis.machine import MachineFinding
from layoutrand.analysis.node_document import node_table_json, sample_nodes_json
from layoutrand.analysis.selection import Source
from layoutrand.analysis.suite_warnings import NoSuiteBootstrap
from layoutrand.analysis.variation import variation_json
from layoutrand.build.build_document import build_failure_json
from layoutrand.config.disturbance import Disturbed
from layoutrand.model import Execution
from layoutrand.stats import Interval
from layoutrand.text.quantities import finite
from layoutrand.version import __version__
from layoutrand.warning import sentences_of

if TYPE_CHECKING:  # results are shown without all that executes
    from layoutrand.execute.run_progress import Summary


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
        "too_short": [{"benchmark": each.benchmark, "seconds": each.seconds} for each in summary.too_short],
        "unlike_outputs": [each.document() for each in summary.unlike_outputs],
        "changed_inputs": [each.document() for each in summary.changed_inputs],
        "measuring_themselves": [each.document() for each in summary.measuring_themselves],
        "not_executed": [each.document() for each in summary.not_executed],
        "failed_cases": [each.document() for each in summary.failed_cases],
        "nodes": list(summary.nodes),
        "waiting": summary.waiting,
        "refusals": list(summary.refusals),
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
        "system": execution.system,
        "benchmark": execution.benchmark,
        "seed": execution.layout,
        "instrument": execution.instrument,
        "round": execution.round,
        "repetition": execution.repetition,
        "attempt": execution.attempt,
        "status": execution.status,
        "reason": execution.reason,
        "log": execution.log,
        "node": execution.node,
    }


def disturbed_json(row: Disturbed) -> dict[str, Any]:
    """How many executions of a benchmark were disturbed, and by what."""
    return {
        "benchmark": row.benchmark,
        "executions": row.executions,
        "disturbed": row.disturbed,
        "disturbed_failed": row.failed,
        "by": dict(row.by),
        "systems": dict(row.systems),
        "examples": dict(row.examples),
    }


def analyse_document(report: AnalysisReport) -> dict[str, Any]:
    """``layoutrand/analyse/1``; null stands for infinite bounds and for what the data cannot tell."""
    told = evidence(report.selection)
    return {
        "schema": "layoutrand/analyse/1",
        "version": __version__,
        "source": source_json(report.selection.sources),
        "labels": labels_json(report.selection.names),
        "evidence": evidence_json(told),
        "confidence": report.confidence,
        "nodes": node_table_json(report.nodes),
        "benchmarks": [_analysis_json(analysis, report, told) for analysis in report.analyses],
        "failures": [failure_json(execution) for execution in report.selection.failures],
        "disturbed": [disturbed_json(row) for row in report.disturbed],
        "build_failures": [build_failure_json(failure) for failure in report.selection.build_failures],
        "warnings": sentences_of(report.warnings),
    }


def compare_document(
    comparison: Comparison, *, taken: Callable[[Conclusion], Conclusion] = lambda each: each
) -> dict[str, Any]:
    """``layoutrand/compare/1``: two systems; ``taken`` has steps as they can be taken."""
    suite, concluded = comparison.suite, of_suite(comparison)
    return {
        "schema": "layoutrand/compare/1",
        "version": __version__,
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "source": source_json(comparison.sources),
        "labels": labels_json(comparison.names),
        "evidence": None if comparison.evidence is None else evidence_json(comparison.evidence),
        "confidence": comparison.confidence,
        "threshold": comparison.threshold,
        "nodes": node_table_json(comparison.nodes),
        "benchmarks": [_pair_json(comparison, pair, taken) for pair in comparison.benchmarks],
        "suite": None
        if suite is None
        else {
            "ratio": suite.ratio.centre,
            **interval_json(suite.ratio),
            "p_value": suite.p_value,
            "verdict": None if concluded is None else stated(concluded.verdict),
            **conclusion_json(None if concluded is None else possible(concluded, comparison.evidence)),
            "n_benchmarks": suite.n_benchmarks,
            "same_program": [pair.benchmark for pair in comparison.benchmarks if pair.same_program is not None],
            "paired": None if suite.paired is None else {"ratio": suite.paired.centre, **interval_json(suite.paired)},
            "warnings": sentences_of(suite.ratio.warnings),
            **_suite_json(suite),
        },
        "only_baseline": list(comparison.only_baseline),
        "only_candidate": list(comparison.only_candidate),
        "failures": [failure_json(execution) for execution in comparison.failures],
        "disturbed": [disturbed_json(row) for row in comparison.disturbed],
        "build_failures": [build_failure_json(failure) for failure in comparison.build_failures],
        "warnings": sentences_of(comparison.warnings),
    }


def comparisons_document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """``layoutrand/compare/1`` for one comparison; for several ``comparisons`` holds such a document for each."""
    if len(comparisons) == 1:
        return compare_document(comparisons[0])
    first = comparisons[0]
    return {
        "schema": "layoutrand/compare/1",
        "version": __version__,
        "baseline": first.baseline,
        "candidates": [each.candidate for each in comparisons],
        "source": source_json(first.sources),
        "labels": labels_json(first.names),
        "confidence": first.confidence,
        "threshold": first.threshold,
        "comparisons": [compare_document(each) for each in comparisons],
    }


def halves_document(halves: Halves) -> dict[str, Any]:
    """``layoutrand/compare/1`` of a system against itself, and what else its results tell of that."""
    return {
        **compare_document(halves.comparison),
        "aa": {
            "system": halves.system,
            "sides": halves.sides,
            "baseline_seeds": list(halves.first),
            "candidate_seeds": list(halves.second),
            "noise_floor": aa_document(halves.noise),
        },
    }


def _suite_json(suite: SuiteRatio) -> dict[str, Any]:
    return {
        "no_bootstrap": str(suite.bootstrap) if isinstance(suite.bootstrap, NoSuiteBootstrap) else None,
        "bootstrap": None
        if not isinstance(suite.bootstrap, Interval)
        else {
            "ratio": suite.bootstrap.centre,
            **interval_json(suite.bootstrap),
            "warnings": sentences_of(suite.bootstrap.warnings),
        },
        "distribution": None
        if suite.distributions is None
        else {
            "unit": suite.unit,
            "baseline": vars(suite.distributions[0]),
            "candidate": vars(suite.distributions[1]),
        },
    }


def _sureness_json(pair: BenchmarkRatio, concluded: Conclusion) -> dict[str, Any]:
    """p-values, the verdict beside all others, what one binary would have shown, and how many would decide."""
    sure = pair.sureness
    return {
        "p_value": None if sure is None else sure.no_difference,
        "p_value_holm": None if sure is None else sure.no_difference_holm,
        "verdict_p_value": None if sure is None else sure.decision,
        "verdict_p_value_holm": None if sure is None else sure.decision_holm,
        "verdict_holm": stated(concluded.beside),
        "n_judged": None if sure is None else sure.n_judged,
        "measured_pairs": None if pair.measured_pairs is None else vars(pair.measured_pairs),
        "to_decide": forecast_json(pair.forecast),
    }


def _pair_json(
    comparison: Comparison, pair: BenchmarkRatio, taken: Callable[[Conclusion], Conclusion]
) -> dict[str, Any]:
    concluded = possible(taken(of_pair(comparison, pair)), comparison.evidence)
    return {
        "benchmark": pair.benchmark,
        "instrument": pair.instrument,
        "metric": pair.metric,
        "unit": pair.unit,
        "better": pair.better,
        "ratio": None if pair.ratio is None else pair.ratio.centre,
        **(dict.fromkeys(_INTERVAL_KEYS) if pair.ratio is None else interval_json(pair.ratio)),
        "verdict": stated(concluded.verdict),
        **conclusion_json(concluded),
        "baseline": _side_json(pair, 0, pair.baseline_mean, pair.n_baseline),
        "candidate": _side_json(pair, 1, pair.candidate_mean, pair.n_candidate),
        "paired": None
        if pair.paired is None
        else {
            "ratio": pair.paired.centre,
            **interval_json(pair.paired),
            "n_pairs": pair.n_pairs,
            "correlation": finite(pair.correlation),
            "variance_reduction": pair.variance_reduction,
            "verdict": pair.paired_verdict if pair.same_program is None else stated(concluded.verdict),
        },
        **comparison_json(pair, concluded),
        **_sureness_json(pair, concluded),
        "warnings": sentences_of(pair.warnings),
    }


def _side_json(pair: BenchmarkRatio, side: int, mean: float, count: int) -> dict[str, Any]:
    """Baseline (0) or candidate (1): binaries where it has layouts, executions where one of the two has one alone."""
    binaries = {} if pair.one_layout[side] else {"n_binaries": count}
    executions = {"n_executions": pair.n_executions[side]} if any(pair.one_layout) else {}
    return {"mean": mean, **binaries, **executions, "counted": pair.counted[side]}


_INTERVAL_KEYS = ("interval", "confidence", "half_width", "relative_half_width", "method")


def _analysis_json(analysis: Analysis, report: AnalysisReport, told: Evidence) -> dict[str, Any]:
    means = [mean for _, mean in analysis.binary_means]
    return {
        "system": analysis.system,
        "benchmark": analysis.benchmark,
        "instrument": analysis.instrument,
        "metric": analysis.metric,
        "unit": analysis.unit,
        "primary": analysis.is_primary,
        **layout_conclusion_json(possible(of_layouts(analysis, report.warnings), told)),
        "n_binaries": analysis.n_binaries,
        "n_executions": analysis.n_executions,
        "n_iterations": analysis.n_iterations,
        "mean": analysis.mean.centre,
        **interval_json(analysis.mean),
        "measured_range": [min(means), max(means)],
        "binaries": [{"seed": seed, "mean": mean} for seed, mean in analysis.binary_means],
        "levels": _levels_json(analysis),
        "what_varies": variation_json(analysis),
        "collapsed": list(analysis.collapsed),
        "layout": None if analysis.layout is None else vars(analysis.layout),
        "stock": _control_json(analysis.stock),
        "identity": _control_json(analysis.identity),
        **_findings_json(analysis.findings),
        "nodes": sample_nodes_json(analysis.nodes),
        "warnings": sentences_of(analysis.warnings),
    }


def _levels_json(analysis: Analysis) -> list[dict[str, Any]]:
    sds = analysis.findings.relative_sds if analysis.findings else (None,) * len(analysis.levels)
    top = analysis.node_level
    nodes = [] if top is None else [{**vars(top), "relative_sd_interval": None, "relative_sd_method": None}]
    return nodes + [
        {
            **vars(level),
            "relative_sd_interval": None if sd is None else [finite(sd.low), finite(sd.high)],
            "relative_sd_method": None if sd is None else sd.method,
        }
        for level, sd in zip(analysis.levels, sds, strict=True)
    ]


def _findings_json(found: Findings | None) -> dict[str, Any]:
    if found is None:
        return {}
    share, shape, one = found.correlation, found.shape, found.one_binary
    return {
        "layout_relative_sd_interval": None
        if found.layout_sd is None
        else [finite(found.layout_sd.low), finite(found.layout_sd.high)],
        "intraclass_correlation": None
        if share is None
        else {
            "value": share.centre,
            **interval_json(share),
            "warnings": sentences_of(share.warnings),
        },
        "layout_test": None if found.test is None else vars(found.test),
        "layout_matters": found.layout.answer,
        "layout_relative_sd_upper": finite(found.layout.upper),
        "short_run": found.short_run,
        "could_miss": found.could_miss,
        "median": None if found.median is None else {"value": found.median.centre, **interval_json(found.median)},
        "skewness": {"value": shape.skewness, "p_value": shape.skewness_p_value},
        "outliers": [{"seed": o.binary, "mean": o.mean, "score": o.score} for o in shape.outliers],
        "outlier_limit": shape.limit,
        "modality": None
        if shape.dip is None
        else {
            "dip": shape.dip,
            "p_value": shape.dip_p_value,
            "several_peaks": None if shape.of_machine else shape.has_several_peaks,
        },
        "drift": None if found.drift is None else {**vars(found.drift), "found": found.drift.is_found},
        "machine": _machine_json(found.machine),
        "one_binary": None
        if one is None
        else {
            "measured_lowest": one.lowest,
            "measured_highest": one.highest,
            "measured_pairs": None if one.comparison is None else vars(one.comparison),
            "next": interval_json(one.next),
        },
        "needed": vars(found.needed),
    }


def _machine_json(machine: MachineFinding | None) -> dict[str, Any] | None:
    """Null where the order of executions is not known, or they are few; no regimes where the machine had one level."""
    if machine is None or machine.state is None:
        return None
    found = machine.alternation
    return {
        "changed": machine.state.follows_time,
        "p_value": machine.state.p_value,
        "n_executions": machine.state.n_executions,
        "regimes": []
        if found is None
        else [{"level": level, "executions": n} for level, n in zip(found.levels, found.counts, strict=True)],
        "of": None if found is None else found.binary,
        "changes": machine.state.n_changes,
        "node": machine.state.node or None,
        "share": None if found is None else found.share,
        "instead_of_layout": machine.instead_of_layout,
    }


def _control_json(control: Control | None) -> dict[str, Any] | None:
    if control is None:
        return None
    shift = control.shift
    return {
        "n_executions": control.n_executions,
        "mean": control.mean,
        "sd": control.sd,
        "percentile": control.percentile,
        "shift": None if shift is None else {"ratio": shift.centre, **interval_json(shift)},
        "warnings": sentences_of(control.warnings),
    }
