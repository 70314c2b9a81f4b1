"""Distance between layouts: Kendall's tau and kept neighbours."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from layoutrand.errors import AnalysisError
from layoutrand.layout.distance import adjacent_kept, kendall_tau, relative_order

PERMUTATIONS = st.integers(2, 40).flatmap(lambda n: st.permutations(range(n)))


@given(PERMUTATIONS)
def test_tau_is_that_of_scipy(order):
    """For two orders of the same items tau-a is what scipy.stats.kendalltau computes from the ranks."""
    places = [order.index(item) for item in range(len(order))]
    expected = kendalltau(range(len(order)), places).statistic

    assert kendall_tau(range(len(order)), order) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 16, 17, 31, 33, 1000])
def test_tau_is_that_of_scipy_for_lengths_around_powers_of_two(n):
    """The merging of blocks is right where the last block is not full."""
    first, second = list(range(n)), list(range(n))
    random.Random(n).shuffle(first)
    random.Random(n + 1).shuffle(second)
    places = {item: place for place, item in enumerate(second)}

    assert kendall_tau(first, second) == pytest.approx(kendalltau(range(n), [places[i] for i in first]).statistic)


@pytest.mark.parametrize(
    ("first", "second", "tau"),
    [
        ([], [], 1.0),
        ([5], [5], 1.0),
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 2 / 3),
        ([10, 7, 3], [7, 10, 3], 1 / 3),
        ([0, 1, 2, 3, 4], [2, 0, 3, 1, 4], 0.4),
    ],
)
def test_golden_values(first, second, tau):
    """Small cases counted by hand; the items' numbers need not begin at 0."""
    assert kendall_tau(first, second) == pytest.approx(tau, abs=1e-15)


@given(PERMUTATIONS)
def test_tau_does_not_care_which_order_comes_first(order):
    """Tau is symmetric."""
    assert kendall_tau(order, range(len(order))) == kendall_tau(range(len(order)), order)


@given(PERMUTATIONS)
def test_reversing_one_order_changes_the_sign(order):
    """The reversed order is as far away as the order is near."""
    assert kendall_tau(range(len(order)), order[::-1]) == pytest.approx(
        -kendall_tau(range(len(order)), order), abs=1e-12
    )


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1, 2, 3]), ([1, 2], [1, 3]), ([1, 1, 2], [1, 2, 2])])
def test_orders_of_different_items_are_refused(first, second):
    """Two layouts of different captures have no distance."""
    with pytest.raises(AnalysisError, match="same items"):
        kendall_tau(first, second)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ([], [], 0),
        ([1], [1], 0),
        ([1, 2, 3, 4], [1, 2, 3, 4], 3),
        ([1, 2, 3, 4], [4, 3, 2, 1], 0),
        ([1, 2, 3, 4], [3, 4, 1, 2], 2),
    ],
)
def test_kept_neighbours(first, second, kept):
    """Pairs that follow each other directly in both orders are counted, in this direction only."""
    assert adjacent_kept(first, second) == kept


def test_relative_orders_are_those_of_what_both_have():
    """Numbered anew from nothing, so that a distance can be computed."""
    first, second = relative_order([5, 9, 2, 7], [2, 7, 4, 5])

    assert (first.tolist(), second.tolist()) == ([1, 0, 2], [0, 2, 1])
