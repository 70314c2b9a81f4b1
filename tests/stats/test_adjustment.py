"""A mean with what features explain taken out: by hand, and how often its interval holds the truth."""

from __future__ import annotations

import numpy as np
import pytest

from layoutrand.errors import AnalysisError
from layoutrand.stats import adjusted_mean

MEMBERS = 4000


def world(rng: np.random.Generator, n: int, share: float, *, k: int = 6, useful: int = 2, noise: str = "normal"):
    """Features of a population and of n others; some explain this share of the variance of the values, whose mean is 10."""
    population, features = rng.normal(3, 2, (MEMBERS, k)), rng.normal(3, 2, (n, k))
    weights = np.zeros(k)
    weights[:useful] = np.sqrt(share / useful) / 2
    rest = rng.normal(0, 1, n) if noise == "normal" else rng.exponential(1, n) - 1
    return 10 + (features - 3) @ weights + np.sqrt(1 - share) * rest, features, population


def test_what_features_explain_wholly_leaves_no_error():
    rng = np.random.default_rng(1)
    y, x, population = world(rng, 40, 1.0)
    found = adjusted_mean(y, x, population=population, n_permutations=99)
    truth = 10 + (population.mean(axis=0) - 3) @ np.array([np.sqrt(0.5) / 2] * 2 + [0] * 4)
    assert found.mean.centre == pytest.approx(truth, abs=0.02)
    assert found.share > 0.99
    assert found.p_value == pytest.approx(0.01)
    assert found.variance_ratio < 0.02  # what is not known of the population


def test_predictions_of_the_population_follow_its_features():
    rng = np.random.default_rng(2)
    y, x, population = world(rng, 60, 0.9)
    found = adjusted_mean(y, x, population=population, n_permutations=19)
    truth = (population - 3) @ np.array([1.0] * 2 + [0] * 4)
    assert found.predicted.shape == (MEMBERS,)
    assert np.corrcoef(found.predicted, truth)[0, 1] > 0.9


def test_without_anything_to_explain_the_plain_mean_stays():
    rng = np.random.default_rng(3)
    y, x, population = world(rng, 40, 0.0)
    found = adjusted_mean(y, x, population=population, n_permutations=199)
    assert found.p_value > 0.05
    assert found.mean.centre == pytest.approx(found.plain.centre, abs=found.plain.half_width)
    assert found.plain.centre == pytest.approx(y.mean())


def test_a_feature_that_never_varies_is_no_feature():
    rng = np.random.default_rng(4)
    y, x, population = world(rng, 30, 0.5)
    constant = np.full((len(x), 1), 7.0), np.full((MEMBERS, 1), 7.0)
    once = adjusted_mean(y, x, population=population, n_permutations=19)
    again = adjusted_mean(
        y, np.hstack([x, constant[0]]), population=np.hstack([population, constant[1]]), n_permutations=19
    )
    assert again.mean.centre == pytest.approx(once.mean.centre)
    assert again.share == pytest.approx(once.share)


def test_more_features_than_observations():
    rng = np.random.default_rng(5)
    y, x, population = world(rng, 20, 0.5, k=60)
    found = adjusted_mean(y, x, population=population, n_permutations=19)
    assert np.isfinite([found.mean.low, found.mean.high, found.share]).all()


def test_values_that_do_not_vary():
    rng = np.random.default_rng(6)
    _, x, population = world(rng, 20, 0.5)
    found = adjusted_mean(np.full(20, 3.0), x, population=population, n_permutations=19)
    assert (found.mean.low, found.mean.high) == (3.0, 3.0)
    assert found.share_interval.low == found.share_interval.high == 0


def test_the_same_seed_gives_the_same_answer():
    rng = np.random.default_rng(7)
    y, x, population = world(rng, 30, 0.5)
    first, second = (adjusted_mean(y, x, population=population, n_permutations=99, seed=5) for _ in range(2))
    assert (first.share, first.p_value, first.mean) == (second.share, second.p_value, second.mean)


def test_what_is_expected_of_features_helps_where_it_is_true():
    """Two of forty explain much; without a word about which, thirty observations do not tell."""
    rng = np.random.default_rng(8)
    shares = []
    for _ in range(5):
        y, x, population = world(rng, 30, 0.7, k=40)
        hint = np.where(np.arange(40) < 2, 1.0, 0.1)
        shares.append(
            [
                adjusted_mean(y, x, population=population, weights=w, n_permutations=19).share
                for w in (None, hint, 1.1 - hint)
            ]
        )
    plain, told, misled = np.mean(shares, axis=0)
    assert told > plain + 0.1
    assert misled < told


def test_a_feature_of_which_nothing_is_expected_says_nothing():
    rng = np.random.default_rng(9)
    y, x, population = world(rng, 30, 0.7)
    without = adjusted_mean(y, x[:, 1:], population=population[:, 1:], n_permutations=19)
    found = adjusted_mean(y, x, population=population, weights=[0, 1, 1, 1, 1, 1], n_permutations=19)
    assert found.mean.centre == pytest.approx(without.mean.centre)
    with pytest.raises(AnalysisError, match="5 weights for 6 features"):
        adjusted_mean(y, x, population=population, weights=[1] * 5)
    with pytest.raises(AnalysisError, match="none below 0"):
        adjusted_mean(y, x, population=population, weights=[-1] + [1] * 5)


@pytest.mark.parametrize(
    ("n", "features", "population", "message"),
    [
        (14, (14, 2), (200, 2), "at least 15 observations"),
        (20, (20, 2), (99, 2), "99 members"),
        (20, (19, 2), (200, 2), "do not fit"),
        (20, (20, 2), (200, 3), "do not fit"),
    ],
)
def test_bad_shapes(n, features, population, message):
    with pytest.raises(AnalysisError, match=message):
        adjusted_mean(np.arange(float(n)), np.zeros(features), population=np.zeros(population))


def test_infinite_features():
    features = np.zeros((20, 1))
    features[3] = np.inf
    with pytest.raises(AnalysisError, match="finite"):
        adjusted_mean(np.arange(20.0), features, population=np.zeros((200, 1)))


def too_much(share: float, n: int, k: int, noise: str, sets: int) -> tuple[float, float]:
    """Shares of the samples: something is predicted, and then more, by its interval, than of layouts beside these.

    It is the share of models that were fitted to nine tenths, so that less is no wonder of many features.
    """
    rng = np.random.default_rng([int(100 * share), n, k, len(noise)])
    told = false = 0
    for number in range(sets):
        y, x, _ = world(rng, n + MEMBERS // 2, share, k=k, noise=noise)
        found = adjusted_mean(y[:n], x[:n], population=x[n:], n_permutations=39, seed=number)
        truth = 1 - np.mean((y[n:] - found.predicted) ** 2) / np.var(y[n:])
        told += found.p_value <= 0.05
        false += found.p_value <= 0.05 and bool(max(0.0, truth) < found.share_interval.low)
    return told / sets, false / sets


def test_what_is_told_to_be_predicted_is_seldom_too_much():
    """As if models shared no observations it was, in 11 of 60."""
    told, false = too_much(0.7, 30, 6, "exponential", 60)
    assert told > 0.9
    assert false <= 7 / 60  # at 5 %, more come by chance in 1 of 100


CELLS = [
    (share, n, k, noise)
    for share in (0.0, 0.4, 0.7, 0.95)
    for n, k in ((30, 6), (30, 40), (60, 40))
    for noise in ("normal", "exponential")
]


@pytest.mark.slow
@pytest.mark.hour
@pytest.mark.parametrize(("share", "n", "k", "noise"), CELLS)
def test_rates(share, n, k, noise):
    """Of 400 samples: how often the interval holds the mean, false alarms of the test, and the variance that is left."""
    rng = np.random.default_rng([int(100 * share), n, k, len(noise)])
    held = plain_held = alarms = 0
    errors, plain_errors = [], []
    for number in range(400):
        y, x, population = world(rng, n, share, k=k, noise=noise)
        found = adjusted_mean(y, x, population=population, n_permutations=99, seed=number)
        held += 10 in found.mean
        plain_held += 10 in found.plain
        alarms += found.p_value <= 0.05
        errors.append(found.mean.centre - 10)
        plain_errors.append(found.plain.centre - 10)
    _, false = too_much(share, n, k, noise, 400)
    print(f"too much: {false:.3f}")
    assert false <= 0.05 + 3 * 0.011
    gain = float(np.var(errors) / np.var(plain_errors))
    print(f"{share} {n} {k} {noise}: {held / 400:.3f} {plain_held / 400:.3f} {alarms / 400:.3f} {gain:.2f}")
    assert held / 400 >= min(0.93, plain_held / 400 - 0.015)  # a standard error is 0.011
    if share == 0:
        assert alarms / 400 <= 0.08
        assert gain <= 1.25
    if share >= 0.7 and k == 6:
        assert gain <= 0.6
