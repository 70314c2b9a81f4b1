"""Layout effect and single-binary luck."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from warningkit import said


def _mcf(seed=1, layout_sd=1.6, noise=0.3, shift=6.8, n=30):
    """Like mcf in ISMM figure 2: 30 executions of the default, 30 binaries executed once."""
    rng = np.random.default_rng(seed)
    default = rng.normal(100, noise, (n, 1))
    randomised = (100 + shift) * (1 + rng.normal(0, layout_sd / 100, (n, 1, 1))) + rng.normal(0, noise, (n, 1, 1))
    return default, randomised


def test_a_ratio_beyond_all_numbers_counts_as_the_largest():
    found = stats.single_binary_ratios([1e-300, 1.0], [1e300, 1.0])

    assert found.maximum == pytest.approx(np.finfo(float).max)
    assert math.isfinite(found.upper_quartile)


def test_shift_and_variation_like_figure_2():
    found = stats.layout_effect(*_mcf())

    assert 1.068 in found.shift
    assert found.shift.low > 1.05
    assert found.layout_sd == pytest.approx(0.016, abs=0.005)
    assert found.randomised_sd > found.default_sd == pytest.approx(0.003, abs=0.001)
    assert found.p_value < 1e-6
    assert found.warnings == ()


def test_closed_forms():
    default, randomised = _mcf()
    a, b = default[:, 0], randomised[:, 0, 0]
    va, vb = a.var(ddof=1) / a.mean() ** 2, b.var(ddof=1) / b.mean() ** 2

    found = stats.layout_effect(default, randomised)

    assert found.layout_variance == pytest.approx(vb - va)
    assert found.p_value == pytest.approx(scipy_stats.f.sf(vb / va, 29, 29))
    assert found.shift == stats.ratio_interval(a, b, method="fieller-welch")


def test_several_executions_of_each_binary():
    rng = np.random.default_rng(2)
    default, randomised = rng.normal(100, 1, (20, 5)), rng.normal(100, 1, (30, 4, 5)) + rng.normal(0, 2, (30, 1, 1))
    a, b = default.mean(axis=1), randomised.mean(axis=(1, 2))
    va, vb = a.var(ddof=1) / a.mean() ** 2, b.var(ddof=1) / b.mean() ** 2

    found = stats.layout_effect(default, randomised)

    assert found.layout_variance == pytest.approx(vb - va / 4)
    assert found.p_value == pytest.approx(scipy_stats.f.sf(vb / (va / 4), 29, 19))


def test_the_default_binary_may_keep_its_axis():
    default, randomised = _mcf()

    assert stats.layout_effect(default[None], randomised) == stats.layout_effect(default, randomised)
    ragged = [[[1.0], [2.0, 2.5], [1.5]]]
    assert stats.layout_effect(ragged, randomised) == stats.layout_effect(ragged[0], randomised)


def test_no_layout_effect_gives_uniform_p_values():
    p = [stats.layout_effect(*_mcf(seed, layout_sd=0, shift=0)).p_value for seed in range(300)]

    assert scipy_stats.kstest(p, "uniform").pvalue > 1e-3


def test_layouts_without_variation():
    found = stats.layout_effect([1.0, 1.1, 0.9, 1.0, 1.0], [2.0] * 5)

    assert (found.p_value, found.layout_sd) == (1.0, 0.0)
    assert found.layout_variance < 0


def test_a_default_without_noise_makes_any_variation_certain():
    assert stats.layout_effect([1.0] * 5, [2.0, 2.1, 2.2, 2.0, 2.0]).p_value == 0.0


def test_few_executions_of_the_default_warn_by_their_name():
    found = stats.layout_effect([1.0, 1.1, 0.9], [2.0, 2.1, 2.2, 2.0, 2.0])

    assert said(found.warnings) == (
        "3 executions of the default layout hardly support an interval: 2 more would make 5, the fewest that do",
    )


@pytest.mark.parametrize("default", [[1.0], [[1.0]]])
def test_one_execution_of_the_default_is_not_enough(default):
    with pytest.raises(AnalysisError, match="layout effect: 1 execution of the default layout and 5 binaries"):
        stats.layout_effect(default, [[2.0], [2.1], [2.2], [2.0], [2.0]])


def test_ratios_of_single_binaries_span_all_pairs():
    a, b = [10.0, 11.0, 12.0], [10.0, 13.0]
    every = [y / x for x in a for y in b]

    found = stats.single_binary_ratios(a, b)

    assert found.minimum == pytest.approx(min(every))
    assert found.maximum == pytest.approx(max(every))
    assert found.median == pytest.approx(np.median(every))


def test_a_lucky_layout_feigns_more_than_the_interval_of_the_mean():
    model = stats.HierarchicalModel(mean=100.0, sds=(2.0,), layout="normal")
    a, b = stats.simulate(model, (30,), n_datasets=2, seed=1)
    spread, interval = stats.single_binary_ratios(a, b), stats.ratio_interval(a, b)

    assert math.log(spread.maximum / spread.minimum) > 4 * math.log(interval.high / interval.low)


def test_the_share_of_layouts_by_hand():
    """F = V / (v / e); shares (F - 1) / (F - 1 + e) at F and at F over its quantiles."""
    rng = np.random.default_rng(2)
    default, randomised = rng.normal(100, 1, (20, 5)), rng.normal(100, 1, (30, 4, 5)) + rng.normal(0, 2, (30, 1, 1))
    a, b = default.mean(axis=1), randomised.mean(axis=(1, 2))
    f = (b.var(ddof=1) / b.mean() ** 2) / (a.var(ddof=1) / a.mean() ** 2 / 4)
    points = [1, *(scipy_stats.f.ppf(level, 29, 19) for level in (0.975, 0.025))]

    found = stats.layout_effect(default, randomised).correlation

    assert [found.centre, found.low, found.high] == pytest.approx([(f / p - 1) / (f / p - 1 + 4) for p in points])


def test_the_share_agrees_with_that_of_repeated_executions():
    """The same populations in the other design: each of 200 binaries executed ten times."""
    rng = np.random.default_rng(3)
    layouts = rng.normal(0, 2, (200, 1))
    repeated = 100 + layouts + rng.normal(0, 1, (200, 10))
    once, stock = 100 + layouts[:, 0] + rng.normal(0, 1, 200), rng.normal(100, 1, 200)

    share = stats.layout_effect(stock, once).correlation

    assert share.centre == pytest.approx(0.8, abs=0.05)
    assert share.centre == pytest.approx(stats.intraclass_correlation(repeated, method="f").centre, abs=0.06)


@pytest.mark.parametrize("layout_sd", [0.3, 2.0])
def test_intervals_of_the_layouts_part_cover_it(layout_sd):
    """95 %: at least 378 of 400 less 4 standard deviations; the true share is known."""
    variance = layout_sd**2
    hits = {"sd": 0, "share": 0}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        found = stats.layout_effect(rng.normal(1000, 1, 15), 1000 + rng.normal(0, layout_sd, 20) + rng.normal(0, 1, 20))
        hits["sd"] += layout_sd / 1000 in found.layout_sd_interval
        hits["share"] += variance / (variance + 1) in found.correlation

    assert min(hits.values()) >= 380 - 4 * math.sqrt(19)


def test_layouts_that_vary_less_than_the_default_have_no_share():
    found = stats.layout_effect([1.0, 1.2, 0.8, 1.1, 0.9], [2.0, 2.001, 2.0, 1.999, 2.0])

    assert (found.correlation.centre, found.correlation.high, found.layout_sd_interval.high) == (0.0, 0.0, 0.0)


def test_a_default_without_noise_leaves_all_to_the_layouts():
    found = stats.layout_effect([1.0] * 5, [2.0, 2.1, 2.2, 2.0, 2.0])

    assert (found.correlation.low, found.correlation.centre) == (1.0, 1.0)
