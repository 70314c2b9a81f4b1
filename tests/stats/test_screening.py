"""Screening against the F tests of scipy, by hand, and its false alarms and power in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from layoutrand import stats
from layoutrand.errors import AnalysisError


def table(rng, n, *, numbers=20, classes=10, circles=10):
    """Features of all three kinds, as `layoutrand.explain.features` makes them."""
    found = [rng.normal(size=(n, 1)) for _ in range(numbers)]
    found += [np.eye(4)[rng.integers(0, 4, n)] for _ in range(classes)]
    angles = [rng.uniform(0, 2 * np.pi, n) for _ in range(circles)]
    return found + [np.stack([np.cos(a), np.sin(a)], axis=1) for a in angles]


def test_a_single_feature_is_an_ordinary_f_test():
    """Unadjusted p-values are those of scipy's regression, so the permutation p-value lies close to it."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    y = 0.3 * x + rng.normal(size=40)
    found = stats.screen_features([x[:, None]], y, n_permutations=4999, level=0.2)
    ordinary = scipy_stats.linregress(x, y)

    assert found.shares[0] == pytest.approx(ordinary.rvalue**2)
    assert found.p_values[0] == pytest.approx(ordinary.pvalue, abs=4 * np.sqrt(ordinary.pvalue / 5000))
    assert found.critical == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 5000))


def test_classes_are_a_one_way_analysis_of_variance():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 4, 48)
    y = rng.normal(size=48) + 0.4 * (group == 2)
    found = stats.screen_features([np.eye(4)[group]], y, n_permutations=4999, level=0.001)
    ordinary = scipy_stats.f_oneway(*(y[group == k] for k in range(4)))

    assert found.p_values[0] == pytest.approx(ordinary.pvalue, abs=4 * np.sqrt(ordinary.pvalue / 5000))


def test_all_permutations_of_eight_by_hand():
    """Of 8! orders 2 * 4! * 4! put one class on one side, so p is about 1152 / 40320 = 0.0286."""
    found = stats.screen_features(
        [np.array([[0.0]] * 4 + [[1.0]] * 4)], np.array([0, 0, 0, 0, 1, 1, 1, 1.0]), n_permutations=9999
    )

    assert found.shares[0] == pytest.approx(1)
    assert found.p_values[0] == pytest.approx(2 / 70, abs=4 * np.sqrt(0.0286 / 10000))
    assert [step.index for step in found.steps] == [0]


def test_two_causes_are_found_one_after_the_other_and_their_doubles_are_not():
    rng = np.random.default_rng(3)
    features = table(rng, 60)
    y = 2 * features[4][:, 0] + 0.8 * features[35][:, 0] + 0.3 * rng.normal(size=60)
    double = features[4] * 3 + 7
    found = stats.screen_features([*features, double], y)

    assert [step.index for step in found.steps][:2] == [4, 35]
    assert found.steps[0].share > found.steps[1].share
    assert len(features) not in {step.index for step in found.steps}
    assert found.p_values[-1] <= 0.05  # by itself it stands out as the first does
    assert sum(step.share for step in found.steps) <= 1


def test_the_preferred_of_two_that_pass_is_taken():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 1))
    y = x[:, 0] + 0.1 * rng.normal(size=40)
    near = x + 0.3 * rng.normal(size=(40, 1))

    assert stats.screen_features([x, near], y).steps[0].index == 0
    assert stats.screen_features([x, near], y, priority=[1, 0]).steps[0].index == 1


def test_a_response_that_does_not_vary_has_no_suspects():
    found = stats.screen_features(table(np.random.default_rng(5), 20), np.full(20, 3.0))

    assert found.steps == ()
    assert found.last_p_value == 1
    assert stats.explained_share(np.arange(20.0)[:, None], np.full(20, 3.0)) == 0


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_asked_for():
    """Heavy tails and outliers included: at most 5 % of 400 (binomial, bound of 4 standard errors)."""
    rng = np.random.default_rng(6)
    alarms = sum(
        bool(stats.screen_features(table(rng, 24), rng.standard_t(2, size=24), n_permutations=199, seed=k).steps)
        for k in range(400)
    )

    assert alarms / 400 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert alarms > 0


@pytest.mark.slow
def test_the_second_step_raises_as_few():
    """A strong cause is there and taken; nothing else may be, more often than the level."""
    rng = np.random.default_rng(7)
    more = 0
    for k in range(200):
        features = table(rng, 30)
        y = 3 * features[0][:, 0] + rng.normal(size=30)
        steps = stats.screen_features(features, y, n_permutations=199, seed=k).steps
        assert steps[0].index == 0
        more += len(steps) > 1

    assert more / 200 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)


def test_what_is_said_to_be_detectable_is_detected():
    """An effect of that size is found with the power promised, within 4 standard errors, by its own F test."""
    rng = np.random.default_rng(8)
    n, critical = 30, 0.001
    share = stats.detectable_share(n, critical)
    assert 0.2 < share < 0.6
    x = rng.normal(size=(2000, n))
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    y = x * np.sqrt(share) + rng.normal(size=(2000, n)) * np.sqrt(1 - share)
    p = [scipy_stats.linregress(a, b).pvalue for a, b in zip(x, y, strict=True)]

    assert np.mean(np.array(p) <= critical) == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 2000))


def test_detectable_shares_shrink_with_observations():
    shares = [stats.detectable_share(n, 0.001) for n in (10, 30, 100, 1000)]

    assert shares == sorted(shares, reverse=True)
    assert stats.detectable_share(30, 0.0) == 1
    assert stats.detectable_share(30, 0.9) < 0.05


def test_cross_validation_tells_a_cause_from_chance():
    rng = np.random.default_rng(9)
    features = table(rng, 40)
    noise = rng.normal(size=40)

    assert stats.cross_validated_share(features, 2 * features[1][:, 0] + 0.5 * noise) > 0.8
    assert stats.cross_validated_share(features, noise) < 0.2


def test_regressions_against_numpy():
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    whole = np.column_stack([np.ones(30), x])
    expected = whole @ np.linalg.solve(whole.T @ whole, whole.T @ y)

    assert stats.fitted_values(x, y) == pytest.approx(expected)
    assert stats.explained_share(x, y) == pytest.approx(np.corrcoef(expected, y)[0, 1] ** 2)


def test_the_same_seed_gives_the_same_answer_and_another_a_similar_one():
    rng = np.random.default_rng(11)
    features, y = table(rng, 30), rng.normal(size=30)
    first, again, other = (stats.screen_features(features, y, seed=seed) for seed in (1, 1, 2))

    assert np.array_equal(first.p_values, again.p_values)
    assert first.p_values == pytest.approx(other.p_values, abs=0.06)


@pytest.mark.parametrize(
    ("features", "response", "message"),
    [
        ([np.ones((5, 1))], np.ones(5), "at least 8 observations, got 5"),
        ([np.ones((9, 1))], np.ones(10), "a table of 10 rows"),
        ([], np.ones(10), "a table of 10 rows"),
        ([np.ones(10)], np.ones(10), "a table of 10 rows"),
        ([np.full((10, 1), np.nan)], np.ones(10), "finite numbers"),
    ],
)
def test_messages(features, response, message):
    with pytest.raises(AnalysisError, match=message):
        stats.screen_features(features, response)


def test_settings_out_of_range():
    with pytest.raises(AnalysisError, match="level must be a fraction"):
        stats.screen_features([np.ones((9, 1))], np.ones(9), level=1.5)
    with pytest.raises(AnalysisError, match="n_permutations must be an integer of at least 19"):
        stats.screen_features([np.ones((9, 1))], np.ones(9), n_permutations=5)
    with pytest.raises(
        AnalysisError, match=r"no p-value is below 0.02, so none reaches level = 0.01; take at least 99"
    ):
        stats.screen_features([np.ones((9, 1))], np.ones(9), level=0.01, n_permutations=49)
    with pytest.raises(AnalysisError, match="at least 4"):
        stats.detectable_share(3, 0.01)
