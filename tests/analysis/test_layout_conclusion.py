"""What is concluded of layouts: terminal, JSON, CSV, Markdown, the page and the exit status of `analyse` say the same."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
import random
import re

import pytest

from experiments import execution, measured, write
from fakes import make_config
from layoutrand.cli import run
from layoutrand.text.quantities import at_most, digits_of, estimate, percents, quantity
from warningkit import unwrapped

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = '[project]\nname = "fake"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n[systems.a]\n'


def layouts(layout, noise, n=20, *, controls=True, seed=1):
    """(round, layout, value) of one system: each seed with stock and identity in its round."""
    draw = random.Random(seed)
    rows = []
    for k in range(1, n + 1):
        rows.append((k, k, 10 * (1 + layout * draw.gauss(0, 1)) * (1 + noise * draw.gauss(0, 1))))
        if controls:
            rows += [(k, name, 10 * (1 + noise * draw.gauss(0, 1))) for name in ("stock", "identity")]
    return rows


SITUATIONS = {
    "layout matters": (layouts(0.03, 0.002), "layout matters: "),
    "practically none": (layouts(0.0, 0.00001), "layout matters practically not: "),
    "cannot tell": (layouts(0.0, 0.03), "cannot tell whether layout matters: "),
    "all alike": (
        [(k, layout, 10.0123456789) for k in range(1, 9) for layout in (k, "stock")],
        "the same in all 8 layouts",
    ),
    "no controls": (layouts(0.02, 0.01, controls=False), "cannot tell whether layout matters: "),
    "no controls, and nothing to tell": (layouts(0.0, 0.0001, controls=False), "layout matters practically not: "),
    "few layouts": (layouts(0.03, 0.002, 3), "cannot tell whether layout matters: "),
    "one seed": (
        layouts(0.0, 0.01, 1),
        "cannot tell whether layout matters: one layout alone says nothing of how layouts differ",
    ),
}
SITUATIONS["machine, not layout"] = (
    [
        (number, layout, value * (1.5 if place % 60 >= 30 else 1.0))
        for place, (number, layout, value) in enumerate(layouts(0.0, 0.001, 40))
    ],
    "machine, not layout: ",
)
CONCLUDED = {"all alike": "practically none", "no controls": "cannot tell", "few layouts": "cannot tell"}
CONCLUDED |= {"one seed": "cannot tell", "no controls, and nothing to tell": "practically none"}
NOT_SEEN = "≈ practically none, of 20 layouts: a group of up to 14 % of all could have been missed"
DISTURBED = {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0, "other_cpu": []}}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with results of one system."""
    monkeypatch.chdir(tmp_path)

    def make(rows, *, failed=0, **changes):
        config = make_config(BENCHMARK, systems=("a",))
        (tmp_path / "layoutrand.toml").write_text(f"{CONFIG}{BENCHMARK}")
        made = []
        for place, (number, layout, value) in enumerate(rows):
            (row,) = measured(config, tmp_path, "a", "b", {layout: [[value]]})
            made.append(dataclasses.replace(row, round=number, order=place, started_at=1e9 + place, **changes))
        made += [
            execution(config, tmp_path, "a", "b", 900 + k, status="crashed", reason="exit status 1")
            for k in range(failed)
        ]
        write(config, tmp_path, made)

    return make


def said(capsys, *arguments):
    status = run([*arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def page_text(tmp_path, capsys):
    assert run(["report", "-o", str(tmp_path / "r.html")]) == 0
    capsys.readouterr()
    page = html.unescape((tmp_path / "r.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    return re.sub("</?code>", "`", page)


QUICK = {("layout matters", True), ("cannot tell", False), ("one seed", True), ("all alike", False)}
QUICK |= {("no controls, and nothing to tell", False)}
CELLS = [
    pytest.param(wanted, doubt, marks=[] if (wanted, doubt) in QUICK else pytest.mark.slow)
    for wanted in SITUATIONS
    for doubt in (False, True)
]


@pytest.mark.parametrize("wanted", ["practically none", "layout matters", "cannot tell"])
def test_beside_practically_none_stands_how_rare_a_layout_may_be_that_it_knows_nothing_of(project, capsys, wanted):
    """One in ten layouts 5 % slower: 20 have none of them in one experiment out of eight."""
    project(SITUATIONS[wanted][0])
    _, screen, _ = said(capsys, "analyse")
    assert (NOT_SEEN in " ".join(screen.split())) == (wanted == "practically none")


def test_where_other_rows_say_something_else_it_is_said_of_which_this_is(tmp_path, monkeypatch, capsys):
    """Under a row whose time nobody can tell anything of it would read as the answer."""
    monkeypatch.chdir(tmp_path)
    both = BENCHMARK + BENCHMARK.replace('"b"', '"other"')
    config = make_config(both, systems=("a",))
    (tmp_path / "layoutrand.toml").write_text(f"{CONFIG}{both}")
    made = []
    for benchmark, wanted in (("b", "practically none"), ("other", "layout matters")):
        for number, layout, value in SITUATIONS[wanted][0]:
            (row,) = measured(config, tmp_path, "a", benchmark, {layout: [[value]]})
            place = len(made)
            made.append(dataclasses.replace(row, round=number, order=place, started_at=1e9 + place))
    write(config, tmp_path, made)
    _, screen, _ = said(capsys, "analyse")
    assert NOT_SEEN.replace("≈ ", "≈ b: ") in " ".join(screen.split())


@pytest.mark.parametrize(("wanted", "doubt"), CELLS)
def test_all_outputs_of_analyse_say_the_same(project, capsys, tmp_path, wanted, doubt):
    rows, words = SITUATIONS[wanted]
    project(rows, **({**DISTURBED, "failed": 2} if doubt else {}))
    verdict = CONCLUDED.get(wanted, wanted)

    status, text, _ = said(capsys, "analyse", "--json")
    (row,) = json.loads(text)["benchmarks"]
    assert (status, row["conclusion"]) == (0, verdict)
    causes = [each["cause"] for each in row["reasons"]]
    assert (row["trust"] == "doubtful") == any(each["effect"] == "doubts" for each in row["reasons"])
    assert {"disturbed", "failures"} <= set(causes) if doubt else not {"disturbed", "failures"} & set(causes)

    status, text, _ = said(capsys, "analyse", "--csv")
    (line,) = csv.DictReader(io.StringIO(text))
    assert (status, line["conclusion"], line["trust"]) == (0, verdict, row["trust"])
    assert line["reasons"] == "; ".join(causes)

    status, terminal, warned = said(capsys, "analyse", "--full")
    terminal = unwrapped(terminal)
    assert status == 0
    status, markdown, _ = said(capsys, "analyse", "--markdown")
    assert status == 0
    page = page_text(tmp_path, capsys)
    sentence = terminal.splitlines()[0]
    assert sentence.startswith(f"b, a, wall_s: {words}")
    doubts = [each["cause"] for each in row["reasons"] if each["effect"] == "doubts"]
    assert sentence.partition("doubtful: ")[2] == ", ".join(doubts)  # what undecides is the sentence itself
    assert markdown.replace("\\", "").startswith(f"{sentence}\n")
    assert f"{sentence}." in page

    for reason in row["reasons"]:
        if reason["cause"] == "within noise":  # which the sentence says
            assert "cannot tell whether layout matters" in sentence
            continue
        for each in reason["sentence"].split("; "):
            assert each in warned.replace("\n", " "), "the terminal gives every reason"
            assert each in page, "the page gives every reason"
    steps = [f"{e['sentence']}: `{e['command']}`" if e["command"] else e["sentence"] for e in row["next"]]
    for step in steps[:3]:
        assert f"next: {step}\n" in terminal
        assert f"next: {step}\n" in markdown.replace("\\", "")
        assert f"Next: {step}." in page
    assert terminal.count("next: ") == page.count("Next: ") == min(len(steps), 3)

    size = [quantity(row["mean"], "s")]
    if row["interval"] is not None and None not in row["interval"]:
        size = [estimate(row["mean"], *row["interval"], "s")[0]]
        assert [float(line["interval_low"]), float(line["interval_high"])] == row["interval"]
    assert float(line["mean"]) == row["mean"]
    of_bound = {"practically none", "cannot tell"}
    if (upper := row["layout_relative_sd_upper"]) and row["conclusion"] in of_bound and upper < 1:
        size.append(f"{at_most(upper)} %")
    if row["conclusion"] == "layout matters":
        low, high = row["layout_relative_sd_interval"]
        size.append(", ".join(percents([low, high], digits_of(50 * (high - low)))))
    for name, output in (("terminal", terminal), ("Markdown", markdown.replace("\\", "")), ("page", page)):
        assert [each for each in size if each not in output] == [], name
