"""The public surface, and the rules of the house for this package."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", CLASSES)
def test_results_are_frozen_without_defaults_and_keyword_only(name):
    kind = getattr(stats, name)
    fields = dataclasses.fields(kind)

    assert kind.__dataclass_params__.frozen
    assert all(
        field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING for field in fields
    )
    assert all(field.kw_only for field in fields)
    assert kind.__doc__


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_of_a_result_is_documented(name):
    kind = getattr(stats, name)
    if name in ("Rate", "FiveNumberSummary"):  # described in one sentence
        return

    for field in dataclasses.fields(kind):
        assert field.name in kind.__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_at_most_two_positional_parameters_and_document_all(name):
    function = getattr(stats, name)
    parameters = inspect.signature(function).parameters.values()
    doc = inspect.getdoc(function)

    assert sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) <= 2
    if name != "five_number_summary":  # refers to empirical_distribution
        assert not parameters or "Parameters\n----------" in doc
        for parameter in parameters:
            assert parameter.name in doc, parameter.name


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_modules_and_functions_stay_small_and_pure(source):
    text = source.read_text()
    tree = ast.parse(text)

    assert len(text.splitlines()) <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            assert node.end_lineno - first.lineno < 70, node.name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "open", "input", "exec", "eval"}
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            assert not names & {"warnings", "logging", "os", "pathlib", "random", "time", "sys", "scipy.stats"}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_opens_with_its_purpose(module):
    assert len(importlib.import_module(module).__doc__) > 30
