"""Numbers as people read them: no digits that say nothing, and no difference shown as none."""

from __future__ import annotations

import pytest

from layoutrand.text.quantities import at_most, change, changes, ends, quantity, ratio_words, telling


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


def test_digits_begin_where_they_are_asked_to():
    assert telling([20.0, 30.0], 2) == 2


@pytest.mark.parametrize(
    ("low", "high", "unit", "words"),
    [
        (0.01349, 0.0156, "s", "[13.49, 15.60] ms"),
        (0.0135, 0.0156, "s", "[13.5, 15.6] ms"),
        (0.0009876, 0.001023, "s", "[0.988, 1.023] ms"),
        (-0.0001, 0.02, "s", "[-0.1, 20.0] ms"),
        (12345.6, 20000, "s", "[12,346, 20,000] s"),
        (3 * 2**20, 3.25 * 2**20, "B", "[3.00, 3.25] MiB"),
        (999_999, 1_234_567, "1", "[999,999, 1,234,567]"),
        (100, 200, "1", "[100, 200]"),
        (99.5, 200, "ops", "[99.5, 200.0] ops"),
        (0, 0, "s", "[0, 0] µs"),
        (1e-7, 2e-7, "x", "[1e-07, 2e-07] x"),
        (9.99996, 9.99997, "s", "[10, 10] s"),
        (-5, float("inf"), "s", "[-5, inf] s"),
    ],
)
def test_the_ends_of_an_interval_are_told_alike(low, high, unit, words):
    assert ends(low, high, unit) == words


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
