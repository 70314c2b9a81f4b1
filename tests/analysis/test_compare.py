from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from experiments import execution, measured, selected, write
from fakes import make_config
from layoutrand.analysis.compare import compare
from layoutrand.analysis.documents import compare_document
from layoutrand.cli.terminal import Terminal
from layoutrand.config.config import parse
from layoutrand.errors import AnalysisError, UnknownMetric
from layoutrand.model import BuildFailure, Measurement
from layoutrand.screens.comparison_tables import show_comparison
from layoutrand.stats import ratio_interval
from layoutrand.stats.advice import NoVariation
from warningkit import said

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = make_config(BENCHMARK)
OLD = {1: [[9, 11], [5, 6]], 2: [[16, 13], [12, 8]], 3: [[15, 7], [10, 14]]}
NEW = {1: [[10, 12], [6, 7]], 2: [[9, 1], [11, 4]], 3: [[8, 5], [3, 2]]}


def comparison_of(tmp_path, old, new, *, config=CONFIG, threshold=0.01, metric=None):
    rows = []
    for system, benchmarks in (("a", old), ("b", new)):
        for benchmark, data in benchmarks.items():
            rows += measured(config, tmp_path, system, benchmark, data)
    write(config, tmp_path, rows)
    result = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=threshold, metric=metric)
    document = compare_document(result)
    json.dumps(document, allow_nan=False)
    return document


def constant(value, seeds=range(1, 7)):
    return {seed: [[value]] for seed in seeds}


@pytest.mark.parametrize(("instrument", "doubtful"), [("cachegrind", False), ("native", True)])
def test_counts_that_no_layout_changes_are_no_reason_to_doubt(tmp_path, instrument, doubtful):
    """As in `analyse`: no timer is too coarse there; a number that a program prints may come of one."""
    metric = {"cachegrind": "{wall = false, cachegrind = true}", "native": '{regex = "(x)", unit = "s"}'}[instrument]
    config = make_config("".join(BENCHMARK.replace('"b"', f'"{name}"') + f"metric = {metric}\n" for name in "bc"))
    name, unit = {"cachegrind": ("estimated_cycles", "1"), "native": ("value", "s")}[instrument]
    rows = [
        execution(
            config,
            tmp_path,
            system,
            benchmark,
            seed,
            instrument=instrument,
            measurements=(Measurement(name, unit, 0, value, warmup=False),),
        )
        for system, value in (("a", 1000.123456789), ("b", 1002.123456789))
        for benchmark in "bc"
        for seed in range(1, 7)
    ]
    write(config, tmp_path, rows)
    found = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=name)
    of_suite = found.suite.ratio.warnings
    for warnings in (*(each.warnings for each in found.benchmarks), of_suite):
        assert any(isinstance(each, NoVariation) for each in warnings) == doubtful
    assert {each.verdict for each in found.benchmarks} == {"equivalent"}


def test_the_technical_reports_old_and_new_system(tmp_path):
    """TR 4-12: 95 % Fieller limits 0.10983 and 1.72530, printed 0.1 and 1.7, with 2 degrees of freedom.

    Welch's are some more, so the interval is a little narrower; and of rounds the ratio is that of logarithms.
    """
    known = ratio_interval(list(OLD.values()), list(NEW.values()))
    assert [known.low, known.high] == pytest.approx([0.10983, 1.72530], abs=1e-5)
    welch = ratio_interval(list(OLD.values()), list(NEW.values()), method="fieller-welch")

    document = comparison_of(tmp_path, {"b": OLD}, {"b": NEW})
    (benchmark,) = document["benchmarks"]
    assert benchmark["unpaired"]["ratio"] == pytest.approx(6.5 / 10.5)
    assert benchmark["unpaired"]["interval"] == pytest.approx([welch.low, welch.high])
    assert known.low < welch.low < welch.high < known.high
    assert (benchmark["unpaired"]["method"], benchmark["unpaired"]["verdict"]) == ("fieller-welch", "undecided")
    logs = [math.log(np.mean(NEW[k]) / np.mean(OLD[k])) for k in OLD]
    assert benchmark["ratio"] == pytest.approx(math.exp(np.mean(logs)))
    assert (benchmark["primary"], benchmark["method"], benchmark["verdict"]) == ("paired", "paired-log-t", "undecided")
    assert (benchmark["baseline"], benchmark["candidate"]) == (
        {"mean": 10.5, "n_binaries": 3, "counted": "binaries"},
        {"mean": 6.5, "n_binaries": 3, "counted": "binaries"},
    )


def test_of_one_layout_beside_many_each_side_says_what_it_counts(tmp_path, capsys):
    text = (
        '[project]\nname = "p"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n[systems.a]\nprebuilt = "old"\n'
        '[systems.b]\n[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n[run]\nexecutions = 2\n'
    )
    config = parse(text, path="layoutrand.toml")
    rows = measured(config, tmp_path, "a", "b", {"stock": [[1.0], [1.1], [1.2]]})
    rows += measured(config, tmp_path, "b", "b", {k: [[2.0 + k / 10], [2.0]] for k in (1, 2, 3, 4)})
    write(config, tmp_path, rows)
    result = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=None)
    (benchmark,) = compare_document(result)["benchmarks"]
    assert benchmark["baseline"] == {"mean": pytest.approx(1.1), "n_executions": 3, "counted": "executions"}
    assert benchmark["candidate"] == {
        "mean": pytest.approx(2.125),
        "n_binaries": 4,
        "n_executions": 8,
        "counted": "binaries",
    }
    said = " ".join(benchmark["warnings"])
    assert "3 executions of the baseline" in said
    assert "4 binaries of the candidate" in said
    show_comparison(result, Terminal(json=False, quiet=False))
    shown = capsys.readouterr().out
    assert " 4 binaries / 3 executions " in shown
    assert (
        "4 binaries of b, 3 executions of a); doubtful: too few layouts; a has one layout alone, so nothing is said of"
        in " ".join(shown.split())
    )


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(0.5, "faster"), (2.0, "slower"), (1.0, "equivalent"), (1.005, "equivalent"), (1.011, "slower")],
)
def test_verdicts(tmp_path, factor, verdict):
    document = comparison_of(tmp_path, {"b": constant(4.0123)}, {"b": constant(4.0123 * factor)})
    assert document["benchmarks"][0]["verdict"] == verdict
    assert document["benchmarks"][0]["ratio"] == pytest.approx(factor)
    assert document["suite"]["verdict"] == verdict
    assert document["suite"]["ratio"] == pytest.approx(factor)
    assert document["threshold"] == 0.01


def test_pairing_by_seed(tmp_path):
    """Layout effects that both systems share cancel; the seeds that only one has take no part."""
    old = {k: [[v]] for k, v in zip(range(1, 7), (10.0, 12, 14, 16, 18, 20), strict=True)}
    new = {k: [[v[0][0] * 1.1 * (1 + 0.001 * (-1) ** k)]] for k, v in old.items()} | {99: [[1000.0]]}
    (benchmark,) = comparison_of(tmp_path, {"b": old}, {"b": new})["benchmarks"]
    paired, unpaired = benchmark["paired"], benchmark["unpaired"]
    logs = [math.log(new[k][0][0] / old[k][0][0]) for k in old]
    expected = scipy_stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert paired["n_pairs"] == 6
    assert paired["interval"] == pytest.approx([math.exp(expected.low), math.exp(expected.high)])
    assert (benchmark["primary"], benchmark["interval"]) == ("paired", paired["interval"])
    assert paired["half_width"] < unpaired["half_width"]
    assert benchmark["candidate"]["n_binaries"] == 6
    assert any("left out, since the other system lacks them: 1 of the candidate" in w for w in benchmark["warnings"])
    assert paired["variance_reduction"] > 0.9
    assert paired["correlation"] > 0.9


def test_no_seed_in_common(tmp_path):
    (benchmark,) = comparison_of(tmp_path, {"b": constant(1.0, (1, 2, 3))}, {"b": constant(2.0, (4, 5, 6))})[
        "benchmarks"
    ]
    assert benchmark["paired"] is None
    assert (benchmark["primary"], benchmark["method"], benchmark["ratio"]) == ("unpaired", "fieller-welch", 2)


def test_suite_is_the_geometric_mean_over_the_common_benchmarks(tmp_path):
    tables = "".join(BENCHMARK.replace('"b"', f'"{name}"') for name in "bcde")
    config = make_config(tables)
    old = {"b": constant(1.0123456789), "c": constant(1.0123456789), "d": constant(1.0123456789)}
    new = {"b": constant(2.0246913578), "c": constant(8.0987654312), "e": constant(1.0123456789)}
    document = comparison_of(tmp_path, old, new, config=config)
    assert document["suite"]["ratio"] == pytest.approx(4)
    assert document["suite"]["n_benchmarks"] == 2
    assert document["suite"]["paired"]["ratio"] == pytest.approx(4)
    assert (document["only_baseline"], document["only_candidate"]) == (["d"], ["e"])
    assert [b["benchmark"] for b in document["benchmarks"]] == ["b", "c"]
    assert document["suite"]["p_value"] == pytest.approx(2 / 2 ** len(constant(1.0)))  # as small as so few seeds allow


def test_zero_baseline(tmp_path):
    document = comparison_of(tmp_path, {"b": constant(0.0)}, {"b": constant(1.0)})
    (benchmark,) = document["benchmarks"]
    assert (benchmark["ratio"], benchmark["interval"], benchmark["verdict"]) == (None, None, "undecided")
    assert any("mean is 0" in warning for warning in benchmark["warnings"])
    assert document["suite"] is None
    assert any("no ratio for the suite" in warning for warning in document["warnings"])


def test_a_single_zero_among_binaries(tmp_path):
    """Context switches: most binaries have some, one has none."""
    document = comparison_of(tmp_path, {"b": constant(1.0) | {9: [[0.0]]}}, {"b": constant(2.0) | {9: [[0.0]]}})
    assert document["benchmarks"][0]["ratio"] == pytest.approx(2)
    assert document["benchmarks"][0]["paired"] is None
    assert document["suite"]["p_value"] is None


def test_one_binary_each(tmp_path):
    document = comparison_of(tmp_path, {"b": {1: [[1.0]]}}, {"b": {1: [[2.0]]}})
    assert document["benchmarks"][0]["interval"] == [None, None]
    assert document["benchmarks"][0]["verdict"] == document["suite"]["verdict"] == "undecided"


def test_failures_are_listed(tmp_path):
    rows = measured(CONFIG, tmp_path, "a", "b", constant(1.0)) + measured(CONFIG, tmp_path, "b", "b", constant(1.0))
    rows.append(execution(CONFIG, tmp_path, "b", "b", 7, status="signal", reason="killed by signal 11", log="l"))
    write(CONFIG, tmp_path, rows, [BuildFailure("a", "prog", 8, "e", None)])
    document = compare_document(
        compare(selected(CONFIG, tmp_path), "a", "b", confidence=0.95, threshold=0.0, metric=None)
    )
    assert [failure["reason"] for failure in document["failures"]] == ["killed by signal 11"]
    assert [failure["seed"] for failure in document["build_failures"]] == [8]
    assert any("1 execution failed" in warning for warning in document["benchmarks"][0]["warnings"])


def test_nothing_in_common(tmp_path):
    failed = execution(CONFIG, tmp_path, "b", "b", 1, status="exit", reason="exit status 9", log="the-log")
    write(CONFIG, tmp_path, [*measured(CONFIG, tmp_path, "a", "b", constant(1.0)), failed])
    with pytest.raises(AnalysisError, match=r"(?s)a has b; b has none.*exit status 9 \(log the-log\)"):
        compare(selected(CONFIG, tmp_path), "a", "b", confidence=0.95, threshold=0.0, metric=None)


def test_what_cannot_be_built_is_not_to_be_executed(tmp_path):
    """A further run would fail alike, and the reason says what to change."""
    rows = measured(CONFIG, tmp_path, "a", "b", constant(1.0))
    rows += measured(CONFIG, tmp_path, "b", "b", {"stock": [[1.0]]})
    write(CONFIG, tmp_path, rows, [BuildFailure("b", "prog", seed, "no heap base", None) for seed in (1, 2)])
    with pytest.raises(AnalysisError) as told:
        compare(selected(CONFIG, tmp_path), "a", "b", confidence=0.95, threshold=0.0, metric=None)
    assert "a has b; b has none." in str(told.value)
    assert "2 binaries could not be built, the first: no heap base" in str(told.value)
    assert "layoutrand run" not in str(told.value)


def test_what_was_not_executed_is_to_be_executed(tmp_path):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", constant(1.0)))
    with pytest.raises(AnalysisError, match="b has none. Execute both with `layoutrand run`"):
        compare(selected(CONFIG, tmp_path), "a", "b", confidence=0.95, threshold=0.0, metric=None)


def test_another_metric(tmp_path):
    rows = []
    for system, factor in (("a", 1), ("b", 3)):
        rows += measured(CONFIG, tmp_path, system, "b", constant(2.0 * factor), metric="user_s")
    write(CONFIG, tmp_path, rows)
    selection = selected(CONFIG, tmp_path)
    result = compare(selection, "a", "b", confidence=0.95, threshold=0.0, metric="user_s")
    assert (result.benchmarks[0].metric, result.benchmarks[0].verdict) == ("user_s", "slower")
    with pytest.raises(UnknownMetric, match="no execution measured 'nonsense'"):
        compare(selection, "a", "b", confidence=0.95, threshold=0.0, metric="nonsense")
    with pytest.raises(AnalysisError, match="no benchmark in common"):
        compare(selection, "a", "b", confidence=0.95, threshold=0.0, metric=None)


def test_a_metric_that_one_system_has_alone_is_named(tmp_path):
    rows = measured(CONFIG, tmp_path, "a", "b", constant(2.0), metric="user_s")
    write(CONFIG, tmp_path, rows + measured(CONFIG, tmp_path, "b", "b", constant(2.0)))
    with pytest.raises(AnalysisError, match=r"seeds that measured user_s\.\na has b; b has none\."):
        compare(selected(CONFIG, tmp_path), "a", "b", confidence=0.95, threshold=0.0, metric="user_s")


def test_different_primary_metrics_give_no_ratio_for_the_suite(tmp_path):
    config = make_config(BENCHMARK + BENCHMARK.replace('"b"', '"c"') + "metric = {regex = '(x)', name = 'pause_s'}")
    rows = []
    for system in "ab":
        rows += measured(config, tmp_path, system, "b", constant(2.0))
        rows += measured(config, tmp_path, system, "c", constant(2.0), metric="pause_s")
    write(config, tmp_path, rows)
    result = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.0, metric=None)
    assert result.suite is None
    assert any("different metrics (pause_s, wall_s)" in warning for warning in said(result.warnings))


def test_the_document_has_the_promised_keys(tmp_path):
    document = comparison_of(tmp_path, {"b": OLD}, {"b": NEW})
    assert document["schema"] == "layoutrand/compare/1"
    assert {"benchmark", "ratio", "interval", "method", "verdict"} <= set(document["benchmarks"][0])
    assert {"ratio", "interval", "method", "p_value", "verdict"} <= set(document["suite"])


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6),
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6),
    st.sampled_from([1e-9, 1.0, 1e12]),
)
def test_the_unit_of_measurement_does_not_matter(tmp_path_factory, old, new, scale):
    def ratio(factor):
        data = ({seed: [[value * factor]] for seed, value in enumerate(values, 1)} for values in (old, new))
        a, b = data
        (benchmark,) = comparison_of(tmp_path_factory.mktemp("p"), {"b": a}, {"b": b})["benchmarks"]
        return [benchmark["ratio"], *(bound if bound is not None else math.inf for bound in benchmark["interval"])]

    assert ratio(scale) == pytest.approx(ratio(1.0), rel=1e-9)
