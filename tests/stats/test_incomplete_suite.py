"""One value for each binary of a suite with gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.incomplete_suite import suite_values
from layoutrand.stats.streams import Stream

GAP = math.nan


def test_a_whole_table_gives_the_means_of_its_columns():
    table = Stream(0, "whole").normals(24).reshape(4, 6)
    found = suite_values(table)

    assert found.values == pytest.approx(table.mean(axis=0))
    assert found.lost == 0


def test_the_mean_is_that_over_benchmarks_and_the_variance_that_of_binaries():
    """By hand: two benchmarks, the second without the third binary."""
    found = suite_values(np.array([[1.0, 2.0, 6.0], [10.0, 14.0, GAP]]))
    first = [each / 6 * math.sqrt(3 / 2) for each in (-2.0, -1.0, 3.0)]
    second = [each / 4 * math.sqrt(2) for each in (-2.0, 2.0)]
    errors = [first[0] + second[0], first[1] + second[1], first[2]]

    assert found.values.mean() == pytest.approx((3 + 12) / 2)
    assert found.values.var(ddof=1) / 3 == pytest.approx(sum(each**2 for each in errors))
    assert found.lost == 1  # weights 1/36 + 1/16 twice, and 1/36: 1.6 degrees


def test_a_benchmark_of_few_binaries_has_few_degrees_of_freedom():
    table = np.vstack([Stream(0, "many").normals(30), np.full(30, GAP)])
    table[1, :2] = 0.1, 0.2

    assert suite_values(table).lost == 28


def test_a_binary_of_which_nothing_was_measured_does_not_count():
    table = Stream(1, "whole").normals(24).reshape(4, 6)
    gap = np.full((4, 1), GAP)

    assert suite_values(np.hstack([table, gap])).values == pytest.approx(table.mean(axis=0))


@pytest.mark.parametrize("factor", [1e-300, 1e150])
def test_the_unit_does_not_matter(factor):
    table = np.array([[1.0, 2.0, 6.0, 3.0], [10.0, 14.0, GAP, 11.0]])

    assert suite_values(factor * table).values / factor == pytest.approx(suite_values(table).values)


@pytest.mark.parametrize("table", [[[1.0, 2.0], [GAP, 2.0]], [[GAP, GAP]]])
def test_a_benchmark_of_one_binary_has_no_variance(table):
    with pytest.raises(AnalysisError, match="fewer than 2 binaries"):
        suite_values(np.array(table))


@pytest.mark.parametrize(("n_benchmarks", "n_binaries"), [(8, 5), (8, 10), (2, 20)])
def test_interval_and_test_of_a_suite_with_gaps_keep_their_promise(n_benchmarks, n_binaries):
    """A tenth of the cells missing, benchmarks of a binary correlated by 0.6, benchmarks that differ.

    Taking the benchmarks for independent holds the truth in .91 and alarms in .08 of such suites.
    """
    sets, held, alarms, tested = 400, 0, 0, 0
    own = np.linspace(-0.05, 0.05, n_benchmarks)[:, None]
    for number in range(sets):
        stream = Stream(number, "gaps", n_benchmarks, n_binaries)
        common, each = stream.normals(n_binaries), stream.normals(n_benchmarks * n_binaries)
        table = 0.01 * (math.sqrt(0.6) * common + math.sqrt(0.4) * each.reshape(n_benchmarks, n_binaries)) + own
        table[stream.uniforms(table.size).reshape(table.shape) < 0.1] = GAP
        try:
            found = suite_values(table)
        except AnalysisError:
            continue
        tested += 1
        new = stats.with_lost(np.exp(found.values), found.lost)
        old = stats.with_lost(np.ones(found.values.size), found.lost)
        interval = stats.ratio_interval(old, new, method="paired-log-t")
        held += interval.low <= 1 <= interval.high
        alarms += stats.whole_binary_test({"all": old}, {"all": new}, n_resamples=1000).p_value <= 0.05

    assert tested > 0.95 * sets
    assert binom.ppf(0.001, tested, 0.93) <= held
    assert alarms <= binom.ppf(0.999, tested, 0.07)
    if n_binaries >= 10:
        assert alarms >= binom.ppf(0.001, tested, 0.03)
