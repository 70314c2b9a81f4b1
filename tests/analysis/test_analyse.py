from __future__ import annotations

import json
import math

import pytest

from experiments import execution, measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.documents import analyse_document
from layoutrand.errors import AnalysisError, UnknownMetric
from layoutrand.model import BuildFailure, Measurement
from warningkit import said

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = make_config(BENCHMARK, systems=("a",))
REPORT = {1: [[9, 5], [8, 3]], 2: [[10, 6], [7, 11]], 3: [[1, 12], [2, 4]]}


def analysis_of(tmp_path, data, **changes):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", data))
    report = analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[], **changes)
    document = analyse_document(report)
    json.dumps(document, allow_nan=False)
    (analysis,) = document["benchmarks"]
    return analysis


def test_the_technical_reports_three_level_example(tmp_path):
    """TR 4-12, table "Example Data (Three-level)"."""
    analysis = analysis_of(tmp_path, REPORT)
    assert (analysis["n_binaries"], analysis["n_executions"], analysis["n_iterations"]) == (3, 6, 12)
    assert analysis["mean"] == 6.5
    levels = {level["level"]: level for level in analysis["levels"]}
    assert list(levels) == ["binary", "execution", "iteration"]
    assert [levels[k]["biased_variance"] for k in levels] == pytest.approx([3.5625, 2.58333, 16.5], rel=1e-5)
    assert [levels[k]["unbiased_variance"] for k in levels] == pytest.approx([2.27083, -5.66667, 16.5], rel=1e-5)
    assert levels["execution"]["relative_sd"] == 0
    assert analysis["half_width"] == pytest.approx(4.68871, rel=1e-5)
    assert analysis["interval"] == pytest.approx([6.5 - 4.68871, 6.5 + 4.68871], rel=1e-5)
    assert analysis["collapsed"] == []
    assert analysis["layout"] == {
        "variance": pytest.approx(2.27083, rel=1e-5),
        "relative_sd": pytest.approx(math.sqrt(2.27083) / 6.5, rel=1e-5),
        "method": "levels",
    }


def test_the_same_as_two_levels(tmp_path):
    """Printed 12.7 and 0.4 in the report; one execution of four iterations, so its level is collapsed."""
    flat = {seed: [[x for part in executions for x in part]] for seed, executions in REPORT.items()}
    analysis = analysis_of(tmp_path, flat)
    assert [level["level"] for level in analysis["levels"]] == ["binary", "iteration"]
    assert [level["unbiased_variance"] for level in analysis["levels"]] == pytest.approx([0.381944, 12.7222], rel=1e-5)
    assert analysis["collapsed"] == ["execution"]


def test_executions_without_iterations(tmp_path):
    analysis = analysis_of(tmp_path, {1: [[1], [3]], 2: [[5], [7]]})
    assert [(level["level"], level["count"]) for level in analysis["levels"]] == [("binary", 2), ("execution", 2)]
    assert [level["biased_variance"] for level in analysis["levels"]] == [8, 2]
    assert [level["unbiased_variance"] for level in analysis["levels"]] == [7, 2]
    assert analysis["collapsed"] == ["iteration"]


def test_the_default_design_of_one_execution_per_binary(tmp_path):
    stock = [[10.0], [12.0], [11.0]]
    analysis = analysis_of(tmp_path, {1: [[10]], 2: [[20]], 3: [[30]], "stock": stock, "identity": [[25], [25]]})
    assert [level["level"] for level in analysis["levels"]] == ["binary"]
    assert analysis["collapsed"] == ["execution", "iteration"]
    assert analysis["measured_range"] == [10, 30]
    assert analysis["binaries"] == [{"seed": 1, "mean": 10}, {"seed": 2, "mean": 20}, {"seed": 3, "mean": 30}]
    # The variance over binaries, 100, includes execution noise; executions of stock and identity show how much: 2 / 3.
    assert analysis["layout"]["variance"] == pytest.approx(100 - 2 / 3)
    assert analysis["layout"]["relative_sd"] == pytest.approx(math.sqrt(100 - 2 / 3) / 20)
    assert analysis["layout"]["method"] == "controls"
    stock = analysis["stock"]
    assert (stock["n_executions"], stock["mean"], stock["sd"]) == (3, 11, 1)
    assert stock["percentile"] == pytest.approx(100 / 3)
    # Stock has rounds 0, 1 and 2 here, the layouts 1, 2 and 3: those of the two that both have are compared.
    assert stock["shift"]["ratio"] == pytest.approx(math.sqrt(10 / 12 * 20 / 11))
    assert stock["shift"]["interval"][0] < 1 < stock["shift"]["interval"][1]
    assert analysis["identity"]["percentile"] == pytest.approx(200 / 3)
    assert analysis["identity"]["sd"] == 0


def test_percentile_counts_ties_half(tmp_path):
    analysis = analysis_of(tmp_path, {1: [[1]], 2: [[2]], 3: [[2]], 4: [[3]], "stock": [[2]]})
    assert analysis["stock"]["percentile"] == 50
    assert analysis["stock"]["sd"] is None
    assert analysis["stock"]["shift"] is None
    assert "2 of each" in analysis["stock"]["warnings"][0]


def test_constant_data(tmp_path):
    """Cachegrind's instruction counts: no variance anywhere."""
    analysis = analysis_of(tmp_path, {k: [[193200123]] for k in range(1, 31)} | {"stock": [[193200123]] * 2})
    assert analysis["mean"] == 193200123
    assert analysis["interval"] == [193200123, 193200123]
    assert analysis["half_width"] == analysis["relative_half_width"] == 0
    assert analysis["levels"][0]["biased_variance"] == analysis["levels"][0]["relative_sd"] == 0
    assert analysis["stock"]["shift"]["interval"] == [1, 1]
    assert analysis["stock"]["percentile"] == 50
    assert analysis["layout"]["variance"] == 0
    assert any("same mean" in warning for warning in analysis["warnings"])


def test_zeros(tmp_path):
    """Major faults are usually 0: nothing relative can be said, and nothing crashes."""
    analysis = analysis_of(tmp_path, {1: [[0]], 2: [[0]], 3: [[0]], "stock": [[0], [0]]})
    assert analysis["mean"] == 0
    assert analysis["levels"][0]["relative_sd"] is None
    assert analysis["stock"]["shift"] is None
    assert any("mean is 0" in warning for warning in analysis["stock"]["warnings"])


def test_zeros_among_layouts_and_one_in_stock(tmp_path):
    analysis = analysis_of(tmp_path, {1: [[0]], 2: [[1]], 3: [[0]], "stock": [[0], [1]]})
    assert analysis["stock"]["shift"]["interval"] == [None, None]
    assert any("no bounds" in warning for warning in analysis["stock"]["warnings"])


def test_one_binary(tmp_path):
    analysis = analysis_of(tmp_path, {1: [[4.0]], "stock": [[4.0], [5.0]]})
    assert analysis["interval"] == [None, None]
    assert analysis["half_width"] is None
    assert analysis["levels"][0]["biased_variance"] is None
    assert analysis["layout"] is None
    assert any("at least 1 more is needed" in warning for warning in analysis["warnings"])


def test_unbalanced_after_failures(tmp_path):
    rows = measured(CONFIG, tmp_path, "a", "b", {1: [[1, 2], [3, 4]], 2: [[5, 6]], 3: [[7, 8], [9, 10, 11]]})
    failed = execution(CONFIG, tmp_path, "a", "b", 2, repetition=1, status="exit", reason="exit status 1", log="l")
    lost = execution(CONFIG, tmp_path, "a", "b", 4, status="timeout", reason="r", log="m")
    write(CONFIG, tmp_path, [*rows, failed, lost], [BuildFailure("a", "prog", 5, "e", None)])
    document = analyse_document(analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[]))
    (analysis,) = document["benchmarks"]
    assert analysis["mean"] == pytest.approx((2.5 + 5.5 + (7.5 + 10) / 2) / 3)
    assert (analysis["n_binaries"], analysis["n_executions"], analysis["n_iterations"]) == (3, 5, 11)
    text = "\n".join(analysis["warnings"])
    assert "2 executions failed" in text
    assert "seeds without any: 4" in text
    assert "--retry-failed" in text
    assert "no binary of 5" in text
    assert [failure["status"] for failure in document["failures"]] == ["exit", "timeout"]
    assert document["build_failures"][0]["seed"] == 5


def test_a_failed_simulation_is_not_missing_from_the_wall_times(tmp_path):
    config = make_config(BENCHMARK + "metric = {wall = true, cachegrind = true}", systems=("a",))
    rows = measured(config, tmp_path, "a", "b", {1: [[1]], 2: [[2]]})
    rows.append(execution(config, tmp_path, "a", "b", 1, instrument="cachegrind", status="no-measurement"))
    write(config, tmp_path, rows)
    (analysis,) = analyse(selected(config, tmp_path), confidence=0.95, metrics=[]).analyses
    assert not any("failed" in warning for warning in said(analysis.warnings))


def test_metrics_are_analysed_each_on_its_own(tmp_path):
    rows = [
        execution(
            CONFIG,
            tmp_path,
            "a",
            "b",
            seed,
            measurements=(
                Measurement("wall_s", "s", 0, seed, warmup=False),
                Measurement("user_s", "s", 0, 1.0, warmup=False),
            ),
        )
        for seed in (1, 2, 3)
    ]
    write(CONFIG, tmp_path, rows)
    selection = selected(CONFIG, tmp_path)
    both = analyse(selection, confidence=0.95, metrics=[]).analyses
    assert [(a.metric, a.mean.centre, a.is_primary) for a in both] == [("wall_s", 2, True), ("user_s", 1, False)]
    assert [a.metric for a in analyse(selection, confidence=0.95, metrics=["user_s"]).analyses] == ["user_s"]
    with pytest.raises(UnknownMetric, match=r"no execution measured 'x'; there are user_s, wall_s"):
        analyse(selection, confidence=0.95, metrics=["x"])


def test_nothing_succeeded(tmp_path):
    failed = execution(CONFIG, tmp_path, "a", "b", 1, status="exit", reason="exit status 1", log="logs/1")
    write(CONFIG, tmp_path, [failed, *measured(CONFIG, tmp_path, "a", "b", {"stock": [[1]]})])
    with pytest.raises(AnalysisError, match=r"(?s)no seed was executed successfully.*exit status 1; log logs/1"):
        analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[])


def test_nothing_succeeded_is_told_once_for_each_cause(tmp_path):
    rows = [
        execution(CONFIG, tmp_path, "a", "b", seed, status="exit", reason="exit status 1", log=f"logs/{seed}")
        for seed in (1, 2, 3)
    ]
    write(CONFIG, tmp_path, [*rows, *measured(CONFIG, tmp_path, "a", "b", {"stock": [[1]]})])
    with pytest.raises(AnalysisError) as error:
        analyse(selected(CONFIG, tmp_path), confidence=0.95, metrics=[])
    assert str(error.value).splitlines()[-1].endswith("exit status 1; log logs/1 (and 2 more like this)")
    assert str(error.value).count("exit status 1") == 1


def test_the_document_has_the_promised_keys(tmp_path):
    analysis = analysis_of(tmp_path, REPORT)
    assert {
        "system",
        "benchmark",
        "metric",
        "unit",
        "n_binaries",
        "n_executions",
        "n_iterations",
        "mean",
        "interval",
        "confidence",
        "half_width",
        "relative_half_width",
        "levels",
        "stock",
        "warnings",
    } <= set(analysis)
    assert analysis["stock"] is None
    assert {"level", "biased_variance", "unbiased_variance", "relative_sd"} <= set(analysis["levels"][0])
