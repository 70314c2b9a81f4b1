"""Figures of characters: what stands in which column, and what stands for them where there is ASCII alone."""

import math

import pytest

from layoutrand.screens.charts import PercentAxis, can_draw, histogram, in_order, joined, plain, width_of
from layoutrand.text.quantities import signed


def text(line):
    return "".join(part for part, _ in line)


def test_an_interval_stands_where_its_ends_are():
    axis = PercentAxis(-10.0, 10.0, 40, 1.0)
    drawn = text(axis.interval(-5.0, 0.5, 5.0, "red"))

    assert len(drawn) == 40
    assert (drawn[axis.place(-5)], drawn[axis.place(0.5)], drawn[axis.place(5)]) == ("├", "●", "┤")
    assert (axis.place(-5), axis.place(0), axis.place(5)) == (10, 20, 30)
    assert drawn[axis.place(-1)] == drawn[axis.place(1)] == "░"
    assert drawn[:10].strip() == drawn[31:].strip() == ""


def test_an_interval_without_end_goes_on():
    drawn = text(PercentAxis(-10.0, 10.0, 40, 0.0).interval(-math.inf, 0.0, 4.0, ""))
    assert drawn.startswith("◄──")
    assert "░" not in drawn


@pytest.mark.parametrize("ends", [[], [0.0], [-3.0, 200.0], [1e-9], [math.inf, -2.0]])
def test_every_end_0_and_the_threshold_have_a_place(ends):
    axis = PercentAxis.of(ends, 1.0, 30)
    for value in (*filter(math.isfinite, ends), -1.0, 0.0, 1.0):
        assert axis.low <= value <= axis.high
        assert 0 <= axis.place(value) < 30
    assert len(text(axis.scale())) <= 30


def test_the_ends_of_a_short_axis_are_told_apart_from_0():
    said = text(PercentAxis.of([-0.0003, 0.0002], 0.0, 60).scale())
    assert said.startswith("−0.0003 %")
    assert said.endswith("+0.0002 %")
    assert "0.000 %" in text(PercentAxis.of([0.0], 0.0, 60).scale())


def test_nothing_is_drawn_below_no_time_at_all():
    axis = PercentAxis.of([-99.0, 743.0], 1.0, 60)
    assert axis.low == -100


def test_bars_count_values():
    assert histogram([1, 1, 2, 4], 1, 4, 3) == "█▄▄"
    assert histogram([1, 4], 1, 4, 4) == "█  █"
    assert histogram([5, 5], 5, 5, 3) == " █ "


def test_an_order_is_as_long_as_fits():
    assert in_order([1, 2, 3], 10) == "▁▅█"
    assert in_order([], 10) == ""
    assert len(in_order(list(range(1000)), 72)) <= 72
    assert in_order([7, 7], 5) == "▁▁"


def test_signs():
    assert [signed(value, 1) for value in (1.25, -0.3, 0.01, -0.01)] == ["+1.2", "\N{MINUS SIGN}0.3", "0.0", "0.0"]


def test_what_cannot_be_written_has_a_stand_in():
    line = [("├─●─┤ ░ … ", "red"), ("▁█", "")]
    said = text(plain(line))

    assert said.isascii()
    assert can_draw("utf-8")
    assert not can_draw("ascii")
    assert not can_draw("latin-1")
    assert width_of(line) == 12
    assert joined([("a", "x"), ("b", "x"), ("c", "")]) == [("ab", "x"), ("c", "")]
