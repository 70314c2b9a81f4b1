"""Whether what a system shows against itself is what `compare` does to two programs that are alike."""

from __future__ import annotations

import math

import pytest

from rates import studies
from rates.studies import Cell
from rates.worlds import Size

SETS = 60
NEAR = 0.03
"""How far two rates may lie apart, beside what chance explains."""


@pytest.mark.slow
@pytest.mark.parametrize("world", ["normal", "trend"])
def test_alarms_follow_those_of_compare_under_the_same_design(world):
    """Three standard errors of a difference of two counts; divisions at random say .04 where the truth is .6.

    A system that was executed twice is two programs that are alike to every formula, so these rates are equal.
    """
    tally = studies.counted(Cell("itself", world, Size(20)), 0, SETS)
    assert tally.errors == []
    rates = {name: count.rate for name, count in tally.counts.items()}
    print(world, rates)
    assert rates["aa twice"] == rates["aa true"]
    for stated, true in (("aa alarm", "aa true"), ("aa half", "aa apart")):
        mean = (rates[stated] + rates[true]) / 2
        error = math.sqrt(2 * max(mean * (1 - mean), 0.02) / SETS)
        assert abs(rates[stated] - rates[true]) <= NEAR + 3 * error, (stated, rates)
    assert rates["aa floor"] >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / SETS)
    assert (rates["aa half"] > 0.4) == (world == "trend")
