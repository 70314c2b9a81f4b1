"""Outputs of the same results that once said different things, or said what the numbers beside it contradict."""

from __future__ import annotations

import csv
import html
import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare, compare_several
from layoutrand.analysis.comparison_warnings import ExecutedApart
from layoutrand.analysis.conclusion import all_of, of_layouts, of_suite
from layoutrand.analysis.conclusion_warnings import WideInterval
from layoutrand.analysis.next_steps import told_once
from layoutrand.analysis.sentences import of_analysis
from layoutrand.cli import run
from layoutrand.config.execution_warnings import DisturbedExecutions
from layoutrand.interop.importing import ImportQuestion, import_selection
from layoutrand.report.whole_page import report
from layoutrand.screens.comparison_screen import comparison_screen
from layoutrand.screens.screen_parts import steps_and_details
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


def apart(tmp_path, names=("x", "y")):
    """Two systems of which one was executed after the other, with other seeds."""
    config = make_config(table_of(names), systems=("a", "b"))
    chance, rows = random.Random(2), []
    for place, name in enumerate(names):
        for system, seeds, factor in (("a", range(1, 7 + place), 1.0), ("b", range(20, 26 + place), 0.5)):
            data = {seed: [[2.0 * factor * chance.gauss(1, 0.001)]] for seed in seeds}
            rows += measured(config, tmp_path, system, name, data)
    write(config, tmp_path, [replace(row, started_at=1e9 + k) for k, row in enumerate(rows)])
    return selected(config, tmp_path)


@pytest.fixture
def project_apart(tmp_path, monkeypatch):
    """The same as a project, where the command is executed."""
    apart(tmp_path)
    monkeypatch.chdir(tmp_path)
    head = '[project]\nname = "fake"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n[systems.b]\n'
    (tmp_path / "layoutrand.toml").write_text(head + table_of(("x", "y")))


def test_what_was_executed_apart_is_no_matter_of_a_wide_interval_in_the_suite_either(tmp_path):
    selection = apart(tmp_path)
    result = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    for concluded in all_of(result):
        told = [each for reason in concluded.reasons for each in reason.warnings]
        assert concluded.verdict == "cannot tell"
        assert [type(each) for each in told if isinstance(each, ExecutedApart)] == [ExecutedApart]
        assert not any(isinstance(each, WideInterval) for each in told), "half of the time is no matter of 1 %"
    screen = text(comparison_screen([result], selection, 80))
    assert len(re.findall("cannot tell .* design", screen)) == 3
    assert "too noisy" not in screen


def test_new_rounds_are_proposed_once_and_make_more_layouts_by_themselves(tmp_path):
    result = compare(apart(tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=None)
    commands = [step.command for step in told_once(step for each in all_of(result) for step in each.next)]
    assert [each for each in commands if "--seeds" in each] == ["layoutrand run --seeds 27..56"]


def test_a_wide_interval_is_still_told(table, tmp_path):
    table(times({"A": 1.0, "B": 1.009}, n=3))
    selection = _imported(tmp_path)
    result = compare(selection, "A", "B", confidence=0.95, threshold=0.01, metric=None)
    assert any(isinstance(each, WideInterval) for each in all_of(result)[0].reasons[0].warnings)


def _imported(tmp_path):
    return import_selection(ImportQuestion([str(tmp_path / "r.csv")], None, "benchmarks", 0, [], []))


@pytest.mark.parametrize(("quick", "trust"), [(("x", "y"), "doubtful"), (("x",), "sound")])
def test_a_mean_of_benchmarks_all_of_which_are_doubtful_is_doubtful(tmp_path, quick, trust):
    config = make_config(table_of(("x", "y")), systems=("a", "b"))
    chance, rows = random.Random(2), []
    for name in ("x", "y"):
        for system, factor in (("a", 1.0), ("b", 0.5)):
            seconds = factor * (0.002 if name in quick else 2.0)
            data = {seed: [[seconds * chance.gauss(1, 0.001)]] for seed in range(1, 21)}
            rows += measured(config, tmp_path, system, name, data)
    write(config, tmp_path, rows)
    result = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=None)
    suite = of_suite(result)
    assert (suite.verdict, suite.trust) == ("faster", trust)


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


@pytest.mark.parametrize(("unit", "more", "less"), [("widgets", "more", "less"), ("s", "slower", "faster")])
def test_what_is_folded_has_the_words_of_the_rows_and_their_doubts(table, tmp_path, unit, more, less):
    names = tuple(f"b{k:02}" for k in range(30))
    table(
        [*times({"A": 1.0, "B": 0.5}, names, n=2, unit=unit), *times({"A": 1.0, "B": 2.0}, ("last",), n=20, unit=unit)]
    )
    selection = _imported(tmp_path)
    result = compare(selection, "A", "B", confidence=0.95, threshold=0.01, metric=None)
    screen = text(comparison_screen([result], selection, 80))
    (folded,) = re.findall(r"^    and \d+ .*", screen, re.MULTILINE)
    assert re.fullmatch(rf"    and \d+ {less} \(doubtful\)", folded)
    assert f"✗ last  {more}" in re.sub(" +", "  ", screen).replace("  ✗  last", "✗ last")


def test_a_sentence_on_layouts_says_what_the_verdict_is_where_executions_vary_more(tmp_path):
    config = make_config(table_of(("x",)), systems=("a",), run="executions = 3")
    chance = random.Random(4)
    data = {seed: [[2.0 + 0.2 * k + 1e-9 * chance.random()] for k in range(3)] for seed in range(1, 13)}
    write(config, tmp_path, measured(config, tmp_path, "a", "x", data))
    report_ = analyse(selected(config, tmp_path), confidence=0.95, metrics=[])
    (found,) = report_.analyses
    assert found.findings.layout.upper == 0
    assert of_layouts(found, report_.warnings).verdict == "practically none"
    assert "layout matters practically not: layouts differ by no more than executions of one" in of_analysis(found)


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


@pytest.mark.parametrize("command", [["compare"], ["analyse"]])
def test_names_that_are_longer_than_a_line_are_broken_where_words_end(table, monkeypatch, capsys, command):
    long = [f"gcc-14-march-native-O3-with-a-name-that-has-no-end-{k}" for k in (2, 3)]
    benchmarks = [f"a-benchmark-with-a-long-name/1048576/threads:{k}" for k in (4, 8)]
    table(times({long[0]: 1.0, long[1]: 1.5}, benchmarks))
    monkeypatch.setattr("layoutrand.cli.terminal.terminal_width", lambda: 80)
    names = long if command == ["compare"] else []
    assert run([*command, *names, "--import", "r.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in long)


def test_what_a_plan_in_full_supposes_stands_in_lines_of_the_screen(project_apart, monkeypatch, capsys):
    monkeypatch.setattr("layoutrand.cli.terminal.terminal_width", lambda: 80)
    assert run(["plan", "--full"]) == 0
    said = capsys.readouterr().out
    assert "The first number is enough if" in said
    assert max(map(cell_len, said.splitlines())) <= 80


def test_documents_have_no_sentence_on_an_interval_that_the_interval_contradicts(project_apart, capsys):
    assert run(["compare", "a", "b", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    for each in (*document["benchmarks"], document["suite"]):
        assert each["interval"][1] < 0.99
        assert [reason["cause"] for reason in each["reasons"] if reason["effect"] == "undecides"] == ["design"]


def test_what_a_plan_has_written_it_advises_no_more(tmp_path, monkeypatch, capsys):
    head = '[project]\nname = "fake"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n[systems.a]\n'
    config = make_config(table_of(("x",)), systems=("a",), run="executions = 2")
    chance = random.Random(5)
    means = {seed: chance.gauss(2, 0.1) for seed in range(1, 9)}
    data = {seed: [[mean * (1 + k / 1000)] for k in range(2)] for seed, mean in means.items()}
    write(config, tmp_path, measured(config, tmp_path, "a", "x", data))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layoutrand.toml").write_text(f"{head}{table_of(('x',))}[run]\nexecutions = 2\n")
    assert run(["plan", "--threshold", "5%"]) == 0
    assert "layoutrand plan --write" in capsys.readouterr().out
    assert run(["plan", "--threshold", "5%", "--write"]) == 0
    assert "executions = 1" in (tmp_path / "layoutrand.toml").read_text()
    capsys.readouterr()
    assert run(["plan", "--threshold", "5%"]) == 0
    assert "layoutrand plan --write" not in capsys.readouterr().out


def test_a_command_is_not_broken_within_its_names():
    steps = ["less noise, or a larger --threshold", "layoutrand compare gcc-14-march-native-O2 gcc-14-march-native-O3"]
    lines = [line.strip() for line in text(steps_and_details(steps, "Details: --full", 80)).splitlines()]
    assert steps[1] in lines
