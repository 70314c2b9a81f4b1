"""`make rates`: that it simulates what it says, reads what commands print, and that its page is of this code."""

import math

import numpy as np
import pytest

from rates import drive, figures, studies, table, worlds
from rates.figures import FIGURES, Count
from rates.studies import Cell
from rates.worlds import WORLDS, Size


@pytest.mark.parametrize("shape", sorted({world.layouts for world in WORLDS.values()} - {"t3"}))
def test_layouts_have_the_mean_and_the_standard_deviation_that_are_taken_for_true(shape):
    """Of Student's t with 3 degrees the sample's standard deviation has no error to speak of."""
    points = worlds.Stream(1, "test").normals(200_000)
    effects = worlds._layouts(shape, points)
    error = effects.std() / math.sqrt(len(effects))
    assert abs(effects.mean() - worlds.layout_mean(shape)) < 4 * error
    relative = effects.std() / (1 + worlds.layout_mean(shape))
    assert relative == pytest.approx(worlds.layout_sd(shape), rel=0.03)


def test_effects_of_a_seed_correlate_between_systems_and_benchmarks_as_the_page_says():
    points = worlds._points(worlds.Stream(1, "test"), 2, 100_000)
    found = np.corrcoef(points.reshape(4, -1))
    assert points.std() == pytest.approx(1, abs=0.01)
    assert found[0, 1] == pytest.approx(0.6, abs=0.02)  # two benchmarks of one binary
    assert found[0, 2] == pytest.approx(0.6, abs=0.02)  # one benchmark, the two systems of a seed
    assert found[0, 3] == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("kind", ["ar1", "regimes"])
def test_machines_have_the_long_mean_that_is_taken_for_true(kind):
    course = worlds._machine(kind, worlds.Stream(1, "test"), 200_000)
    assert course.mean() == pytest.approx(worlds._usual_machine(kind, course), abs=0.01)


def test_truths_are_those_of_the_seconds_that_are_drawn():
    size = Size(2_000, 1, 1)
    drawn = worlds.draw(WORLDS["bimodal"], size, ("test", 0))
    of_seeds = drawn.plan.layout < size.layouts
    for side in (0, 1):
        own = drawn.seconds[of_seeds & (drawn.plan.system == side)]
        assert own.mean() == pytest.approx(drawn.truth.means[side, 0], rel=0.005)
        assert own.std() / own.mean() == pytest.approx(drawn.truth.layout_sds[side], rel=0.06)
    assert drawn.at(1.5)[drawn.plan.system == 1] == pytest.approx(1.5 * drawn.seconds[drawn.plan.system == 1])


def test_a_set_depends_on_its_names_alone():
    first, again, other = (worlds.draw(WORLDS["ar1"], Size(3), ("test", k)) for k in (1, 1, 2))
    assert (first.seconds == again.seconds).all()
    assert not (first.seconds == other.seconds).any()


def test_the_candidate_with_fewer_rounds_has_them_together_with_the_baseline():
    plan = worlds.planned(Size(10), fewer=True, number=0)
    rounds = {system: {slot.round for slot in plan.slots if slot.system == system} for system in ("a", "b")}
    assert rounds == {"a": set(range(1, 11)), "b": set(range(1, 5))}
    assert {slot.system for slot in plan.slots[-12:]} == {"a"}


CELLS = [Cell("one", "lost", Size(3)), pytest.param(Cell("suite", "walk", Size(10, 2, 2)), marks=pytest.mark.slow)]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_what_is_read_is_what_the_commands_print(cell):
    assert list(drive.differences(cell, 1)) == []


def test_the_summary_names_what_is_out_of_range_and_not_told():
    def cell(gave, total, told):
        return {"counts": {"mean": vars(Count(100, gave, total, told))}, "n_errors": 0, "size": {}}

    found = {
        "good": cell(100, 95, 0),
        "told": cell(100, 50, 90),
        "silent": cell(100, 50, 89),
        "chance": cell(100, 92, 0),
    }
    assert [name for _, name, _ in table.silent_in(found, surely=True)] == ["silent"]
    assert [name for _, name, _ in table.silent_in(found, surely=False)] == ["silent", "chance"]
    assert "silent" in table.summary(found).splitlines()[0]


def test_the_page_names_the_warnings_of_what_is_out_of_range():
    count = figures.Count()
    for number in range(100):
        doubts = ["layouts are few", "rounds far"] if number < 40 else ["layouts are few"]
        count.add(number < 50, [*doubts, *doubts])
    cell = {"world": "rare", "size": {"layouts": 10, "executions": 3, "benchmarks": 1}, "n_errors": 0}
    page = table._told({"rare": {**cell, "counts": {"mean": vars(count)}}})
    assert "- 3 % of layouts 30 % slower, 10 x 3: .500; told in 1 layouts are few; .400 rounds far" in page
    fine = Count(100, 100, 95, 100, {"layouts are few": 100})
    assert "No cell is" in table._told({"rare": {**cell, "counts": {"mean": vars(fine)}}})


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (None, ""),
        (Count(100, 0, 0, 0), "none"),
        (Count(100, 100, 95, 0), ".950"),
        (Count(100, 100, 50, 95), ".500 (told .950)"),
        (Count(100, 50, 25, 0), "**.500** (told .000), of .500"),
        (Count(1000, 1000, 999, 0), "_.999_"),
        (Count(100, 100, 92, 0), ".920"),
    ],
)
def test_cells_of_the_page(count, expected):
    assert table.cell_text(FIGURES["mean"], count) == expected


def test_intervals_of_documents():
    assert figures.holds([0.9, 1.1], 1.0) is True
    assert figures.holds([None, 0.9], 1.0) is False
    assert figures.holds([0.9, None], 1.0) is True
    assert figures.holds([None, None], 1.0) is figures.holds(None, 1.0) is None


def test_a_group_that_may_be_missing_is_a_warning_where_the_world_has_one_no_larger():
    rare, normal, half = WORLDS["rare"], WORLDS["normal"], WORLDS["bimodal"]
    assert [bool(figures.may_be_missed(world, {"could_miss": 0.095})) for world in (rare, normal, half)] == [1, 0, 0]
    assert figures.may_be_missed(rare, {}) == []


def test_ranges_of_documents():
    assert figures.within([0.9, 1.1], np.array([0.8, 1.0, 1.05, 1.2])) == 0.5
    assert figures.within(None, np.array([1.0])) is None


def test_medians_are_those_of_what_is_measured():
    assert worlds.median_of(WORLDS["normal"], 1) == pytest.approx(1, abs=1e-4)
    assert worlds.median_of(WORLDS["rare"], 1) == pytest.approx(1.0001, abs=2e-4)
    assert worlds.median_of(WORLDS["gamma"], 3) < 1 - 0.001
    assert worlds.median_of(WORLDS["walk"], 1) is None


def test_the_median_ratio_is_one_where_both_systems_vary_alike():
    assert worlds.median_ratio_of(WORLDS["rare"], 1) == 1
    found = worlds.median_ratio_of(WORLDS["rare-in-one"], 1)
    assert 1 < found < 1.001  # 3 % of the candidate's layouts are slower: the median is that of 48.5 % of the others


def test_a_run_that_is_too_short_to_show_a_drift_is_a_warning_where_the_machine_changes():
    worlds_of = [WORLDS[name] for name in ("normal", "ar1", "regimes")]
    assert [bool(figures.may_have_drifted(world, {"short_run": 15})) for world in worlds_of] == [0, 1, 1]
    assert figures.may_have_drifted(WORLDS["ar1"], {"short_run": None}) == []


def test_warnings_of_one_kind_are_counted_together():
    document = {"warnings": ["3 of 30 binaries differ by 1.5 %"], "drift": {"found": True}, "outliers": []}
    assert figures.doubts_of(document) == ["N of N binaries differ by N %", "finding: drift"]


def test_every_cell_is_simulated_without_an_error():
    """The smallest of each study; the others differ in numbers alone."""
    for study in studies.STUDIES:
        cell = min((each for each in studies.cells() if each.study == study), key=studies.cost)
        tally = studies.counted(cell, 0, 1)
        assert (tally.errors, bool(tally.counts)) == ([], True), cell.name


@pytest.mark.slow
@pytest.mark.parametrize("cell", studies.CHECKED, ids=lambda cell: cell.name)
def test_the_page_is_of_these_statistics(cell):
    """Where a figure is another one than on the page, `make rates` makes the page anew."""
    told = table.repeated(drive.PAGE.read_text())[cell.name]
    tally = studies.counted(cell, 0, drive.CHUNK)
    assert tally.errors == []
    assert table.written(tally.counts) == told
