"""Suite ratios: closed forms, brute force, scipy, methods against each other, names, messages."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from stats.scipy_generator import seeded
from warningkit import said

MEANS = {"geometric": scipy_stats.gmean, "arithmetic": np.mean, "harmonic": scipy_stats.hmean}


def _suite(seed=1, n=12, factor=1.0, benchmarks=6):
    rng = np.random.default_rng(seed)
    return {f"b{i}": factor * (i + 1) * rng.normal(10, 0.2, (n, 3)) for i in range(benchmarks)}


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("method", ["log-t", "bootstrap", "bootstrap-t"])
def test_centre_is_the_ratio_of_means_of_means(mean, method):
    a, b = _suite(1), _suite(2, n=9)
    expected = MEANS[mean]([x.mean() for x in b.values()]) / MEANS[mean]([x.mean() for x in a.values()])

    assert stats.suite_ratio(a, b, mean=mean, method=method, n_resamples=100).centre == pytest.approx(expected)


def test_one_benchmark_is_the_ratio_of_that_benchmark():
    a, b = _suite(1, benchmarks=1), _suite(2, benchmarks=1)
    suite = stats.suite_ratio(a, b)
    alone = stats.ratio_interval(a["b0"], b["b0"], method="fieller-welch")

    assert suite.centre == pytest.approx(alone.centre)
    assert (suite.low, suite.high) == pytest.approx((alone.low, alone.high), abs=2e-5)


def test_paired_log_t_of_one_benchmark_is_that_of_the_ratio():
    a, b = _suite(1, benchmarks=1), _suite(2, benchmarks=1)
    suite, alone = (
        stats.suite_ratio(a, b, method="paired-log-t"),
        stats.ratio_interval(a["b0"], b["b0"], method="paired-log-t"),
    )

    assert (suite.centre, suite.low, suite.high) == pytest.approx((alone.centre, alone.low, alone.high))


@pytest.mark.parametrize("mean", MEANS)
def test_delta_method_against_numerical_derivatives(mean):
    """Standard error of the logarithm: gradient by central differences over the benchmarks' means."""
    a, b = _suite(1), _suite(2)
    found = stats.suite_ratio(a, b, mean=mean)
    parts = []
    for suite in (a, b):
        means = np.array([x.mean() for x in suite.values()])
        errors = np.array([x.mean(axis=1).std(ddof=1) / math.sqrt(x.shape[0]) for x in suite.values()])
        for i in range(means.size):
            up, down = means.copy(), means.copy()
            up[i] *= 1 + 1e-6
            down[i] *= 1 - 1e-6
            slope = (math.log(MEANS[mean](up)) - math.log(MEANS[mean](down))) / (2e-6 * means[i])
            parts.append((slope * errors[i]) ** 2)
    degrees = sum(parts) ** 2 / sum(part**2 / 11 for part in parts)
    half = scipy_stats.t.ppf(0.975, degrees) * math.sqrt(sum(parts))

    assert math.log(found.high / found.low) / 2 == pytest.approx(half, rel=1e-5)


def test_bootstrap_of_scipy_within_each_system_and_benchmark():
    a = {name: x.mean(axis=1) for name, x in _suite(1, n=20, benchmarks=3).items()}
    b = {name: x.mean(axis=1) for name, x in _suite(2, n=20, benchmarks=3).items()}

    def ratio(a0, a1, a2, b0, b1, b2, axis):
        logs = [np.log(x.mean(axis=axis)) for x in (a0, a1, a2, b0, b1, b2)]
        return np.exp((sum(logs[3:]) - sum(logs[:3])) / 3)

    expected = scipy_stats.bootstrap(
        (*a.values(), *b.values()), ratio, n_resamples=20_000, method="percentile", **seeded()
    ).confidence_interval
    found = stats.suite_ratio(a, b, method="bootstrap", n_resamples=20_000)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=2e-4)


def test_the_bootstrap_is_not_centred_on_one_as_the_printed_algorithm_would_be():
    """LCP IV step 1 pools both machines; their results hold the true ratio 2, and so do these."""
    found = stats.suite_ratio(_suite(1), _suite(2, factor=2.0), method="bootstrap", n_resamples=1000)

    assert found.low > 1.9
    assert 2.0 in found


@pytest.mark.parametrize("mean", MEANS)
def test_methods_agree_when_binaries_are_many(mean):
    a, b = _suite(1, n=60), _suite(2, n=60, factor=0.9)
    found = [
        stats.suite_ratio(a, b, mean=mean, method=m, n_resamples=5000, resampling="RN")
        for m in ("log-t", "bootstrap", "bootstrap-t")
    ]

    for other in found[1:]:
        assert (other.low, other.high) == pytest.approx((found[0].low, found[0].high), abs=4e-4)


def test_pairing_cancels_what_seeds_share():
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 0.03, (20, 1))
    a = {f"b{i}": 10 * np.exp(shared + rng.normal(0, 0.002, (20, 1))) for i in range(4)}
    b = {f"b{i}": 11 * np.exp(shared + rng.normal(0, 0.002, (20, 1))) for i in range(4)}

    paired, apart = (stats.suite_ratio(a, b, method=m) for m in ("paired-log-t", "log-t"))

    assert paired.half_width < apart.half_width / 5
    assert 1.1 in paired


def test_benchmarks_of_any_scale_count_equally_in_the_geometric_mean():
    a, b = _suite(1), _suite(2)
    scale = {name: 10.0 ** (40 * i - 100) for i, name in enumerate(a)}
    plain = stats.suite_ratio(a, b)
    scaled = stats.suite_ratio({n: x * scale[n] for n, x in a.items()}, {n: x * scale[n] for n, x in b.items()})

    assert (scaled.centre, scaled.low, scaled.high) == pytest.approx((plain.centre, plain.low, plain.high), rel=1e-9)


def test_geometric_means_neither_overflow_nor_vanish():
    """libkalibera's product overflows here: 40 benchmarks of 1e200 and of 1e-200."""
    for scale in (1e200, 1e-200):
        a = {name: x * scale for name, x in _suite(1, benchmarks=40).items()}
        b = {name: x * scale for name, x in _suite(2, benchmarks=40).items()}
        for method in ("log-t", "bootstrap", "bootstrap-t"):
            found = stats.suite_ratio(a, b, method=method, n_resamples=100)
            assert 0.98 < found.low < found.high < 1.02


def test_order_of_benchmarks_does_not_matter_and_streams_go_by_name():
    a, b = _suite(1), _suite(2)
    back = stats.suite_ratio(dict(reversed(a.items())), b, method="bootstrap", n_resamples=200)

    assert back == stats.suite_ratio(a, b, method="bootstrap", n_resamples=200)


def test_only_common_benchmarks_are_compared_and_the_others_are_named():
    a, b = _suite(1), _suite(2)
    found = stats.suite_ratio({**a, "only old": [1.0, 2.0]}, {**b, "x": [1.0, 2.0], "y": [1.0, 2.0]})

    assert said(found.warnings) == (
        "1 of 7 benchmarks left out because only the baseline has them: only old; run them on the other system too",
        "2 of 8 benchmarks left out because only the candidate has them: x, y; run them on the other system too",
    )
    assert found.centre == stats.suite_ratio(a, b).centre


def test_warnings_name_the_benchmark_with_the_fewest_binaries():
    a, b = _suite(1), _suite(2)
    found = stats.suite_ratio({**a, "b3": a["b3"][:3]}, b)

    assert said(found.warnings) == (
        "3 binaries of b3 (baseline) hardly support an interval: 2 more would make 5, the fewest that do",
    )


@pytest.mark.parametrize("method", ["log-t", "bootstrap", "bootstrap-t", "paired-log-t"])
def test_one_binary_anywhere_leaves_no_bounds(method):
    found = stats.suite_ratio({"a": [[1.0, 2.0]]}, {"a": [[1.0, 2.5]]}, method=method)

    assert (found.low, found.high) == (-math.inf, math.inf)
    assert "1 binary of a (baseline) cannot show" in said(found.warnings)[0]


def test_constant_benchmarks_are_named():
    found = stats.suite_ratio(
        {"a": [1.0] * 5, "b": [1.0, 2.0, 3.0, 2.0, 1.0]}, {"a": [2.0] * 5, "b": [2.0, 2.0, 3.0, 1.0, 2.0]}
    )

    assert said(found.warnings)[0].startswith("all binaries of a (baseline), a (candidate) have exactly the same mean")


@pytest.mark.parametrize(
    ("a", "b", "arguments", "message"),
    [
        ({"a": [1.0]}, {"b": [1.0]}, {}, "no benchmark in common: the baseline has a, the candidate b"),
        ({}, {}, {}, "no benchmark in common: the baseline has none, the candidate none"),
        ({"a": [-1.0, -2.0]}, {"a": [1.0, 2.0]}, {}, "a: its mean is not above 0, but suite means take logarithms"),
        ({"a": [1.0, 2.0]}, {"a": [1.0]}, {"method": "paired-log-t"}, "1 binary of a (candidate)"),
        (
            {"a": [1.0, 2.0]},
            {"a": [1.0, 2.0, 3.0]},
            {"method": "paired-log-t"},
            "the benchmarks have from 2 to 3 binaries; keep only the seeds",
        ),
        (
            {"a": [1.0, 2.0]},
            {"a": [1.0, 2.0]},
            {"method": "paired-log-t", "mean": "harmonic"},
            "paired-log-t is for the geometric mean, not the harmonic",
        ),
        (
            {"a": [1.0, 2.0]},
            {"a": [1.0, 2.0]},
            {"mean": "geo"},
            "unknown mean 'geo', choose from arithmetic, geometric, harmonic",
        ),
        (
            {"a": [1.0, -0.9]},
            {"a": [1.0, 2.0]},
            {"method": "bootstrap"},
            "baseline, a: some replicates have a mean not above 0",
        ),
    ],
)
def test_messages(a, b, arguments, message):
    if "1 binary" in message:
        assert message in said(stats.suite_ratio(a, b, **{**arguments, "method": "log-t"}).warnings)[0]
        return
    with pytest.raises(AnalysisError) as error:
        stats.suite_ratio(a, b, **arguments)

    assert message in str(error.value)


def _shared(seed, n=20, benchmarks=8, factor=1.0):
    """A suite whose benchmarks all run from the same binaries, which are slow for all of them or for none."""
    rng = np.random.default_rng(seed)
    layout = rng.normal(1, 0.02, n)
    return {f"b{i}": factor * (i + 1) * layout * rng.normal(1, 0.002, n) for i in range(benchmarks)}


def test_shared_draws_are_those_of_one_mean_for_each_binary():
    """Drawn by hand: the geometric mean over benchmarks, binary by binary, resampled as one benchmark would be."""
    a, b = _shared(1), _shared(2)
    together = [{"x": np.exp(np.mean(np.log(np.array(list(s.values()))), axis=0))} for s in (a, b)]

    shared = stats.suite_ratio(a, b, method="bootstrap", draws="shared")
    alone = stats.suite_ratio(*together, method="log-t")
    separate = stats.suite_ratio(a, b, method="bootstrap")

    assert shared.half_width == pytest.approx(alone.half_width, rel=0.12)
    assert separate.half_width < 0.5 * shared.half_width


def test_paired_draws_are_as_wide_as_the_paired_t():
    a, b = _shared(1), {name: values * 1.05 for name, values in _shared(1).items()}
    b = {name: values * np.random.default_rng(3).normal(1, 0.001, 20) for name, values in b.items()}

    paired = stats.suite_ratio(a, b, method="bootstrap", draws="paired")

    assert paired.half_width == pytest.approx(stats.suite_ratio(a, b, method="paired-log-t").half_width, rel=0.3)
    assert paired.half_width < 0.2 * stats.suite_ratio(a, b, method="bootstrap", draws="shared").half_width


def test_shared_draws_cover_where_separate_ones_do_not():
    """Bound of 4 standard deviations below the 90 % that the percentile bootstrap reaches with 20 binaries."""
    hits = {"shared": 0, "separate": 0}
    for k in range(60):
        for draws in hits:
            found = stats.suite_ratio(
                _shared(2 * k), _shared(2 * k + 1), method="bootstrap", draws=draws, n_resamples=300
            )
            hits[draws] += 1.0 in found

    assert hits["shared"] >= 54 - 4 * math.sqrt(5.4)
    assert hits["separate"] < 40


def test_draws_that_the_binaries_do_not_allow_are_refused():
    a, b = _shared(1), _shared(2, n=15)
    assert stats.suite_ratio(a, b, method="bootstrap", draws="shared", n_resamples=100).centre > 0
    with pytest.raises(AnalysisError, match="paired draws: the benchmarks have from 15 to 20 binaries"):
        stats.suite_ratio(a, b, method="bootstrap", draws="paired")
    with pytest.raises(AnalysisError, match="shared draws: the benchmarks have from 15 to 20 binaries"):
        stats.suite_ratio({**a, "b0": a["b0"][:15]}, a, method="bootstrap", draws="shared")
    with pytest.raises(AnalysisError, match="unknown draws 'common'"):
        stats.suite_ratio(a, b, draws="common")
