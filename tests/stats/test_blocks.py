"""What blocks add: the textbook's block design, statsmodels and scipy, by hand, coverage and false alarms."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats
from statsmodels.formula.api import ols

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said

GRAFTS = [
    [90.3, 89.2, 98.2, 93.9, 87.4, 97.9],
    [92.5, 89.5, 90.6, 94.7, 87.0, 95.8],
    [85.5, 90.8, 89.6, 86.2, 88.0, 93.4],
    [82.5, 89.5, 85.6, 87.4, 78.9, 90.7],
]
"""Montgomery, Design and Analysis of Experiments, 8th edition, table 4.3: vascular grafts, 4 pressures, 6 batches."""


def flat(table):
    return (
        [value for row in table for value in row],
        [place for row in table for place in range(len(row))],
        [number for number, row in enumerate(table) for _ in row],
    )


def test_montgomerys_vascular_grafts():
    """Table 4.4: F = 8.11 for pressures, p = 0.0019; batches have a mean square of 38.45 over the error's 7.33."""
    values, batch, pressure = flat(GRAFTS)

    pressures = stats.block_effects(values, pressure, units=batch, scale="linear")
    batches = stats.block_effects(values, batch, units=pressure, scale="linear")

    assert (pressures.degrees, batches.degrees) == ((3, 15), (5, 15))
    assert pressures.statistic == pytest.approx(8.11, abs=0.005)
    assert pressures.p_value == pytest.approx(0.0019, abs=5e-5)
    assert batches.statistic == pytest.approx(38.45 / 7.33, rel=1e-3)
    assert [e.centre for e in pressures.effects] == pytest.approx([3.02, 1.88, -0.88, -4.02], abs=0.01)
    assert pressures.method == batches.method == "within"


def test_by_hand():
    """Stock on two nodes, twice each, the second 10 % slower: each 1.1 to the power of a half from the mean of both."""
    found = stats.block_effects([1.0, 1.02, 1.1, 1.122], ["n1", "n1", "n2", "n2"], units=["stock"] * 4)

    assert [e.centre for e in found.effects] == pytest.approx([1.1**-0.5, 1.1**0.5])
    assert found.against_others(1).centre == pytest.approx(1.1)
    assert found.degrees == (1, 2)
    # t of two samples of two, by the difference of logarithms.
    noise = math.log(1.02) ** 2 / 2
    assert found.statistic == pytest.approx(math.log(1.1) ** 2 / noise)
    assert found.counts == (2, 2)
    assert found.share is not None


def frame(values, block, unit):
    return pd.DataFrame({"y": np.log(values), "block": [f"b{b}" for b in block], "unit": [f"u{u}" for u in unit]})


@pytest.mark.parametrize("seed", range(4))
def test_statsmodels_unbalanced(seed):
    rng = np.random.default_rng(seed)
    block, unit = rng.integers(4, size=30), rng.integers(9, size=30)
    values = np.exp(rng.normal(size=30))

    found = stats.block_effects(values, list(block), units=list(unit), confidence=0.9)

    fit = ols("y ~ C(unit) + C(block, Sum)", frame(values, block, unit)).fit()
    table = sm.stats.anova_lm(fit, typ=2)
    assert found.statistic == pytest.approx(table.loc["C(block, Sum)", "F"])
    assert found.p_value == pytest.approx(table.loc["C(block, Sum)", "PR(>F)"])
    assert found.degrees == (3, fit.df_resid)
    ends = fit.conf_int(alpha=0.1)
    for name, effect, p in zip(found.blocks, found.effects, found.p_values, strict=True):
        row = f"C(block, Sum)[S.b{name}]"
        if row in ends.index:  # of the last, statsmodels has the sum of the others
            assert (math.log(effect.low), math.log(effect.high)) == pytest.approx(tuple(ends.loc[row]))
            assert p == pytest.approx(fit.pvalues[row])


def test_binaries_dealt_to_blocks_are_a_one_way_analysis():
    rng = np.random.default_rng(7)
    block = [0] * 5 + [1] * 8 + [2] * 6
    values = np.exp(rng.normal(size=19))

    found = stats.block_effects(values, block, units=list(range(19)))

    theirs = scipy_stats.f_oneway(*(np.log(values)[np.array(block) == k] for k in range(3)))
    assert found.method == "between"
    assert (found.statistic, found.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found.degrees == (2, 16)


def test_executions_of_a_dealt_binary_are_one_value():
    """Repeating executions says nothing new of blocks: what binaries do is the error."""
    values, block = [1.0, 2.0, 4.0, 3.0, 6.0, 5.0], [0, 0, 0, 1, 1, 1]
    once = stats.block_effects(values, block, units=list(range(6)))
    twice = stats.block_effects(values * 2, block * 2, units=list(range(6)) * 2)

    assert twice.effects == once.effects
    assert twice.statistic == pytest.approx(once.statistic)
    assert twice.degrees == once.degrees


def test_stock_in_every_block_is_preferred_to_layouts_dealt():
    rng = np.random.default_rng(8)
    block = [0, 1, 2] * 10
    values = [*np.exp(rng.normal(0, 0.1, 30)), *np.exp(rng.normal(0, 0.001, 30))]
    found = stats.block_effects(
        values, block * 2, units=[*range(30), *["stock"] * 30], groups=[*["layouts"] * 30, *[None] * 30]
    )

    assert (found.method, found.degrees) == ("within", (2, 27))
    assert max(effect.relative_half_width for effect in found.effects) < 0.001


def test_the_unit_does_not_matter_and_logarithms_make_it_a_factor():
    values, batch, pressure = flat(GRAFTS)
    one = stats.block_effects(values, batch, units=pressure)
    other = stats.block_effects(np.array(values) * 1e-6, batch, units=pressure)

    assert [e.centre for e in other.effects] == pytest.approx([e.centre for e in one.effects])
    assert other.p_value == pytest.approx(one.p_value)
    assert math.prod(e.centre for e in one.effects) == pytest.approx(1)


def test_equal_values_do_not_differ():
    found = stats.block_effects([3.3] * 12, [0, 1, 2] * 4, units=[0] * 12)

    assert (found.statistic, found.p_value, found.between_sd, found.share) == (0.0, 1.0, 0.0, 0.0)
    assert all(effect.low == effect.high == 1.0 for effect in found.effects)


@pytest.mark.parametrize(
    ("values", "blocks", "options", "message"),
    [
        ([1.0, 2.0], [0, 0], {}, "1 block; at least 2 are needed"),
        ([1.0, 2.0, 3.0], [0, 1], {}, "3 values, 3 binaries and 2 blocks"),
        ([1.0, -2.0], [0, 1], {}, "not above 0, but logarithms are taken; use scale 'linear'"),
        ([1.0, math.nan], [0, 1], {}, "not finite"),
        ([1.0, 2.0], [0, 1], {}, "2 blocks cannot be compared: no binary was measured in several"),
        ([1.0, 2.0], [0, 1], {"scale": "logs"}, "unknown scale 'logs'.*did you mean 'log'"),
        ([1.0, 2.0], [0, 1], {"confidence": 95}, "confidence must lie strictly between"),
        ([1.0, 2.0], [0, 1], {"groups": ["g"]}, "2 values, but 1 groups"),
    ],
)
def test_messages(values, blocks, options, message):
    with pytest.raises(AnalysisError, match=message):
        stats.block_effects(values, blocks, units=list(range(len(values))), **options)


def test_few_degrees_of_freedom_are_said():
    found = stats.block_effects([1.0, 1.1, 1.2], ["a", "a", "b"], units=[0, 0, 0])
    assert "1 degree of freedom" in said(found.warnings)[0]


def simulated(rng, *, sd, is_stock_there):
    """30 seeds assigned to 4 nodes; with and without executions of stock beside each."""
    block = [int(k) for k in rng.integers(4, size=30)]
    block[:4] = range(4)
    effects = rng.normal(0, sd, 4)
    effects -= effects.mean()
    logs = [effects[b] + rng.normal(0, 0.02) + rng.normal(0, 0.005) for b in block]
    units, groups = list(range(30)), ["layouts"] * 30
    if is_stock_there:
        logs += [effects[b] + rng.normal(0, 0.005) for b in block]
        units, groups, block = [*units, *["stock"] * 30], [*groups, *[None] * 30], block * 2
    found = stats.block_effects(np.exp(logs), block, units=units, groups=groups)
    return found, {place: effects[name] for place, name in enumerate(found.blocks)}


@pytest.mark.slow
@pytest.mark.parametrize("is_stock_there", [True, False])
def test_intervals_cover_and_alarms_are_rare(is_stock_there):
    rng, runs = np.random.default_rng(9), 800
    covered = alarms = 0
    for _ in range(runs):
        found, truth = simulated(rng, sd=0.05, is_stock_there=is_stock_there)
        covered += found.effects[1].low <= math.exp(truth[1]) <= found.effects[1].high
        alarms += simulated(rng, sd=0.0, is_stock_there=is_stock_there)[0].p_value <= 0.05

    slack = 3.5 * math.sqrt(0.05 * 0.95 * runs)
    assert abs(covered - 0.95 * runs) < slack
    assert abs(alarms - 0.05 * runs) < slack


def test_the_variance_between_blocks_is_not_biased():
    """The mean of its square is the mean square of the effects, though single estimates are cut at 0."""
    rng = np.random.default_rng(10)
    squares = [simulated(rng, sd=0.05, is_stock_there=True) for _ in range(300)]
    measured = np.mean([found.between_sd**2 for found, _ in squares])
    truth = np.mean([sum(e * e for e in effects.values()) / 3 for _, effects in squares])

    assert measured == pytest.approx(truth, rel=0.01)
    assert 0.5 < np.mean([found.share for found, _ in squares]) < 0.95
