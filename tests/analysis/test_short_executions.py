"""Executions of a few milliseconds: told by analyse, compare and plan, with what to do, and of process times alone."""

from __future__ import annotations

import dataclasses

import pytest

from experiments import measured, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_layouts, of_pair
from layoutrand.analysis.plan import make_plans
from layoutrand.config.execution_warnings import TooShort, too_short
from layoutrand.execute import experiment
from layoutrand.stats.streams import Stream

BENCHMARK = '[[benchmarks]]\nname = "x"\ncommand = ["{artefact}"]\nmetric = %s\n'


def told(tmp_path, size, *, metric="wall_s", asked="{ wall = true }", instrument="native"):
    """Who says so of two systems of which the second takes a tenth less: kind of command -> warnings."""
    config = make_config(BENCHMARK % asked, systems="ab")
    definition = experiment.definitions(config, config.benchmarks, tmp_path)["x", instrument]
    rows = []
    for system, factor in (("a", 1.0), ("b", 0.9)):
        data = {seed: [[size * factor * (1 + 0.001 * (7 * seed % 12))]] for seed in range(1, 13)}
        rows += measured(config, tmp_path, system, "x", data, metric=metric)
    write(config, tmp_path, [dataclasses.replace(row, instrument=instrument, definition=definition) for row in rows])
    selection = selected(config, tmp_path)
    report = analyse(selection, confidence=0.95, metrics=[])
    ratio = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)
    plans = make_plans(selection, {}, half_widths=[0.01], threshold=0.01, confidence=0.95)
    return {
        "analyse": [w for each in report.analyses for w in each.warnings if isinstance(w, TooShort)],
        "compare": [w for w in ratio.benchmarks[0].warnings if isinstance(w, TooShort)],
        "plan": [w for each in plans for w in each.warnings if isinstance(w, TooShort)],
        "reasons": [r.cause for r in of_pair(ratio, ratio.benchmarks[0]).reasons],
        "steps": [step.kind for each in report.analyses for step in of_layouts(each, report.warnings).next],
    }


def test_times_of_two_milliseconds_are_told_everywhere_with_what_to_do(tmp_path):
    found = told(tmp_path, 0.002)
    assert [len(found[kind]) for kind in ("analyse", "compare", "plan")] == [2, 1, 2]
    assert "too short" in found["reasons"]
    assert found["steps"].count("more work") == 2
    sentence = str(found["compare"][0])
    assert sentence.startswith("x: an execution takes 1.8")
    assert all(word in sentence for word in ("more work", "metric.regex", "metric.cachegrind"))


@pytest.mark.parametrize(
    ("size", "other"),
    [
        (0.05, {}),
        (0.002, {"metric": "value", "asked": "{ regex = '(x)', unit = 's' }"}),
        (
            2000.0,
            {
                "metric": "estimated_cycles",
                "asked": "{ wall = true, cachegrind = true, primary = 'estimated_cycles' }",
                "instrument": "cachegrind",
            },
        ),
    ],
    ids=["longer", "its own time", "counts"],
)
def test_nothing_is_told_of_longer_times_of_what_a_program_measures_itself_and_of_counts(tmp_path, size, other):
    found = told(tmp_path, size, **other)
    assert found["analyse"] == found["compare"] == found["plan"] == []
    assert "too short" not in found["reasons"]


@pytest.mark.parametrize(("size", "fewest", "most"), [(0.002, 200, 200), (0.015, 199, 200), (0.035, 0, 1)])
def test_how_often_it_is_told_does_not_hang_on_a_few_slow_executions(size, fewest, most):
    """Of 10 executions with a standard deviation of 15 %, one in ten of them five times as slow."""
    count = 0
    for number in range(200):
        noise = 1 + 0.15 * Stream(5, "short", number).normals(10)
        noise[Stream(6, "short", number).uniforms(10) < 0.1] *= 5
        count += bool(too_short("x", list(size * noise)))
    assert fewest <= count <= most
