"""The public surface, and the rules of the house for this package."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from layoutrand import stats

CONTRACT = {
    "Interval",
    "RepetitionPlan",
    "TestResult",
    "VarianceComponents",
    "adjust",
    "autocorrelation",
    "dacapo_warmup",
    "decide",
    "empirical_distribution",
    "five_number_summary",
    "georges_warmup",
    "hpt_test",
    "mean_interval",
    "optimal_counts",
    "plan",
    "randomization_test",
    "ratio_interval",
    "simulate",
    "suggest_warmup",
    "suite_ratio",
    "variance_components",
    "welch_test",
}
MODULES = [f"layoutrand.stats.{module.name}" for module in pkgutil.iter_modules(stats.__path__)]
SOURCES = sorted(Path(stats.__file__).parent.glob("*.py"))
FUNCTIONS = [name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))]
CLASSES = [name for name in stats.__all__ if inspect.isclass(getattr(stats, name)) and name != "StatsWarning"]


def test_all_is_exact_sorted_and_holds_the_contract():
    public = {
        name
        for name, value in vars(stats).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }

    assert set(stats.__all__) == public
    assert stats.__all__ == sorted(stats.__all__)
    assert set(stats.__all__) >= CONTRACT


def test_importing_costs_no_scipy():
    program = "import sys, layoutrand.stats; print(sorted(m for m in sys.modules if m.partition('.')[0] == 'scipy'))"

    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_intervals_need_no_scipy_stats():
    program = (
        "import sys; from layoutrand import stats; stats.mean_interval([1.0, 2.0, 4.0], method='bca');"
        "stats.ratio_interval([1.0, 2.0], [1.5, 2.0]); stats.simulate(stats.HierarchicalModel(mean=1.0, sds=(1.0,),"
        "layout='normal'), (3,)); print('scipy.stats' in sys.modules)"
    )

    assert (
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "False\n"
    )


def test_results_are_frozen_without_defaults_and_keyword_only():
    for name in CLASSES:
        kind = getattr(stats, name)
        fields = dataclasses.fields(kind)

        assert kind.__dataclass_params__.frozen, name
        assert all(
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING for field in fields
        ), name
        assert all(field.kw_only for field in fields), name


def test_every_field_of_a_result_is_documented():
    """In code font or as a line of its own; two results are described in one sentence."""
    for name in set(CLASSES) - {"Rate", "FiveNumberSummary"}:
        kind = getattr(stats, name)
        assert [field.name for field in dataclasses.fields(kind) if not _explained(field.name, kind.__doc__)] == [], (
            name
        )


def test_functions_take_at_most_two_positional_parameters_and_document_all():
    for name in FUNCTIONS:
        function = getattr(stats, name)
        parameters = inspect.signature(function).parameters.values()
        doc = inspect.getdoc(function)

        assert sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) <= 2, name
        if name != "five_number_summary":  # refers to empirical_distribution
            assert not parameters or "Parameters\n----------" in doc, name
            assert [each.name for each in parameters if not _explained(each.name, doc)] == [], name


def _explained(name, doc):
    """Whether a docstring lists the name, or has it in code font: that it is a word of the text does not count."""
    listed = [re.split(r", *", line.split(" : ")[0].strip()) for line in doc.splitlines()]
    return any(name in (word.lstrip("*") for word in words) for words in listed) or f"``{name}``" in doc


def test_modules_are_pure():
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"print", "open", "input", "exec", "eval"}, source
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                banned = {"warnings", "logging", "os", "pathlib", "random", "time", "sys", "scipy.stats"}
                assert not names & banned, source


def test_every_module_opens_with_its_purpose():
    assert [module for module in MODULES if len(importlib.import_module(module).__doc__ or "") <= 30] == []
