"""Executions on several nodes: what nodes add is no layout, no drift and no difference between systems."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from experiments import execution, measured, rounds, selected, write
from fakes import make_config
from layoutrand.analysis import node_words
from layoutrand.analysis.aa import compare_with_itself
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.blocking import freed
from layoutrand.analysis.compare import compare
from layoutrand.analysis.control_shift import control_shift
from layoutrand.analysis.documents import analyse_document, compare_document
from layoutrand.analysis.evidence import evidence, sentences
from layoutrand.analysis.plan import make_plans
from layoutrand.analysis.stopping import widths
from layoutrand.config.config import parse
from layoutrand.interop.export import export
from layoutrand.model import Measurement, Node
from nodekit import FACTS, NODES, SLOW, one_system
from warningkit import said

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = make_config(BENCHMARK)


def recorded(tmp_path, *, nodes=NODES, config=CONFIG, facts=(), changes=None, **systems):
    rows = [row for name, values in systems.items() for row in rounds(config, tmp_path, name, "b", nodes, values)]
    if changes is not None:
        rows = [changes(row) for row in rows]
    write(config, tmp_path, rows, nodes=facts)
    return selected(config, tmp_path)


def report_of(selection):
    report = analyse(selection, confidence=0.95, metrics=[])
    json.dumps(analyse_document(report), allow_nan=False)
    return report


def test_samples_know_their_nodes(tmp_path):
    selection = recorded(tmp_path, a=one_system(1))
    (sample,) = selection.samples

    assert sample.nodes[3] == ("n3",)
    assert sample.nodes["stock"] == tuple(NODES.values())
    assert evidence(selection).nodes == ("n0", "n1", "n2", "n3")
    assert any(line.startswith("nodes n0, n1, n2, n3 (") for line in sentences(evidence(selection)))


def test_at_home_there_are_none(tmp_path):
    write(CONFIG, tmp_path, measured(CONFIG, tmp_path, "a", "b", {1: [[2.0]], 2: [[3.0]], "stock": [[2.0], [2.5]]}))
    selection = selected(CONFIG, tmp_path)
    (sample,) = selection.samples
    report = report_of(selection)

    assert sample.nodes == {}
    assert freed(sample).sample is sample
    assert report.nodes is None
    assert analyse_document(report)["nodes"] is None
    assert analyse_document(report)["benchmarks"][0]["nodes"] is None


def test_one_node_gives_the_same_numbers_as_none(tmp_path):
    values = one_system(2, factors={"n": 1.0}, nodes=dict.fromkeys(NODES, "n"))
    (tmp_path / "home").mkdir()
    alone = recorded(tmp_path, nodes=dict.fromkeys(NODES, "n"), a=values)
    home = recorded(tmp_path / "home", nodes=dict.fromkeys(NODES, ""), a=values)

    one, other = (report_of(selection).analyses[0] for selection in (alone, home))
    assert one == other


def test_a_slow_node_is_no_layout(tmp_path):
    """Layouts that do nothing on nodes of which one is 10 % slower."""
    report = report_of(recorded(tmp_path, a=one_system(3, layout=0.0)))
    (analysis,) = report.analyses

    assert analysis.layout.relative_sd < 0.002
    assert analysis.findings.test.p_value > 0.05
    assert analysis.stock.sd < 0.004
    assert analysis.findings.shape.outliers == ()
    assert not analysis.findings.shape.has_several_peaks
    assert analysis.node_level.relative_sd == pytest.approx(0.0488, abs=0.003)  # of 0 0 0 0.1 on logarithms
    assert analysis.nodes.lost == 3
    assert analysis_levels(report) == ["node", "binary"]


def analysis_levels(report):
    return [level["level"] for level in analyse_document(report)["benchmarks"][0]["levels"]]


def test_the_layouts_variance_is_that_within_nodes(tmp_path):
    report = report_of(recorded(tmp_path, a=one_system(4, layout=0.02)))
    (analysis,) = report.analyses

    assert analysis.layout.relative_sd == pytest.approx(0.02, rel=0.35)
    assert analysis.findings.test.p_value < 0.02
    low, high = analysis.findings.layout_sd.low, analysis.findings.layout_sd.high
    assert low < 0.02 < high


def test_the_mean_is_the_one_that_was_measured_and_its_interval_is_not_the_nodes(tmp_path):
    values = one_system(5)
    (analysis,) = report_of(recorded(tmp_path, a=values)).analyses
    logs = np.log(list(values["seed"].values()))

    assert math.log(analysis.mean.centre) == pytest.approx(logs.mean(), abs=0.0005)
    assert analysis.mean.half_width < 0.6 * 2.07 * np.exp(logs).std(ddof=1) / math.sqrt(24)


def test_nodes_executed_one_after_the_other_are_no_drift(tmp_path):
    """The first six seeds on one node, the next on another: a step for whoever knows nothing of nodes."""
    nodes = {seed: f"n{(seed - 1) // 6}" for seed in range(1, 25)}
    values = one_system(6, nodes=nodes, factors={"n0": 1.0, "n1": 1.05, "n2": 1.1, "n3": 1.15})
    (analysis,) = report_of(recorded(tmp_path, nodes=nodes, a=values)).analyses
    assert not analysis.findings.drift.is_found

    (tmp_path / "home").mkdir()
    blind = recorded(tmp_path / "home", nodes=dict.fromkeys(nodes, ""), a=values)
    assert report_of(blind).analyses[0].findings.drift.is_found


def test_a_node_that_stands_out_is_named(tmp_path):
    report = report_of(recorded(tmp_path, a=one_system(7), b=one_system(8)))
    table = report.nodes
    slow = next(row for row in table.rows if row.name == "n3")

    assert [row.name for row in table.rows if row.effect.centre > 1.01] == ["n3"]
    assert slow.stands_out
    assert slow.against_others.centre == pytest.approx(1.1, abs=0.003)
    assert slow.against_others.high - slow.against_others.low < 0.006
    assert (slow.n_seeds, slow.n_executions, table.n_seeds) == (6, 24, 24)
    said = node_words.sentences(table)
    assert said[0].startswith("4 nodes that differ (p < 0.0001), by a standard deviation of")
    (sentence,) = [line for line in said if line.startswith("node n3 is")]
    assert "% slower than the others (95 % interval 1" in sentence
    assert len(said) == 2
    assert "it executed 6 of 24 seeds; taken out of the layout variance" in sentence
    document = analyse_document(report)["nodes"]
    assert [row["node"] for row in document["nodes"]] == ["n0", "n1", "n2", "n3"]
    assert [row["stands_out"] for row in document["nodes"]] == [False, False, False, True]


def test_like_nodes_are_said_to_be(tmp_path):
    table = report_of(recorded(tmp_path, a=one_system(9, factors=dict.fromkeys(SLOW, 1.0)))).nodes

    assert not any(row.stands_out for row in table.rows)
    assert node_words.sentences(table)[0].startswith("4 nodes: no sign that they differ (p = ")


def test_what_more_is_better_of_makes_a_slow_node_slow(tmp_path):
    config = make_config(
        BENCHMARK + "[benchmarks.metric]\nwall = false\n"
        "printed = [{ name = 'rate', regex = 'rate ([0-9.]+)', unit = '1/s', better = 'more' }]\n"
    )
    values = one_system(10)

    def as_rate(row):
        value = row.measurements[0].value
        return dataclasses.replace(row, measurements=(Measurement("rate", "1/s", 0, 1 / value, warmup=False),))

    report = report_of(recorded(tmp_path, config=config, changes=as_rate, a=values))

    assert {row.name for row in report.nodes.rows if row.stands_out and row.effect.centre > 1.03} == {"n3"}
    assert report.analyses[0].nodes.effects.effects[0].centre > 1  # of the rate itself, less on n3 than on the others


def both(tmp_path, *, ratio=1.03, layouts=None, changes=None, **more):
    return recorded(
        tmp_path,
        a=one_system(11, layouts=layouts),
        b=one_system(12, ratio=ratio, layouts=layouts),
        changes=changes,
        **more,
    )


def compared(selection):
    result = compare(selection, "a", "b", confidence=0.95, threshold=0.0, metric=None)
    json.dumps(compare_document(result), allow_nan=False)
    return result


def test_a_comparison_is_free_of_nodes(tmp_path):
    result = compared(both(tmp_path))
    (pair,) = result.benchmarks

    assert pair.ratio.low < 1.03 < pair.ratio.high
    # Layouts of 2 %, 24 of each: without blocks the node's 10 % would make it more than 5 % wide.
    assert pair.ratio.high - pair.ratio.low < 0.035
    assert pair.paired.low < 1.03 < pair.paired.high
    assert result.suite.ratio.low < 1.03 < result.suite.ratio.high
    assert result.nodes is not None
    assert compare_document(result)["evidence"]["nodes"] == ["n0", "n1", "n2", "n3"]


def test_pairing_is_not_praised_for_what_nodes_do(tmp_path):
    """Layouts of the two systems have nothing in common, but a slow node is slow for both."""
    (pair,) = compared(both(tmp_path)).benchmarks
    (tmp_path / "home").mkdir()
    (blind,) = compared(both(tmp_path / "home", changes=lambda row: dataclasses.replace(row, node=""))).benchmarks

    assert abs(pair.correlation) < 0.5 < blind.correlation


def test_seeds_of_which_a_system_went_elsewhere_are_not_paired(tmp_path):
    def elsewhere(row):
        return dataclasses.replace(row, node="n0") if (row.system, row.layout) == ("b", 3) else row

    (pair,) = compared(both(tmp_path, changes=elsewhere)).benchmarks

    assert pair.n_pairs == 23
    assert any("paired by seed without 3: the two systems' executions" in warning for warning in said(pair.warnings))


def test_seeds_that_one_system_lacks_on_a_slow_node_do_not_make_it_fast(tmp_path):
    new = one_system(12)
    for seed in (3, 7, 11, 15):
        del new["seed"][seed], new["stock"][seed]
    selection = recorded(tmp_path, a=one_system(11), b=new)
    (pair,) = compared(selection).benchmarks

    assert pair.ratio.low < 1.0 < pair.ratio.high
    assert abs(pair.ratio.centre - 1) < 0.02  # the means as measured differ by 1.4 % for the nodes alone


def test_systems_on_different_nodes_have_no_ratio(tmp_path):
    old = {layout: {s: v for s, v in own.items() if s % 4 < 2} for layout, own in one_system(13).items()}
    new = {layout: {s: v for s, v in own.items() if s % 4 > 1} for layout, own in one_system(14).items()}
    result = compared(recorded(tmp_path, a=old, b=new))

    assert result.benchmarks[0].ratio is None
    assert any("executed on different nodes" in warning for warning in said(result.benchmarks[0].warnings))
    assert result.suite is None


def test_values_that_may_be_0_are_taken_as_differences(tmp_path):
    values = {"seed": {s: float(s % 3) + 5 * (NODES[s] == "n3") for s in NODES}}
    (analysis,) = report_of(recorded(tmp_path, a=values)).analyses

    assert analysis.nodes.effects.scale == "linear"
    assert analysis.findings.shape.outliers == ()
    (row,) = [e for e in analyse_document_of(tmp_path)["nodes"]["effects"] if e["node"] == "n3"]
    assert row["difference"] == pytest.approx(3.75)


def analyse_document_of(tmp_path):
    return analyse_document(report_of(selected(CONFIG, tmp_path)))["benchmarks"][0]


def test_what_is_the_same_everywhere_stays_the_same_to_the_bit(tmp_path):
    """Simulated counts."""
    values = {"seed": dict.fromkeys(NODES, 193200123.0), "stock": dict.fromkeys(NODES, 193200123.0)}
    (analysis,) = report_of(recorded(tmp_path, a=values)).analyses
    assert analysis.mean.low == analysis.mean.high == 193200123.0


def test_each_seed_on_a_node_of_its_own(tmp_path):
    nodes = {seed: f"n{seed}" for seed in range(1, 13)}
    factors = {node: 1 + place / 50 for place, node in enumerate(nodes.values())}
    values = one_system(15, nodes=nodes, factors=factors)
    (analysis,) = report_of(recorded(tmp_path, nodes=nodes, a=values)).analyses

    assert analysis.nodes.method == "linked"
    assert analysis.mean.relative_half_width < 0.025
    assert analysis.layout is None  # one execution of stock on each node shows no noise
    assert analysis.stock.sd is None
    assert analysis.stock.shift.method == "paired-log-t"  # each round on one node: what that adds cancels
    assert analysis.stock.shift.low < 1 < analysis.stock.shift.high


def test_each_seed_on_a_node_of_its_own_without_controls(tmp_path):
    nodes = {seed: f"n{seed}" for seed in range(1, 7)}
    values = {"seed": one_system(16, nodes=nodes, factors=dict.fromkeys(nodes.values(), 1.0))["seed"]}
    report = report_of(recorded(tmp_path, nodes=nodes, a=values))

    assert any("nodes cannot be told from layouts" in warning for warning in said(report.analyses[0].warnings))
    assert report.nodes.p_value is None
    assert "cannot be compared" in node_words.sentences(report.nodes)[0]


def test_stock_on_other_nodes_than_the_layouts_of_its_rounds_gives_no_shift(tmp_path):
    """A difference from them cannot be told from one between nodes; and what is not given has a reason."""
    (sample,) = recorded(tmp_path, a=one_system(1)).samples
    elsewhere = sample.nodes["stock"][1:] + sample.nodes["stock"][:1]
    moved = dataclasses.replace(sample, nodes={**sample.nodes, "stock": elsewhere})
    beside = [a == b for a, b in zip(elsewhere, sample.nodes["stock"], strict=True)]
    kept = {
        name: [run for run, same in zip(own, beside, strict=True) if not same]
        for name, own in (
            ("nodes", elsewhere),
            ("rounds", sample.rounds["stock"]),
            ("runs", sample.controls["stock"]),
            ("started", sample.started["stock"]),
        )
    }
    moved = dataclasses.replace(
        moved,
        controls={"stock": tuple(kept["runs"])},
        nodes={**moved.nodes, "stock": tuple(kept["nodes"])},
        rounds={**moved.rounds, "stock": tuple(kept["rounds"])},
        started={**moved.started, "stock": tuple(kept["started"])},
    )
    found, warnings = control_shift(freed(moved), "stock", 0.95)

    assert found is None
    assert said(warnings) == (
        "no shift against stock: fewer than two rounds have it on the node of their layout, so a difference cannot be "
        "told from one between nodes",
    )


def test_executions_of_a_binary_on_several_nodes(tmp_path):
    rng = np.random.default_rng(17)
    rows = []
    for seed in range(1, 17):
        for repetition in (0, 1):
            node = f"n{rng.integers(4)}"
            value = SLOW[node] * math.exp(0.02 * math.sin(seed) + rng.normal(0, 0.002))
            rows.append(
                execution(
                    CONFIG,
                    tmp_path,
                    "a",
                    "b",
                    seed,
                    repetition=repetition,
                    node=node,
                    measurements=(Measurement("wall_s", "s", 0, value, warmup=False),),
                )
            )
    write(CONFIG, tmp_path, rows)
    (analysis,) = report_of(selected(CONFIG, tmp_path)).analyses
    sds = {level.level: level.relative_sd for level in analysis.levels}

    assert (analysis.nodes.method, analysis.nodes.lost) == ("crossed", 0)
    assert sds["execution"] < 0.004
    assert sds["binary"] == pytest.approx(0.0145, abs=0.003)
    assert (analysis.findings.test.method, analysis.findings.test.p_value < 0.001) == ("permutation", True)


def test_settings_in_which_nodes_differ(tmp_path):
    facts = [Node(name, {**FACTS, "hostname": name}) for name in SLOW]
    facts[3] = Node("n3", {**FACTS, "governor": "powersave", "memory_bytes": 2**34 + 2**20})
    report = report_of(recorded(tmp_path, a=one_system(18), facts=facts))

    (warning,) = [line for line in said(report.warnings) if line.startswith("nodes differ in")]
    assert warning.startswith("nodes differ in CPU governor: performance (n0, n1, n2); powersave (n3)")
    assert [row.facts for row in report.nodes.rows][2:] == [{"governor": "performance"}, {"governor": "powersave"}]


def test_unlike_processors_and_facts_that_changed_are_said(tmp_path):
    facts = [Node(name, {**FACTS, "cpu_model": "CPU" if name != "n1" else "Other"}) for name in SLOW]
    facts.append(Node("n2", {**FACTS, "kernel": "Linux 6.2"}))
    warnings = said(report_of(recorded(tmp_path, a=one_system(19), facts=facts)).warnings)

    assert any(line.startswith("unlike processors are analysed together") and "(n1)" in line for line in warnings)
    assert any(line.startswith("changed while the experiment ran: n2 (kernel)") for line in warnings)


def test_paths_of_different_lengths_are_said(tmp_path):
    def at(row):
        return dataclasses.replace(row, conditions={"workplace": "/tmp/x" if row.node != "n2" else "/tmp/longer"})

    warnings = said(report_of(recorded(tmp_path, a=one_system(20), changes=at)).warnings)
    (warning,) = [line for line in warnings if "paths of different lengths" in line]
    assert "6 bytes (n1, n3, n0); 11 bytes (n2)" in warning.replace("n0, n1, n3", "n1, n3, n0")


def test_the_halves_of_a_system_do_not_differ_by_nodes(tmp_path):
    rows = compare_with_itself(recorded(tmp_path, a=one_system(21, layout=0.0)), confidence=0.95)
    assert len(rows) == 2
    for row in rows:
        assert math.log(row.ratio.high / row.ratio.low) / 2 < 0.01


def test_a_slow_node_asks_for_no_more_seeds(tmp_path):
    (width,) = widths(recorded(tmp_path, a=one_system(22, layout=0.0)), confidence=0.95)
    assert width.relative_half_width < 0.002


def test_export_names_the_node_and_import_takes_it(tmp_path):
    selection = recorded(tmp_path, a=one_system(23))
    lines = export(selection, "csv", []).text.splitlines()

    node = lines[0].split(",").index("node")
    assert {line.split(",")[node] for line in lines[1:]} == set(SLOW)


def test_a_plan_from_a_pilot_on_nodes_does_not_plan_against_them(tmp_path):
    (found,) = make_plans(
        recorded(tmp_path, a=one_system(24, layout=0.01)), {}, half_widths=[0.01], threshold=0.01, confidence=0.95
    )
    assert found.relative_sds["binary"] == pytest.approx(0.01, rel=0.4)
    assert found.relative_sds["execution"] == pytest.approx(0.002, rel=0.5)


def test_pools_that_are_analysed_together_keep_the_warmup_of_each(tmp_path):
    """``[[warmup]]`` may name a host: of two pools each has a name of its own, and the sum of them none."""
    text = """[project]
name = "fake"
[build]
commands = ["make"]
artefacts = ["prog"]
[systems.a]
[[benchmarks]]
name = "b"
command = ["{artefact}"]
metric = { wall = false, printed = [{ name = "time", regex = "t (.*)", unit = "s" }] }
[[warmup]]
benchmark = "b"
host = "nodes with Other (4 CPUs)"
iterations = 1
[cluster]
kind = "dask"
scheduler = "tcp://127.0.0.1:1"
shared = "/tmp/shared"
[cluster.measure]
unlike_cpus = true
"""
    config = parse(text, path="layoutrand.toml")
    for number, name in enumerate(("CPU (8 CPUs)", "Other (4 CPUs)")):
        rows = [
            execution(
                config,
                tmp_path,
                "a",
                "b",
                seed,
                node=f"n{number}",
                measurements=tuple(Measurement("time", "s", k, 9.0 if k == 0 else 1.0, warmup=False) for k in range(3)),
            )
            for seed in range(1 + 5 * number, 6 + 5 * number)
        ]
        write(config, tmp_path, rows, host=f"pool-{number}", hostname=f"nodes with {name}")
    (sample,) = selected(config, tmp_path).samples

    assert {len(executions[0]) for seed, executions in sample.binaries if seed <= 5} == {3}
    assert {len(executions[0]) for seed, executions in sample.binaries if seed > 5} == {2}
    assert {sample.nodes[seed] for seed in range(1, 6)} == {("n0",)}
