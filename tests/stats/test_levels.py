"""Reading measurements: shapes, ragged data, and every message."""

from __future__ import annotations

import numpy as np
import pytest

from layoutrand import stats
from layoutrand.errors import AnalysisError
from layoutrand.stats.levels import group_means, nested


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.float64(3.0), "one number is no sample"),
        ([], r"no measurements \(shape \(0,\)\)"),
        (np.zeros((3, 0)), r"no measurements \(shape \(3, 0\)\)"),
        (["a", "b"], "expected numbers, got <U1"),
        ([True, False], "expected numbers, got bool"),
        ([1 + 2j], "expected numbers, got complex128"),
        ([[1.0, 2.0], [3.0, float("nan")]], r"1 of 4 measurements are not finite, the first \(nan\) at \[1, 1\]"),
        ([1.0, float("inf"), float("-inf")], r"2 of 3 measurements are not finite, the first \(inf\) at \[1\]"),
        ([[1.0], [2.0, float("nan")]], "position 2 in reading order"),
        ([[1.0, 2.0], []], r"no measurements at \[1\]; leave out units without measurements"),
        ([[], [1.0]], "the first unit at depth 2 is empty"),
        ([[1.0, 2.0], 3.0], r"expected a sequence at \[1\], got float; all branches need 2 levels"),
        ([[1.0, 2.0], [[3.0], 4.0]], r"expected a number at \[1, 0\], got list; all branches need 2 levels"),
        ([[1.0, "x"], [2.0]], r"expected a number at \[0, 1\], got str"),
        ([[1.0, True], [2.0]], r"expected a number at \[0, 1\], got bool"),
        ([[1.0, None], [2.0]], r"expected a number at \[0, 1\], got NoneType"),
    ],
)
def test_messages_name_what_is_wrong_and_where(data, message):
    with pytest.raises(AnalysisError, match=message):
        stats.mean_interval(data)


def test_messages_name_the_system():
    with pytest.raises(AnalysisError, match="candidate: no measurements"):
        stats.ratio_interval([1.0, 2.0], [])
    with pytest.raises(AnalysisError, match="baseline, b: no measurements"):
        stats.suite_ratio({"b": []}, {"b": [1.0]})


def test_analysis_errors_are_value_errors_for_users_of_the_library():
    with pytest.raises(ValueError, match="no measurements"):
        stats.mean_interval([])


def test_shapes_of_balanced_data():
    sample = nested(np.arange(24.0).reshape(4, 3, 2))

    assert sample.shape == (4, 3, 2)
    assert sample.n_top == 4
    assert sample.is_balanced
    assert sample.unit_means(2) == pytest.approx(np.arange(24.0).reshape(12, 2).mean(axis=1))
    assert sample.top_means == pytest.approx(np.arange(24.0).reshape(4, 6).mean(axis=1))


def test_ragged_data_use_unweighted_means_of_means():
    sample = nested([[[1, 2, 3], [4]], [[5, 7]]])

    assert sample.unit_means(2) == pytest.approx([2, 4, 6])
    assert sample.top_means == pytest.approx([3, 6])
    assert sample.mean == 4.5
    assert sample.shape == (2, 2, 3)


def test_integers_and_other_float_types_are_read():
    expected = stats.mean_interval([1.0, 2.0, 4.0])

    for dtype in (np.int32, np.uint8, np.float32, np.longdouble):
        assert stats.mean_interval(np.array([1, 2, 4], dtype=dtype)) == expected
    assert stats.mean_interval((np.int64(1), np.float64(2), 4)) == expected


def test_data_are_not_changed_and_views_are_read_in_their_order():
    data = np.arange(12.0).reshape(3, 4)
    copy = data.copy()

    flipped = stats.variance_components(data.T)

    assert (data == copy).all()
    assert flipped == stats.variance_components(np.ascontiguousarray(data.T))


def test_group_means_of_equal_and_unequal_groups():
    values = np.arange(6.0)

    assert group_means(values, np.array([3, 3])) == pytest.approx([1, 4])
    assert group_means(values, np.array([1, 2, 3])) == pytest.approx([0, 1.5, 4])


def test_scaling_by_a_power_of_two_is_exact():
    scaled, exponent = nested([1e300, 3e-5, -7.0]).scaled()

    assert (np.ldexp(scaled.values, exponent) == [1e300, 3e-5, -7.0]).all()
    assert np.abs(scaled.values).max() < 1
