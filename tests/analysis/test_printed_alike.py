"""What binaries or systems print, where it is not the same: told by analyse and compare."""

from __future__ import annotations

import dataclasses

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_layouts
from layoutrand.execute.output_warnings import SystemsPrintOther, UnlikeOutputs
from layoutrand.screens.comparison_screen import comparison_screen
from layoutrand.screens.layout_screen import analysis_screen

BENCHMARK = '[[benchmarks]]\nname = "x"\ncommand = ["{artefact}"]\nmetric = { wall = true }\n'


def selection_of(tmp_path, output, *, executions=1):
    """Two systems; ``output`` is what an execution of (system, layout) prints."""
    config = make_config(BENCHMARK, systems="ab", run=f"executions = {executions}")
    rows = []
    for system in "ab":
        data = {seed: [[1 + 0.001 * (7 * seed % 12)]] * executions for seed in range(1, 13)}
        rows += measured(config, tmp_path, system, "x", data | {"stock": [[1.0], [1.001]]})
    rows = [dataclasses.replace(row, output_sha256=64 * output(row.system, row.layout)) for row in rows]
    write(config, tmp_path, rows)
    return selected(config, tmp_path)


def words(lines):
    return " ".join(" ".join("".join(part for part, _ in line) for line in lines).split())


@pytest.mark.parametrize(("executions", "step"), [(1, "more executions"), (3, "same output")])
def test_a_layout_that_prints_something_else_casts_doubt_on_its_system(tmp_path, executions, step):
    selection = selection_of(
        tmp_path, lambda system, layout: "b" if (system, layout) == ("a", 7) else "a", executions=executions
    )
    report = analyse(selection, confidence=0.95, metrics=[])
    assert [type(each) for each in report.warnings].count(UnlikeOutputs) == 1
    one, other = (of_layouts(each, report.warnings) for each in report.analyses)
    assert "unlike outputs" in [reason.cause for reason in one.reasons]
    assert "unlike outputs" not in [reason.cause for reason in other.reasons]
    assert step in [each.kind for each in one.next]
    sentence = "seed 7 of a prints something else than its other 12 binaries, which agree"
    assert f"⚠ {sentence}" in words(analysis_screen(report, report.analyses, 200))
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    assert sentence in words(comparison_screen([ratio], selection, 200))


def test_two_systems_that_do_different_work_are_told_in_a_line_and_the_verdict_stays(tmp_path):
    def verdict(selection):
        return compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)

    alike = verdict(selection_of(tmp_path / "alike", lambda _system, _layout: "a"))
    selection = selection_of(tmp_path / "unlike", lambda system, _layout: system)
    unlike = verdict(selection)
    (told,) = [each for each in unlike.benchmarks[0].warnings if isinstance(each, SystemsPrintOther)]
    assert dataclasses.replace(
        unlike.benchmarks[0], warnings=tuple(each for each in unlike.benchmarks[0].warnings if each != told)
    ) == dataclasses.replace(alike.benchmarks[0], same_program=unlike.benchmarks[0].same_program)
    assert "a and b do not print the same, so they may do different work" in words(
        comparison_screen([unlike], selection, 200)
    )
    assert analyse(selection, confidence=0.95, metrics=[]).warnings == ()


def test_nothing_is_told_of_results_of_an_earlier_layoutrand(tmp_path):
    selection = selection_of(tmp_path, lambda _system, _layout: "")
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    told = [*analyse(selection, confidence=0.95, metrics=[]).warnings, *ratio.warnings, *ratio.benchmarks[0].warnings]
    assert not [each for each in told if isinstance(each, UnlikeOutputs | SystemsPrintOther)]


def test_a_screen_that_names_the_system_anyway_names_it_once(tmp_path):
    selection = selection_of(
        tmp_path, lambda system, layout: "b" if (system, layout) in {("a", 7), ("b", 8)} else "a", executions=3
    )
    report = analyse(selection, confidence=0.95, metrics=[])
    text = words(analysis_screen(report, report.analyses, 200))
    assert "⚠ seed 7 of a prints" in text
    assert "⚠ seed 8 of b prints" in text


def test_what_both_systems_have_alike_is_one_line(tmp_path):
    selection = selection_of(tmp_path, lambda _system, layout: "b" if layout in {5, 7} else "a", executions=3)
    report = analyse(selection, confidence=0.95, metrics=[])
    sentence = "seeds 5, 7 of a and b print something else than the other 11 binaries of each, which agree"
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    for screen in (analysis_screen(report, report.analyses, 200), comparison_screen([ratio], selection, 200)):
        text = words(screen)
        assert f"⚠ {sentence}" in text
        assert text.count("something else") == 1
