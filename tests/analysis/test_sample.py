"""Samples: what can be in one at all."""

import math
import re

import pytest

from layoutrand.analysis.sample import Sample
from layoutrand.errors import AnalysisError


def sample(value, *, stock=1.0):
    """Three binaries, one of which measured this value."""
    return Sample(
        system="O2",
        benchmark="x",
        instrument="native",
        metric="wall_s",
        unit="s",
        is_primary=True,
        binaries=((1, ((1.0,),)), (2, ((1.0, value),)), (3, ((1.0,),))),
        controls={"stock": ((stock,),)},
    )


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-60, -1e60, 1.5])
def test_what_can_be_analysed(value):
    assert sample(value).n_binaries == 3


@pytest.mark.parametrize("value", [5e-324, 1e-320, -1e-61, 1e61, 1e308, math.inf, -math.inf, math.nan])
def test_values_that_nothing_can_be_computed_with_are_told_with_their_binary(value):
    wanted = re.escape(f"system O2, benchmark x, wall_s, 2: a value is {value:g}; values lie between 1e-60 and 1e+60")
    with pytest.raises(AnalysisError, match=wanted):
        sample(value)
    with pytest.raises(AnalysisError, match="wall_s, stock: a value is"):
        sample(1.0, stock=value)


def test_a_sample_of_its_own_binaries_is_itself_and_knows_what_it_knew():
    one = sample(2.0)
    assert one.of(tuple(one.binaries)) is one
    assert one.nested is one.nested
    assert one.binary_means == (1.0, 1.5, 1.0)

    fewer = one.of(one.binaries[1:])
    assert fewer.binary_means == (1.5, 1.0)
    assert fewer.nested.values.tolist() == [1.0, 2.0, 1.0]
