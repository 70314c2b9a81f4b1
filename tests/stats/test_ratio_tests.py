"""p-values of ratios and of verdicts: they are the intervals', read the other way round."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError


def systems(seed, ratio=1.0, sizes=(12, 12), sd=0.03):
    rng = np.random.default_rng(seed)
    return rng.normal(1, sd, sizes[0]), ratio * rng.normal(1, sd, sizes[1])


def test_closed_form():
    old, new = systems(1)
    t = (new.mean() - 1.02 * old.mean()) / math.sqrt((1.02**2 * old.var(ddof=1) + new.var(ddof=1)) / 12)

    found = stats.ratio_test(old, new, ratio=1.02)

    assert found.statistic == pytest.approx(t)
    assert found.p_value == pytest.approx(2 * scipy_stats.t.sf(abs(t), 11))


def test_scipy_welch_for_the_ratio_1_of_unequal_counts():
    """The degrees of freedom are those at the ratio measured, which is close to 1 here."""
    old, new = systems(2, sizes=(9, 15))

    assert stats.ratio_test(old, new).statistic == pytest.approx(scipy_stats.ttest_ind(new, old, equal_var=False)[0])
    assert stats.ratio_test(old, new).p_value == pytest.approx(
        scipy_stats.ttest_ind(new, old, equal_var=False).pvalue, rel=0.02
    )


@pytest.mark.parametrize("method", ["fieller", "fieller-welch", "fieller-normal"])
@pytest.mark.parametrize("sizes", [(12, 12), (6, 20)])
def test_the_bounds_of_the_interval_have_the_p_value_that_its_confidence_says(method, sizes):
    old, new = systems(3, 1.05, sizes)
    interval = stats.ratio_interval(old, new, confidence=0.9, method=method)

    for bound in (interval.low, interval.high):
        assert stats.ratio_test(old, new, ratio=bound, method=method).p_value == pytest.approx(0.1)


def test_paired_is_students_t_of_the_logarithms():
    old, new = systems(5, 1.01)
    expected = scipy_stats.ttest_1samp(np.log(new / old), math.log(1.02))

    found = stats.ratio_test(old, new, ratio=1.02, method="paired-log-t")

    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize("ratio", [0.9, 0.97, 1.0, 1.008, 1.03, 1.2])
@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.1])
def test_the_paired_interval_decides_just_above_its_p_value_and_not_below(ratio, threshold):
    old, new = systems(6, ratio)
    p = stats.decision_test(old, new, threshold=threshold, method="paired-log-t").p_value

    for level, decided in ((p * 1.001 + 1e-12, True), (p * 0.999, False)):
        if 1e-9 < level < 0.999:
            interval = stats.ratio_interval(old, new, confidence=1 - level, method="paired-log-t")
            assert (stats.decide(interval, threshold) != "undecided") == decided


def test_paired_of_what_does_not_vary_or_cannot_be_paired():
    def decided(new, threshold):
        return stats.decision_test([2.0, 4.0], new, threshold=threshold, method="paired-log-t").p_value

    found = [decided([2.0, 4.0], 0.0), decided([2.0, 4.0], 0.01), decided([4.0, 8.0], 0.0)]
    assert found == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)
    with pytest.raises(AnalysisError, match="keep only the seeds that both have"):
        stats.ratio_test([1.0, 2.0], [1.0, 2.0, 3.0], method="paired-log-t")
    with pytest.raises(AnalysisError, match="at least 2 are needed"):
        stats.ratio_test([1.0], [1.0], method="paired-log-t")
    with pytest.raises(AnalysisError, match="logarithms are taken"):
        stats.ratio_test([0.0, 1.0], [1.0, 2.0], method="paired-log-t")


@pytest.mark.parametrize("ratio", [0.9, 0.97, 1.0, 1.008, 1.03, 1.2])
@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.1])
def test_the_interval_decides_just_above_the_p_value_of_the_decision_and_not_below(ratio, threshold):
    old, new = systems(4, ratio)
    p = stats.decision_test(old, new, threshold=threshold).p_value

    for level, decided in ((p * 1.001 + 1e-12, True), (p * 0.999, False)):
        if 1e-9 < level < 0.999:
            interval = stats.ratio_interval(old, new, confidence=1 - level)
            assert (stats.decide(interval, threshold) != "undecided") == decided


def test_a_baseline_near_zero_decides_nothing_although_the_candidate_is_far_away():
    """Fieller's interval has no bounds until the baseline's mean differs from 0."""
    old, new = [-3.0, 4.0, 1.0, 2.0], [100.0, 101.0, 102.0, 103.0]
    found = stats.decision_test(old, new)

    assert found.p_value == pytest.approx(scipy_stats.ttest_1samp(old, 0).pvalue)
    assert math.isinf(stats.ratio_interval(old, new).high)


def test_systems_without_variation_are_certain():
    assert stats.decision_test([2.0] * 3, [2.02] * 3, threshold=0.01).p_value == 0.0
    assert stats.decision_test([2.0] * 3, [2.0] * 3, threshold=0.01).p_value == 0.0
    assert stats.decision_test([2.0] * 3, [2.0] * 3).p_value == 1.0
    assert stats.ratio_test([2.0] * 3, [2.0] * 3).p_value == 1.0
    assert stats.ratio_test([2.0] * 3, [3.0] * 3).p_value == 0.0


def test_the_unit_does_not_matter():
    old, new = systems(5, 1.03)

    for unit in (1e-200, 1e200):
        scaled = stats.decision_test(old * unit, new * unit, threshold=0.01)
        assert scaled.p_value == pytest.approx(stats.decision_test(old, new, threshold=0.01).p_value)


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "threshold"), [(1.0, 0.0), (1.01, 0.01), (0.99, 0.01)])
def test_holm_keeps_wrong_verdicts_of_a_whole_suite_within_5_percent(ratio, threshold):
    """Ten benchmarks whose true ratio is the hardest one, 400 suites: unadjusted far more than 20, adjusted at most."""
    wrong, unadjusted = 0, 0
    for suite in range(400):
        pairs = [systems(1000 * suite + k, ratio, (10, 10), 0.01) for k in range(10)]
        p = [stats.decision_test(old, new, threshold=threshold).p_value for old, new in pairs]
        unadjusted += min(p) <= 0.05
        wrong += min(stats.adjust(p)) <= 0.05

    assert wrong <= 20 + 4 * math.sqrt(19)
    assert unadjusted > 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.ratio_test([1.0], [1.0, 2.0]), "ratio_test: the baseline has 1 binary; at least 2 are needed"),
        (lambda: stats.decision_test([1.0, 2.0], [1.0]), "decision_test: the candidate has 1 binary"),
        (lambda: stats.ratio_test([1.0, 2.0], [1.0, 2.0], ratio=0), "ratio must be a finite number above 0"),
        (lambda: stats.ratio_test([1.0, 2.0], [1.0, 2.0], method="log-t"), "unknown method 'log-t'"),
        (lambda: stats.decision_test([1.0, -1.0], [1.0, 2.0]), "baseline: its mean is 0"),
        (lambda: stats.decision_test([1.0, 2.0], [1.0, 2.0], threshold=1.0), "threshold must be a fraction"),
    ],
)
def test_messages(call, message):
    with pytest.raises(AnalysisError, match=message):
        call()
