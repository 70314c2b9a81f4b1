"""Simulation studies: their counting (fast), and what the papers state (slow)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.studies import rate
from stats.papers import TR_VARIATION

LAYOUT = stats.HierarchicalModel(mean=100.0, sds=(0.5, 2.0), layout="normal")  # executions 0.5 %, layouts 2 %


def _benchmark(name, counts=(100, 100), actual=(100, 100)):
    """Variances of a benchmark of TR table 8.2; with fewer repetitions below the top, scaled to weigh as much."""
    compilation, execution, measurement, _ = TR_VARIATION[name]
    executions = execution * math.sqrt(counts[0] / actual[0])
    measurements = measurement * math.sqrt(counts[0] * counts[1] / (actual[0] * actual[1]))
    return stats.HierarchicalModel(mean=100.0, sds=(measurements, executions, compilation), layout="normal")


def _by(rows, *keys):
    return {tuple(getattr(row, key) for key in keys): row for row in rows}


def _is_consistent(found, low, high):
    """Whether a count can come from a true rate between `low` and `high`: two-sided binomial test at 1 in 10,000."""
    below = scipy_stats.binomtest(found.count, found.n, high, alternative="greater").pvalue
    above = scipy_stats.binomtest(found.count, found.n, low, alternative="less").pvalue
    return min(below, above) > 5e-5


def test_rates_carry_the_exact_binomial_interval():
    for count, n in ((0, 10), (3, 50), (50, 50), (950, 1000)):
        expected = scipy_stats.binomtest(count, n).proportion_ci(method="exact")
        found = rate(count, n)
        assert (found.count, found.n, found.rate) == (count, n, count / n)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_coverage_rows_count_intervals_that_hold_the_truth():
    rows = stats.coverage_study(
        LAYOUT, n_binaries=(6,), lower_counts=(1,), methods=("fieller", "log-t"), n_datasets=50, seed=3
    )

    assert [(row.n_binaries, row.method) for row in rows] == [(6, "fieller"), (6, "log-t")]
    assert all(row.coverage.n == 50 and 40 <= row.coverage.count <= 50 and row.n_unbounded == 0 for row in rows)
    assert rows[0].mean_half_width > rows[1].mean_half_width > 0


def test_coverage_counts_intervals_without_bounds():
    model = stats.HierarchicalModel(mean=1.0, sds=(3.0,), layout="normal")

    row = stats.coverage_study(model, n_binaries=(2,), lower_counts=(), methods=("fieller",), n_datasets=30)[0]

    assert row.n_unbounded > 20


@pytest.mark.slow
def test_reduction_to_binaries_means_is_the_same_experiment():
    """Simulating all measurements or only the binaries' means: same coverage and same widths."""
    model = stats.HierarchicalModel(mean=100.0, sds=(2.0, 1.0, 1.0), layout="normal")
    arguments = {"n_binaries": (5,), "lower_counts": (4, 5), "n_datasets": 1500, "seed": 1}
    reduced = stats.coverage_study(model, methods=("log-t",), **arguments)[0]
    full = stats.coverage_study(model, methods=("log-t", "bootstrap"), n_resamples=40, **arguments)[0]

    assert reduced.mean_half_width == pytest.approx(full.mean_half_width, rel=0.04)
    assert reduced.coverage.rate == pytest.approx(full.coverage.rate, abs=0.03)


def test_studies_depend_on_the_seed_alone():
    one, two, other = (stats.false_alarm_study(LAYOUT, designs=((5, 2),), n_comparisons=40, seed=s) for s in (1, 1, 2))

    assert one == two != other


def test_false_alarm_rows_have_every_design_analysis_and_threshold():
    rows = stats.false_alarm_study(
        LAYOUT,
        designs=((1, 6), (4, 2)),
        analyses=("flat-t", "RRR"),
        thresholds=(0.0, 0.02),
        n_comparisons=10,
        n_resamples=40,
    )

    assert [(row.counts, row.analysis, row.threshold) for row in rows] == [
        (counts, analysis, threshold)
        for counts in ((1, 6), (4, 2))
        for analysis in ("flat-t", "RRR")
        for threshold in (0.0, 0.02)
    ]
    assert all(row.alarms.n == 10 for row in rows)


def test_the_default_analysis_leaves_out_samples_of_one_binary():
    rows = stats.false_alarm_study(
        LAYOUT, designs=((1, 6), (4, 2)), analyses=("per-binary", "fieller"), n_comparisons=10
    )

    assert [(row.counts, row.analysis) for row in rows] == [
        ((1, 6), "fieller"),
        ((4, 2), "per-binary"),
        ((4, 2), "fieller"),
    ]
    assert rows[1].alarms == rows[2].alarms


def test_flat_resampling_knows_no_binaries():
    rows = stats.false_alarm_study(
        LAYOUT, designs=((1, 30), (30, 1)), analyses=("FLAT", "flat-t"), n_comparisons=150, n_resamples=200, seed=2
    )
    found = _by(rows, "counts", "analysis")

    assert _is_consistent(found[(1, 30), "FLAT"].alarms, 0.88, 0.98)
    assert _is_consistent(found[(30, 1), "FLAT"].alarms, 0.03, 0.09)


@pytest.mark.slow
def test_the_claim_of_the_readme():
    """Flat tests of repeated executions of one binary raise false alarms in most A/A comparisons; per-binary do not.

    Layouts 2 %, executions 0.5 %, 30 executions a side, 400 comparisons; the figures beside are those of this project's first trials.
    """
    rows = stats.false_alarm_study(
        LAYOUT,
        designs=((1, 30), (3, 10), (10, 3), (30, 1)),
        analyses=("flat-t", "log-t", "fieller"),
        n_comparisons=400,
        seed=1,
    )
    found = _by(rows, "counts", "analysis")

    for counts, measured in (((1, 30), 0.926), ((3, 10), 0.613), ((10, 3), 0.274), ((30, 1), 0.051)):
        assert _is_consistent(found[counts, "flat-t"].alarms, measured - 0.03, measured + 0.03)
    for counts in ((3, 10), (10, 3), (30, 1)):
        assert _is_consistent(found[counts, "log-t"].alarms, 0.0, 0.055)
        assert _is_consistent(found[counts, "fieller"].alarms, 0.0, 0.055)


def test_power_rows():
    rows = stats.power_study((20.0,) * 6, (0.1,) * 6, n_different=(0, 6), n_datasets=10, n_resamples=99)

    assert [(row.n_different, row.test) for row in rows] == [
        (n, t) for n in (0, 6) for t in ("randomization", "t", "hpt")
    ]
    assert _by(rows, "n_different", "test")[6, "randomization"].rejections.count == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.coverage_study(LAYOUT, methods=("t",)), "unknown method 't'"),
        (
            lambda: stats.coverage_study(LAYOUT, n_binaries=(0,), lower_counts=(1,)),
            "n_binaries must be an integer of at least 1, got 0",
        ),
        (lambda: stats.coverage_study(LAYOUT, n_datasets=0), "n_datasets must be an integer of at least 1"),
        (lambda: stats.false_alarm_study(LAYOUT, analyses=("x",)), "unknown analysis 'x'"),
        (lambda: stats.false_alarm_study(LAYOUT, thresholds=(2,)), "threshold must be a fraction"),
        (
            lambda: stats.power_study((1.0,), ()),
            "power_study: 1 means and 0 standard deviations; give one each per benchmark",
        ),
        (
            lambda: stats.power_study((1.0,), (1.0,), tests=("anova",)),
            "unknown test 'anova', choose from hpt, randomization, t",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError) as error:
        call()

    assert message in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", TR_VARIATION)
def test_coverage_of_fieller_in_the_report(benchmark):
    """TR 8.4.1: about 99 % at 3 binaries, below 98 % at 10, below 97 % at 20, 95-96 % at 50; 100 x 100 below."""
    rows = stats.coverage_study(
        _benchmark(benchmark), n_binaries=(3, 10, 20, 50), methods=("fieller",), n_datasets=3000, seed=1
    )
    found = {row.n_binaries: row.coverage for row in rows}

    assert _is_consistent(found[3], 0.98, 0.995)
    assert _is_consistent(found[10], 0.95, 0.98)
    assert _is_consistent(found[20], 0.95, 0.97)
    assert _is_consistent(found[50], 0.95, 0.96)


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", TR_VARIATION)
def test_coverage_with_the_normal_quantile_in_the_report(benchmark):
    """TR 8.4.1: around 88 % at 3 binaries, above 90 % at 5, above 94 % at 15."""
    rows = stats.coverage_study(
        _benchmark(benchmark), n_binaries=(3, 5, 15, 50), methods=("fieller-normal",), n_datasets=3000, seed=2
    )
    found = {row.n_binaries: row.coverage for row in rows}

    assert _is_consistent(found[3], 0.87, 0.90)
    assert _is_consistent(found[5], 0.90, 0.94)
    assert _is_consistent(found[15], 0.93, 0.95)
    assert _is_consistent(found[50], 0.94, 0.95)


@pytest.mark.slow
def test_number_of_executions_does_not_influence_coverage():
    """TR 8.4.1, figure 7."""
    counts = [
        stats.coverage_study(
            _benchmark("FFT NA OPT"),
            n_binaries=(10,),
            lower_counts=(n, 20),
            methods=("fieller",),
            n_datasets=2000,
            seed=n,
        )[0].coverage
        for n in (2, 10, 50)
    ]

    assert all(_is_consistent(found, 0.955, 0.975) for found in counts)


@pytest.mark.slow
def test_methods_offered_as_default_are_honest_from_5_to_30_binaries():
    for layout in ("normal", "bimodal", "skewed"):
        model = stats.HierarchicalModel(mean=100.0, sds=(0.5, 2.0), layout=layout)
        for method in ("fieller", "fieller-welch", "log-t"):
            rows = stats.coverage_study(
                model, n_binaries=(5, 10, 30), lower_counts=(1,), ratio=1.0, methods=(method,), n_datasets=1500, seed=4
            )
            for row in rows:
                assert _is_consistent(row.coverage, 0.94, 0.99), (layout, row)


@pytest.mark.slow
def test_percentile_bootstrap_under_covers_with_few_binaries_and_bootstrap_t_does_not():
    """First trials of this project: percentiles of the ratio .914 at 10 binaries and .941 at 30, normal layouts."""
    rows = stats.coverage_study(
        LAYOUT,
        n_binaries=(5, 10, 30),
        lower_counts=(1,),
        methods=("bootstrap", "bca", "bootstrap-t"),
        n_datasets=1000,
        n_resamples=600,
        seed=5,
    )
    found = {key: row.coverage for key, row in _by(rows, "n_binaries", "method").items()}

    assert _is_consistent(found[5, "bootstrap"], 0.84, 0.90)
    assert _is_consistent(found[10, "bootstrap"], 0.90, 0.93)
    assert _is_consistent(found[30, "bootstrap"], 0.93, 0.95)
    assert _is_consistent(found[5, "bca"], 0.82, 0.90)
    for n in (5, 10, 30):
        assert _is_consistent(found[n, "bootstrap-t"], 0.94, 0.98)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "at_3", "at_30"),
    [("FFT NA OPT", (0.75, 0.90), (0.93, 0.955)), ("TCP OPT", (0.92, 0.99), (0.975, 0.995))],
)
def test_coverage_of_the_rrr_bootstrap_in_the_report(benchmark, at_3, at_30):
    """TR 8.4.1: FFT too low for few binaries, then 95 %; the others about 95 % at 3 and 98-99 % at 50.

    10 executions x 10 measurements with variances scaled to weigh as those of 100 x 100 do.
    """
    model = _benchmark(benchmark, counts=(10, 10))
    rows = stats.coverage_study(
        model,
        n_binaries=(3, 30),
        lower_counts=(10, 10),
        methods=("bootstrap",),
        n_datasets=600,
        n_resamples=400,
        seed=6,
    )

    assert _is_consistent(rows[0].coverage, *at_3)
    assert _is_consistent(rows[1].coverage, *at_30)


@pytest.mark.slow
def test_false_alarms_of_resampling_patterns_in_the_report():
    """TR 8.3.3: RRR, RRN and RNN alike for FFT; FLAT far worse; for TCP RRR alarms least and FLAT is nearly good."""
    found = {}
    for benchmark in ("FFT", "TCP"):
        rows = stats.false_alarm_study(
            _benchmark(benchmark, counts=(10, 10)),
            designs=((20, 10, 10),),
            analyses=("RRR", "RRN", "RNN", "FLAT"),
            n_comparisons=500,
            n_resamples=400,
            seed=7,
        )
        found[benchmark] = {row.analysis: row.alarms.rate for row in rows}
    fft, tcp = found["FFT"], found["TCP"]

    assert max(abs(fft[a] - fft[b]) for a in ("RRR", "RRN", "RNN") for b in ("RRR", "RRN", "RNN")) < 0.05
    assert max(fft["RRR"], fft["RRN"], fft["RNN"]) < 0.11
    assert fft["FLAT"] > 0.3
    assert tcp["RRR"] < tcp["RRN"] < tcp["RNN"] < 0.11
    assert tcp["RRR"] < 0.035
    assert tcp["FLAT"] < fft["FLAT"] / 2


@pytest.mark.slow
def test_one_binary_alarms_more_the_more_executions_it_has():
    """TR 8.3.2: nearly 60 % at 100 executions and threshold 0; FFT NA OPT needs a threshold of nearly 9 %, TCP below 2 %.

    The report says nearly 60 % of both benchmarks, drawing from its data; normal data of the printed variations give
    64 % for FFT NA OPT and 24 % for TCP OPT.
    """
    rows = {}
    for benchmark in ("FFT NA OPT", "TCP OPT"):
        study = stats.false_alarm_study(
            _benchmark(benchmark),
            designs=((1, 3, 100), (1, 10, 100), (1, 30, 100), (1, 100, 100)),
            analyses=("fieller",),
            thresholds=(0.0, 0.02, 0.09),
            n_comparisons=300,
            seed=8,
        )
        rows[benchmark] = {(row.counts[1], row.threshold): row.alarms for row in study}
    fft, tcp = rows["FFT NA OPT"], rows["TCP OPT"]

    assert fft[3, 0.0].rate < fft[10, 0.0].rate < fft[30, 0.0].rate < fft[100, 0.0].rate
    assert _is_consistent(fft[100, 0.0], 0.55, 0.68)
    assert _is_consistent(fft[100, 0.02], 0.2, 0.8)
    assert _is_consistent(fft[100, 0.09], 0.0, 0.05)
    assert all(_is_consistent(tcp[n, 0.02], 0.0, 0.05) for n in (3, 10, 30, 100))


@pytest.mark.slow
def test_ignoring_that_binaries_differ_costs_coverage():
    """TR 8.4.2, figures 8 and 9: FFT NA from 98 % at few executions down to 34 % at 100; HTTP OPT less so."""
    found = {}
    for benchmark in ("FFT NA", "HTTP OPT"):
        for executions in (3, 10, 30, 100):
            row = stats.coverage_study(
                _benchmark(benchmark),
                n_binaries=(1,),
                lower_counts=(executions, 100),
                methods=("fieller",),
                n_datasets=400,
                seed=14,
            )[0]
            found[benchmark, executions] = row.coverage

    assert found["FFT NA", 3].rate > found["FFT NA", 10].rate > found["FFT NA", 30].rate > found["FFT NA", 100].rate
    assert _is_consistent(found["FFT NA", 3], 0.95, 0.99)
    assert _is_consistent(found["FFT NA", 100], 0.30, 0.38)
    assert _is_consistent(found["HTTP OPT", 3], 0.97, 0.995)
    assert _is_consistent(found["HTTP OPT", 100], 0.80, 0.90)


@pytest.mark.slow
def test_a_flat_experiment_that_ignores_executions_too():
    """TR 8.3.2: one execution only, measurements taken as independent.

    FFT NA OPT, about 95 % and about 9 % at a threshold of 20 %: reproduced.  TCP OPT, below 0.1 %: not reproduced, as
    a 95 % interval of independent normal measurements misses 5 % of the time even when nothing else varies.
    """
    fft = stats.false_alarm_study(
        _benchmark("FFT NA OPT"),
        designs=((1, 1, 100),),
        analyses=("flat-t",),
        thresholds=(0.0, 0.2),
        n_comparisons=600,
        seed=9,
    )
    tcp = stats.false_alarm_study(
        _benchmark("TCP OPT"), designs=((1, 1, 100),), analyses=("flat-t",), n_comparisons=600, seed=9
    )

    assert _is_consistent(fft[0].alarms, 0.93, 0.98)
    assert _is_consistent(fft[1].alarms, 0.07, 0.12)
    assert _is_consistent(tcp[0].alarms, 0.04, 0.12)


@pytest.mark.slow
def test_false_alarm_rate_tends_to_five_percent_and_thresholds_lower_it():
    """TR 8.3.1: t-based Fieller at threshold 0 tends to 5 %; 2 % with 3 binaries keeps FFT below 2 %."""
    rows = stats.false_alarm_study(
        _benchmark("FFT NA OPT"),
        designs=((3, 20, 5), (10, 20, 5), (50, 20, 5)),
        analyses=("fieller", "fieller-normal"),
        thresholds=(0.0, 0.02),
        n_comparisons=1000,
        seed=10,
    )
    found = {(row.counts[0], row.analysis, row.threshold): row.alarms for row in rows}

    assert _is_consistent(found[3, "fieller", 0.0], 0.005, 0.02)
    assert _is_consistent(found[3, "fieller", 0.02], 0.0, 0.02)
    assert _is_consistent(found[10, "fieller", 0.0], 0.025, 0.05)
    assert _is_consistent(found[50, "fieller", 0.0], 0.04, 0.05)
    assert _is_consistent(found[50, "fieller-normal", 0.0], 0.05, 0.06)


@pytest.mark.slow
def test_power_in_the_order_of_li_chen_and_peng():
    """LCP VI.A: alarms near 5 % when nothing differs; randomization over t over HPT when few of 13 benchmarks do.

    Means are not printed; standard deviations range from 0.012 to 0.91 and the difference is 1, as in the paper.
    """
    rows = stats.power_study(n_different=(0, 1, 2, 3, 4, 5, 6, 8, 13), n_datasets=300, seed=11)
    found = {key: row.rejections for key, row in _by(rows, "n_different", "test").items()}

    assert _is_consistent(found[0, "randomization"], 0.03, 0.07)
    assert _is_consistent(found[0, "t"], 0.0, 0.06)
    assert _is_consistent(found[0, "hpt"], 0.0, 0.05)
    for few in (1, 2, 3):
        assert found[few, "randomization"].low > found[few, "t"].high
        assert found[few, "t"].rate <= 0.35
    for some in (4, 5):
        assert found[some, "randomization"].rate >= found[some, "t"].rate > found[some, "hpt"].high
    for test in ("randomization", "t", "hpt"):
        assert found[8, test].rate > 0.97
        assert found[13, test].rate == 1.0
        powers = [found[n, test].rate for n in (1, 3, 5, 8)]
        assert powers == sorted(powers)


@pytest.mark.slow
def test_95_of_100_bootstrap_intervals_hold_the_ratio_two():
    """LCP VI.B: m = 5 scores of 13 benchmarks, the second system twice the first: 95 of 100 intervals hold 2.

    Theirs multiplies the same scores by 2, which leaves no randomness in the ratio; here the second system is
    measured anew.  Percentiles of 5 scores are too narrow for one benchmark; over 13 most of it averages out.
    """
    held = 0
    for k in range(400):
        rng = np.random.default_rng(k)
        a = {f"b{i:02}": rng.normal(25, 0.012 * 1.43**i, 5) for i in range(13)}
        b = {f"b{i:02}": 2 * rng.normal(25, 0.012 * 1.43**i, 5) for i in range(13)}
        held += 2.0 in stats.suite_ratio(a, b, method="bootstrap", n_resamples=500, seed=k)

    assert _is_consistent(rate(held, 400), 0.87, 0.96)


@pytest.mark.slow
@pytest.mark.parametrize("mean", ["geometric", "arithmetic", "harmonic"])
def test_coverage_of_suite_ratios(mean):
    """13 benchmarks of 5 to 10 binaries: log-t and bootstrap-t at least 93 %."""
    covered = {"log-t": 0, "bootstrap-t": 0}
    for k in range(500):
        rng = np.random.default_rng(k)
        truth = 0.97
        a = {f"b{i}": (i + 1) * rng.normal(10, 0.2, 5 + i % 6) for i in range(13)}
        b = {f"b{i}": truth * (i + 1) * rng.normal(10, 0.2, 5 + i % 5) for i in range(13)}
        for method in covered:
            covered[method] += truth in stats.suite_ratio(a, b, mean=mean, method=method, n_resamples=300, seed=k)

    for count in covered.values():
        assert _is_consistent(rate(count, 500), 0.93, 0.98)


@pytest.mark.slow
def test_seeds_shared_by_benchmarks_need_paired_log_t():
    """One artefact, many workloads: a slow layout is slow for all of them, so benchmarks are not independent."""
    alarms = {"log-t": 0, "paired-log-t": 0}
    for k in range(500):
        rng = np.random.default_rng(k)
        a, b = (
            {f"b{i}": 10 * np.exp(layout + rng.normal(0, 0.005, 12)) for i in range(10)}
            for layout in rng.normal(0, 0.02, (2, 12))
        )
        for method in alarms:
            alarms[method] += 1.0 not in stats.suite_ratio(a, b, method=method)

    assert _is_consistent(rate(alarms["paired-log-t"], 500), 0.03, 0.07)
    assert alarms["log-t"] > 200


@pytest.mark.slow
def test_rare_slow_layouts_defeat_intervals_of_the_mean_but_not_comparisons():
    """First trials of this project: 5 % of layouts much slower: t on the mean covers far less, Welch stays at or below 5 %."""
    model = stats.HierarchicalModel(mean=100.0, sds=(6.5,), layout="rare")
    data = stats.simulate(model, (20,), n_datasets=1500, seed=12)
    covered = sum(100.0 in stats.mean_interval(row[:10]) for row in data)
    alarms = sum(stats.welch_test(row[:10], row[10:]).p_value <= 0.05 for row in data)

    assert _is_consistent(rate(covered, 1500), 0.36, 0.46)
    assert _is_consistent(rate(alarms, 1500), 0.0, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "low", "high"),
    [("t", 0.94, 0.965), ("normal", 0.84, 0.90), ("bootstrap", 0.80, 0.87), ("bootstrap-t", 0.93, 0.97)],
)
def test_coverage_of_the_mean_at_five_binaries(method, low, high):
    """First trials of this project, 5 x 10, layouts 2 %, iterations 1 %: t .954, percentile .845 to .856, bootstrap-t .947."""
    model = stats.HierarchicalModel(mean=100.0, sds=(1.0, 2.0), layout="normal")
    data = stats.simulate(model, (5, 10), n_datasets=1200, seed=13)

    covered = sum(
        100.0 in stats.mean_interval(one, method=method, n_resamples=400, seed=k) for k, one in enumerate(data)
    )

    assert _is_consistent(rate(covered, 1200), low, high)
