"""Planning: the papers' counts, brute force, budgets, awkward levels, messages."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError
from stats.papers import ISMM_TABLE_5, KALIBERA, THREE_LEVEL, TWO_LEVEL
from warningkit import said


@pytest.mark.parametrize("benchmark", ISMM_TABLE_5)
def test_table_5_of_the_ismm_paper(benchmark):
    c1, c2, t1, t2, expected = ISMM_TABLE_5[benchmark]

    assert stats.optimal_counts((t1**2, t2**2), (c1, c2)) == (expected,)


def test_worked_example_of_the_report_rounded_and_not():
    assert stats.optimal_counts((12.7, 0.4), (1, 10)) == (18,)
    assert stats.optimal_counts(stats.variance_components(TWO_LEVEL).unbiased, (1, 10)) == (19,)
    assert math.sqrt(10 * 12.7222222 / 0.3819444) == pytest.approx(18.25, abs=0.005)


def test_libkalibera_counts():
    unbiased = stats.variance_components(KALIBERA).unbiased

    assert stats.optimal_counts(unbiased, (3, 20, 100)) == (5, 2)
    assert math.sqrt(20 / 3 * unbiased[0] / unbiased[1]) == pytest.approx(4.2937, abs=5e-5)
    assert math.sqrt(5 * unbiased[1] / unbiased[2]) == pytest.approx(1.3023, abs=5e-5)


def test_costs_in_measurements_are_equation_14_of_the_report():
    """n_1 = sqrt(c_1 T_1^2 / T_2^2), n_i = sqrt(c_i / c_{i-1} T_i^2 / T_{i+1}^2), in the report's numbering."""
    t = (4.6**2, 6.7**2, 4.1**2)
    expected = (math.ceil(math.sqrt(19 * t[0] / t[1])), math.ceil(math.sqrt(5343 / 19 * t[1] / t[2])))

    assert stats.optimal_counts(t, (1, 19, 5343)) == expected == (3, 28)
    assert stats.optimal_counts(t, (0.2246, 19 * 0.2246, 5343 * 0.2246)) == expected  # any one unit


@pytest.mark.parametrize("seed", range(5))
def test_no_neighbouring_integers_are_more_precise_for_the_same_cost(seed):
    """Brute force: variance times cost is what the counts minimise (TR 7.5); rounding up costs a little."""
    rng = np.random.default_rng(seed)
    variances, costs = rng.uniform(1, 30, 3), rng.uniform(1, 100, 3).cumsum()

    def waste(counts):
        found = stats.predict(variances, (*counts, 1000), costs=costs, mean=1.0)
        return found.half_width**2 * found.cost

    best = min(waste(counts) for counts in itertools.product(range(1, 40), repeat=2))

    assert waste(stats.optimal_counts(variances, costs)) <= best * 1.1


@pytest.mark.parametrize(
    ("unbiased", "costs", "expected"),
    [
        ((16.5, -5.67, 2.27), (1, 10, 0), (9, 1)),  # the execution goes, its cost stays: sqrt(10 * 16.5 / 2.27) = 8.5
        ((16.5, -5.67, 2.27), (1, 10, 30), (18, 1)),
        ((16.5, None, 2.27), (1, 10, 30), (18, 1)),
        ((0.0, 4.0, 1.0), (1, 10, 110), (1, 7)),  # constant iterations: sqrt(110 / 11 * 4)
        ((4.0, 1.0, -3.0), (1, 9, 100), (21, 1)),  # binaries do not differ: one execution each, ceil(sqrt(109 * 4))
        ((4.0, -1.0, -3.0), (1, 9, 100), (1, 1)),
        ((-4.0, -1.0, -3.0), (1, 9, 100), (1, 1)),
        ((4.0, 1.0), (1, 0), (1,)),  # a free execution
        ((4.0, 5.0, 1.0), (1, 0, 100), (1, 30)),  # sqrt(100 / 1 * (4 + 5) / 1)
        ((7.0,), (3,), ()),
        ((4.0, 1.0), (1, 4), (4,)),
        ((2.0, 1.0), (1, 2), (2,)),  # sqrt(2) sqrt(2) = 2.0000000000000004 is not rounded up
        ((1e-300, 1e-300), (1, 4), (2,)),
        ((1e300, 1e300), (1, 4), (2,)),
    ],
)
def test_levels_without_variance_or_cost(unbiased, costs, expected):
    assert stats.optimal_counts(unbiased, costs) == expected


@pytest.mark.parametrize(
    ("unbiased", "costs", "message"),
    [
        ((1, 2), (1,), "2 levels but 1 costs; give one cost for each level, level 1 (the lowest) first"),
        ((1, 2), (0, 1), "cost of level 1 is 0; costs are finite and not negative, and that of level 1 above 0"),
        ((1, 2), (1, -1), "cost of level 2 is -1"),
        ((1, 2), (1, float("nan")), "cost of level 2 is nan"),
    ],
)
def test_messages_about_costs(unbiased, costs, message):
    with pytest.raises(AnalysisError) as error:
        stats.optimal_counts(unbiased, costs)

    assert message in str(error.value)


def test_prediction_in_closed_form():
    found = stats.predict((16.0, 9.0, 4.0), (4, 3, 10), costs=(1.0, 5.0, 100.0), mean=-50.0, confidence=0.9)
    variance = 4 / 10 + 9 / 30 + 16 / 120

    assert found.half_width == pytest.approx(1.8331129 * math.sqrt(variance))
    assert found.relative_half_width == pytest.approx(found.half_width / 50)
    assert found.cost == ((4 * 1 + 5) * 3 + 100) * 10


def test_prediction_for_one_binary_is_infinite():
    assert stats.predict((1.0, 1.0), (4, 1), costs=(1, 1), mean=1.0).half_width == math.inf


def test_predicted_half_width_is_what_experiments_then_show():
    model = stats.HierarchicalModel(mean=100.0, sds=(2.0, 1.0, 1.5), layout="normal")
    predicted = stats.predict(model.variances, (6, 3, 12), costs=(1, 1, 1), mean=100.0)
    data = stats.simulate(model, (12, 3, 6), n_datasets=400, seed=1)

    found = math.sqrt(np.mean([stats.mean_interval(one).half_width ** 2 for one in data]))

    assert found == pytest.approx(predicted.half_width, rel=0.05)


def test_plan_takes_out_the_execution_level_of_the_worked_example():
    """T_2^2 < 0: merge, T^2 = 12.72 and 0.38; an execution costs 10, a binary 0 more: 19 measurements (TR 6.1)."""
    found = stats.plan(THREE_LEVEL, (1, 10, 0))

    assert found.collapsed == (2,)
    assert found.unbiased == pytest.approx((12.7222222, 0.0, 0.3819444))
    assert found.chosen.counts == (19, 1, 30)
    assert found.chosen.cost == (19 + 10) * 30
    assert [row.counts[-1] for row in found.predicted] == [5, 10, 15, 20, 30, 50, 100]


def test_plan_for_a_wanted_half_width_is_the_smallest_that_reaches_it():
    found = stats.plan(THREE_LEVEL, (1, 10, 0), half_width=0.05)
    fewer = stats.predict(
        found.unbiased, (*found.chosen.counts[:-1], found.chosen.counts[-1] - 1), costs=(1, 10, 0), mean=6.5
    )

    assert found.chosen.relative_half_width <= 0.05 < fewer.relative_half_width
    assert found.chosen in found.predicted


def test_plan_never_asks_for_fewer_than_five_binaries_to_reach_a_precision():
    assert stats.plan(TWO_LEVEL, (1, 10), half_width=2.0).chosen.counts[-1] == 5


@pytest.mark.parametrize("budget", [100, 400, 1000, 10_000])
def test_plan_within_a_budget_is_the_best_of_all_integers(budget):
    found = stats.plan(TWO_LEVEL, (1, 10), budget=budget).chosen
    everything = [
        stats.predict((12.7222222, 0.3819444), (inner, int(budget / (inner + 10))), costs=(1, 10), mean=6.5)
        for inner in range(1, 60)
        if budget >= 2 * (inner + 10)
    ]

    assert found.cost <= budget
    assert found.half_width == pytest.approx(min(row.half_width for row in everything), rel=0.02)


def test_a_small_budget_trades_iterations_for_binaries_and_warns():
    found = stats.plan(TWO_LEVEL, (1, 10), budget=50)

    assert found.chosen.counts[-1] >= 2
    assert said(found.warnings)[0] == (
        f"{found.chosen.counts[-1]} binaries within the budget hardly support an interval: "
        f"{5 - found.chosen.counts[-1]} more would make 5, the fewest that do"
    )


def test_budget_and_precision_together():
    enough = stats.plan(TWO_LEVEL, (1, 10), half_width=0.1, budget=1e6)
    short = stats.plan(TWO_LEVEL, (1, 10), half_width=0.01, budget=1000)

    assert enough.chosen == stats.plan(TWO_LEVEL, (1, 10), half_width=0.1).chosen
    assert short.chosen == stats.plan(TWO_LEVEL, (1, 10), budget=1000).chosen
    assert said(short.warnings)[0].startswith("a relative half-width of 0.01 needs ")
    assert "the budget of 1000 reaches 0.05" in said(short.warnings)[0]


def test_plan_when_binaries_do_not_differ():
    rng = np.random.default_rng(1)
    data = rng.normal(100, 5, (6, 8, 4))
    data -= data.mean(axis=(1, 2), keepdims=True) - 100  # all binaries have the same mean
    found = stats.plan(data, (1, 5, 100))

    assert 3 in found.collapsed
    assert found.chosen.counts[1] == 1
    assert said(found.warnings)[0].startswith("binaries do not differ measurably (T^2 of level 3 is not above 0)")


def test_plan_with_levels_that_were_not_repeated():
    rng = np.random.default_rng(2)
    found = stats.plan(rng.normal(100, 2, (30, 1, 1)), (1.0, 0.5, 10.0), half_width=0.005)

    assert found.chosen.counts[:2] == (1, 1)
    assert found.collapsed == (1, 2)
    assert [warning[:26] for warning in said(found.warnings)] == [
        *["level 1 was not repeated in", "level 2 was not repeated in"][:0],
        "level 1 was not repeated i",
        "level 2 was not repeated i",
    ]
    assert found.chosen.relative_half_width <= 0.005


def test_plan_of_constant_data():
    found = stats.plan(np.full((5, 2, 2), 3.0), (1, 1, 1), half_width=0.01)

    assert found.chosen.counts == (1, 1, 5)
    assert found.chosen.half_width == 0


def test_plan_of_unbalanced_data():
    found = stats.plan([[[9, 5], [8, 3, 7]], [[10, 6]], [[1, 12], [2, 4]]], (1, 10, 100))

    assert len(found.chosen.counts) == 3


@pytest.mark.parametrize(
    ("data", "costs", "arguments", "message"),
    [
        ([[1.0, 2.0]], (1, 2), {}, "plan: 1 binary shows no variance between binaries; measure at least 2"),
        ([[1.0, -1.0], [2.0, -2.0]], (1, 2), {}, "plan: the mean is 0"),
        (TWO_LEVEL, (1,), {}, "2 levels but 1 costs"),
        (TWO_LEVEL, (1, 2), {"half_width": 0}, "half_width must be a finite number above 0, got 0"),
        (TWO_LEVEL, (1, 2), {"half_width": 1e-9}, "no number of binaries reaches a relative half-width of 1e-09"),
        (TWO_LEVEL, (1, 2), {"budget": -1}, "budget must be a finite number above 0, got -1"),
        (TWO_LEVEL, (1, 2), {"budget": 5}, "a budget of 5 does not pay for 2 binaries, which cost at least 6"),
        (TWO_LEVEL, (1, 2), {"confidence": 2}, "confidence must lie strictly between 0 and 1"),
    ],
)
def test_messages_about_plans(data, costs, arguments, message):
    with pytest.raises(AnalysisError) as error:
        stats.plan(data, costs, **arguments)

    assert message in str(error.value)
