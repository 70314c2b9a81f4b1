"""Taking out what blocks add: by hand, against statsmodels, honest intervals and tests afterwards."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import nested

LAYOUTS = "layouts"


def test_by_hand():
    """Distances from the block's mean: -1 1 | -2 2, over 4 - 2 degrees of freedom: a variance of 10 / 2."""
    found = stats.without_blocks([1, 3, 11, 15], "aabb", units=range(4), groups=[LAYOUTS] * 4, scale="linear")

    assert found.method == "within"
    assert found.degrees == {LAYOUTS: 2}
    assert found.lost == {LAYOUTS: 1}
    assert found.measurements.mean() == pytest.approx(7.5)
    assert found.measurements.var(ddof=1) == pytest.approx(5.0)


def test_a_factor_of_a_block_is_gone():
    once = [2.0, 3.0, 5.0, 4.0, 6.0, 7.0, 5.0, 4.0]
    slow = [x * (1.4 if place % 2 else 1) for place, x in enumerate(once)]
    blocks = [0, 1] * 4

    one = stats.without_blocks(once, blocks, units=range(8), groups=[LAYOUTS] * 8)
    other = stats.without_blocks(slow, blocks, units=range(8), groups=[LAYOUTS] * 8)

    assert other.measurements / one.measurements == pytest.approx([math.sqrt(1.4)] * 8)


def test_the_variance_is_the_mean_square_of_statsmodels():
    rng = np.random.default_rng(1)
    blocks, values = rng.integers(5, size=30), np.exp(rng.normal(size=30))

    found = stats.without_blocks(values, list(blocks), units=range(30), groups=[LAYOUTS] * 30)

    fit = ols("y ~ C(b)", pd.DataFrame({"y": np.log(values), "b": blocks})).fit()
    assert np.log(found.measurements).var(ddof=1) == pytest.approx(fit.mse_resid)
    assert found.degrees[LAYOUTS] == fit.df_resid
    assert np.log(found.measurements).mean() == pytest.approx(np.log(values).mean())


def test_systems_over_other_mixes_of_blocks_are_adjusted_as_statsmodels_does():
    rng = np.random.default_rng(2)
    blocks = [*rng.integers(3, size=20), *rng.integers(1, 4, size=12)]
    groups = ["old"] * 20 + ["new"] * 12
    values = np.exp(rng.normal(0, 0.02, 32) + 0.2 * np.array(blocks) + [0.1 * (g == "new") for g in groups])

    found = stats.without_blocks(values, blocks, units=range(32), groups=groups)

    fit = ols("y ~ C(g, Treatment('old')) + C(b)", pd.DataFrame({"y": np.log(values), "g": groups, "b": blocks}))
    theirs = fit.fit().params["C(g, Treatment('old'))[T.new]"]
    logs = np.log(found.measurements)
    assert logs[20:].mean() - logs[:20].mean() == pytest.approx(theirs)
    assert found.is_connected


def test_groups_in_different_blocks_cannot_be_compared():
    groups = ["old"] * 4 + ["new"] * 4
    found = stats.without_blocks([1, 2, 3, 4, 5, 6, 7, 8.0], "aabbccdd", units=range(8), groups=groups)
    assert not found.is_connected


def one_to_a_block(rng, n, controls, *, layout=0.02, noise=0.005):
    effects = rng.normal(0, 0.1, n)
    logs = [*(effects + rng.normal(0, layout, n) + rng.normal(0, noise, n))]
    for _ in controls:
        logs += [*(effects + rng.normal(0, noise, n))]
    units = [*range(n), *(name for name in controls for _ in range(n))]
    groups = [*[LAYOUTS] * n, *(name for name in controls for _ in range(n))]
    return stats.without_blocks(
        np.exp(logs), [*range(n)] * (1 + len(controls)), units=units, groups=groups, controls=controls
    )


def test_one_binary_to_each_block_is_compared_through_controls():
    rng = np.random.default_rng(3)
    found = one_to_a_block(rng, 200, ["stock", "identity"])

    assert found.method == "linked"
    assert found.noise == pytest.approx(1.5)  # the mean of two executions says what the block adds
    assert found.degrees == {LAYOUTS: 199, "stock": 99, "identity": 99}
    logs = np.log(found.measurements)
    assert logs[:200].std(ddof=1) == pytest.approx(math.sqrt(0.02**2 + 1.5 * 0.005**2), rel=0.15)
    assert logs[200:400].std(ddof=1) == pytest.approx(0.005, rel=0.15)


def test_one_control_in_each_block_shows_no_noise():
    found = one_to_a_block(np.random.default_rng(4), 20, ["stock"])
    assert (found.method, found.degrees["stock"]) == ("linked", 0)


def test_without_controls_one_binary_to_each_block_stays_as_it_is():
    found = one_to_a_block(np.random.default_rng(5), 6, [])
    assert (found.method, found.is_connected, found.lost) == ("none", False, {LAYOUTS: 0})


def test_binaries_in_several_blocks():
    """Executions that differ by blocks alone are the same ones once these are out."""
    effects = {"a": 1.0, "b": 1.2, "c": 0.9}
    deals = ["ab", "bc", "ca", "ab", "bc", "cc"]
    rows = [(unit, block, (1 + unit / 10) * effects[block]) for unit, deal in enumerate(deals) for block in deal]
    found = stats.without_blocks(
        [value for _, _, value in rows],
        [block for _, block, _ in rows],
        units=[unit for unit, _, _ in rows],
        groups=[LAYOUTS] * 12,
    )

    assert found.method == "crossed"
    pairs = found.measurements.reshape(6, 2)
    assert pairs[:, 0] == pytest.approx(pairs[:, 1])
    assert pairs[:, 0] / pairs[0, 0] == pytest.approx([1 + unit / 10 for unit in range(6)])


def test_the_noise_of_executions_in_several_blocks_is_not_shrunk():
    rng = np.random.default_rng(6)
    variances = []
    for _ in range(200):
        blocks, units = list(rng.integers(5, size=24)), [unit for unit in range(12) for _ in range(2)]
        values = np.exp(rng.normal(0, 0.01, 24) + np.array(blocks) * 0.1)
        found = stats.without_blocks(values, blocks, units=units, groups=[LAYOUTS] * 24)
        if found.method == "crossed":
            logs = np.log(found.measurements).reshape(12, 2)
            variances.append(((logs[:, 0] - logs[:, 1]) ** 2 / 2).mean())
    assert len(variances) > 150
    assert np.mean(variances) == pytest.approx(0.01**2, rel=0.1)


def test_intervals_of_the_mean_cover_where_binaries_lie_in_blocks():
    rng, runs = np.random.default_rng(7), 1500
    covered = 0
    for _ in range(runs):
        blocks = list(rng.integers(5, size=15))
        effects = rng.normal(0, 0.1, 5)
        values = np.exp(effects[blocks] + rng.normal(0, 0.02, 15))
        found = stats.without_blocks(values, blocks, units=range(15), groups=[LAYOUTS] * 15)
        interval = stats.mean_interval(stats.with_lost(found.measurements, found.lost[LAYOUTS]), method="t")
        covered += interval.low <= math.exp(effects[blocks].mean()) * math.exp(0.02**2 / 2) <= interval.high
    assert abs(covered - 0.95 * runs) < 3.5 * math.sqrt(0.05 * 0.95 * runs)


@pytest.mark.slow
def test_layouts_that_do_nothing_are_no_alarm_where_each_lies_in_a_block_of_its_own():
    rng, runs = np.random.default_rng(8), 800
    alarms = 0
    for _ in range(runs):
        found = one_to_a_block(rng, 12, ["stock", "identity"], layout=0.0)
        mean = found.measurements[12:24].mean()
        noise = mean + (found.measurements[12:24] - mean) * math.sqrt(found.noise)
        test = stats.layout_effect(stats.with_lost(noise, found.lost["stock"]), found.measurements[:12])
        alarms += test.p_value <= 0.05
    assert alarms < 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)


def test_lost_degrees_of_freedom_widen_intervals_and_tests():
    values = [1.0, 1.2, 0.9, 1.1, 1.3]
    plain, charged = (stats.mean_interval(stats.with_lost(values, lost)) for lost in (0, 2))
    assert plain == stats.mean_interval(values)
    from scipy.stats import t

    assert charged.half_width / plain.half_width == pytest.approx(t.ppf(0.975, 2) / t.ppf(0.975, 4))
    old = [1.0, 1.05, 0.95, 1.02, 1.04]
    lost = stats.with_lost(values, 2)
    assert stats.ratio_interval(old, lost).half_width > stats.ratio_interval(old, values).half_width
    assert stats.ratio_test(old, lost).p_value > stats.ratio_test(old, values).p_value
    assert stats.layout_effect(old, lost).p_value > 0
    wide, narrow = (stats.component_intervals(data, method="f")[0] for data in (lost, values))
    assert wide.high > narrow.high
    assert nested(lost).scaled()[0].lost == 2


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, 2.0], {"groups": ["g"]}, "2 values, but 1 groups"),
        ([1.0, 2.0], {"groups": ["s", "s"], "controls": ["s"]}, "all groups are controls"),
        ([1.0, 0.0], {"groups": ["g", "g"]}, "not above 0"),
    ],
)
def test_messages(values, options, message):
    with pytest.raises(AnalysisError, match=message):
        stats.without_blocks(values, [0, 1], units=range(2), **options)


def test_too_many_lost():
    with pytest.raises(AnalysisError, match="3 binaries less 2 degrees of freedom leave none"):
        stats.with_lost([1.0, 2.0, 3.0], 2)
    with pytest.raises(AnalysisError, match="lost must be an integer"):
        stats.with_lost([1.0, 2.0, 3.0], -1)
