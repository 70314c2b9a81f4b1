"""What is concluded of a suite: terminal, JSON, CSV, Markdown, the page and the exit status say the same of it."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
import random
import re

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import stated
from layoutrand.cli import run
from reportkit import table_of
from warningkit import unwrapped

NAMES = ("p", "q", "r")


def spread(rng, centre, width=0.002, n=20):
    return {seed: [[centre * (1 + width * rng.gauss(0, 1))]] for seed in range(1, n + 1)}


def recorded(tmp_path, factors, *, width=0.002, same=(), names=NAMES, n=20):
    """Two systems in which each benchmark takes this many times as long; those of ``same`` have the same binaries."""
    text = table_of(names)
    config = make_config(text, systems=("a", "b"))
    head = '[project]\nname = "fake"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n[systems.a]\n[systems.b]\n'
    (tmp_path / "layoutrand.toml").write_text(head + text)
    rng, rows = random.Random(1), []
    for name, factor in zip(names, factors, strict=True):
        for system, centre in (("a", 10.0), ("b", 10.0 * factor)):
            own = measured(config, tmp_path, system, name, spread(rng, centre, width, n))
            rows += [dataclasses.replace(e, binary_sha256=f"one-{e.layout}") if name in same else e for e in own]
    rows.sort(key=lambda e: e.round)
    write(config, tmp_path, [dataclasses.replace(e, started_at=1e9 + k) for k, e in enumerate(rows)])
    return config


SITUATIONS = {
    "faster": ((0.9, 0.92, 0.91), {}),
    "slower": ((1.1, 1.08, 1.0), {}),
    "same within 1 %": ((1.0, 1.0, 1.0), {}),
    "cannot tell": ((1.0, 1.02, 0.99), {"width": 0.1}),
    "same program": ((0.6, 0.6, 0.6), {"same": NAMES}),
    "faster, partly one program": ((0.9, 0.9, 1.0), {"same": ("r",)}),
    "doubtful": ((0.9, 0.92, 0.91), {"n": 3}),
}
QUICK = {"faster, partly one program", "cannot tell"}


def said(capsys, *arguments):
    status = run([*arguments])
    captured = capsys.readouterr()
    return status, captured.out, " ".join(captured.err.split())


@pytest.mark.parametrize(
    "situation", [pytest.param(s, marks=[] if s in QUICK else pytest.mark.slow) for s in SITUATIONS]
)
def test_all_outputs_say_the_same_of_the_suite(tmp_path, monkeypatch, capsys, situation):
    monkeypatch.chdir(tmp_path)
    factors, how = SITUATIONS[situation]
    recorded(tmp_path, factors, **how)
    words = {"faster, partly one program": "faster", "doubtful": "faster"}.get(situation, situation)
    verdict = "same" if words.startswith("same within") else words
    partly = ", of which 1 one program" if "partly" in situation else ""

    document = json.loads(said(capsys, "compare", "a", "b", "--json")[1])
    suite = document["suite"]
    assert (suite["conclusion"], suite["verdict"], suite["n_benchmarks"]) == (verdict, stated(verdict), 3)
    assert suite["same_program"] == list(how.get("same", ()))
    rows = list(csv.DictReader(io.StringIO(said(capsys, "compare", "a", "b", "--csv")[1])))
    (line,) = [row for row in rows if row["row"] == "suite"]
    assert (line["conclusion"], line["trust"], float(line["ratio"])) == (verdict, suite["trust"], suite["ratio"])
    assert line["reasons"] == "; ".join(each["cause"] for each in suite["reasons"])

    _, terminal, warned = said(capsys, "compare", "a", "b", "--full")
    terminal = unwrapped(terminal)
    markdown = said(capsys, "compare", "a", "b", "--markdown")[1].replace("\\", "")
    assert run(["report", "-o", str(tmp_path / "r.html"), "--baseline", "a"]) == 0
    page = html.unescape((tmp_path / "r.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    page = re.sub("</?code>", "`", page)
    capsys.readouterr()
    sentence = next(each for each in terminal.splitlines() if each.startswith("geometric mean of 3 benchmarks: "))
    assert sentence.startswith(f"geometric mean of 3 benchmarks: {words}")
    assert f"\n{sentence}\n" in markdown
    assert f"b against a, {sentence}." in page
    for text in (terminal, markdown, page):
        assert f"geometric mean of 3{partly}" in text
        assert " one program" not in text or partly or verdict == "same program"
        for reason in suite["reasons"]:
            if reason["cause"] in {"same binaries", "false alarm"}:
                assert reason["sentence"] in sentence
            elif reason["effect"] == "doubts":
                assert reason["cause"] in sentence.partition("doubtful: ")[2]
        for step in suite["next"][:1]:
            assert step["sentence"] in text
    for reason in suite["reasons"]:
        for each in reason["sentence"].split("; ") if reason["cause"] not in {"same binaries", "false alarm"} else ():
            if reason["effect"] != "doubts":
                continue
            assert each in warned
            assert each in page


def test_two_numbers_for_one_ratio_are_told_apart(tmp_path):
    """One layout of the candidate is far off: the mean of the rounds' ratios and the ratio of the means differ."""
    config = make_config(table_of(["p"]), systems=("a", "b"))
    rng = random.Random(3)
    data = {name: spread(rng, 10.0, 0.002) for name in "ab"}
    data["b"][7] = [[30.0]]
    rows = [e for name in "ab" for e in measured(config, tmp_path, name, "p", data[name])]
    write(config, tmp_path, rows)
    (pair,) = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=None).benchmarks

    quotient = pair.candidate_mean / pair.baseline_mean
    assert f"have the quotient {quotient:.2f}" in " ".join(map(str, pair.warnings))
    assert abs(quotient - pair.ratio.centre) > 0.02


def test_means_that_have_the_ratio_as_their_quotient_are_not_remarked_on(tmp_path):
    config = recorded(tmp_path, (0.9, 1.0, 1.1))
    result = compare(selected(config, tmp_path), "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert "quotient" not in " ".join(str(each) for pair in result.benchmarks for each in pair.warnings)
