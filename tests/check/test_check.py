"""`check` from builds to a verdict, with builds and executions that are made up."""

from __future__ import annotations

import hashlib
import math
import random
import re
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest

from checkkit import ONE, TWO, Made
from experiments import execution
from fakes import FakeExecutor, make_config
from layoutrand.analysis.conclusion import Conclusion
from layoutrand.analysis.conclusion_warnings import WideInterval
from layoutrand.analysis.next_steps import STEPS, Step
from layoutrand.analysis.reasons import Reason
from layoutrand.check.check import _Begun
from layoutrand.check.check_document import check_document
from layoutrand.check.check_words import closing_sentences, ending_sentence, first_change_sentence, layout_share
from layoutrand.check.ci_formats import details, github_annotations, junit
from layoutrand.check.comment import comment
from layoutrand.check.earlier_counts import take_earlier_counts
from layoutrand.check.question import of_check, step_of_check
from layoutrand.cli.checking import exit_status
from layoutrand.cli.terminal import Terminal
from layoutrand.config.two_commits import coupled_by
from layoutrand.errors import StillMeasured, UsageError
from layoutrand.execute import experiment as experiments
from layoutrand.execute.output_warnings import MeasuresItself
from layoutrand.host.start_files import CACHE
from layoutrand.model import BuildFailure
from layoutrand.results.file import open_for_reading, open_for_writing
from layoutrand.screens.check_screen import check_screen, show_full
from layoutrand.stats.running_ratio import FEWEST_ROUNDS
from warningkit import unwrapped


def only(answer):
    (system,) = answer.systems
    return system


def verdicts(answer):
    return {each.quantity.benchmark: each.concluded.verdict for _, each in answer.benchmarks}


@pytest.mark.parametrize(("ratio", "verdict"), [(1.03, "slower"), (0.97, "faster"), (1.001, "same")])
def test_rounds_end_with_the_verdict(tmp_path, ratio, verdict):
    made = Made(tmp_path, ratio=ratio)
    answer = made.check()
    (each,) = only(answer).benchmarks
    assert verdicts(answer) == {"work": verdict}
    assert only(answer).ending == "decided"
    assert FEWEST_ROUNDS <= each.n_rounds < 20
    assert len(made.executor.commands) == only(answer).executed == 2 * each.n_rounds + 2 * FEWEST_ROUNDS


def test_one_program_is_told_at_once_and_nothing_is_executed(tmp_path):
    made = Made(tmp_path, same=True)
    answer = made.check()
    assert verdicts(answer) == {"work": "same program"}
    assert only(answer).is_same_program
    assert made.executor.commands == []
    assert made.asked == [([], None)]


@pytest.mark.parametrize(
    ("given", "told"), [({"cflags": "-O2"}, "system O2 has flags (cflags), which win over the build's own"), ({}, "")]
)
def test_flags_that_may_hide_a_change_are_told_beside_one_program(tmp_path, given, told):
    """A makefile that went from -O2 to -O1 passed a gate as one program, without a word: -O2 was the system's."""
    made = Made(tmp_path, same=True)
    own = made.config.systems["O2"].model_copy(update={"cflags": "", **given})
    made.config = made.config.model_copy(update={"systems": {"O2": own}})
    said = unwrapped("\n".join(map(str, closing_sentences(only(answer := made.check()), answer.question))))
    assert said.startswith(told)
    assert bool(said) == bool(told)


@pytest.mark.slow
def test_layouts_are_linked_as_they_are_needed_from_the_captures(tmp_path):
    """Stock is a build, layouts after the first are links of the captures that there are."""
    made = Made(tmp_path, ratio=1.0, sd=0.02)
    answer = made.check()
    first, stock, second, third, *_ = made.asked
    assert first == ([], None)
    assert stock == (["stock"], None)
    assert second[0] == list(range(1, FEWEST_ROUNDS + 1))
    assert third == ([9, 10, 11, 12], {"base": "capture-of-base", "head": "capture-of-head"})
    assert max(made.asked[-1][0]) < only(answer).benchmarks[0].n_rounds + 4


@pytest.mark.slow
def test_what_is_settled_is_executed_no_more(tmp_path):
    made = Made(tmp_path, ratio=1.03, benchmarks=TWO)
    answer = made.check()
    rounds = {each.quantity.benchmark: each.n_rounds for each in only(answer).benchmarks}
    executed = {name: sum(len(c.argv) == n for c in made.executor.commands) for name, n in (("work", 1), ("start", 2))}
    assert all(executed[name] == 2 * rounds[name] + 2 * FEWEST_ROUNDS for name in rounds)


@pytest.mark.slow
def test_the_budget_ends_it_and_the_same_call_goes_on(tmp_path):
    """As if it had not been interrupted: the same seeds in the same order, and the same verdict after as many."""
    made = Made(tmp_path, ratio=1.005, sd=0.008)
    first = made.check(budget_s=6.0)
    assert only(first).ending == "budget"
    assert verdicts(first) == {"work": "cannot tell"}
    done = len(made.executor.commands)
    assert 0 < done < 40
    second = made.check()
    whole = tmp_path / "whole"
    whole.mkdir()
    at_once = Made(whole, ratio=1.005, sd=0.008).check()
    (each,), (other,) = only(second).benchmarks, only(at_once).benchmarks
    assert (each.n_rounds, each.concluded.verdict) == (other.n_rounds, other.concluded.verdict)
    assert each.pair.ratio == other.pair.ratio
    assert only(second).executed == only(at_once).executed - only(first).executed


def test_a_budget_that_was_used_up_before_anything_was_executed_is_told_so(tmp_path):
    """As of a second system, where the first one took all of it."""
    made = Made(tmp_path)
    answer = made.check(budget_s=0.05)
    assert made.executor.commands == []
    assert ending_sentence(only(answer), answer.question) == (
        "no layout was executed of both commits before --budget 50 ms was used up; the same command goes on from here"
    )


@pytest.mark.parametrize(
    ("budget_s", "said"),
    [
        (4.0, "stopped, as the next round (about 1 s) would not fit in what is left of --budget 4 s; "),
        (1.0, "stopped at --budget 1 s; "),  # how long the first round takes nobody knows
    ],
)
def test_where_there_is_time_left_but_not_for_a_round_that_is_told(tmp_path, budget_s, said):
    answer = Made(tmp_path).check(budget_s=budget_s)
    assert ending_sentence(only(answer), answer.question) == f"{said}the same command goes on from here"


def test_what_a_budget_cut_off_before_there_were_bounds_is_not_called_noisy(tmp_path):
    answer = Made(tmp_path, ratio=1.02).check(budget_s=4.0)
    (line,) = [text for text in map(_text, check_screen(answer, 80)) if "cannot tell" in text]
    assert line.endswith("(without bounds)  3 layouts, too few")


def _text(line):
    return "".join(text for text, _ in line).rstrip()


def test_the_budget_is_not_for_builds(tmp_path):
    """Each commit as built is a build once more, which may take longer than all rounds."""
    made = Made(tmp_path, ratio=1.05)
    made.stock_s = 1000.0
    answer = made.check(budget_s=60.0)
    assert verdicts(answer) == {"work": "slower"}
    assert [asked for asked, _ in made.asked].count(["stock"]) == 1
    made.asked.clear()
    assert verdicts(made.check(budget_s=60.0)) == {"work": "slower"}
    assert not any("stock" in asked for asked, _ in made.asked)


def test_another_layoutrand_that_is_waited_for_is_told_and_is_no_reason_to_end(tmp_path, monkeypatch):
    """A round that waited says nothing of how long the next one takes."""
    made, waits = Made(tmp_path, ratio=1.0, sd=0.02), ["another layoutrand measures (process 7); waiting"]

    @contextmanager
    def waited(_path, *, on_wait, **_who):
        if waits:
            on_wait(waits.pop())
            made.clock.now += 30.0
        yield

    monkeypatch.setattr("layoutrand.execute.execute.only_one_measures", waited)
    answer = made.check(budget_s=50.0, share_machine=False)
    assert made.said[-1] == "another layoutrand measures (process 7); waiting"
    assert only(answer).benchmarks[0].n_rounds > 5
    assert "; another layoutrand measured, for 30 s of that; " in ending_sentence(only(answer), answer.question)
    assert check_document(answer)["systems"][0]["waited_s"] == pytest.approx(30)


def test_what_a_round_takes_before_its_executions_is_no_time_that_another_layoutrand_measured(tmp_path, monkeypatch):
    """Of 143 rounds on an idle machine another one was said to have measured for 4 s, where none was."""
    made = Made(tmp_path, ratio=1.0, sd=0.02)

    @contextmanager
    def at_once(_path, **_):
        made.clock.now += 0.5
        yield

    monkeypatch.setattr("layoutrand.execute.execute.only_one_measures", at_once)
    answer = made.check(budget_s=50.0, share_machine=False)
    assert only(answer).benchmarks[0].n_rounds > 5
    assert only(answer).waited_s == 0
    assert "another layoutrand" not in ending_sentence(only(answer), answer.question)


@pytest.mark.parametrize("rounds", [0, 3])
def test_another_layoutrand_is_waited_for_no_longer_than_the_budget(tmp_path, monkeypatch, rounds):
    """A gate with a budget of a minute ended after six, with one round and no word of what took them."""
    made, left = Made(tmp_path, ratio=1.0, sd=0.02), [rounds]

    @contextmanager
    def busy(_path, *, wait_s, **_who):
        left[0] -= 1
        if left[0] < 0:
            made.clock.now += wait_s
            raise StillMeasured("another layoutrand measures on this machine")
        yield

    monkeypatch.setattr("layoutrand.execute.execute.only_one_measures", busy)
    answer = made.check(budget_s=50.0, share_machine=False, wait_s=3600)
    system = only(answer)
    assert (system.ending, system.benchmarks[0].n_rounds) == ("budget", rounds)
    assert "; another layoutrand still measures, for " in ending_sentence(system, answer.question)
    assert 0 < system.waited_s <= 50.0
    with pytest.raises(StillMeasured):  # to wait less than there is time for was asked for
        made.check(budget_s=50.0, share_machine=False, wait_s=0)


def test_in_full_nothing_follows_the_commits_where_it_is_not_known_which_functions_differ(tmp_path, capsys):
    """As of Go."""
    answer = Made(tmp_path, ratio=1.05).check()
    assert only(answer).changes is None
    show_full(answer, Terminal(json=False, quiet=False))
    assert capsys.readouterr().out.splitlines()[0] == "O2: main aaaaaaa → HEAD bbbbbbb"


def test_steps_of_a_clock_end_it_where_no_further_round_would_help(tmp_path):
    """All times are 0.20 s, so that the budget would be used up for nothing."""
    made = Made(tmp_path)
    made.seconds = lambda system, layout: 0.2
    answer = made.check(most_layouts=200)
    (each,) = only(answer).benchmarks
    assert (only(answer).ending, verdicts(answer)) == ("coarse clock", {"work": "cannot tell"})
    assert "coarse clock" in [reason.cause for reason in each.concluded.reasons]
    assert each.n_rounds < 20
    assert "steps of their clock" in ending_sentence(only(answer), answer.question)
    assert (
        each.concluded.next[0].briefly == "more work for each execution"
    )  # a machine that others use has more to mend


def test_steps_of_a_clock_end_it_only_where_no_further_round_would_help(tmp_path):
    """All times lie on two steps, yet they differ by more than these: a few more rounds tell that."""
    made = Made(tmp_path)
    made.seconds = lambda system, layout: (
        0.2 if system == "base" or layout == "stock" else random.Random(f"head {layout}").choice((0.21, 0.22))
    )
    answer = made.check(most_layouts=200)
    assert (only(answer).ending, verdicts(answer)) == ("decided", {"work": "slower"})


def test_an_interrupted_check_loses_no_execution(tmp_path):
    made = Made(tmp_path, ratio=1.03)
    made.executor.interrupt_at = 11
    with pytest.raises(KeyboardInterrupt):
        made.check()
    made.executor.interrupt_at = None
    answer = made.check()
    assert verdicts(answer) == {"work": "slower"}
    (each,) = only(answer).benchmarks
    assert len(made.executor.commands) == 2 * each.n_rounds + 2 * FEWEST_ROUNDS


@pytest.mark.slow
def test_a_limit_of_layouts_ends_in_cannot_tell_with_how_many_it_would_take(tmp_path):
    made = Made(tmp_path, ratio=1.0, sd=0.03)
    answer = made.check(most_layouts=12)
    (each,) = only(answer).benchmarks
    assert (only(answer).ending, each.n_rounds, each.concluded.verdict) == ("layouts", 12, "cannot tell")
    assert each.pair.forecast.n_binaries > 12


def test_what_so_few_layouts_may_have_missed_stands_beside_the_same(tmp_path):
    """Where head alone has 15 % of slow layouts, 8 rounds have none of them in 27 of 100 cases."""
    answer = Made(tmp_path, ratio=1.0).check()
    n = only(answer).benchmarks[0].n_rounds
    assert n < 30
    told = (
        f"the same, of {n} layouts: a group of up to {100 * (1 - 0.05 ** (1 / n)):.2g} % of all could have been missed"
    )
    assert f"≈ {told}" in " ".join(" ".join(map(_text, check_screen(answer, 80))).split())
    assert f"- work: {told}" in comment(answer)
    (tmp_path / "other").mkdir()
    slower = Made(tmp_path / "other", ratio=1.2).check()
    assert "could have been missed" not in " ".join(map(_text, check_screen(slower, 80))) + comment(slower)


def test_one_layout_is_told_in_words_and_with_how_many_it_takes(tmp_path, capsys):
    answer = Made(tmp_path, ratio=1.0, sd=0.03).check(most_layouts=1)
    (each,) = only(answer).benchmarks
    assert {reason.cause: reason.effect for reason in each.concluded.reasons}["too few layouts"] == "undecides"
    lines = ["".join(text for text, _ in line).rstrip() for line in check_screen(answer, 80)]
    assert [line.split(maxsplit=2) for line in lines if " work " in line] == [
        ["?", "work", "cannot tell      1 layout, at least 2 are needed"]
    ]
    assert not [line for line in lines if "no ratio" in line or "not to be tested" in line]
    show_full(answer, Terminal(json=False, quiet=False))
    assert "layoutrand run" not in (told := "".join(capsys.readouterr()))  # which knows nothing of a check
    assert "of up to 1 rounds 1 is complete" not in unwrapped(told)
    assert details(each) == "there is no ratio, open after 1 layout"


@pytest.mark.parametrize(
    ("sd", "most", "told"),
    [
        (0.01, 8, r"Next: go on with --most-layouts \d+ "),
        (0.3, 8, r"Next: a larger --threshold "),  # no number of layouts within reach would do
        (0.01, 3, r"Next: a larger --most-layouts "),  # without bounds: nothing says how many
    ],
)
def test_what_a_limit_of_layouts_ended_is_decided_by_more_of_them(tmp_path, capsys, sd, most, told):
    answer = Made(tmp_path, ratio=1.005, sd=sd).check(most_layouts=most)
    (each,) = only(answer).benchmarks
    assert only(answer).ending == "layouts"
    assert re.search(told, "\n".join("".join(text for text, _ in line) for line in check_screen(answer, 80)))
    (wanted,) = [step for step in each.concluded.next if step.kind == "more layouts"]
    (system,) = check_document(answer)["systems"]  # in which the comparison advised `layoutrand run`
    assert system["comparison"]["benchmarks"][0]["next"] == system["benchmarks"][0]["next"]
    if "go on" in told:
        assert wanted.short == f"go on with --most-layouts {each.pair.forecast.n_binaries}"
    show_full(answer, Terminal(json=False, quiet=False))
    assert ("next: layouts alone differ too much" in unwrapped(capsys.readouterr().out)) == (sd == 0.3)


def test_more_layouts_are_asked_for_on_a_noisy_machine_too():
    """A quieter machine alone decides nothing where there are too few layouts for an interval with bounds."""
    wide = Reason("interval too wide", "undecides", (WideInterval(0.0, math.inf, 0.01),))
    open_ = Conclusion("cannot tell", "cannot tell", (wide,), (STEPS["quiet machine"],))
    assert [step.briefly for step in of_check(open_, 3).next] == ["a larger --most-layouts", "layoutrand doctor"]
    assert [step.briefly for step in of_check(open_).next] == ["layoutrand doctor"]


def test_what_the_budget_ended_is_decided_by_a_larger_one_where_that_is_within_reach(tmp_path):
    for name, sd, told in (("few", 0.008, "a larger --budget"), ("many", 0.3, "a larger --threshold")):
        (tmp_path / name).mkdir()
        answer = Made(tmp_path / name, ratio=1.0, sd=sd).check(budget_s=10)
        assert only(answer).ending == "budget"
        screen = "\n".join("".join(text for text, _ in line) for line in check_screen(answer, 80))
        assert f"Next: {told} " in screen, screen


def test_more_layouts_than_may_do_are_named_where_those_that_surely_do_are_out_of_reach():
    step = Step("more layouts", "", "figures", has_figures=True, n_layouts=5000, fewest=60)
    assert step_of_check(step, 8).briefly == "go on with --most-layouts 60 or more"
    assert step_of_check(step, 80).briefly == "a larger --most-layouts"
    assert step_of_check(replace(step, fewest=1200), 8).short == ""
    assert step_of_check(step).short == ""
    endless = replace(step, n_layouts=None, fewest=None)  # not even a hundred thousand would do
    assert (step_of_check(endless, 8).short, step_of_check(endless).short) == ("", "")


def test_what_one_build_of_each_would_have_said(tmp_path):
    """The layouts are the same; the two builds as they are lie 4 % apart, all of which is layout."""
    answer = Made(tmp_path, ratio=1.0, own=1.04).check()
    (each,) = only(answer).benchmarks
    assert each.concluded.verdict == "same"
    assert each.pair.as_built.verdict == "slower"
    assert layout_share(each) == pytest.approx(0.04, abs=0.005)


def test_without_stock_nothing_of_it_is_built(tmp_path):
    made = Made(tmp_path, ratio=1.03)
    answer = made.check(as_built=False)
    assert all("stock" not in layouts for layouts, _ in made.asked)
    assert only(answer).benchmarks[0].pair.as_built is None


def test_a_layout_that_cannot_be_linked_costs_its_round_alone(tmp_path):
    made = Made(tmp_path, ratio=1.03, fails={("head", 3)})
    answer = made.check()
    (each,) = only(answer).benchmarks
    assert each.concluded.verdict == "slower"
    assert len(only(answer).build_failures) == 1
    assert len(made.executor.commands) == 2 * each.n_rounds + 2 * (FEWEST_ROUNDS - 1)


def test_a_build_that_fails_is_told_by_the_line_that_says_why(tmp_path):
    reason = "the build exited with status 2; it says:\n    main.c:6:1: error: unknown type\n    6 | syntax"
    answer = Made(tmp_path, unbuilt=("head",), reason=reason).check()
    said = ending_sentence(only(answer), answer.question)
    why = "the build exited with status 2; it says: main.c:6:1: error: unknown type"
    assert said == f"stopped, as {answer.question.head.label} could not be built: {why}"


def test_what_helps_where_a_commit_cannot_be_built_is_on_the_screen(tmp_path):
    """It stands behind what git said, which may be long."""
    said = "unable to access 'https://example.org/a/long/path/none.git/': Failed to connect to example.org port 443"
    helps = "If the build does not need it, name it in build.exclude"
    reason = f"build.repo: cannot check out e880aae86552 of /src/q: submodule third: fatal: {said}. {helps}"
    answer = Made(tmp_path, unbuilt=("head",), reason=reason).check()
    assert helps in " ".join("".join(text for text, _ in line).strip() for line in check_screen(answer, 60))


def test_where_both_cannot_be_built_both_are_named(tmp_path):
    answer = Made(tmp_path, unbuilt=("base", "head")).check()
    both = f"{answer.question.base.label} and {answer.question.head.label}"
    assert f"stopped, as {both} could not be built: " in ending_sentence(only(answer), answer.question)


def test_commits_that_were_built_and_have_no_layouts_are_not_said_to_be_unbuilt(tmp_path):
    answer = Made(tmp_path, fails={("head", seed) for seed in range(1, 9)}).check()
    said = ending_sentence(only(answer), answer.question)
    assert said == f"stopped, as layouts of {answer.question.head.label} could not be made: no link"
    assert answer.has_failed


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"unbuilt": ("base",)}, "HEAD bbbbbbb was built. If it adds the benchmark"),
        ({"script": lambda _, side, __: "exit 3" * (side == "base")}, "HEAD bbbbbbb was executed. If it adds"),
        ({"unbuilt": ("head",)}, ""),
        ({"unbuilt": ("base", "head")}, ""),
        ({"script": "exit 3"}, ""),
        ({"fails": {("base", seed) for seed in range(1, 9)}}, ""),
    ],
)
def test_where_base_alone_fails_it_may_lack_the_benchmark(tmp_path, settings, told):
    """Each team that adds a gate sees it first on the change that adds the benchmark; it stays a failure."""
    answer = Made(tmp_path, **settings).check()
    assert exit_status(answer, ["slower"]) == exit_status(answer, []) == 1
    assert first_change_sentence(only(answer), answer.question).startswith(told)
    forms = (comment(answer), "".join(github_annotations(answer, [], {}, "")), junit(answer, []))
    assert all((" If it adds the benchmark" in text) == bool(told) for text in forms)
    assert ("Next: if the change adds the benchmark, merge that first" in screen_of(answer)) == bool(told)
    (row,) = check_document(answer)["systems"][0]["benchmarks"]
    assert [each["kind"] for each in row["next"]] == ["merge first"] * bool(told)


def test_the_same_call_takes_no_layout_for_a_new_one_that_was_executed_under_an_earlier_seed(tmp_path):
    """Of a program that has two layouts the second call said *more*, of one of them twice."""
    made = Made(tmp_path, ratio=1.03)
    build = made.build

    def of_two_layouts(*asked):
        def text(layout):
            return layout if layout == "stock" else str(layout in (4, 7))

        return [
            replace(one, binaries=tuple(replace(each, text_sha256=text(each.layout)) for each in one.binaries))
            for one in build(*asked)
        ]

    made.build = of_two_layouts
    answers = [made.check(), made.check()]
    for answer in answers:
        (each,) = only(answer).benchmarks
        assert (each.concluded.verdict, each.n_rounds, only(answer).ending) == ("cannot tell", 2, "failures")
        assert "the same code in the same order as seed 1" in ending_sentence(only(answer), answer.question)
    assert only(answers[1]).executed == 0


def test_a_stock_build_that_fails_is_not_why_executions_do(tmp_path):
    answer = Made(tmp_path, fails={("head", "stock")}, script="exit 3").check()
    said = ending_sentence(only(answer), answer.question)
    labels = f"{answer.question.base.label} and {answer.question.head.label}"
    assert f"executions of {labels} fail" in said and "could not be" not in said


@pytest.mark.parametrize(
    ("base", "head", "told"),
    [
        ("", "exit 3", "executions of HEAD bbbbbbb fail: fake exit"),
        ("exit 3", "exit 3", "executions of main aaaaaaa and HEAD bbbbbbb fail: fake exit"),
        ("exit 3", "signal 11", "executions fail, of main aaaaaaa: fake exit; of HEAD bbbbbbb: fake signal"),
    ],
)
def test_it_is_said_at_which_commit_executions_fail(tmp_path, base, head, told):
    """A change that crashes is not a machine on which neither commit can be executed."""
    answer = Made(tmp_path, script=lambda _, system, __: {"base": base, "head": head}[system]).check()
    assert ending_sentence(only(answer), answer.question).startswith(f"stopped, as {told}; where that is mended")


@pytest.mark.parametrize(
    ("base", "head", "is_one"),
    [
        ("exit status 2; its output says: took 1.25 s", "exit status 2; its output says: took 13.5 s", True),
        ("exit status 2; its output says: took 1.25 s", "exit status 3; its output says: took 1.25 s", False),
        ("exit status 2; its output says: no file", "exit status 2; its output says: no memory", False),
    ],
)
def test_numbers_that_a_program_printed_last_are_no_other_cause(tmp_path, monkeypatch, base, head, is_one):
    answer = Made(tmp_path, script="exit 3").check()
    reasons = {"base": base, "head": head}
    first = only(answer)
    failures = tuple(replace(each, reason=reasons[each.system]) for each in first.failures)
    monkeypatch.setattr(type(first), "failures", property(lambda _self: failures))
    said = ending_sentence(first, answer.question)
    both = f"executions of {answer.question.base.label} and {answer.question.head.label} fail: {base};"
    assert (both in said, head in said) == (is_one, not is_one)


def test_a_gate_says_where_a_benchmark_may_run_for_a_fixed_time(tmp_path):
    """Its wall time would be that time, and every change the same."""
    answer = Made(tmp_path).check()
    system = only(answer)
    prints = MeasuresItself("work", "wall_s", "568 MB/s", "586 MB/s")
    other = MeasuresItself("other", "wall_s", "1 MB/s", "2 MB/s")
    seen = replace(system.selection, warnings=(*system.selection.warnings, prints, other))
    told = replace(answer, systems=(replace(system, selection=seen),))
    text = "".join("".join(part for part, _ in line) + "\n" for line in check_screen(told, 80))
    assert "work prints other numbers each time (568 MB/s, 586 MB/s)" in " ".join(text.split())
    assert prints.brief() in comment(told)
    assert any(prints.brief() in line for line in github_annotations(told, [], {}, ""))
    assert "1 MB/s" not in text


def test_in_a_comment_the_system_stands_apart_from_the_commits(tmp_path):
    answer = Made(tmp_path, unbuilt=("head",)).check()
    first = only(answer)
    two = replace(answer, systems=(first, replace(first, system="O3")))
    assert f"{answer.question.head.label} (O3)\n" in comment(two)


def test_what_is_judged_by_a_count_is_said_where_its_row_does_not(tmp_path):
    """``more`` stood there without a word of what there is more."""
    answer = Made(tmp_path, ratio=1.03).check()
    (each,) = only(answer).benchmarks
    assert "no time" not in comment(answer) + screen_of(answer)
    cycles = replace(
        each, quantity=replace(each.quantity, metric="estimated_cycles"), pair=replace(each.pair, unit="cycles")
    )
    counted = replace(answer, systems=(replace(only(answer), benchmarks=(cycles,)),))
    for text in (comment(counted), screen_of(counted)):
        assert "work: judged by estimated_cycles, which is no time" in text
    named = replace(answer, systems=(replace(only(answer), benchmarks=(cycles, each)),))
    assert "work estimated_cycles" in screen_of(named) and "no time" not in screen_of(named)


def screen_of(answer):
    return "\n".join(map(_text, check_screen(answer, 80)))


def test_a_program_that_fails_ends_the_check(tmp_path):
    made = Made(tmp_path, script="exit 3")
    answer = made.check()
    assert only(answer).ending == "failures"
    assert answer.has_failed
    assert verdicts(answer) == {"work": "cannot tell"}
    assert len(made.executor.commands) <= 3 * 4
    assert ending_sentence(only(answer), answer.question) == (
        "stopped, as executions of main aaaaaaa and HEAD bbbbbbb fail: fake exit; where that is mended, --retry-failed "
        "executes them again"
    )


def test_what_failed_for_a_cause_outside_is_executed_again_when_that_is_asked_for(tmp_path):
    made, works = Made(tmp_path, ratio=1.03), FakeExecutor()
    made.executor = lambda command: replace(works(command), status="exit", reason="no data", returncode=1)
    assert only(made.check()).ending == "failures"
    made.executor = again = FakeExecutor()
    assert verdicts(made.check()) == {"work": "cannot tell"}
    assert again.commands == []
    answer = made.check(retry_before=1e9 + 1)  # when the fake one says that it began is 1e9
    assert verdicts(answer) == {"work": "slower"}
    assert not answer.has_failed


def test_what_failed_before_the_last_complete_round_is_executed_again_though_there_is_a_verdict(tmp_path):
    made, works, calls = Made(tmp_path, ratio=1.03), FakeExecutor(), count(1)

    def fails_at_times(command):
        outcome = works(command)
        return replace(outcome, status="exit", reason="no data", returncode=1) if next(calls) in (5, 6, 9) else outcome

    made.executor = fails_at_times
    first = made.check()
    assert (verdicts(first), len(only(first).failures)) == ({"work": "slower"}, 3)
    made.executor = again = FakeExecutor()
    assert len(only(made.check()).failures) == 3
    assert len(only(made.check(retry_before=1e9 + 1, budget_s=0.0)).failures) == 3, "no round begins without time"
    assert again.commands == []
    answer = made.check(retry_before=1e9 + 1)
    assert (verdicts(answer), only(answer).failures, len(again.commands)) == ({"work": "slower"}, (), 3)
    assert only(answer).executed == 3


def test_all_that_a_check_tells_of_a_failure_names_no_other_command(tmp_path, capsys):
    """`layoutrand run` executes nothing of a check."""
    made, works = Made(tmp_path, ratio=1.03), FakeExecutor()

    def once(command):
        outcome = works(command)
        return replace(outcome, status="exit", reason="no data", returncode=1) if len(works.commands) == 3 else outcome

    made.executor = once
    answer = made.check()
    assert verdicts(answer) == {"work": "slower"}
    show_full(answer, Terminal(json=False, quiet=False))
    told = capsys.readouterr().out
    assert "next: execute again what failed (--retry-failed, after a look at the log)" in told
    assert "layoutrand run" not in told


def test_a_budget_that_ends_before_anything_succeeded_is_a_failure(tmp_path):
    """Nobody can tell, and not for want of time."""
    made = Made(tmp_path, script="exit 3")
    answer = made.check(budget_s=1.0)
    assert 0 < len(made.executor.commands) <= 4
    assert only(answer).ending == "failures"


def test_what_was_decided_is_not_executed_again(tmp_path):
    first = Made(tmp_path, ratio=1.03)
    path = only(first.check()).results
    again = only(Made(tmp_path, ratio=1.03).check())
    assert (again.results, again.executed) == (path, 0)


def test_the_document_has_the_verdict_and_what_it_rests_on(tmp_path):
    found = check_document(Made(tmp_path, ratio=1.03, own=1.08).check())
    assert found["schema"] == "layoutrand/check/1"
    (system,) = found["systems"]
    (row,) = system["benchmarks"]
    assert row["conclusion"] == "slower"
    assert row["interval"][0] > 1.01
    assert row["settled"]
    assert row["as_built_change"] == pytest.approx(0.08, abs=0.001)
    assert math.isfinite(row["as_built_layout_share"])
    assert system["comparison"]["suite"] is None


def test_benchmarks_are_chosen_by_name(tmp_path):
    made = Made(tmp_path, ratio=1.03, benchmarks=TWO)
    assert list(verdicts(made.check(benchmarks=("start",)))) == ["start"]
    assert ONE in TWO


def test_what_the_kernel_counts_is_judged_where_it_is_named(tmp_path):
    """Memory that grows is a change like others; nobody had a benchmark that measured it."""
    answer = Made(tmp_path, ratio=1.03).check(metric="max_rss_bytes")
    (row,) = only(answer).benchmarks
    assert (row.quantity.instrument, row.quantity.metric) == ("native", "max_rss_bytes")
    assert row.concluded.verdict == "slower"
    assert "more" in screen_of(answer)
    with pytest.raises(UsageError, match="--metric max_rss: no benchmark that is checked measures it"):
        Made(tmp_path).check(metric="max_rss")


def counted(tmp_path, captures, contents, state=None):
    """What is taken from another check of one capture, whose executions are ``contents`` (instrument, status, seed)."""
    config = make_config(
        ONE.replace('"]\n', '"]\nmetric = { wall = true, cachegrind = true }\n'), systems=("base", "head")
    )
    (tmp_path / ".layoutrand" / "check").mkdir(parents=True)
    folder = tmp_path / ".layoutrand" / "check"
    definitions = experiments.definitions(config, list(config.benchmarks), tmp_path)
    experiment = experiments.current_experiment(config)
    with open_for_writing(folder / "other.sqlite") as store:
        ids = store.begin(experiment, experiments.current_context(config))
        for instrument, status, seed in contents:
            row = execution(config, tmp_path, "head", "work", seed, instrument=instrument, status=status)
            row = replace(row, host_state={**row.host_state, **(state or {})})
            store.record(ids, replace(row, capture="x", definition=definitions["work", instrument]))
    taken = take_earlier_counts(config, tmp_path, folder / "mine.sqlite", captures, root=tmp_path)
    again = take_earlier_counts(config, tmp_path, folder / "mine.sqlite", captures, root=tmp_path)
    if not taken:
        return 0, again, []
    with open_for_reading(folder / "mine.sqlite") as store:
        return taken, again, [(e.system, e.instrument, e.layout) for e in store.executions(experiment)]


def test_counts_of_a_commit_are_known_from_other_checks_and_times_are_not(tmp_path):
    """What was head there is base here; nothing is taken twice, and nothing that failed."""
    rows = [("cachegrind", "ok", 1), ("cachegrind", "exit", 2), ("native", "ok", 1)]
    taken = counted(tmp_path, {"base": "x", "head": "y"}, rows)
    assert taken == (1, 0, [("base", "cachegrind", 1)])


@pytest.mark.parametrize(("there", "taken"), [(b"two libraries", 1), (b"three libraries", 0), (None, 0)])
def test_counts_that_were_started_with_other_files_are_left_alone(tmp_path, there, taken):
    """`ldconfig` was called in between, or another image of the runner has the kept results: each start counts more."""
    cache = tmp_path / CACHE.lstrip("/")
    cache.parent.mkdir()
    if there is not None:
        cache.write_bytes(there)
    state = {"start_files": {CACHE: hashlib.sha256(b"two libraries").hexdigest()[:16]}}
    assert counted(tmp_path, {"base": "x"}, [("cachegrind", "ok", 1)], state)[0] == taken


def test_counts_of_other_programs_are_left_alone(tmp_path):
    assert counted(tmp_path, {"base": "y", "head": "z"}, [("cachegrind", "ok", 1)]) == (0, 0, [])


def test_the_coupling_is_chosen_where_it_can_be():
    config = make_config(ONE)
    assert coupled_by(config, "address").layout.by_address
    assert not coupled_by(coupled_by(config, "address"), "order").layout.by_address
    rebuilt = config.model_copy(update={"build": config.build.model_copy(update={"mode": "rebuild"})})
    for wrong, how in ((config, "nearly"), (rebuilt, "address")):
        with pytest.raises(UsageError):
            coupled_by(wrong, how)


@pytest.mark.parametrize("kind", STEPS)
def test_no_step_of_a_check_is_taken_by_run(kind):
    """It knows nothing of the commits of a check: what it executes is no part of one."""
    assert not step_of_check(STEPS[kind]).command.startswith("layoutrand run")


@pytest.mark.parametrize(("verdict", "kinds"), [("same", []), ("cannot tell", ["more layouts"])])
def test_no_budget_executes_more_of_what_has_its_verdict(verdict, kinds):
    """A doubt advises more layouts, of which `check` makes none once it is settled: it was "a larger --budget"."""
    found = of_check(Conclusion(verdict, "doubtful", (), (STEPS["more layouts"],)))
    assert [each.kind for each in found.next] == kinds


def test_what_failed_is_executed_again_by_an_option_of_check():
    assert step_of_check(STEPS["retry failed"]).briefly.startswith("--retry-failed")


def test_a_verdict_that_more_rounds_take_away_is_told():
    """Cases of one process are executed as long as one of them is open, settled or not."""
    said = []
    settled = iter([0, 1, 1, 0])
    rounds = SimpleNamespace(settled=next(settled), quantities=range(7), n_rounds={"a": 5}, is_over=False)

    def next_round(_left_s):
        rounds.settled = next(settled)
        rounds.n_rounds["a"] += 1
        return True

    rounds.next_round = next_round
    begun = _Begun(SimpleNamespace(tools=SimpleNamespace(say=said.append)), [])
    begun.rounds = rounds
    assert [begun.goes_on(60) for _ in range(3)] == [True] * 3
    assert said == ["1 of 7 settled after 6 rounds", "0 of 7 settled after 8 rounds"]


def test_why_a_verdict_is_doubtful_is_told_also_of_builds_that_failed_in_an_earlier_call(tmp_path):
    """The screen said *doubtful*, and nothing said why."""
    answer = Made(tmp_path, ratio=1.05).check()
    system = only(answer)
    failures = tuple(BuildFailure("base", "prog", seed, "the same code as seed 7", None) for seed in (8, 9))

    def screen(of):
        changed = replace(answer, systems=(of,))
        return "\n".join(_text(line) for line in check_screen(changed, 80))

    earlier = replace(system, selection=replace(system.selection, build_failures=failures))
    assert "⚠ 2 layouts could not be built: the same code as seed 7" in screen(earlier)
    assert "could not be built" not in screen(replace(earlier, build_failures=failures))  # told as they happened
    assert "could not be built" not in screen(system)
