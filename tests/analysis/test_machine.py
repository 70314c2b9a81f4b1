"""The machine, not the layout: regimes, drift and groups within one binary, in what the commands say."""

import dataclasses
import json
import random

import pytest

from experiments import execution, selected, write
from fakes import make_config
from layoutrand.analysis.analyse import analyse
from layoutrand.analysis.compare import compare
from layoutrand.analysis.conclusion import of_layouts
from layoutrand.analysis.documents import analyse_document
from layoutrand.analysis.machine_warnings import (
    CountsChanged,
    GroupsInOneBinary,
    MachineChanged,
    MachineDrifted,
    MachineSwitched,
)
from layoutrand.analysis.next_steps import LayoutsThere
from layoutrand.analysis.reasons import reasons, steps
from layoutrand.analysis.sentences import of_analysis
from layoutrand.model import Measurement

TABLE = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = make_config(TABLE)


def experiment(project, value, *, rounds=30, systems=("a", "b"), kinds=("seed", "stock", "identity"), chance=None):
    """Rounds of all systems; ``value`` is of (system, layout, place in time)."""
    chance = chance or random.Random(1)
    rows = []
    for seed in range(1, rounds + 1):
        own = [(system, kind) for system in systems for kind in kinds]
        chance.shuffle(own)
        for system, kind in own:
            layout = seed if kind == "seed" else kind
            measurement = Measurement("wall_s", "s", 0, value(system, layout, len(rows)), warmup=False)
            made = execution(CONFIG, project, system, "b", layout, round=seed, measurements=(measurement,))
            rows.append(dataclasses.replace(made, started_at=1e9 + len(rows)))
    write(CONFIG, project, rows)
    return selected(CONFIG, project)


def alternating(chance, place):
    """72 ms and, from time to time, 107."""
    slow = place % 60 in range(25, 50)
    return (0.107 if slow else 0.072) * chance.gauss(1, 0.02)


def test_a_machine_that_switches_is_said_to_and_nothing_of_layouts(tmp_path):
    """The binaries alone look like two groups of layouts, and vary no more than stock does."""
    chance = random.Random(2)
    selection = experiment(tmp_path, lambda system, layout, place: alternating(chance, place))
    report = analyse(selection, confidence=0.95, metrics=[])

    for analysis in report.analyses:
        (said,) = [each for each in analysis.warnings if isinstance(each, MachineSwitched)]
        found = analysis.findings.machine.alternation
        assert found.levels == pytest.approx((0.072, 0.107), rel=0.02)
        assert (found.binary, sum(found.counts)) == ("stock", 30)
        assert found.counts[1] in range(8, 18)
        assert "switched 6 times between 7" in str(said)
        assert f"({found.counts[1]} of 30 executions of stock above the lowest)" in str(said)
        assert analysis.findings.is_machine
        assert analysis.findings.shape.dip_p_value <= 0.05
        assert not analysis.findings.shape.has_several_peaks
        words = of_analysis(analysis)
        assert "fall into groups" not in words
        assert "layout matters (" not in words
        assert of_layouts(analysis).verdict == "machine, not layout"
        assert ": machine, not layout: that the machine changed its speed" in words
    row = analyse_document(report)["benchmarks"][0]
    assert row["machine"]["instead_of_layout"] is True
    assert [each["level"] for each in row["machine"]["regimes"]] == pytest.approx([0.072, 0.107], rel=0.02)
    assert row["machine"]["changes"] == 6
    assert row["modality"]["several_peaks"] is None
    json.dumps(row, allow_nan=False)


def test_a_layout_that_measures_nothing_has_no_logarithm(tmp_path):
    """CPU times come in steps, so that of a short program may be 0 in a layout where controls are above, at levels."""
    chance = random.Random(2)
    selection = experiment(
        tmp_path, lambda system, layout, place: 0.0 if layout == 7 else alternating(chance, place), systems=("a",)
    )

    (analysis,) = analyse(selection, confidence=0.95, metrics=[]).analyses

    assert analysis.n_binaries == 30
    assert analysis.findings.machine.alternation is None


def test_groups_of_layouts_stay_groups_of_layouts(tmp_path):
    """A third of the layouts is slow, in both systems alike; stock and identity are in one group."""
    chance = random.Random(3)

    def value(system, layout, place):
        slow = layout not in ("stock", "identity") and layout % 3 == 0
        return (107 if slow else 72) * chance.gauss(1, 0.02)

    analysis = analyse(experiment(tmp_path, value), confidence=0.95, metrics=[]).analyses[0]

    assert not analysis.findings.machine.state.follows_time
    assert analysis.findings.shape.has_several_peaks
    assert "the layouts fall into groups" in of_analysis(analysis)


def test_a_drift_is_a_drift(tmp_path):
    chance = random.Random(4)
    selection = experiment(tmp_path, lambda system, layout, place: 100 + 0.05 * place + chance.gauss(0, 1))
    analysis = analyse(selection, confidence=0.95, metrics=[]).analyses[0]

    assert analysis.findings.drift.is_found
    assert analysis.findings.machine.alternation is None
    assert any(isinstance(each, MachineDrifted) for each in analysis.warnings)
    assert not analysis.findings.is_machine


def test_switching_that_is_little_beside_layouts_leaves_what_is_said_of_them(tmp_path):
    chance = random.Random(5)
    layouts = {seed: chance.gauss(1, 0.05) for seed in range(1, 31)}

    def value(system, layout, place):
        return layouts.get(layout, 1.0) * (1.01 if place % 60 >= 30 else 1.0) * chance.gauss(1, 0.001)

    analysis = analyse(experiment(tmp_path, value), confidence=0.95, metrics=[]).analyses[0]
    (said,) = [each for each in analysis.warnings if isinstance(each, MachineSwitched)]

    assert not said.is_instead_of_layout
    assert "a small part of the differences between layouts" in str(said)
    assert of_layouts(analysis).verdict == "layout matters"


def test_groups_within_one_binary_without_any_order_are_no_groups_of_layouts(tmp_path):
    """Each execution is slow or not by chance, such as by where its stack lies."""
    chance = random.Random(6)
    selection = experiment(tmp_path, lambda *_: chance.choice((72, 107)) * chance.gauss(1, 0.01))
    analysis = analyse(selection, confidence=0.95, metrics=[]).analyses[0]

    assert not analysis.findings.machine.state.follows_time
    assert any(isinstance(each, GroupsInOneBinary) for each in analysis.warnings)
    assert "fall into groups (dip" not in of_analysis(analysis)


def test_what_is_not_known_to_have_an_order_has_none(tmp_path):
    chance = random.Random(7)
    selection = experiment(tmp_path, lambda *_: chance.gauss(100, 1))
    samples = tuple(dataclasses.replace(each, started={}) for each in selection.samples)
    analysis = analyse(dataclasses.replace(selection, samples=samples), confidence=0.95, metrics=[]).analyses[0]

    assert (analysis.findings.drift, analysis.findings.machine.state) == (None, None)


def test_compare_says_it_as_well(tmp_path):
    chance = random.Random(8)
    selection = experiment(tmp_path, lambda system, layout, place: alternating(chance, place))
    found = compare(selection, "a", "b", confidence=0.95, threshold=0.01, metric=None)

    (told,) = (each for each in found.benchmarks[0].warnings if isinstance(each, MachineChanged))
    assert len(told.levels) == 2
    assert told.by_round


def test_a_simulator_that_counts_one_binary_unlike_is_told(tmp_path):
    """A thousandth of a percent: another ld.so.cache was written meanwhile."""
    config = make_config(TABLE + "metric = {wall = false, cachegrind = true}\n", systems=("a",))
    rows = []
    for place, layout in enumerate([1, 2, 3, 4, *["stock"] * 4]):
        count = 1_000_000.0 + (10 * place if layout != "stock" else 10 * (place > 5))
        rows.append(
            execution(
                config,
                tmp_path,
                "a",
                "b",
                layout,
                instrument="cachegrind",
                round=place,
                started_at=1e9 + place,
                measurements=(Measurement("instructions", "1", 0, count, warmup=False),),
            )
        )
    write(config, tmp_path, rows)
    analysis = analyse(selected(config, tmp_path), confidence=0.95, metrics=["instructions"]).analyses[0]

    assert CountsChanged("stock", 4, 2, 1_000_000.0, 1_000_010.0) in analysis.warnings


def test_two_systems_whose_counts_change_are_told_apart_and_what_helps_is_a_program_that_repeats_itself():
    found = CountsChanged("stock of a", 4, 2, 1_000_000.0, 1_000_010.0)
    assert "executions of stock of a, one and the same binary" in str(found)
    assert [each.kind for each in steps([found], layouts=LayoutsThere(10))] == ["repeatable"]


def test_counts_that_change_by_less_than_is_told_cast_no_doubt():
    """As of a program that prints how long it took."""
    found = CountsChanged("stock", 4, 2, 1_457_000_000.0, 1_457_000_355.0)
    assert not list(reasons([found]))
    assert not list(steps([found], layouts=LayoutsThere(10)))
    assert [each.effect for each in reasons([dataclasses.replace(found, highest=1_457_010_000.0)])] == ["doubts"]


def test_who_has_switched_address_space_randomisation_off_is_not_told_to():
    """Advice that was followed is not given again: the program itself is what is left."""
    found = CountsChanged("stock", 4, 2, 1_000_000.0, 1_000_010.0, fixed_addresses=True)
    step = next(iter(steps([found], layouts=LayoutsThere(10))))
    assert "addresses" not in f"{found}{step}{step.briefly}"
    assert "aslr" not in f"{step}{step.briefly}"
