"""Intervals of variances, intraclass correlation, test of no variance between binaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats import spread_bounds
from stats.papers import THREE_LEVEL, TWO_LEVEL
from stats.scipy_generator import seeded
from warningkit import said

MODEL = stats.HierarchicalModel(mean=100.0, sds=(0.5, 1.0, 2.0), layout="normal")


def _data(seed=1, counts=(30, 5, 6)):
    return stats.simulate(MODEL, counts, seed=seed)


@pytest.mark.parametrize("method", ["bootstrap", "f"])
def test_centres_are_the_components(method):
    data = _data()

    assert [i.centre for i in stats.component_intervals(data, method=method)] == pytest.approx(
        stats.variance_components(data).unbiased
    )


def test_the_lowest_level_is_the_chi_square_interval():
    data = _data(counts=(4, 3, 5))
    s2 = stats.variance_components(data).biased[0]
    low, high = 48 * s2 / scipy_stats.chi2.ppf([0.975, 0.025], 48)

    found = stats.component_intervals(data, method="f")[0]

    assert (found.low, found.high) == pytest.approx((low, high))


def test_tukey_williams_in_closed_form():
    """Worked by hand for the two-level example: F = 1.12, all of it noise, so the lower bound is cut at 0."""
    s1, s2 = stats.variance_components(TWO_LEVEL).biased
    f_low = scipy_stats.f.ppf(0.025, 2, 9)
    high = 2 * (s2 - s1 / 4 * f_low) / scipy_stats.chi2.ppf(0.025, 2)

    found = stats.component_intervals(TWO_LEVEL, method="f")[1]

    assert (found.low, found.high) == (0.0, pytest.approx(high))
    assert found.centre == pytest.approx(0.3819444)


BONETT = np.array([15.83, 16.01, 16.24, 16.42, 15.33, 15.44, 16.88, 16.31])
"""The example of Bonett, Computational Statistics and Data Analysis 50, 2006."""


@pytest.mark.parametrize(
    ("confidence", "low", "high"), [(0.9, 0.3592, 0.9359), (0.95, 0.3263, 1.0841), (0.99, 0.2607, 1.5109)]
)
def test_bonetts_published_intervals(confidence, low, high):
    z = scipy_stats.norm.ppf((1 + confidence) / 2)
    squared = BONETT.var(ddof=1)
    found = [math.sqrt(spread_bounds._by_kurtosis(BONETT, squared, z, sign)) for sign in (-1, 1)]

    assert found == pytest.approx([low, high], abs=5e-5)
    assert math.sqrt(spread_bounds.lower_by_kurtosis(BONETT, squared, 0.0, 1 - confidence)) == pytest.approx(found[0])


def test_by_kurtosis_the_interval_is_never_narrower_than_that_of_normal_binaries():
    """Of one execution each: the lower bound is Bonett's published one, and chi-square's upper one is too low."""
    by_f, found = (stats.component_intervals(BONETT, method=method)[0] for method in ("f", "kurtosis"))

    assert math.sqrt(found.low) == pytest.approx(0.3263, abs=5e-5)
    assert (found.low < by_f.low, found.high > by_f.high, found.centre == by_f.centre) == (True, True, True)
    few = stats.component_intervals(BONETT[:3], method="kurtosis")[0]
    assert (few.low, few.high) == pytest.approx(
        [getattr(stats.component_intervals(BONETT[:3], method="f")[0], end) for end in ("low", "high")]
    )


def test_by_kurtosis_only_the_interval_of_binaries_is_another():
    data = _data()
    by_f, found = (stats.component_intervals(data, method=method) for method in ("f", "kurtosis"))

    assert [each.method for each in found] == ["f", "f", "kurtosis"]
    assert found[:2] == by_f[:2]
    moved = stats.component_intervals(1e-140 * np.asarray(data), method="kurtosis")[2]
    assert (moved.low, moved.high) == pytest.approx((1e-280 * found[2].low, 1e-280 * found[2].high))


def _in_ten_one_slow(rng):
    """30 binaries, one in ten of them 5 % slower, executed 3 times each with little noise."""
    return 100 + 5 * (rng.random((30, 1)) < 0.1) + 0.1 * rng.normal(size=(30, 3))


def test_slow_binaries_are_in_the_interval_by_kurtosis():
    """In .93 of samples: .04 have none of them; f holds it in .67."""
    truth, held = 25 * 0.09, {"f": 0, "kurtosis": 0}
    rng = np.random.default_rng(12)
    for _ in range(100):
        data = _in_ten_one_slow(rng)
        for method in held:
            held[method] += truth in stats.component_intervals(data, method=method)[-1]

    assert held["kurtosis"] > 93 - 3.5 * math.sqrt(100 * 0.93 * 0.07)
    assert held["f"] < 67 + 3.5 * math.sqrt(100 * 0.67 * 0.33)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "least"), [("normal", 0.95), ("lognormal", 0.91), ("t3", 0.82)])
@pytest.mark.parametrize("count", [10, 30])
def test_coverage_by_kurtosis(shape, least, count):
    """Of 10 and of 30; f holds lognormal binaries in .82 and .76, those of Student's t with 3 degrees in .76 and .63."""
    draw = {
        "normal": lambda rng, size: rng.normal(size=size),
        "lognormal": lambda rng, size: np.exp(rng.normal(size=size) / 2) / math.sqrt(math.expm1(0.25) * math.exp(0.25)),
        "t3": lambda rng, size: rng.standard_t(3, size=size) / math.sqrt(3),
    }[shape]
    rng, runs, held = np.random.default_rng(13), 400, 0
    for _ in range(runs):
        data = 100 + draw(rng, (count, 1)) + 0.1 * rng.normal(size=(count, 3))
        held += 1 in stats.component_intervals(data, method="kurtosis")[-1]

    assert held > least * runs - 3.5 * math.sqrt(runs * least * (1 - least))


@pytest.mark.parametrize(("method", "level"), [("f", 0), ("f", 1), ("bootstrap", 0), ("bootstrap", 1)])
def test_coverage_of_component_intervals(method, level):
    """400 normal data sets of 30 x 5: f at least nominal, bootstrap not below 85 %, with binomial bounds."""
    model = stats.HierarchicalModel(mean=10.0, sds=(1.0, 1.5), layout="normal")
    data = stats.simulate(model, (30, 5), n_datasets=400, seed=5)
    truth = model.variances[level]

    covered = sum(truth in stats.component_intervals(one, method=method, n_resamples=400)[level] for one in data)

    promised = 0.95 if method == "f" else 0.85
    assert covered >= 400 * promised - 4 * math.sqrt(400 * promised * (1 - promised))


def test_bootstrap_of_two_levels_by_brute_force():
    """The same case resampling (binaries drawn, insides kept) in plain numpy, as a distribution."""
    data = _data(counts=(6, 6, 1))[:, :, 0]
    rng = np.random.default_rng(1)
    replicates = []
    for _ in range(4000):
        drawn = data[rng.integers(0, 6, 6)]
        s1 = drawn.var(axis=1, ddof=1).mean()
        replicates.append(drawn.mean(axis=1).var(ddof=1) * 6 / 5 - s1 / 6)

    found = stats.component_intervals(data, n_resamples=4000)[1]

    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(replicates, [0.025, 0.975])), rel=0.06)


def test_an_unrepeated_level_has_no_interval():
    data = np.random.default_rng(1).normal(size=(8, 1, 4))

    for method in ("f", "bootstrap"):
        found = stats.component_intervals(data, method=method, n_resamples=100)
        two = stats.component_intervals(data[:, 0], method=method, n_resamples=100)
        assert found[1] is None
        assert (found[0].low, found[2].low, found[2].high) == pytest.approx((two[0].low, two[1].low, two[1].high))


@pytest.mark.slow
@pytest.mark.parametrize(("binaries", "lost"), [(3, 1), (5, 1), (10, 12), (30, 1)])
def test_coverage_after_lost_executions(binaries, lost):
    """1,000 normal data sets of 5 executions each, some lost: binomial bounds of 4 standard errors around 95 %."""
    rng = np.random.default_rng(binaries)
    truth = np.array([1.0, 0.25, 0.25 / 1.25])
    covered = np.zeros(3)
    for _ in range(1000):
        data = [list(rng.normal(rng.normal(10, 0.5), 1, 5)) for _ in range(binaries)]
        for _ in range(lost):
            unlucky = data[rng.integers(binaries)]
            del unlucky[1:2]
        found = [*stats.component_intervals(data, method="f"), stats.intraclass_correlation(data, method="f")]
        covered += [each.low <= true <= each.high for each, true in zip(found, truth, strict=True)]

    assert (np.abs(covered / 1000 - 0.95) <= 4 * math.sqrt(0.05 * 0.95 / 1000)).all(), covered


def test_unbalanced_components_have_bootstrap_intervals():
    data = [_data()[i, : 1 + i % 4].tolist() for i in range(25)]

    found = stats.component_intervals(data, n_resamples=1000)

    assert all(i.low < i.centre < i.high for i in found)


def test_one_level_has_the_interval_of_its_variance():
    values = np.random.default_rng(4).normal(10, 2, 30)

    exact, bootstrap = (stats.component_intervals(values, method=m)[0] for m in ("f", "bootstrap"))

    assert exact.centre == bootstrap.centre == pytest.approx(values.var(ddof=1))
    assert (exact.low, exact.high) == pytest.approx(
        tuple(29 * values.var(ddof=1) / scipy_stats.chi2.ppf([0.975, 0.025], 29))
    )
    assert bootstrap.low < bootstrap.centre < bootstrap.high


def test_few_binaries_warn_with_the_count_that_would_do():
    assert said(stats.component_intervals(_data(counts=(8, 3, 3)), n_resamples=100)[0].warnings) == (
        "bootstrap intervals of variances are too narrow with 8 binaries: 12 more would make 20",
    )
    assert said(stats.component_intervals(THREE_LEVEL, method="f")[0].warnings) == (
        "3 binaries hardly support an interval: 2 more would make 5, the fewest that do",
    )


def test_exact_intraclass_correlation():
    """Bounds are those of the F ratio: at each, F over 1 + n rho / (1 - rho) is a quantile of F."""
    data = _data(counts=(12, 4, 1))[:, :, 0]
    f = scipy_stats.f_oneway(*data).statistic

    found = stats.intraclass_correlation(data, method="f")

    for bound, tail in ((found.low, 0.975), (found.high, 0.025)):
        assert f / (1 + 4 * bound / (1 - bound)) == pytest.approx(scipy_stats.f.ppf(tail, 11, 36))
    t1, t2 = stats.variance_components(data).unbiased
    assert found.centre == pytest.approx(t2 / (t1 + t2))


def test_intraclass_correlation_of_three_levels():
    found = stats.intraclass_correlation(_data(counts=(60, 5, 6)), n_resamples=2000)

    assert found.low < 4 / 5.25 < found.high
    assert 0 <= found.low < found.centre < found.high <= 1


def test_coverage_of_the_exact_intraclass_correlation():
    model = stats.HierarchicalModel(mean=10.0, sds=(1.0, 1.0), layout="normal")
    data = stats.simulate(model, (10, 4), n_datasets=1000, seed=6)

    covered = sum(0.5 in stats.intraclass_correlation(one, method="f") for one in data)

    assert covered == pytest.approx(950, abs=4 * math.sqrt(47.5))


def test_correlation_when_binaries_do_not_differ_or_only_they_do():
    rng = np.random.default_rng(2)
    only = np.repeat(rng.normal(size=(6, 1)), 4, axis=1)
    none = np.tile(rng.normal(size=(1, 4)), (6, 1))

    assert stats.intraclass_correlation(only, method="f").centre == 1.0
    assert stats.intraclass_correlation(only, method="f").low == 1.0
    assert stats.intraclass_correlation(none, method="f").centre == 0.0
    assert stats.intraclass_correlation(none, n_resamples=100).high == 0.0


def test_f_test_of_the_worked_example_and_of_scipy():
    found = stats.variance_test(TWO_LEVEL)
    expected = scipy_stats.f_oneway(*TWO_LEVEL)

    assert (found.statistic, found.p_value) == pytest.approx((1.1200874, 0.3678007), abs=1e-7)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.alternative, found.n_resamples) == ("greater", 0)


def test_f_test_of_three_levels_uses_the_executions_means():
    data = _data(counts=(6, 4, 5))
    expected = scipy_stats.f_oneway(*data.mean(axis=2))

    assert stats.variance_test(data).p_value == pytest.approx(expected.pvalue)


def test_permutation_test_of_scipy_on_unbalanced_data():
    groups = [[1.0, 3.0, 2.0], [4.0, 2.5], [3.0, 5.0, 4.5, 3.5]]
    expected = scipy_stats.permutation_test(
        groups,
        lambda *g: scipy_stats.f_oneway(*g).statistic,
        permutation_type="independent",
        alternative="greater",
        n_resamples=3000,
        **seeded(),
    )
    found = stats.variance_test(groups, method="permutation", n_resamples=20_000)

    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.03)


@pytest.mark.parametrize("method", ["f", "permutation"])
def test_false_alarms_are_as_many_as_promised(method):
    data = stats.simulate(
        stats.HierarchicalModel(mean=10.0, sds=(1.0, 0.0), layout="normal"), (6, 3), n_datasets=600, seed=2
    )

    alarms = sum(stats.variance_test(one, method=method, n_resamples=199).p_value <= 0.05 for one in data)

    assert alarms == pytest.approx(30, abs=4 * math.sqrt(28.5))


@pytest.mark.parametrize("method", ["f", "permutation"])
def test_variance_test_of_extremes(method):
    constant = stats.variance_test(np.full((4, 3), 0.1), method=method)
    certain = stats.variance_test(np.repeat(np.arange(5.0)[:, None], 3, axis=1), method=method, n_resamples=999)

    assert constant.p_value == 1.0
    assert "exactly the same mean" in said(constant.warnings)[0]
    assert certain.p_value <= 0.001
    assert certain.statistic == math.inf


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_do_not_matter_to_ratios(scale):
    data = _data(counts=(6, 4, 2))

    for call in (
        lambda x: stats.variance_test(x).p_value,
        lambda x: stats.intraclass_correlation(x, n_resamples=100).high,
    ):
        assert call(data * scale) == pytest.approx(call(data))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: stats.component_intervals([[1.0, 2.0]]),
            "component_intervals: 1 binary shows no variance between binaries",
        ),
        (lambda: stats.component_intervals(TWO_LEVEL, n_resamples=3), "n_resamples must be an integer of at least 40"),
        (lambda: stats.component_intervals(TWO_LEVEL, method="t"), "unknown method 't', choose from bootstrap, f"),
        (
            lambda: stats.intraclass_correlation([1.0, 2.0]),
            "every binary was executed once, so its own variance cannot be told",
        ),
        (lambda: stats.intraclass_correlation(np.ones((3, 3))), "the measurements do not vary at all"),
        (lambda: stats.intraclass_correlation(THREE_LEVEL, method="f"), "method 'f' is for two levels only"),
        (lambda: stats.variance_test(np.ones((5, 1, 7))), "variance_test: every binary was executed once"),
        (lambda: stats.variance_test([[1.0], [1.0, 2.0]]), "use method 'permutation'"),
        (
            lambda: stats.variance_test(TWO_LEVEL, method="permutation", n_resamples=0),
            "n_resamples must be an integer of at least 1",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError) as error:
        call()

    assert message in str(error.value)


def of_nodes(rng, *, layout):
    """10 binaries, 2 executions each on whichever of 3 nodes is free, which differ by 10 %."""
    blocks = rng.integers(3, size=20)
    binary = np.repeat(rng.normal(0, layout, 10), 2)
    values = 1 + binary + blocks * 0.1 + rng.normal(0, 0.005, 20)
    return values.reshape(10, 2), list(blocks)


def test_the_permutation_within_blocks_is_not_misled_by_them():
    rng, runs = np.random.default_rng(21), 400
    alarms = found = blind = 0
    for _ in range(runs):
        data, blocks = of_nodes(rng, layout=0.0)
        alarms += stats.variance_test(data, method="permutation", blocks=blocks, n_resamples=199).p_value <= 0.05
    for _ in range(60):
        data, blocks = of_nodes(rng, layout=0.02)
        found += stats.variance_test(data, method="permutation", blocks=blocks, n_resamples=199).p_value <= 0.05
        blind += stats.variance_test(data, method="permutation", n_resamples=199).p_value <= 0.05
    assert alarms < 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)
    assert found > 50
    assert blind < 30


def test_one_block_is_none():
    data, _ = of_nodes(np.random.default_rng(22), layout=0.01)
    one = stats.variance_test(data, method="permutation", blocks=["n"] * 20)
    assert one.p_value == stats.variance_test(data, method="permutation").p_value


def test_messages_about_blocks():
    data, blocks = of_nodes(np.random.default_rng(23), layout=0.01)
    with pytest.raises(AnalysisError, match="method 'f' knows no blocks"):
        stats.variance_test(data, blocks=blocks)
    with pytest.raises(AnalysisError, match="20 executions, but 10 blocks"):
        stats.variance_test(data, method="permutation", blocks=blocks[:10])
