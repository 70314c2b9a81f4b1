"""The step that values were measured in, and whether they lie on one or two of these."""

from __future__ import annotations

import pytest

from layoutrand.errors import AnalysisError
from layoutrand.stats import are_steps, decimal_step
from layoutrand.stats.streams import Stream


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.20, 0.21, 0.19], 0.01),
        ([0.203, 0.21], 0.001),
        ([203e-3 * k for k in range(1, 9)], 0.001),
        ([30.0, 40.0], 10.0),
        ([1200.0], 100.0),
        ([0.2, 0.2012345678], None),
        ([-0.5, 0.5], 0.1),
        ([0.0, 0.0], None),
        ([1e-40, 3e-40], 1e-40),
    ],
)
def test_the_step_is_the_largest_power_of_ten(values, step):
    assert decimal_step(values) == (None if step is None else pytest.approx(step))


@pytest.mark.parametrize(("spread", "wanted"), [(0.0, True), (0.2, True), (1.0, False), (3.0, False)])
def test_steps_are_seen_where_values_scatter_little(spread, wanted):
    values = [round(float(each)) for each in 20 + spread * Stream(0, "steps").normals(200)]
    assert are_steps(values, 1.0) == wanted


def test_a_few_far_values_hide_no_steps():
    assert are_steps([2.0] * 27 + [9.0, 12.0, 30.0], 1.0)
    assert not are_steps([2.0] * 5 + [4.0] * 5, 1.0)


def test_nothing_has_no_step():
    with pytest.raises(AnalysisError):
        decimal_step([])
