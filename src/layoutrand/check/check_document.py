"""The JSON document of `check`: ``layoutrand/check/1``."""

from __future__ import annotations

from functools import partial
from typing import Any

from layoutrand.analysis.conclusion_words import conclusion_json
from layoutrand.analysis.documents import compare_document, failure_json
from layoutrand.build.build_document import build_failure_json
from layoutrand.capture.checked_commits import CheckedCommit
from layoutrand.capture.function_changes import ChangedFunction, FunctionChanges
from layoutrand.check.check_words import as_built_change, layout_share
from layoutrand.check.question import CheckAnswer, CheckedBenchmark, CheckQuestion, SystemCheck, of_check
from layoutrand.text.quantities import finite
from layoutrand.warning import sentences_of


def check_document(answer: CheckAnswer) -> dict[str, Any]:
    """``layoutrand/check/1``: the commits, and each system's verdicts."""
    question = answer.question
    return {
        "schema": "layoutrand/check/1",
        "base": _commit_json(question.base),
        "head": _commit_json(question.head),
        "threshold": question.threshold,
        "confidence": question.confidence,
        "budget_s": question.budget_s,
        "most_layouts": question.most_layouts,
        "systems": [_system_json(each, question) for each in answer.systems],
        "not_checked": dict(answer.not_checked),
    }


def _commit_json(commit: CheckedCommit) -> dict[str, Any]:
    """``commit`` of a work tree with changes is one that layoutrand alone has."""
    return {"commit": commit.commit, "label": commit.label, "changed_files": commit.changed}


def _system_json(system: SystemCheck, question: CheckQuestion) -> dict[str, Any]:
    taken = partial(of_check, stopped_at=question.most_layouts if system.ending == "layouts" else None)
    return {
        "system": system.system,
        "ending": system.ending,
        "captures": [each or None for each in system.captures],
        "changes": None if system.changes is None else [_changes_json(each) for each in system.changes],
        "executed": system.executed,
        "waited_s": system.waited_s,
        "results": None if system.results is None else str(system.results),
        "benchmarks": [_benchmark_json(each) for each in system.benchmarks],
        "comparison": None if system.comparison is None else compare_document(system.comparison, taken=taken),
        "one_sided": dict(system.one_sided),
        "apart": list(system.apart),
        "failures": [failure_json(each) for each in system.failures],
        "build_failures": [build_failure_json(each) for each in system.build_failures],
        "warnings": sentences_of(system.notes),
    }


def _changes_json(found: FunctionChanges) -> dict[str, Any]:
    return {
        "artefact": found.artefact,
        "differ": [_function_json(each) for each in found.differ],
        "added": [_function_json(each) for each in found.added],
        "removed": [_function_json(each) for each in found.removed],
        "unchanged": found.unchanged,
        "data": list(found.data),
        "system_files": list(found.system),
    }


def _function_json(function: ChangedFunction) -> dict[str, Any]:
    return {"name": function.name, "bytes_before": function.before, "bytes_after": function.after}


def _benchmark_json(each: CheckedBenchmark) -> dict[str, Any]:
    ratio = None if each.pair is None else each.pair.ratio
    return {
        "benchmark": each.quantity.benchmark,
        "instrument": each.quantity.instrument,
        "metric": each.quantity.metric,
        **conclusion_json(each.concluded),
        "ratio": None if ratio is None else ratio.centre,
        "interval": None if ratio is None else [finite(ratio.low), finite(ratio.high)],
        "n_layouts": each.n_rounds,
        "settled": each.settled,
        "as_built_change": as_built_change(each),
        "as_built_layout_share": layout_share(each),
    }
