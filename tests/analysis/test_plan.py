"""From a pilot to repetition counts."""

from __future__ import annotations

import dataclasses
import json
import math
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy.stats import chi2

from experiments import digest, execution, measured, selected, write
from fakes import make_config
from layoutrand import stats
from layoutrand.analysis import pilot, planned_counts
from layoutrand.analysis.analysis_warnings import NothingToFind
from layoutrand.analysis.machine_warnings import MachineSwitched
from layoutrand.analysis.pilot import unplanned
from layoutrand.analysis.plan import make_plans
from layoutrand.analysis.plan_document import plan_document
from layoutrand.analysis.plan_warnings import FewDistinctLayouts
from layoutrand.config.config import parse
from layoutrand.config.settings import with_executions
from layoutrand.errors import AnalysisError, UsageError
from layoutrand.text.quantities import duration
from layoutrand.text.shares import share
from warningkit import said

BENCHMARK = '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
CONFIG = make_config(BENCHMARK, systems=("a",))
LINKS = {digest("a", seed): 0.5 for seed in range(100)}


def planned(tmp_path, data, *, wall_s=None, half_widths=(0.01,), threshold=0.01, links=LINKS, **wanted):
    rows = measured(CONFIG, tmp_path, "a", "b", data)
    if wall_s is not None:
        rows = [dataclasses.replace(row, wall_s=wall_s) for row in rows]
    write(CONFIG, tmp_path, rows)
    plans = make_plans(
        selected(CONFIG, tmp_path), links, half_widths=half_widths, threshold=threshold, confidence=0.95, **wanted
    )
    json.dumps(plan_document(plans, confidence=0.95), allow_nan=False)
    (plan,) = plans
    return plan


def test_binaries_are_as_many_as_the_formulas_need(tmp_path):
    """One execution per binary: for the standard deviation of the pilot, and for its upper limit of 80 %."""
    values = [10.0, 10.4, 9.7, 10.1, 9.9, 10.3, 9.6, 10.0]
    plan = planned(tmp_path, {seed: [[value]] for seed, value in enumerate(values)}, wall_s=2.0)
    (forecast,) = plan.for_mean

    sd = stdev(values) / fmean(values)
    upper = sd * math.sqrt(7 / chi2.ppf(0.2, 7))
    width = stats.binaries_for_half_width(sd, upper, half_width=0.01)
    assert forecast.count.binaries == (width.low, width.high)
    assert plan.levels == ("binary",)
    assert plan.costs_s == {"binary": 2.5}  # a link and an execution
    assert forecast.count.seconds == pytest.approx((2.5 * width.low, 2.5 * width.high))
    for count, true in ((plan.for_ratio.same, 0.0), (plan.for_ratio.different, 0.02)):
        root = math.sqrt(2)  # two systems like this one
        two = stats.binaries_to_decide(root * sd, root * upper, threshold=0.01, difference=true)
        assert count.binaries == (two.low, two.high)
        assert count.seconds == pytest.approx((5 * two.low, 5 * two.high))
    assert (plan.for_ratio.baseline, plan.for_ratio.is_paired) == ("", False)


@pytest.mark.parametrize(("rounds", "each"), [(9, 2.0), (3, 2 / 3)])
def test_the_time_is_with_the_controls_that_each_round_executes(tmp_path, rounds, each):
    """All rounds have them, or a third, as under simulation."""
    data = {seed: [[10 + (seed % 3 - 1)]] for seed in range(9)}
    for control in ("stock", "identity"):
        data[control] = [[10 + 0.1 * (k % 2)] for k in range(rounds)]
    plan = planned(tmp_path, data, wall_s=1.0)
    (count,) = (forecast.count for forecast in plan.for_mean)
    executions = plan.counts.get("execution", 1)
    assert count.seconds[1] == pytest.approx(count.binaries[1] * (0.5 + executions * (1 + each)))


def test_controls_tell_the_noise_of_executions(tmp_path):
    """With binaries executed once, layout alone is what is left of their variance without that of stock and identity.

    These are different binaries, of different means: squares about each, and degrees of freedom, are added.
    """
    data = {seed: [[10 + (seed % 3 - 1)]] for seed in range(9)}
    data["stock"] = [[10.0], [10.5], [9.5]]
    data["identity"] = [[20.0], [20.0], [20.0]]
    plan = planned(tmp_path, data, wall_s=1.0)

    assert plan.levels == ("binary", "execution")
    noise = 0.5 / (2 + 2)
    assert plan.relative_sds["execution"] == pytest.approx(math.sqrt(noise) / plan.mean)
    assert plan.relative_sds["binary"] == pytest.approx(math.sqrt(0.75 - noise) / plan.mean)
    assert plan.costs_s == {"binary": 0.5, "execution": 1.0}
    # sqrt(link / execution * noise / layout), rounded up: TR 4-12, equation 14, with the upper limit of layout
    layout = stats.variance_limit([0.75, noise], [8, 4], weights=[1.0, -1.0])
    assert plan.counts == {"execution": math.ceil(math.sqrt(0.5 / (1 + 6 / 9) * noise / layout))}
    assert any("stock and identity" in warning for warning in said(plan.warnings))


def test_where_noise_dominates_binaries_are_executed_several_times_by_cost(tmp_path):
    """Binaries seem not to differ at all: executions are added as far as the pilot excludes that they do."""
    data = {seed: [[10.0 + (-1) ** seed * 0.2]] for seed in range(50, 60)}
    data["stock"] = [[10.0 + 0.2 * (-1) ** k] for k in range(10)]
    dear = planned(tmp_path / "dear", data, wall_s=1.0, links=dict.fromkeys(LINKS, 60.0))
    cheap = planned(tmp_path / "cheap", data, wall_s=1.0, links=dict.fromkeys(LINKS, 0.0))

    assert cheap.counts == {"execution": 1}
    assert dear.counts["execution"] > 3
    # Two variances of noise of 9 degrees each: what is left of binaries is what their difference may be at most.
    noise = 0.04 * 10 / 9
    limit = stats.variance_limit([noise, noise], [9, 9], weights=[1.0, -1.0])
    assert dear.counts["execution"] == math.ceil(math.sqrt(60 * noise / limit))
    assert dear.for_ratio.same.binaries[1] < cheap.for_ratio.same.binaries[1]
    most = max(cheap.for_ratio.same, cheap.for_ratio.different, key=lambda each: each.binaries[1])
    assert (dear.for_ratio.as_executed.binaries, cheap.for_ratio.as_executed) == (most.binaries, None)


def test_other_executions_that_save_next_to_nothing_are_not_planned(tmp_path, monkeypatch):
    """With them are other numbers than `compare` has."""
    chance = np.random.default_rng(3)
    data = {seed: [[float(10 + value)]] for seed, value in enumerate(chance.normal(0, 0.28, 60))}
    data["stock"] = [[float(10 + each)] for each in chance.normal(0, 0.2, 60)]

    def plans(again=""):
        return [
            planned(tmp_path / f"{link}{again}", data, wall_s=1.0, links=dict.fromkeys(LINKS, float(link)))
            for link in (0, 12, 60)
        ]

    few, some, many = plans()
    assert (few.counts, some.counts) == ({"execution": 1}, {"execution": 1})
    assert (few.for_ratio.as_executed, some.for_ratio.as_executed) == (None, None)
    assert many.counts["execution"] > 1
    most = max(many.for_ratio.same, many.for_ratio.different, key=lambda each: each.binaries[1])
    assert most.seconds[1] < 0.9 * many.for_ratio.as_executed.seconds[1]
    monkeypatch.setattr(planned_counts, "_WORTH_IT", 1.0)
    assert plans(" again")[1].counts["execution"] > 1


def test_more_executions_of_a_binary_take_off_noise_alone(tmp_path):
    """Closed form for two levels: S_2^2 - S_1^2 / r + S_1^2 / r'."""
    own = pilot.Pilot((pilot.LevelSquare(4.0, 20, 2.0),), top=5.0, top_degrees=9)

    assert own.variance([2.0])[0] == pytest.approx(5.0)
    assert own.variance([8.0])[0] == pytest.approx(5.0 - 2.0 + 0.5)
    assert own.variance([1.0])[0] == pytest.approx(5.0 - 2.0 + 4.0)
    assert own.variance([2.0])[1] == pytest.approx(9 * 5.0 / chi2.ppf(0.2, 9))
    # Of executions that vary by 4, four leave 1 in a binary's mean, however little of it was seen.
    assert pilot.Pilot((pilot.LevelSquare(4.0, 20, 2.0),), top=1.5, top_degrees=9).variance([4.0])[0] == 1.0


def test_no_binary_varies_by_more_for_being_executed_more_often():
    """One that varied by less than noise explains, by chance: with the executions of the pilot that is what counts."""
    lucky = pilot.Pilot((pilot.LevelSquare(4.0, 20, 2.0),), top=0.1, top_degrees=9)

    assert lucky.variance([2.0]) == pytest.approx((0.1, 9 * 0.1 / chi2.ppf(0.2, 9)))
    assert lucky.variance([4.0])[0] == pytest.approx(0.1)
    assert lucky.variance([1.0])[0] == pytest.approx(0.1 + 4 - 2)


def test_three_levels_become_those_of_a_known_truth():
    """Iterations, executions, binaries with variances 3, 2, 1, planned with 2 iterations in 4 executions."""
    squares = [3.0, 2.0 + 3.0 / 5, 1.0 + (2.0 + 3.0 / 5) / 3]
    own = pilot.Pilot(
        (pilot.LevelSquare(squares[0], 1e6, 5.0), pilot.LevelSquare(squares[1], 1e6, 3.0)), squares[2], 1e6
    )

    assert own.variance([2, 4])[0] == pytest.approx(1 + 2 / 4 + 3 / 8)
    assert own.variance([2, 4])[1] == pytest.approx(1 + 2 / 4 + 3 / 8, rel=0.01)
    assert own.upper_of_binaries() == pytest.approx(1.0, rel=0.01)


def test_systems_with_common_seeds_are_planned_as_pairs(tmp_path):
    """What seeds share is no reason for more binaries; the row of the baseline is that of its mean alone."""
    config = make_config(BENCHMARK, systems=("a", "c"))
    shared = [10.0, 11.0, 9.0, 10.5, 9.5, 10.2]
    old = {seed: [[value]] for seed, value in enumerate(shared)}
    own = [1.01, 1.0, 1.005, 1.0, 1.004, 1.002]
    new = {seed: [[value * own[seed]]] for seed, value in enumerate(shared)}
    rows = measured(config, tmp_path, "a", "b", old) + measured(config, tmp_path, "c", "b", new)
    write(config, tmp_path, rows)
    first, second = make_plans(
        selected(config, tmp_path), LINKS, half_widths=(0.01,), threshold=0.01, confidence=0.95, difference=0.03
    )

    assert first.for_ratio is None
    assert (second.for_ratio.baseline, second.for_ratio.is_paired) == ("a", True)
    sd = stdev(map(math.log, own))
    expected = stats.binaries_to_decide(sd, sd * math.sqrt(5 / chi2.ppf(0.2, 5)), threshold=0.01, difference=0.03)
    assert second.for_ratio.different.binaries == (expected.low, expected.high)
    document = plan_document([first, second], confidence=0.95)["benchmarks"]
    assert (document[0]["ratio"], document[1]["ratio"]["baseline"]) == (None, "a")
    assert document[1]["ratio"]["binaries"] == max(second.for_ratio.same.binaries[1], expected.high)


def test_what_is_one_program_is_not_planned_to_be_told_apart(tmp_path):
    config = make_config(BENCHMARK, systems=("a", "c"))
    values = {seed: [[10.0 + seed / 10]] for seed in range(6)}
    rows = measured(config, tmp_path, "a", "b", values) + measured(config, tmp_path, "c", "b", values)
    rows = [dataclasses.replace(row, binary_sha256=f"sha-{row.layout}", capture="one") for row in rows]
    write(config, tmp_path, rows)
    plans = make_plans(selected(config, tmp_path), {}, half_widths=(0.01,), threshold=0.01, confidence=0.95)

    assert [each.for_ratio for each in plans] == [None, None]
    same = next(each for each in plans[1].warnings if isinstance(each, NothingToFind))
    assert same == NothingToFind(
        "a",
        "the binaries are the same to the byte in all 6 layouts of both, controls included",
    )
    assert not any(isinstance(each, NothingToFind) for each in plans[0].warnings)
    document = plan_document(plans, confidence=0.95)["benchmarks"]
    assert document[1]["ratio"] is None and "the same program as a" in " ".join(document[1]["warnings"])


def test_a_difference_within_the_threshold_is_refused(tmp_path):
    with pytest.raises(AnalysisError, match="no number of binaries decides it"):
        planned(tmp_path, {1: [[1.0]], 2: [[1.1]]}, difference=0.01)


def test_iterations_are_a_level_with_a_cost(tmp_path):
    """The start is what the execution takes beyond its iterations."""
    data = {1: [[1.0, 1.2], [1.1, 1.0]], 2: [[2.0, 2.2], [2.3, 2.0]], 3: [[3.0, 3.1], [3.3, 3.0]]}
    plan = planned(tmp_path, data, wall_s=9.0)
    mean = plan.mean

    assert plan.levels == ("binary", "execution", "iteration")
    assert plan.costs_s["iteration"] == pytest.approx(mean)
    assert plan.costs_s["execution"] == pytest.approx(9.0 - 2 * mean)
    assert plan.costs_s["binary"] == 0.5
    assert set(plan.counts) == {"execution", "iteration"}


@pytest.mark.parametrize("wall_s", [0.0203, 0.021, 0.0307, 0.1])
def test_a_start_that_takes_nothing_beside_its_iterations_costs_nothing(tmp_path, wall_s):
    """Values that are longer than the execution are no durations of its iterations, which then share all of it."""
    data = {seed: [[1.0 + seed / 10, 1.2, 1.1], [1.1, 1.0, 1.2]] for seed in range(4)}
    plan = planned(tmp_path, data, wall_s=wall_s)
    assert plan.costs_s == {"binary": 0.5, "execution": 0.0, "iteration": pytest.approx(wall_s / 3)}


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e-3), ("µs", 1e-6), ("min", 60)])
def test_iterations_in_another_unit_of_time_leave_the_start_its_share(tmp_path, unit, factor):
    config = make_config(
        '[[benchmarks]]\nname = "b"\ncommand = ["{artefact}"]\n'
        f'metric = {{ regex = "([0-9]+)", name = "t", unit = "{unit}" }}\n',
        systems=("a",),
    )
    data = {seed: [[1.0 + seed / 10, 1.2, 1.1], [1.1, 1.0, 1.2]] for seed in range(4)}
    rows = measured(config, tmp_path, "a", "b", data, metric="t", unit=unit)
    write(config, tmp_path, [dataclasses.replace(row, wall_s=9 * factor) for row in rows])
    (plan,) = make_plans(selected(config, tmp_path), {}, half_widths=(0.01,), threshold=0.01, confidence=0.95)
    assert plan.costs_s["iteration"] == pytest.approx(plan.mean * factor)
    assert plan.costs_s["execution"] == pytest.approx((9 - 3 * plan.mean) * factor, abs=1e-9)


def test_out_of_reach_is_said(tmp_path):
    """No number of binaries is invented where not even a hundred thousand would do."""
    plan = planned(tmp_path, {1: [[1.0]], 2: [[9.0]], 3: [[2.0]]}, half_widths=(0.0001,))

    assert plan.for_mean[0].count.binaries == (None, None)
    missed = plan_document([plan], confidence=0.95)["benchmarks"][0]["could_miss"]
    assert missed == pytest.approx(1 - 0.05 ** (1 / plan.n_binaries))
    assert plan_document([plan], confidence=0.95)["benchmarks"][0]["predicted"] == [
        {"half_width": 0.0001, "fewest": None, "binaries": None, "seconds": None}
    ]


def test_the_document_says_what_the_plan_goes_by(tmp_path):
    data = {1: [[1.0, 1.1, 1.2]] * 2, 2: [[2.0, 2.1, 2.2]] * 2, 3: [[1.5, 1.6, 1.7]]}
    (row,) = plan_document([planned(tmp_path, data)], confidence=0.95)["benchmarks"]
    repetitions = {"execution": pytest.approx(3 / (1 / 2 + 1 / 2 + 1)), "iteration": pytest.approx(3)}
    assert row["pilot"] == {"n_binaries": 3, "n_executions": 5, "n_iterations": 15, "repetitions": repetitions}
    assert row["pilot"]["repetitions"].keys() == row["counts"].keys()


def test_a_link_that_is_not_in_the_cache_costs_nothing(tmp_path):
    """After a cache gc the plan still works, from the executions alone."""
    assert planned(tmp_path, {1: [[1.0]], 2: [[1.1]]}, wall_s=3.0, links={}).costs_s == {"binary": 3.0}


def test_one_binary_is_no_pilot(tmp_path):
    """The message says what to execute."""
    with pytest.raises(AnalysisError, match="at least 2 binaries.*run --seeds 5"):
        planned(tmp_path, {1: [[1.0], [1.1]]})


def test_failures_and_benchmarks_without_a_plan_are_named(tmp_path):
    config = make_config(BENCHMARK, systems=("a", "c"))
    rows = measured(config, tmp_path, "a", "b", {1: [[1.0]], 2: [[2.0]]}) + measured(
        config, tmp_path, "c", "b", {1: [[1.0]]}
    )
    failed = execution(config, tmp_path, "c", "b", 2, status="exit", reason="status 1")
    write(config, tmp_path, [*rows, failed])
    assert unplanned(selected(config, tmp_path)) == ["c, b"]
    with pytest.raises(AnalysisError, match="then plan again; 1 of 2 executions failed"):
        make_plans(selected(config, tmp_path, systems=["c"]), {}, half_widths=(0.01,), threshold=0.01, confidence=0.95)


def test_writing_the_count_leaves_the_rest_of_the_file():
    """Comments and order stay; the key is added where it is missing."""
    text = '# mine\n[project]\nname = "p" # here\n\n[run]\nexecutions = 1 # per binary\nschedule_seed = 3\n'

    assert with_executions(text, 4) == text.replace("executions = 1", "executions = 4")
    added = with_executions('[project]\nname = "p"\n', 2)
    assert added.startswith('[project]\nname = "p"\n')
    whole = added + '[build]\ncommands = ["make"]\nartefacts = ["p"]\n[systems.a]\n'
    assert parse(whole, path="x").run.executions == 2


@pytest.mark.parametrize(("text", "value"), [("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02)])
def test_shares(text, value):
    """Percentages and fractions."""
    assert share(text, "--threshold") == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "x", "0", "-1%", "100%", "nan"])
def test_wrong_shares(text):
    """The message names the option."""
    with pytest.raises(UsageError, match="--threshold"):
        share(text, "--threshold")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.012, "12 ms"),
        (3.42, "3.42 s"),
        (59.4, "59.4 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (300, "5 min"),
        (3599, "59 min 59 s"),
        (3599.7, "1 h"),
        (7200, "2 h"),
        (7530, "2 h 5 min"),
        (90_000, "25 h"),
        (400_000, "4 days 15 h"),
        (math.inf, "for ever"),
    ],
)
def test_durations(seconds, text):
    """Each unit where people use it."""
    assert duration(seconds) == text


def test_a_program_with_fewer_layouts_than_are_planned_is_told_so(tmp_path):
    """More seeds are the same layouts again, which `run` refuses; so they do not average noise either."""
    values = {seed: [[10.0 + seed % 3]] for seed in range(9)}
    told = {}
    for n_layouts in (6, 100_000):
        place = tmp_path / str(n_layouts)
        place.mkdir()
        plan = planned(place, values, n_distinct={"a": n_layouts})
        told[n_layouts] = [each for each in plan.warnings if isinstance(each, FewDistinctLayouts)]
        assert plan.for_mean[0].count.binaries[1] > 6
    assert told == {6: [FewDistinctLayouts(6)], 100_000: []}
    assert "only 6 distinct layouts: further seeds repeat these, and `run` refuses them" in str(told[6][0])


def test_a_machine_that_alternates_is_said_of_the_plan(tmp_path):
    """As `analyse` says of the same executions; those of a steady one have nothing of it."""
    rng = np.random.default_rng(3)
    slow = np.repeat([0, 1, 0, 1, 0, 1], 10)
    for levels, is_machine in ((0.0, False), (0.3, True)):
        place = tmp_path / str(levels)
        place.mkdir()
        values = 10 * (1 + levels * slow) * np.exp(0.005 * rng.standard_normal(60))
        rows = measured(CONFIG, place, "a", "b", {seed: [[float(value)]] for seed, value in enumerate(values)})
        write(CONFIG, place, [dataclasses.replace(row, started_at=1e9 + at) for at, row in enumerate(rows)])
        (plan,) = make_plans(selected(CONFIG, place), LINKS, half_widths=(0.01,), threshold=0.01, confidence=0.95)
        assert plan.is_machine is is_machine
        assert any(isinstance(each, MachineSwitched) for each in plan.warnings) is is_machine
