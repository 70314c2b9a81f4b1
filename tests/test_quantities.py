"""Numbers as people read them: no digits that say nothing, and no difference shown as none."""

from __future__ import annotations

import pytest

from layoutrand.text.quantities import change, changes, telling


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
