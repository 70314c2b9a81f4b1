"""The step that values were measured in, and whether they lie on one or two of these."""

from __future__ import annotations

import pytest

from layoutrand.errors import AnalysisError
from layoutrand.stats import are_steps, clock_step, decimal_step
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


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.203125, 0.21875], 1 / 64),
        ([203.125, 218.75, 203.125], 15.625),
        ([0.0, 0.203125, 0.0, 0.21875], 1 / 64),
        ([0.0, 0.203125], 1e-6),
        ([13 / 60, 15 / 60, 14 / 60], 1 / 60),
        ([0.203125] * 9, 1e-6),
        ([0.004 * each for each in range(50, 58)], 0.004),
        ([0.2, 0.204, 0.208], 0.001),
        ([0.202, 0.204, 0.208, 0.214, 0.206], 0.001),
        ([0.0996, *(each / 1000 for each in range(101, 117))], 0.0001),
        ([0.20, 0.21, 0.19], 0.01),
        ([0.2, 0.2012345678], None),
        ([0.0, 0.0], None),
    ],
)
def test_another_step_than_a_power_of_ten_is_told_where_chance_is_excluded(values, step):
    assert clock_step(values) == (None if step is None else pytest.approx(step, rel=1e-9))


def ordinary(number):
    """Ten or more values of 3 digits or more that nothing but their digits has put on steps."""
    chance = Stream(number, "ordinary")
    n, digits = 10 + number % 40, (3, 4, 6, 17)[number % 4]
    normal, groups, uniform = chance.normals(n), chance.normals(n) > 0, chance.uniforms(2)
    values = (
        10 ** (5 * uniform[0] - 3) * (1 + 0.1 * uniform[1] * groups) * (1 + (0.001, 0.01, 0.05)[number % 3] * normal)
    )
    return [float(f"{each:.{digits}g}") for each in values]


@pytest.mark.parametrize("n", [1000, pytest.param(50_000, marks=[pytest.mark.slow, pytest.mark.hour])])
def test_ordinary_values_are_taken_for_no_other_steps_than_their_digits(n):
    """Less than 1 of 10,000."""
    assert [number for number in range(n) if clock_step(ordinary(number)) != decimal_step(ordinary(number))] == []


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
