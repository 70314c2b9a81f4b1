"""Binaries x executions x iterations with 1 at any level: run, analyse and compare, and say what the data cannot tell."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from executekit import Project
from experiments import selected
from fakes import make_binary, make_config
from layoutrand.analysis.aa import compare_with_itself
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.documents import analyse_document, compare_document
from layoutrand.analysis.plan import make_plans
from layoutrand.analysis.plan_document import plan_document
from layoutrand.analysis.stopping import widths
from layoutrand.cli.terminal import Terminal
from layoutrand.errors import AnalysisError
from layoutrand.screens.comparison_tables import show_comparison
from layoutrand.screens.layout_tables import show_analysis
from layoutrand.screens.plan_tables import show_plans

SHAPES = list(itertools.product((1, 3), (1, 2), (1, 4)))
CONTROLS = [(), ("stock",), ("stock", "identity")]


def executed(tmp_path, shape, controls, *, constant=False):
    """Selections and configuration of an experiment of this shape, through `execute` and the results file."""
    n_binaries, n_executions, n_iterations = shape
    metric = "metric = { regex = 't (\\S+)', name = 'time', unit = 'ms' }"
    config = make_config(
        f'[[benchmarks]]\nname = "b"\ncommand = ["{{artefact}}"]\n{metric}\n', run=f"executions = {n_executions}"
    )
    project = Project(tmp_path)
    binaries = []
    for system, factor in (("a", 1.0), ("b", 1.5)):
        for layout in (*range(1, n_binaries + 1), *controls):
            place = layout if isinstance(layout, int) else 9
            values = [factor * (10 if constant else 10 + place + 0.1 * k) for k in range(n_iterations)]
            script = "".join(f"print t {value}\n" for value in values)
            binaries.append(make_binary(tmp_path / "cache", system, layout, f"{script}# {system} {layout}\n"))
    project.run(config, binaries)
    return selected(config, project.path)


def checked_json(document):
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.parametrize("controls", CONTROLS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_is_analysed(tmp_path, shape, controls, capsys):
    report = analyse(selected_ := executed(tmp_path, shape, controls), confidence=0.95, metrics=["time"])
    show_analysis(report, Terminal(json=False, quiet=False), every=True)
    document = checked_json(analyse_document(report))
    n_binaries, n_executions, n_iterations = shape
    for benchmark in document["benchmarks"]:
        assert benchmark["n_binaries"] == n_binaries
        assert benchmark["n_executions"] == n_binaries * n_executions
        assert benchmark["n_iterations"] == n_binaries * n_executions * n_iterations
        # A level of one has no variance, which is not the same as one that varies by nothing.
        ones = [level for level, n in (("execution", n_executions), ("iteration", n_iterations)) if n == 1]
        assert benchmark["collapsed"] == ones
        assert [level["level"] for level in benchmark["levels"]] == [
            level for level in ("binary", "execution", "iteration") if level not in ones
        ]
        assert (benchmark["interval"] == [None, None]) == (n_binaries == 1)
        if n_binaries == 1:
            assert any("1 binary" in warning or "one binary" in warning for warning in benchmark["warnings"])
            assert benchmark["levels"][0]["biased_variance"] is None
            assert benchmark["layout"] is None
        for name in controls:
            control = benchmark[name]
            assert (control["shift"] is None) == (n_binaries == 1 or control["n_executions"] == 1)
            assert (control["shift"] is not None) or control["warnings"]
    assert widths(selected_, confidence=0.95)[0].n_binaries == n_binaries
    shown = capsys.readouterr().out
    assert not re.search(r"\b(nan|inf)\b", shown)
    assert ("without bounds" in shown) == (shape[0] == 1)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_is_compared(tmp_path, shape, constant, capsys):
    selection = executed(tmp_path, shape, ("stock",), constant=constant)
    result = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    show_comparison(result, Terminal(json=False, quiet=False))
    (benchmark,) = checked_json(compare_document(result))["benchmarks"]
    assert benchmark["ratio"] == pytest.approx(1.5)
    if shape[0] == 1:
        assert (benchmark["interval"], benchmark["verdict"]) == ([None, None], "undecided")
        assert benchmark["paired"] is None
        assert any("1 binary" in warning or "one binary" in warning for warning in benchmark["warnings"])
    else:
        assert None not in benchmark["interval"]
        assert benchmark["verdict"] == "slower"
    shown = capsys.readouterr().out
    assert not re.search(r"\b(nan|inf)\b", shown)
    assert ("without bounds" in shown) == (shape[0] == 1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_shape_is_planned_from_or_refused_with_what_to_do(tmp_path, shape):
    selection = executed(tmp_path, shape, ("stock",))
    options = {"half_widths": [0.01], "threshold": 0.01, "confidence": 0.95}
    if shape[0] == 1:
        with pytest.raises(AnalysisError, match="at least 2 binaries per benchmark"):
            make_plans(selection, {}, **options)
        return
    plans = make_plans(selection, {}, **options)
    show_plans(plans, Terminal(json=False, quiet=False))
    assert checked_json(plan_document(plans, confidence=0.95))["benchmarks"][0]["n_binaries"] == 3


def test_a_system_compared_with_itself_needs_four_binaries(tmp_path):
    with pytest.raises(AnalysisError, match="at least 4 binaries"):
        compare_with_itself(executed(tmp_path, (3, 2, 4), ()), confidence=0.95)
