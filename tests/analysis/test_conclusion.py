"""One conclusion: what the terminal, JSON, CSV, Markdown, the page and the exit status say is the same."""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import json
import random
import re
from pathlib import Path

import pytest

from experiments import measured, write
from fakes import make_config
from layoutrand.analysis.analysis_warnings import NothingExecuted
from layoutrand.analysis.conclusion import FAIL_IF, Conclusion, stated
from layoutrand.analysis.conclusion_warnings import FalseAlarm
from layoutrand.analysis.next_steps import (
    STEPS,
    LayoutsThere,
    as_many_executions,
    told_once,
    with_number,
    within,
    without_simulation,
)
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.analysis.reasons import concerns, reasons, steps
from layoutrand.cli import analysis as analysis_module
from layoutrand.cli import reporting as reporting_module
from layoutrand.cli import run
from layoutrand.cli import terminal as terminal_module
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.execution_warnings import DisturbedExecutions, EmulatedExecutions, MixedSettings
from layoutrand.stats.advice import Single, TooFew
from layoutrand.stats.stats_warning import BASELINE, CANDIDATE
from warningkit import unwrapped

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'


def spread(centre, width=0.002, n=30):
    """Values around a centre, in an order that is no drift."""
    return {seed: [[centre * (1 + width * ((7 * seed) % n / n - 0.5))]] for seed in range(1, n + 1)}


SITUATIONS = {
    "faster": (spread(10.0), spread(9.0), {}),
    "slower": (spread(10.0), spread(11.0), {}),
    "same within 1 %": (spread(10.0), spread(10.002), {}),
    "cannot tell": (spread(10.0, 0.2, n=6), spread(10.1, 0.3, n=6), {}),
    "same program": (spread(10.0), spread(6.0), {"binary_sha256": "the same", "capture": "one"}),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with results of two systems, one of the situations."""
    monkeypatch.chdir(tmp_path)

    def make(old, new, changes, benchmark=BENCHMARK):
        config = make_config(benchmark, systems=("a", "b"))
        text = '[project]\nname = "fake"\n[build]\ncommands = ["x"]\nartefacts = ["prog"]\n'
        (tmp_path / "layoutrand.toml").write_text(f"{text}[systems.a]\n[systems.b]\n{benchmark}")
        rows = [*measured(config, tmp_path, "a", "b", old), *measured(config, tmp_path, "b", "b", new)]
        write(config, tmp_path, [dataclasses.replace(row, **changes) for row in rows])

    return make


def said(capsys, *arguments):
    status = run([*arguments])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("wanted", SITUATIONS)
def test_all_outputs_and_the_exit_status_say_the_same(project, capsys, tmp_path, wanted):
    project(*SITUATIONS[wanted])
    compare = ["compare", "a", "b"]
    verdict = "same" if wanted.startswith("same within") else wanted

    document = json.loads(said(capsys, *compare, "--json")[1])
    (row,) = document["benchmarks"]
    suite = document["suite"]
    assert (row["conclusion"], row["verdict"]) == (verdict, stated(verdict))
    assert (suite["conclusion"], suite["verdict"]) == (verdict, stated(verdict))

    (line, *_) = csv.DictReader(io.StringIO(said(capsys, *compare, "--csv")[1]))
    assert (line["conclusion"], line["verdict"]) == (verdict, stated(verdict))
    assert line["reasons"] == "; ".join(each["cause"] for each in row["reasons"])

    first = f"b against a: {wanted} (threshold 1 %, 95 % intervals)"
    terminal = said(capsys, *compare, "--full")[1]
    assert terminal.splitlines()[0] == first
    assert f"\nb: {wanted}" in terminal
    markdown = said(capsys, *compare, "--markdown")[1]
    assert markdown.startswith(first)
    assert f"| {wanted} |" in markdown
    assert run(["report", "-o", str(tmp_path / "r.html"), "--baseline", "a"]) == 0
    page = (tmp_path / "r.html").read_text().replace("\N{NO-BREAK SPACE}%", " %")
    assert first in page
    assert f"<td>{wanted}</td>" in page
    others = set(SITUATIONS) - {wanted, "same within 1 %"}
    assert not any(f"<td>{other}</td>" in page or f"| {other} |" in markdown for other in others)

    met = 4 if verdict == "cannot tell" else 3  # as `check` ends
    for condition, meant in FAIL_IF.items():
        assert run([*compare, "--fail-if", condition]) == (met if meant == verdict else 0), condition
    assert run([*compare, "--fail-if", ",".join(FAIL_IF)]) == (met if verdict in FAIL_IF.values() else 0)
    assert run([*compare, "--fail-if", "none"]) == 0
    for reason in row["reasons"]:
        assert (reason["sentence"] and reason["effect"] != "notes") or reason["cause"] == "same binaries"


def test_what_casts_doubt_is_said_everywhere_and_takes_no_verdict_away(project, capsys, tmp_path):
    project(spread(10.0), spread(9.0), {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0, "other_cpu": []}})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert (row["conclusion"], row["trust"]) == ("faster", "doubtful")
    assert "disturbed" in [each["cause"] for each in row["reasons"]]
    doubts = f"doubtful: {', '.join(each['cause'] for each in row['reasons'])}"
    (step,) = [each for each in row["next"] if each["kind"] == "quiet machine"]

    assert run(["report", "-o", str(tmp_path / "r.html")]) == 0
    page = (tmp_path / "r.html").read_text()
    capsys.readouterr()
    for text in (
        unwrapped(said(capsys, "compare", "a", "b", "--full")[1]),
        said(capsys, "compare", "a", "b", "--markdown")[1],
        page,
    ):
        assert doubts in text
        assert step["sentence"] in text
    assert run(["compare", "a", "b", "--fail-if", "faster"]) == 3


@pytest.mark.parametrize("columns", [None, 60, 100])
def test_sentences_of_full_stand_in_lines_of_the_screen(project, capsys, monkeypatch, columns):
    """Where there is no terminal of 80 columns; a command, which is copied, is not broken, and documents are not."""
    project(spread(10.0, 1.2), spread(10.01, 1.3), {"disturbances": ("busy",), "host_state": {"other_cpu_s": 1.0}})
    monkeypatch.setattr(terminal_module, "terminal_width", lambda: columns)
    whole = said(capsys, "compare", "a", "b", "--markdown")[1].replace("\\", "")
    for command in (["compare", "a", "b"], ["analyse"]):
        text = said(capsys, *command, "--full")[1]
        sentences = [line for line in text.split("\n\n")[0].splitlines() if line]
        assert max(map(len, sentences)) <= (columns or 80)
        assert any(line.startswith("  ") for line in sentences)
        for line in text.splitlines():
            assert line.count("`") % 2 == 0
    for sentence in unwrapped(said(capsys, "compare", "a", "b", "--full")[1]).split("\n\n")[0].splitlines():
        assert f"{sentence}\n" in whole


def test_one_binary_each_tells_nothing(project, capsys):
    project({1: [[10.0]]}, {1: [[5.0]]}, {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert (row["conclusion"], row["verdict"]) == ("cannot tell", "undecided")
    assert row["reasons"][0]["effect"] == "undecides"
    assert "more layouts" in [each["kind"] for each in row["next"]]
    assert run(["compare", "a", "b", "--fail-if", "cannot-tell"]) == 4


def test_thousands_of_layouts_are_no_advice(project, capsys):
    """The figure stands in the sentence; what to do next is something that can be done."""
    project(spread(10.0, 1.2, n=10), spread(10.1, 1.9, n=10), {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert row["to_decide"]["n_binaries"] > 1000
    assert [each["kind"] for each in row["next"]][:2] == ["more layouts", "sooner"]
    assert all(each["command"] is None or "--seeds" not in each["command"] for each in row["next"])
    text = unwrapped(said(capsys, "compare", "a", "b", "--full")[1])
    assert "binaries each, executed as often as these, would decide it" in text
    assert "next: more layouts than are within reach would be needed" in text
    assert "too noisy" in said(capsys, "compare", "a", "b")[1]


def test_less_noise_is_no_advice_where_layouts_alone_differ_too_much(project, capsys):
    """Each binary was executed twice, and both times took as long: what hides a difference is layout."""
    quiet = [
        {seed: [*each, [each[0][0] * 1.0001]] for seed, each in of.items()}
        for of in (spread(10.0, 1.2), spread(10.1, 1.9))
    ]
    project(*quiet, {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert row["to_decide"]["fewest"] > 1000
    assert [each["kind"] for each in row["next"]] == ["more layouts", "other threshold"]
    assert "noise" not in said(capsys, "compare", "a", "b")[1]
    assert "cannot tell" in (text := said(capsys, "compare", "a", "b")[1])
    assert "layout hides it" in text
    assert "Next: a larger --threshold" in unwrapped(text)
    assert "without any noise, too, more of them than are within reach" in unwrapped(
        said(capsys, "compare", "a", "b", "--full")[1]
    )


def test_where_no_number_of_layouts_within_reach_decides_less_noise_is_advised_first(project, capsys):
    """It was a larger --threshold alone, of times that a busy machine had scattered over a factor of ten."""
    old, new = (
        {seed: [[float(value)]] for seed, value in enumerate(row, 1)} for row in ((1, 9, 3, 30, 5), (20, 2, 7, 9, 3))
    )
    project(old, new, {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert row["to_decide"]["n_binaries"] is None
    assert "Next: less noise, or a larger --threshold" in unwrapped(said(capsys, "compare", "a", "b")[1])


def test_a_few_layouts_say_not_what_hides_a_difference(project, capsys):
    """Of three *layout hides it* stood beside *layouts differ no more clearly than executions* of `analyse`."""
    layouts = (spread(10.0, 1.2, n=3), spread(10.1, 1.9, n=3))
    project(*({seed: [each[0], [each[0][0] * 1.0001]] for seed, each in of.items()} for of in layouts), {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert (row["to_decide"]["n_binaries"] or 10**6) > 1000
    assert [each["command"] for each in row["next"]] == ["layoutrand run --seeds 30"]
    text = unwrapped(said(capsys, "compare", "a", "b")[1])
    assert "too few layouts" in text
    assert "hides" not in text
    assert "Next: layoutrand run --seeds 30" in text


@pytest.mark.parametrize("often", [2, 1])
def test_what_hides_a_difference_is_the_same_where_a_hundred_thousand_layouts_are_not_enough(project, capsys, often):
    """At 0.1 % it was *too noisy* whatever executions differed by, and `plan` advised less noise beside that."""
    layouts = (spread(10.0, 1.2, n=10), spread(10.1, 1.9, n=10))
    project(*({seed: [each[0], [each[0][0] * 1.0001]][:often] for seed, each in of.items()} for of in layouts), {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--threshold", "0.1%", "--json")[1])["benchmarks"]
    assert row["to_decide"]["fewest"] is None
    hidden = often > 1  # of what was executed once nothing shows the noise
    assert [each["kind"] for each in row["next"]] == ["more layouts", "other threshold" if hidden else "sooner"]
    for command in (["compare", "a", "b"], ["plan"]):
        text = unwrapped(said(capsys, *command, "--threshold", "0.1%")[1])
        if command != ["plan"]:
            assert ("layout hides it" in text, "too noisy" in text) == (hidden, not hidden)
        assert f"Next: {'a larger' if hidden else 'less noise, or a larger'} --threshold" in text


def in_steps(centre):
    """Times that lie on two steps of their clock."""
    return {seed: [[round(centre + 0.01 * (seed % 3 == 0), 2)]] for seed in range(1, 31)}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (spread(0.002), spread(0.002), "have it print the time of it (metric.regex)"),
        (in_steps(0.2), in_steps(0.2), "or measure with a finer clock (metric.wall)"),
        (spread(10.0, 1.2, n=10), spread(10.1, 1.9, n=10), "less noise (a quieter machine, more work for each exec"),
    ],
)
@pytest.mark.parametrize("command", ["{artefact}", "java", "/opt/jdk/bin/java"])
def test_simulated_counts_are_advised_for_no_jvm(project, capsys, old, new, told, command):
    project(old, new, {}, BENCHMARK.replace("{artefact}", command))

    run(["compare", "a", "b", "--full"])
    run(["analyse", "--full"])
    shown = capsys.readouterr()

    text = unwrapped(shown.out + shown.err)
    assert told in text
    assert (("simulated" in text) or ("cachegrind" in text)) is (command == "{artefact}")


def test_of_benchmarks_of_which_some_are_jvms_each_step_is_told_once():
    own = [
        without_simulation(step) if jvm else step for jvm in (0, 1) for step in (STEPS["more work"], STEPS["sooner"])
    ]

    told = told_once(own)

    assert [step.kind for step in told] == ["more work", "sooner"]
    assert not any("simulated" in str(step) for step in told)


@pytest.mark.parametrize("values", ["cannot tell", "one each"])
def test_no_more_layouts_are_asked_for_than_there_are(project, capsys, monkeypatch, values):
    old, new, changes = SITUATIONS.get(values) or ({1: [[10.0]]}, {1: [[10.1]]}, {})
    project(old, new, changes)
    usual = json.loads(said(capsys, "compare", "a", "b", "--json")[1])
    monkeypatch.setattr(analysis_module, "distinct_layouts", lambda *_: {"a": 100_000})
    assert json.loads(said(capsys, "compare", "a", "b", "--json")[1]) == usual

    monkeypatch.setattr(analysis_module, "distinct_layouts", lambda *_: {"a": len(old), "b": 24})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert {each["kind"] for each in row["next"]} & {"more layouts", "more executions"} == {"more executions"}
    assert not any("--seeds" in (each["command"] or "") for each in row["next"])
    there = f"the program has only {len(old)} distinct layout"
    assert any(there in each for each in row["warnings"])
    screen = said(capsys, "compare", "a", "b")[1]
    assert "Next: set run.executions = 2 in layoutrand.toml, to execute each binary twice" in " ".join(screen.split())
    assert "--seeds" not in screen
    assert "layouts may tell" not in screen
    full = unwrapped(said(capsys, "compare", "a", "b", "--full")[1])
    assert f"next: {there}" in full
    assert "--seeds" not in full


def test_a_number_of_layouts_is_told_with_the_executions_that_it_counts_with(project, capsys):
    """Where layoutrand.toml has fewer by now, `run` would go on with these, and the number would not be enough."""
    chance = random.Random(2)
    layouts = [{seed: [[chance.gauss(10, 0.2)] for _ in "ab"] for seed in range(1, 11)} for _ in "ab"]
    project(*layouts, {})
    as_these = "set run.executions = 2 in layoutrand.toml, as these results have"
    screen = " ".join(said(capsys, "compare", "a", "b")[1].split())
    assert re.search(rf"Next: {as_these} · layoutrand run --seeds \d+", screen)
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert [each["kind"] for each in row["next"]][:2] == ["as many executions", "more layouts"]
    assert as_these in unwrapped(said(capsys, "compare", "a", "b", "--full")[1])

    config = Path("layoutrand.toml")
    config.write_text(config.read_text() + "[run]\nexecutions = 2\n")
    screen = " ".join(said(capsys, "compare", "a", "b")[1].split())
    assert re.search(r"Next: layoutrand run --seeds \d+", screen)
    assert "as these" not in screen


def test_of_a_difference_about_the_threshold_no_fewer_layouts_are_said_to_tell_than_there_are(project, capsys):
    new = {seed: [[10.09 * (1 + 0.02 * ((11 * seed) % 30 / 30 - 0.5))]] for seed in range(1, 31)}
    project(spread(10.0), new, {})
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert row["conclusion"] == "cannot tell"
    assert row["to_decide"]["n_binaries"] < 30
    screen = said(capsys, "compare", "a", "b")[1]
    assert "about the threshold" in screen
    assert "layouts may tell" not in screen
    assert "more than 30 each" in unwrapped(said(capsys, "compare", "a", "b", "--full")[1])


def test_nor_do_analyse_the_report_and_what_says_that_two_systems_are_one_program(project, capsys, monkeypatch):
    few = {number: [[10.0 + number / 7]] for number in range(1, 4)}
    project(few, few, {"binary_sha256": "the same", "capture": "one"})
    for module in (analysis_module, reporting_module):
        monkeypatch.setattr(module, "distinct_layouts", lambda *_: {"a": 3, "b": 3})
    said(capsys, "report", "-o", "r.html")
    pages = [said(capsys, command)[1] for command in ("analyse", "compare")]
    for page in (*pages, Path("r.html").read_text()):
        assert "set run.executions = 2 in layoutrand.toml" in " ".join(page.split())
        assert "--seeds 30" not in page


def test_where_nothing_asks_for_layouts_captures_are_left_alone(project, capsys, monkeypatch):
    project(*SITUATIONS["faster"])
    monkeypatch.setattr(analysis_module, "distinct_layouts", lambda *_: pytest.fail("looked for"))
    assert said(capsys, "compare", "a", "b")[0] == 0


def test_the_same_binaries_are_no_difference_however_large_it_was_measured(project, capsys):
    """A machine that was slow while one of the systems was executed: 41 % between a program and itself."""
    project(spread(10.0), spread(5.9), {"binary_sha256": "the same", "capture": "one"})
    status, text = said(capsys, "compare", "a", "b", "--full", "--fail-if", "faster")
    text = unwrapped(text)

    assert status == 0
    assert "same program: the binaries are the same to the byte in all 30 layouts of both" in text
    assert "(an A/A test)" in text
    assert "41.0" in text
    assert "leaves out 1 although there is no difference to find" in text
    assert "next: measure on a quieter machine" in text


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"capture": "one"}, "faster"),  # other binaries of one capture: what would be linked anew differs
        ({"binary_sha256": "the same"}, "same program"),  # another capture, of which the same was linked
    ],
)
def test_what_tells_one_program_from_two(project, capsys, changes, verdict):
    project(spread(10.0), spread(5.9), changes)
    (row,) = json.loads(said(capsys, "compare", "a", "b", "--json")[1])["benchmarks"]
    assert row["conclusion"] == verdict


def test_a_system_against_itself_is_one_program(project, capsys):
    project(spread(10.0, 0.1), spread(10.0, 0.1), {})
    document = json.loads(said(capsys, "compare", "a", "a", "--json")[1])
    assert document["benchmarks"][0]["conclusion"] == "same program"
    assert run(["compare", "a", "a", "--fail-if", "undecided"]) == 0


@pytest.mark.parametrize("command", [["compare", "a", "b"], ["check"]])
@pytest.mark.parametrize("words", ["", "slower,", "slower, sometimes", "none,slower"])
def test_what_fails_is_asked_in_one_way(project, capsys, command, words):
    """Of `compare` and of `check` in the same words, and with the same message where there are no such."""
    project(spread(10.0), spread(9.0), {})
    assert run([*command, "--fail-if", words]) == 2
    assert "choose of slower, faster and cannot-tell (or undecided), with commas, or none" in capsys.readouterr().err


def test_no_line_names_its_benchmark_twice(project, capsys, tmp_path):
    """Neither where a warning begins with the name nor where the place has named it."""
    project(spread(0.002, 1.0), spread(0.002, 1.0), {})
    page = tmp_path / "page.html"
    assert run(["report", "-o", str(page)]) == 0
    texts = [html.unescape(re.sub(r"<[^>]+>", " ", page.read_text()))]
    for command in (["compare", "a", "b"], ["analyse"], ["plan"]):
        for more in ([], ["--full"]):
            assert run([*command, *more]) == 0
            texts.append("".join(capsys.readouterr()))
    assert all("an execution takes" in text for text in texts)
    assert [text for text in texts if re.search(r"\bb( with [ab]|, wall_s)?: +b: ", text)] == []


def test_a_metric_that_nobody_measured_is_wrong_usage(project, capsys, tmp_path, monkeypatch):
    """As a system or a benchmark is that there is not, whatever is asked about it, and whatever the machine lacks."""
    monkeypatch.setenv("PATH", str(tmp_path))
    project(spread(10.0), spread(9.0), {})
    page = str(tmp_path / "page.html")
    for command in (
        ["compare", "a", "b"],
        ["compare", "a", "a"],
        ["analyse"],
        ["report", "-o", page],
        ["figures", "-o", str(tmp_path / "figures")],
        ["export", "--format", "csv"],
        ["explain"],
        ["predict"],
        ["warmup"],
    ):
        assert run([*command, "--metric", "wal_s"]) == 2, command
        assert "'wal_s'" in capsys.readouterr().err


def test_an_end_beside_1_is_not_told_as_1():
    assert "1.00002 to 1.01600, leaves out 1" in str(FalseAlarm(1.00002, 1.016, 0.95))
    assert "0.9847 to 0.9981, leaves out 1" in str(FalseAlarm(0.98471, 0.99812, 0.95))


def test_more_layouts_are_named_by_a_number_that_can_be_typed():
    """Where nothing says how many, the usual number, or as many again."""
    few = TooFew(3, of=(BASELINE,))
    assert [steps([few], layouts=LayoutsThere(count))[0].command for count in (1, 29, 40)] == [
        "layoutrand run --seeds 30",
        "layoutrand run --seeds 30",
        "layoutrand run --seeds 80",
    ]


@pytest.mark.parametrize(
    ("n_layouts", "kind", "command"),
    [(720, "more layouts", "layoutrand run --seeds 720"), (5_040, "more executions", ""), (31, "more executions", "")],
)
def test_all_layouts_of_a_program_are_proposed_where_they_are_within_reach(n_layouts, kind, command):
    """5,040 of them were, to a user with 30: more would be needed, so they decide nothing."""
    few = FewDistinctLayouts(n_layouts)
    (step,) = within((with_number(STEPS["more layouts"], LayoutsThere(30)),), LayoutsThere(30, few))
    assert (step.kind, step.command) == (kind, command)


def test_a_key_is_named_with_its_file_and_the_value_to_write():
    """What stands behind `Next:` among commands is no word that nobody can give to anything."""
    for step in STEPS.values():
        for key in re.findall(r"\brun\.[a-z._]+", f"{step.briefly} {step}"):
            assert re.search(rf"set {re.escape(key)} = \S+ in layoutrand\.toml", step.briefly), step
            assert re.search(rf"set {re.escape(key)} = \S+ in layoutrand\.toml", str(step)), step
    often = [with_number(STEPS["more executions"], LayoutsThere(30, executions=count)) for count in (1, 2, 5)]
    assert [step.briefly for step in often] == [
        "set run.executions = 2 in layoutrand.toml, to tell layout from chance",
        "set run.executions = 4 in layoutrand.toml, to tell layout from chance",
        "set run.executions = 10 in layoutrand.toml, to tell layout from chance",
    ]
    assert STEPS["repeat disturbed"].briefly == "set run.disturbance.repeat = 3 in layoutrand.toml, and execute again"


def test_a_cause_is_given_once_and_the_worst_effect_counts():
    many = DisturbedExecutions(Disturbed("b", 10, 5, {"busy": 5}, {"a": 5}, {}), is_repeated=False)
    few = DisturbedExecutions(Disturbed("b", 1000, 5, {"busy": 5}, {"a": 5}, {}), is_repeated=False)
    found = reasons([many, TooFew(3, of=(BASELINE,)), Single(of=(CANDIDATE,)), few])

    assert [(each.cause, each.effect) for each in found] == [("too few layouts", "undecides"), ("disturbed", "doubts")]
    assert reasons([few]) == ()
    assert [step.kind for step in steps([many, many], layouts=LayoutsThere(10))] == ["repeat disturbed"]
    always = DisturbedExecutions(Disturbed("b", 10, 9, {"busy": 9}, {"a": 9}, {}), is_repeated=False)
    # What is repeated would be disturbed again.
    assert [step.kind for step in steps([always], layouts=LayoutsThere(10))] == ["quiet machine"]
    more = [step.kind for step in steps([always], [STEPS["more layouts"]], layouts=LayoutsThere(10))]
    assert more == ["quiet machine", "more layouts"]  # what is measured before the machine is quiet is of no use
    of_another = [STEPS["more layouts"], *steps([always], layouts=LayoutsThere(10))]
    assert [step.kind for step in told_once(of_another)] == more  # `run` executes that which is disturbed as well
    twice = [*of_another, STEPS["quiet machine"]]
    assert [step.kind for step in told_once(twice)] == more
    some = [step.kind for step in steps([many], [STEPS["more layouts"]], layouts=LayoutsThere(10))]
    assert some == ["more layouts", "repeat disturbed"]
    assert "run.disturbance.repeat" in str(many)
    assert "run.disturbance.repeat" not in str(always)
    again = DisturbedExecutions(many.row, is_repeated=True)
    assert [step.kind for step in steps([again], layouts=LayoutsThere(10))] == ["quiet machine"]
    assert Conclusion("faster", "faster", reasons([many]), ()).trust == "doubtful"
    assert Conclusion("faster", "faster", reasons([few]), ()).trust == "sound"


def test_no_quieter_machine_makes_times_of_an_emulator_those_of_a_processor():
    disturbed = DisturbedExecutions(Disturbed("b", 10, 9, {"busy": 9}, {"a": 9}, {}), is_repeated=False)
    emulated = EmulatedExecutions((("qemu-aarch64", 10),))
    sooner = STEPS["sooner"]
    told = steps([disturbed, emulated, TooFew(3, of=(BASELINE,))], [sooner], layouts=LayoutsThere(10))
    assert [step.briefly for step in told] == ['metric = { instruments = ["qemu-caches"] }, or such a processor']
    assert sooner in steps([disturbed], [sooner], layouts=LayoutsThere(10))


def test_what_is_told_of_the_machine_is_not_about_a_simulated_processor_or_another_benchmark():
    row = DisturbedExecutions(Disturbed("b", 10, 5, {"busy": 5}, {"a": 5}, {}), is_repeated=False)
    assert concerns(row, "b", "native", "ab")
    assert not concerns(row, "other", "native", "ab")
    assert not concerns(row, "b", "cachegrind", "ab")
    assert not concerns(NothingExecuted("c", "b"), "b", "native", "ab")
    assert concerns(NothingExecuted("a", "b"), "b", "native", "ab")
    assert concerns(MixedSettings("turbo", (("on", 3), ("off", 2))), "other", "native", "ab")


def test_one_number_of_executions_is_told_of_benchmarks_that_have_unlike_numbers():
    """`run.executions` is one key: a screen told to set it to 4, and then to 10."""
    layouts = STEPS["more layouts"]
    few, many = (with_number(STEPS["more executions"], LayoutsThere(10, executions=n)) for n in (2, 5))
    assert told_once([few, many]) == told_once([many, few]) == [many]
    assert "run.executions = 10" in many.briefly
    assert told_once([layouts, few]) == [layouts, few]
    counted = [as_many_executions(n) for n in (2, 5)]
    assert told_once([counted[0], layouts, counted[1]]) == [counted[1], layouts]
    assert told_once([layouts, counted[0]]) == [counted[0], layouts]
    assert told_once([layouts, *counted]) == [counted[1], layouts]
    assert told_once([counted[0], layouts, many]) == [many, layouts]
