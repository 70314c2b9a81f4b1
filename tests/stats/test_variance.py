"""Variance at each level: worked examples, closed forms, REML, unbalanced data, awkward data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats import advice
from layoutrand.stats.levels import nested
from layoutrand.stats.variance import collapsed, components_of, expectation_coefficients
from stats.papers import KALIBERA, NEW, OLD, THREE_LEVEL, TWO_LEVEL
from warningkit import said


def test_worked_example_of_three_levels_with_its_negative_variance():
    expected = stats.VarianceComponents(
        biased=pytest.approx((16.5, 2.5833333333, 3.5625)),
        unbiased=pytest.approx((16.5, -5.6666666667, 2.2708333333)),
        counts=(2, 2, 3),
        is_balanced=True,
        mean=pytest.approx(6.5),
        warnings=(advice.TooFew(3),),
    )

    assert stats.variance_components(THREE_LEVEL) == expected


def test_worked_example_collapsed_to_two_levels():
    found = stats.variance_components(TWO_LEVEL)

    assert found.biased == pytest.approx((12.7222222, 3.5625))
    assert found.unbiased == pytest.approx((12.7222222, 0.3819444))
    assert np.var(TWO_LEVEL, axis=1, ddof=1) == pytest.approx([7.58333, 5.66667, 24.91667], abs=1e-5)


def test_collapsing_the_example_gives_the_two_level_data():
    assert components_of(collapsed(nested(THREE_LEVEL), 2)) == stats.variance_components(TWO_LEVEL)


def test_collapsing_level_one_averages_it_and_the_top_merges_into_the_level_below():
    sample = nested(THREE_LEVEL)

    assert collapsed(sample, 1).values == pytest.approx([7, 5.5, 8, 9, 6.5, 3])
    assert collapsed(sample, 3).shape == (6, 2)


def test_old_and_new_system_of_the_report():
    assert stats.variance_components(OLD).biased[-1] == pytest.approx(5.8125)
    assert stats.variance_components(NEW).biased[-1] == pytest.approx(4.5625)
    assert stats.variance_components(OLD).mean == 10.5
    assert stats.variance_components(NEW).mean == 6.5


def test_libkalibera_data():
    found = stats.variance_components(KALIBERA)

    assert found.biased == pytest.approx((0.7266667, 0.505, 1.0272222))
    assert found.unbiased == pytest.approx((0.7266667, 0.2627778, 0.7747222))


def test_two_level_formula_of_the_course_slides():
    assert 138.16871702761134 - 857.2065800776355 / 40 == pytest.approx(116.73855252567046)
    rng = np.random.default_rng(5)
    data = rng.normal(size=(30, 1)) + rng.normal(size=(30, 40))
    found = stats.variance_components(data)
    assert found.unbiased[1] == pytest.approx(found.biased[1] - found.biased[0] / 40)


def test_reml_of_statsmodels_agrees_where_the_variances_are_positive():
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(11)
    data = rng.normal(0, 3, (12, 1, 1)) + rng.normal(0, 2, (12, 4, 1)) + rng.normal(0, 1, (12, 4, 5))
    index = np.indices(data.shape).reshape(3, -1)
    frame = pd.DataFrame({"y": data.ravel(), "binary": index[0], "execution": index[1]})
    fit = smf.mixedlm(
        "y ~ 1", frame, groups="binary", re_formula="1", vc_formula={"execution": "0 + C(execution)"}
    ).fit(reml=True)
    ours = stats.variance_components(data)

    assert ours.unbiased[0] == pytest.approx(float(fit.scale), rel=1e-3)
    assert ours.unbiased[1] == pytest.approx(float(fit.vcomp[0]), rel=1e-3)
    assert ours.unbiased[2] == pytest.approx(float(fit.cov_re.iloc[0, 0]), rel=1e-3)


def test_one_way_analysis_of_variance_of_scipy_gives_the_same_mean_squares():
    from scipy.stats import f_oneway

    found = stats.variance_components(TWO_LEVEL)

    assert 4 * found.biased[1] / found.biased[0] == pytest.approx(f_oneway(*TWO_LEVEL).statistic)


def test_unbalanced_coefficients_are_those_of_the_expected_mean_squares():
    """Two levels, groups of n_i: E(S_2^2) = sigma_2^2 + sigma_1^2 mean(1 / n_i), by hand."""
    sample = nested([[1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0]])

    coefficients = expectation_coefficients(sample)

    assert coefficients == pytest.approx(np.array([[1, 0], [(1 / 2 + 1 / 3 + 1 / 4) / 3, 1]]))


def test_balanced_coefficients_are_those_of_the_report():
    sample = nested(np.zeros((5, 4, 3)))

    expected = np.array([[1, 0, 0], [1 / 3, 1, 0], [1 / 12, 1 / 4, 1]])

    assert expectation_coefficients(sample) == pytest.approx(expected)


@pytest.mark.slow
def test_unbalanced_three_levels_are_unbiased():
    """Method of moments on ragged data: the average over many data sets is the truth, within 4 standard errors."""
    rng = np.random.default_rng(3)
    shape = [[3, 1], [2], [4, 2, 5], [1, 1], [2, 6, 1]]
    truth = (1.0, 4.0, 9.0)
    found = []
    for _ in range(3000):
        data = []
        for executions in shape:
            binary = rng.normal(0, 3)
            data.append([(binary + rng.normal(0, 2) + rng.normal(0, 1, n)).tolist() for n in executions])
        found.append(stats.variance_components(data).unbiased)
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(len(found))

    assert np.abs(means - truth) == pytest.approx(np.zeros(3), abs=float((4 * errors).max()))
    assert (np.abs(means - truth) < 4 * errors).all()


def test_equal_counts_given_as_lists_are_balanced():
    ragged = [[list(execution) for execution in binary] for binary in THREE_LEVEL]
    arrays = [np.array(binary) for binary in THREE_LEVEL]

    assert stats.variance_components(ragged) == stats.variance_components(THREE_LEVEL)
    assert stats.variance_components(arrays) == stats.variance_components(THREE_LEVEL)


def test_the_default_design_of_one_execution_and_one_iteration():
    rng = np.random.default_rng(1)
    values = rng.normal(100, 2, 30)

    found = stats.variance_components(values.reshape(30, 1, 1))

    assert found.biased == (None, None, pytest.approx(values.var(ddof=1)))
    assert found.unbiased == (None, None, pytest.approx(values.var(ddof=1)))
    assert found.relative_sd[:2] == (None, None)
    assert said(found.warnings) == (
        (
            "level 1 was not repeated, so its variance is part of level 2's; "
            "at least 2 repetitions at level 1 would separate them"
        ),
        (
            "level 2 was not repeated, so its variance is part of level 3's; "
            "at least 2 repetitions at level 2 would separate them"
        ),
    )


def test_an_unrepeated_middle_level_is_contained_in_the_next():
    rng = np.random.default_rng(2)
    data = rng.normal(size=(8, 1, 5))

    found = stats.variance_components(data)
    two = stats.variance_components(data[:, 0])

    assert found.unbiased == (two.unbiased[0], None, pytest.approx(two.unbiased[1]))


def test_some_executions_missing():
    found = stats.variance_components([[[9, 5], [8, 3]], [[10, 6]], [[1, 12], [2, 4]]])

    assert not found.is_balanced
    assert found.counts == (2, 2, 3)
    assert found.biased[0] == pytest.approx((8 + 12.5 + 8 + 60.5 + 2) / 5)


def test_one_binary_has_no_top_variance_but_says_what_is_missing():
    found = stats.variance_components([[[1.0, 2.0], [3.0, 5.0]]])

    assert found.unbiased[2] is None
    assert "at least 1 more is needed, and 4 more for a usable interval" in said(found.warnings)[-1]


def test_constant_data_have_exactly_no_variance():
    found = stats.variance_components(np.full((5, 3, 3), 0.1))

    assert found.biased == (0.0, 0.0, 0.0)
    assert found.unbiased == (0.0, 0.0, 0.0)


def test_relative_sd_takes_negative_variances_as_none_and_needs_a_mean():
    found = stats.variance_components(THREE_LEVEL)

    assert found.relative_sd == pytest.approx((math.sqrt(16.5) / 6.5, 0.0, math.sqrt(2.2708333) / 6.5))
    assert stats.variance_components([-1.0, 1.0]).relative_sd == (None,)


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
def test_variances_scale_with_the_square_of_the_data(scale):
    found = stats.variance_components(np.array(THREE_LEVEL) * scale)

    assert np.array(found.unbiased) / scale / scale == pytest.approx([16.5, -5.6666667, 2.2708333])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_variances_beyond_floating_point_are_an_error_not_infinity(scale):
    with pytest.raises(
        AnalysisError, match="beyond the range of floating point; give the measurements in another unit"
    ):
        stats.variance_components(np.array(THREE_LEVEL) * scale)
