"""Hierarchical resampling: against a plain loop over the same indices, chunking, patterns, ragged data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.stats.levels import nested
from layoutrand.stats.resample import level_pattern, replicate_means, resampling_plan, slot_means, sorted_draws
from layoutrand.stats.streams import IndexSampler, Stream


def _plan(**changes):
    return replace(resampling_plan("RRR", 300, seed=4, label="x"), **changes)


def _data(shape=(6, 4, 5)):
    return np.random.default_rng(2).normal(size=shape)


def _looped(data, pattern, n_resamples):
    """The same resampling in plain Python: figure 1 of the report, fed with the product's index streams."""
    n_b, n_e, n_i = data.shape
    samplers = [
        IndexSampler(Stream(4, "x", 0), n_b, row_length=n_b),
        IndexSampler(Stream(4, "x", 1), n_e, row_length=n_b * n_e),
        IndexSampler(Stream(4, "x", 2), n_i, row_length=n_b * n_e * n_i),
    ]
    means = []
    for _ in range(n_resamples):
        rows = [sampler.rows(1)[0].tolist() for sampler in samplers]
        values = []
        for b in range(n_b):
            binary = rows[0][b] if pattern[0] == "R" else b
            for e in range(n_e):
                execution = rows[1][e * n_b + b] if pattern[1] == "R" else e
                for i in range(n_i):
                    iteration = rows[2][(i * n_e + e) * n_b + b] if pattern[2] == "R" else i
                    values.append(data[binary, execution, iteration])
        means.append(sum(values) / len(values))
    return means


@pytest.mark.parametrize("pattern", ["RRR", "RRN", "RNN", "NRR", "RNR", "NNR", "NNN"])
def test_vectorised_equals_looped(pattern):
    found = replicate_means(nested(_data()), _plan(resampling=pattern, n_resamples=30))

    assert found == pytest.approx(_looped(_data(), pattern, 30), abs=1e-12)


@pytest.mark.parametrize("resampling", ["RRR", "RRN", "RNN", "FLAT"])
@pytest.mark.parametrize("chunk", [1, 119, 120, 5000, 10**9])
def test_chunk_size_changes_nothing_to_the_last_bit(resampling, chunk):
    sample = nested(_data())

    expected = replicate_means(sample, _plan(resampling=resampling))

    assert (replicate_means(sample, _plan(resampling=resampling, chunk=chunk)) == expected).all()


@pytest.mark.parametrize("chunk", [1, 77, 10**9])
def test_chunk_size_changes_nothing_in_ragged_data(chunk):
    sample = nested([[[1, 2, 3], [4, 9]], [[5, 7]], [[8], [3, 1], [2, 2, 2]]])

    assert (replicate_means(sample, _plan(chunk=chunk)) == replicate_means(sample, _plan())).all()


def test_fewer_replicates_are_the_first_of_more():
    sample = nested(_data())

    assert (replicate_means(sample, _plan(n_resamples=50)) == replicate_means(sample, _plan())[:50]).all()


@pytest.mark.parametrize(
    ("resampling", "n_levels", "pattern"),
    [("RRR", 2, "RR"), ("RRR", 4, "RRRR"), ("RN", 3, "RNN"), ("RRN", 1, "R"), ("R", 3, "RRR"), ("FLAT", 3, "FLAT")],
)
def test_the_last_letter_stands_for_further_levels(resampling, n_levels, pattern):
    assert level_pattern(resampling, n_levels) == pattern


def test_keeping_everything_returns_the_mean_every_time():
    found = replicate_means(nested(_data()), _plan(resampling="NNN"))

    assert found == pytest.approx(np.full(300, _data().mean()), abs=1e-14)


def test_ragged_resampling_of_equal_counts_has_the_distribution_of_balanced():
    from scipy.stats import ks_2samp

    data = _data((4, 3, 2))
    sample = nested(data)
    extended = nested([*data.tolist(), [[0.0]]])  # one more binary makes it ragged, and is never the same

    balanced = replicate_means(sample, _plan(n_resamples=4000))
    ragged = np.concatenate(list(slot_means(extended, _plan(n_resamples=4000))))

    assert ks_2samp(balanced, ragged[:, :4].mean(axis=1)).pvalue < 0.05  # the extra binary is drawn
    drawn = ragged[(ragged != 0).all(axis=1)][:, :4].mean(axis=1)
    assert ks_2samp(balanced, drawn).pvalue > 1e-3


def test_ragged_replicates_have_the_closed_form_mean_and_variance():
    """Top level and inside: Var = (1/B^2) sum (y_b - y)^2 + (1/B) mean_b var_b / n_b for two ragged levels."""
    data = [[1.0, 4.0, 2.0], [8.0], [3.0, 5.0]]
    means = np.array([np.mean(binary) for binary in data])
    inside = np.mean([np.var(binary) / len(binary) for binary in data])
    expected = ((means - means.mean()) ** 2).sum() / 9 + inside / 3

    found = replicate_means(nested(data), _plan(n_resamples=100_000))

    assert found.mean() == pytest.approx(means.mean(), abs=4 * np.sqrt(expected / 1e5))
    assert found.var() == pytest.approx(expected, rel=0.02)


def test_levels_of_ragged_data_can_be_kept():
    data = [[[1.0, 4.0, 2.0], [8.0]], [[3.0, 5.0]]]
    means = [np.mean([7 / 3, 8.0]), 4.0]
    inside = np.mean([np.var([1, 4, 2]) / 3 / 4, np.var([3, 5]) / 2])  # of a binary's mean, executions kept

    kept = replicate_means(nested(data), _plan(resampling="NNN"))
    lowest = replicate_means(nested(data), _plan(resampling="NNR", n_resamples=50_000))

    assert kept == pytest.approx(np.full(300, np.mean(means)))
    assert lowest.mean() == pytest.approx(np.mean(means), abs=0.02)
    assert lowest.var() == pytest.approx(inside / 2, rel=0.03)


def test_sorted_draws_hold_the_right_number_of_measurements():
    ragged = nested([[[1, 2, 3], [4]], [[5, 7]]])
    rows, sizes = next(iter(sorted_draws(ragged, _plan(n_resamples=50))))

    assert (np.isfinite(rows).sum(axis=1) == sizes).all()
    assert set(sizes.tolist()) <= set(range(4, 13))
    assert (np.diff(np.where(np.isfinite(rows), rows, 99), axis=1) >= 0).all()


@pytest.mark.parametrize("resampling", ["RRR", "FLAT"])
def test_replicates_lie_within_the_range_of_the_measurements(resampling):
    data = _data()
    found = replicate_means(nested(data), _plan(resampling=resampling))

    assert data.min() <= found.min() <= found.max() <= data.max()


def test_results_are_pinned_for_ever():
    """The same seed gives these numbers on every numpy; sums may differ in the last digits only."""
    data = np.arange(60.0).reshape(5, 4, 3) ** 1.5
    found = stats.mean_interval(data, method="bootstrap", n_resamples=200, seed=12)

    assert (found.low, found.high) == pytest.approx((70.50127457405364, 294.2634052247977), rel=1e-12)
