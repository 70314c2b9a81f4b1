"""Numbers as people read them: no digits that say nothing, and no difference shown as none."""

from __future__ import annotations

import pytest

from layoutrand.text.quantities import (
    ago,
    alike,
    at_most,
    change,
    changes,
    estimate,
    fine_percent,
    in_a_column,
    percent,
    quantity,
    ratio_words,
    telling,
    telling_side,
    two_digits,
)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.021, "+2.1 %"),
        (0.979, "-2.1 %"),
        (0.9997, "-0.03 %"),
        (1.0004, "+0.04 %"),
        (1.0, "0.0 %"),
        (1 + 1e-15, "0.0 %"),
        (1 - 1e-8, "0.0000 %"),
    ],
)
def test_a_small_change_is_neither_nothing_nor_minus_nothing(ratio, words):
    assert change(ratio) == words


def test_changes_that_stand_together_have_equally_many_digits():
    assert changes([0.97, 0.9998]) == ["-3.00", "-0.02"]
    assert changes([0.98123, 0.98124]) == ["-1.877", "-1.876"]
    assert changes([1.0, 1.02]) == ["0.0", "+2.0"]


@pytest.mark.parametrize(
    ("values", "digits"), [([], 1), ([0.0], 1), ([2.04, 2.04], 1), ([2.04, 2.03], 2), ([0.003], 3), ([1e-9], 4)]
)
def test_digits_that_tell(values, digits):
    assert telling(values) == digits


@pytest.mark.parametrize(
    ("ends", "digits"),
    [
        ([0.003, 0.004], 3),
        ([7e-8, 9e-8], 8),
        ([-7e-8, -2e-5], 8),
        ([-7e-8, 9e-8], 4),
        ([0.0, 9e-8], 4),
        ([1e-13] * 2, 4),
    ],
)
def test_ends_on_one_side_of_nothing_are_never_told_as_nothing(ends, digits):
    assert telling_side(ends) == digits


def test_digits_begin_where_they_are_asked_to():
    assert telling([20.0, 30.0], 2) == 2


@pytest.mark.parametrize(
    ("centre", "low", "high", "unit", "value", "interval"),
    [
        (0.01452, 0.01349, 0.01556, "s", "14.5 ms", "[13.5, 15.6] ms"),
        (0.0145213, 0.0145, 0.0145411, "s", "14.521 ms", "[14.500, 14.541] ms"),
        (0.01, -0.0001, 0.02, "s", "10 ms", "up to 20 ms, no lower bound"),
        (15_123.4, 12_345.6, 20_000, "s", "15,000 s", "[12,000, 20,000] s"),
        (3.1 * 2**20, 3 * 2**20, 3.25 * 2**20, "B", "3.10 MiB", "[3.00, 3.25] MiB"),
        (1_234_567, 1_222_222, 1_246_912, "1", "1,235,000", "[1,222,000, 1,247,000]"),
        (1_234_567, 1_234_567, 1_234_567, "1", "1,234,567", "[1,234,567, 1,234,567]"),
        (0, -40, 60, "1", "0", "[-40, 60]"),
        (0, 0, 0, "s", "0 s", "[0, 0] s"),
        (5.12e-9, 5.08e-9, 5.16e-9, "s", "5.12 ns", "[5.08, 5.16] ns"),  # cases of a harness
        (3e-10, 2.9e-10, 3.1e-10, "s", "0.300 ns", "[0.290, 0.310] ns"),
        (1.5e-7, 1e-7, 2e-7, "x", "1.5e-07 x", "[1.0e-07, 2.0e-07] x"),
        (2e18, 1e18, 3e18, "x", "2.0e+18 x", "[1.0e+18, 3.0e+18] x"),
        (10, 9.99995, 10.00003, "s", "10.00000 s", "[9.99995, 10.00003] s"),
        (10, 10 - 1e-13, 10 + 1e-13, "s", "10.0000000 s", "[10.0000000, 10.0000000] s"),
        (5, -5, float("inf"), "s", "5 s", "without bounds"),
        (5, -5, float("inf"), "x", "5 x", "[-5, inf] x"),
        (10, -30, 50, "s", "10 s", "up to 50 s, no lower bound"),
        (0.5, 0, 1, "ms", "0.5 ms", "up to 1.0 ms, no lower bound"),
        (0, 0, 1.5e-323, "x", "0e+00 x", "[0e+00, 1e-323] x"),
        (5, float("-inf"), float("inf"), "s", "5 s", "without bounds"),
    ],
)
def test_a_value_and_its_interval_are_told_no_finer_than_the_interval_bears_out(
    centre, low, high, unit, value, interval
):
    assert estimate(centre, low, high, unit) == (value, interval)


@pytest.mark.parametrize(
    ("values", "unit", "words"),
    [
        ([1.68815, 1.73196, 1.85328], "s", ["1.688 s", "1.732 s", "1.853 s"]),
        ([0.988, 1.012, 1.031], "s", ["0.9880 s", "1.0120 s", "1.0310 s"]),
        ([0.9, 2, 30_000], "1", ["0.9", "2.0", "30,000.0"]),
        ([3, 3], "s", ["3 s", "3 s"]),
        ([0, 0], "1", ["0", "0"]),
    ],
)
def test_values_of_a_distribution_are_told_alike(values, unit, words):
    assert alike(values, unit) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(0.0156, "s", "15.6 ms"), (12345.6, "s", "12,346 s"), (1_234_567, "1", "1,234,567"), (2.5, "ops", "2.5 ops")],
)
def test_a_quantity_is_never_written_with_an_exponent_that_thousands_do_without(value, unit, words):
    assert quantity(value, unit) == words


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.8191, "82"),
        (0.000251, "0.026"),
        (0.00025, "0.025"),
        (0.00101, "0.11"),
        (0.1, "10"),
        (0.0991, "10.0"),
        (0.0, "0"),
    ],
)
def test_an_upper_bound_has_two_digits_and_is_never_rounded_below_itself(value, said):
    assert at_most(value) == said
    assert float(said) >= 100 * value


def test_a_ratio_with_a_narrow_interval_is_told_from_1():
    assert ratio_words(1.0000413, 1.0000312, 1.0000514) == ("1.000041", "[1.000031, 1.000051]")
    assert ratio_words(0.9312, 0.5794, 1.4968) == ("0.93", "[0.58, 1.50]")


@pytest.mark.parametrize(
    ("values", "unit", "said"),
    [
        ((0.1267, 0.127, 0.12), "s", ["126.7 ms", "127.0 ms", "120.0 ms"]),
        ((0.9998, 1.002), "s", ["0.9998 s", "1.0020 s"]),
        ((0.02, 0.03), "s", ["20 ms", "30 ms"]),  # steps of a clock
        ((21_926_653.0, 22_000_000.0), "1", ["21,926,653", "22,000,000"]),
        ((0.0, 1e-9), "s", ["0 ns", "1 ns"]),
        ((5.12e-9, 5.1e-9), "s", ["5.12 ns", "5.10 ns"]),
        ((0.0, 0.0), "s", ["0 s", "0 s"]),
        ((), "s", []),
    ],
)
def test_numbers_beside_each_other_have_equally_many_digits(values, unit, said):
    assert in_a_column(values, unit) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.0054,), "0.54 %"),
        ((0.1909,), "19.09 %"),
        ((0.00069,), "0.069 %"),
        ((0.0000231,), "0.0023 %"),  # counts of a simulated processor: it was 0.00 %
        ((0.0,), "0.00 %"),
        ((0.0000231, 0.0000178, 0.0000309), "0.0023 % [0.0018, 0.0031]"),
        ((0.0136, 0.0082, float("inf")), "1.36 % [0.82, without bound]"),
        ((0.0, 0.0, 0.0), "0.00 % [0.00, 0.00]"),
    ],
)
def test_a_small_share_is_not_told_as_none(values, said):
    assert fine_percent(*values) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3600, "in future"),
        (-5, "0 min ago"),
        (35 * 60, "35 min ago"),
        (119 * 60, "119 min ago"),
        (5 * 3600, "5 h ago"),
        (3 * 86_400, "3 d ago"),
    ],
)
def test_how_long_ago(seconds, said):
    assert ago(seconds) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.1418, "14 %"), (0.0271, "2.7 %"), (0.0996, "10 %"), (0.0000231, "0.0023 %"), (1.234, "123 %"), (0.0, "0 %")],
)
def test_two_digits(share, said):
    assert two_digits(share) == said


def test_what_rounds_to_nothing_has_no_sign():
    assert [percent(share, 0) for share in (-0.002, 0.0, 0.002, -0.006)] == ["0 %", "0 %", "0 %", "-1 %"]
