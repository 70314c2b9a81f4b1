"""Outputs of the same results that once said different things, or said what the numbers beside it contradict."""

from __future__ import annotations

import csv
import html
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.compare import compare_several
from layoutrand.analysis.conclusion import all_of
from layoutrand.cli import run
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.report.whole_page import report
from reportkit import table_of


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of rows, imported where the command is executed."""
    monkeypatch.chdir(tmp_path)

    def make(rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        with Path("r.csv").open("w", newline="") as file:
            out = csv.DictWriter(file, names)
            out.writeheader()
            out.writerows(rows)

    return make


def times(systems, benchmarks=("x",), n=6, seconds=2.0, **fields):
    """Layouts of each, executed in turn: system -> factor."""
    chance = random.Random(3)
    return [
        {
            "system": system,
            "benchmark": name,
            "seed": seed,
            "value": seconds * factor * chance.gauss(1, 0.001),
            **fields,
        }
        for seed in range(1, n + 1)
        for name in benchmarks
        for system, factor in systems.items()
    ]


def text(lines):
    return "\n".join("".join(part for part, _ in line) for line in lines)


def test_a_report_of_a_table_in_which_all_failed_tells_the_failures(table, tmp_path):
    table([{"system": "A", "benchmark": "x", "seed": 1, "value": "", "status": "exit", "reason": "exit status 3"}])
    assert run(["report", "--import", "r.csv", "-o", "r.html"]) == 0
    page = html.unescape(re.sub("<[^>]+>", " ", (tmp_path / "r.html").read_text()))
    assert "exit status 3" in page
    assert "there is nothing to conclude from" in page
    assert "as many as the verdicts need" not in page


def _imported(tmp_path):
    return import_selection(ImportQuestion([str(tmp_path / "r.csv")], None, "benchmarks", 0, [], []))


def disturbed(tmp_path):
    """Three systems, of which the last is disturbed in all executions and the first in one."""
    config = make_config(table_of(("x",)), systems=("a", "b", "c"))
    rows = []
    for system in "abc":
        for row in measured(config, tmp_path, system, "x", {seed: [[1 + seed / 1000]] for seed in range(1, 21)}):
            is_busy = system == "c" or (system == "a" and row.layout == 1)
            state = {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0, "other_cpu": []}}
            rows.append(replace(row, **state) if is_busy else row)
    write(config, tmp_path, rows)
    return selected(config, tmp_path)


def test_a_comparison_among_three_is_doubted_for_its_own_executions_alone(tmp_path):
    selection = disturbed(tmp_path)
    found = compare_several(selection, "a", ["b", "c"], confidence=0.95, threshold=0.01, metric=None)
    rows = [[each.row for each in result.warnings if isinstance(each, DisturbedExecutions)] for result in found]
    assert [[(row.disturbed, row.executions) for row in own] for own in rows] == [[(1, 40)], [(21, 40)]]
    assert [all_of(result)[0].trust for result in found] == ["sound", "doubtful"]
    page = report(selection, (), "a", confidence=0.95, threshold=0.01, metric=None, n_distinct=dict)
    (quiet,) = (light for light in page.lights if light.name == "machine quiet")
    assert quiet.sentence == "x: 21 of 60 executions were disturbed"


def test_lights_of_counts_that_follow_the_time_do_not_say_that_they_cannot(table, tmp_path):
    counted = {"metric": "estimated_cycles", "unit": "count", "instrument": "cachegrind"}
    rows = times({"A": 1.0, "B": 1.5}, n=40, **counted)
    drifting = [
        row | {"value": round(1e6 * row["value"] * (1 + k / 100)), "started_at": k} for k, row in enumerate(rows)
    ]
    table([row | {"round": row["seed"]} for row in drifting])
    page = report(_imported(tmp_path), (), "A", confidence=0.95, threshold=0.01, metric=None, n_distinct=dict)
    lights = {light.name: light for light in page.lights}
    for name in ("no drift", "like compared with like"):
        assert lights[name].state == "doubtful"
        assert "simulated counts follow the order of execution" in lights[name].sentence
    assert lights["machine quiet"].state == "good"


def test_conditions_of_a_gate_may_be_repeated(table):
    table(times({"A": 1.0, "B": 2.0}, n=6))
    compared = ["compare", "A", "B", "--import", "r.csv", "-q"]
    assert run([*compared, "--fail-if", "slower", "--fail-if", "cannot-tell"]) == 3
    assert run([*compared, "--fail-if", "faster", "--fail-if", "cannot-tell"]) == 0
    assert run([*compared, "--fail-if", "none", "--fail-if", "slower"]) == 2, "none is none"
