"""What the first screens have in common: no fact is dropped, and what both systems share is told once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.cells import cell_len

from layoutrand.analysis.analysis_warnings import NewFiles
from layoutrand.analysis.next_steps import STEPS, told_once
from layoutrand.cache.capture_record import source_in_brief, source_words
from layoutrand.config.disturbance import Disturbed
from layoutrand.config.execution_warnings import DisturbedExecutions, TooShort
from layoutrand.model import BuildFailure
from layoutrand.screens import screen_parts
from layoutrand.screens.screen_parts import (
    failure_lines,
    header,
    next_lines,
    possible_steps,
    steps_and_details,
    warning_lines,
)
from layoutrand.stats.advice import NoVariation, TooFew
from layoutrand.stats.stats_warning import BASELINE, CANDIDATE


def in_words(lines):
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def of(*warnings):
    return [SimpleNamespace(cause="anything", warnings=warnings)]


def test_facts_that_have_no_room_beside_the_title_stand_below():
    facts = ["30 layouts each", "a-host-with-a-name", "O2: commit 0123456", "O3: commit 89abcde with changes"]
    lines = in_words(header("O3 against O2", facts, 80))
    assert all(cell_len(line) <= 80 for line in lines)
    assert " · ".join(part for line in lines for part in line.removeprefix("O3 against O2").strip().split(" · ")) == (
        " · ".join(facts)
    )
    assert len(lines) == 2


def test_all_facts_in_one_line_where_there_is_room():
    assert in_words(header("A against B", ["x", "y"], 40)) == ["A against B" + " " * 24 + "x · y"]


def test_what_both_systems_share_is_told_once_and_without_either():
    few = TooFew(4, of=(BASELINE,)), TooFew(4, of=(CANDIDATE,))
    apart = NoVariation(of=(BASELINE,)), TooFew(3, of=(BASELINE,))
    lines = in_words(warning_lines([("b", of(*few, *apart))], 80))
    assert lines == [
        "  ⚠ 4 binaries hardly support an interval",
        "  ⚠ all binaries of the baseline have exactly the same mean",
        "  ⚠ 3 binaries of the baseline hardly support an interval",
    ]


def test_more_layouts_are_no_advice_where_there_are_no_more(monkeypatch):
    """A program of few functions has few orders, and most seeds are one that was there."""
    steps = [STEPS["quiet machine"], STEPS["more layouts"]]
    failed = [
        BuildFailure("a", "prog", seed, "the same code in the same order as seed 1", None) for seed in range(3, 31)
    ]
    monkeypatch.setattr(screen_parts, "evidence", lambda _: SimpleNamespace(of_others=False))
    few, many = (SimpleNamespace(build_failures=each) for each in (failed, failed[:2]))
    assert possible_steps(steps, few, 2) == steps[:1]
    assert possible_steps(steps, many, 28) == steps
    text = " ".join(line.strip() for line in in_words(failure_lines(SimpleNamespace(failures=[], **vars(few)), 80)))
    assert text == "⚠ 28 layouts could not be built: the same code in the same order as seed 1"


def test_what_takes_executions_is_no_advice_for_results_of_others(monkeypatch):
    steps = [STEPS["quiet machine"], STEPS["more layouts"], STEPS["retry failed"], STEPS["sooner"]]
    monkeypatch.setattr(screen_parts, "evidence", lambda _: SimpleNamespace(of_others=True))
    imported = SimpleNamespace(build_failures=[])
    assert [step.briefly for step in possible_steps(steps, imported, 2)] == [
        "import more binaries",
        "less noise, or a larger --threshold",
    ]


def test_one_line_for_a_thing_with_the_benchmarks_that_it_is_about():
    lines = in_words(warning_lines([("a", of(TooFew(4))), ("b", of(TooFew(4))), ("c", of())], 80))
    assert lines == ["  ⚠ a, b: 4 binaries hardly support an interval"]


def test_short_executions_of_a_benchmark_are_told_once_by_the_shortest():
    short = [TooShort("x", seconds) for seconds in (0.012, 0.011, 0.013)] + [TooShort("y", 0.015)]
    lines = in_words(warning_lines([(f"S{k} {each.benchmark}", of(each)) for k, each in enumerate(short)], 80))
    assert lines == [
        "  ⚠ S0 x, S1 x, S2 x: an execution takes 11 ms, much of it the start of the",
        "    process",
        "  ⚠ S3 y: an execution takes 15 ms, much of it the start of the process",
    ]


def test_disturbances_are_told_once_of_all_benchmarks_that_had_them_alike():
    """Of 46, 48 and 47 executions, as where some failed, there were three lines."""
    rows = [Disturbed(name, n, n, {"busy": n}, {"O2": n}, {}) for name, n in (("a", 46), ("b", 48), ("c", 47))]
    about = [(row.benchmark, of(DisturbedExecutions(row, is_repeated=False))) for row in rows]
    assert in_words(warning_lines(about, 80)) == ["  ⚠ 141 of 141 executions were disturbed"]


def test_that_the_results_may_be_old_is_told_first():
    warnings = [NoVariation(), TooFew(4), TooFew(3), NewFiles(("data.json",))]
    lines = in_words(warning_lines([("a", of(*warnings))], 80))
    assert lines[0] == "  ⚠ data.json in the source changed since these results were built"
    assert lines[-1] == "    and 1 more: --full"


def test_a_command_stands_in_one_line():
    said = ["a larger --threshold", "more work for each execution", "layoutrand doctor"]
    lines = in_words(steps_and_details(said, "Details: --full", 78))
    assert lines == [
        "  Next: a larger --threshold · more work for each execution ·",
        "    layoutrand doctor",
        "  Details: --full",
    ]
    assert in_words(steps_and_details(said[2:], "--full", 40)) == ["  Next: layoutrand doctor" + " " * 9 + "--full"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"commit": "0123456789abcdef" * 2, "repo": "https://example.org/x"}, "commit 0123456"),
        ({"digest": "fedcba9876543210"}, "files fedcba9"),
        (
            {"digest": "fedcba9876543210", "git": {"commit": "0123456789abcdef", "dirty": True}},
            "commit 0123456 with changes",
        ),
        ({"digest": "fedcba9876543210", "git": {"commit": "0123456789abcdef", "dirty": False}}, "commit 0123456"),
        ({}, "not recorded"),
    ],
)
def test_a_source_in_brief(source, words):
    assert source_in_brief(source_words(source)) == words


def test_names_give_way_to_what_is_said_of_them():
    long = [f"a-suite/org.example.of.a.package.Benchmark.case{number}" for number in range(4)]
    said = of(NoVariation(of=(BASELINE,)))
    rows = [*((name, said) for name in long[:2]), *((name, []) for name in long[2:])]
    assert in_words(warning_lines(rows, 80)) == [
        f"  ⚠ {long[0]} and 1 more: all binaries of",
        "    the baseline have exactly the same mean",
    ]
    assert in_words(warning_lines(rows, 50)) == [
        "  ⚠ 2 of 4: all binaries of the baseline have",
        "    exactly the same mean",
    ]


def test_a_larger_threshold_is_advised_once():
    """Of two benchmarks, one of which might be decided with less noise."""
    steps = [STEPS["sooner"], STEPS["quiet machine"], STEPS["other threshold"]]
    assert in_words(next_lines(steps, 120)) == [
        "  Next: less noise, or a larger --threshold · layoutrand doctor" + " " * 42 + "Details: --full"
    ]
    assert "a larger --threshold" in in_words(next_lines(steps[1:], 120))[0]


def test_steps_do_not_say_what_another_says_in_other_words():
    some, most = (
        replace(STEPS["more layouts"], command=f"layoutrand run --seeds {n}", n_layouts=n, has_figures=True)
        for n in (60, 112)
    )
    steps = [some, STEPS["sooner"], STEPS["quiet machine"], most, some, STEPS["other threshold"]]
    said = told_once(steps)
    assert [step.kind for step in said] == ["sooner", "quiet machine", "more layouts"]
    assert said[2] == most
    assert "(more work for each execution, simulated counts) or a larger --threshold" in said[0].sentence
    assert "less noise or a larger --threshold" in told_once([*steps, STEPS["more work"]])[0].sentence
    assert told_once([STEPS["sooner"]]) == [STEPS["sooner"]]
    assert told_once([STEPS["other threshold"], some]) == [STEPS["other threshold"], some]
