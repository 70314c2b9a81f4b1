"""Plots as lines of text, compared as a whole on small inputs."""

from __future__ import annotations

import math

import pytest

from layoutrand.report.braille import ASCII, BRAILLE, beside, style_for
from layoutrand.report.plot import Plot, Series, VerticalLine


def panel(points, kind="points", **more):
    return Plot("title", "", "x", "", [Series("", 0, kind, points)], **more)


def drawn(*panels, style=ASCII, width=14, height=2):
    return beside(panels, width=width, style=style, height=height)


def cells(lines):
    """What stands right of the axis, the title and the axis below left out."""
    return [line.split("|", 1)[-1].split("│", 1)[-1] for line in lines[1:-2]]


@pytest.mark.parametrize(
    ("style", "rows"),
    [(ASCII, ["3 |       .  '", "0 |.  '"]), (BRAILLE, ["3 │       ⠄  ⠈", "0 │⡀  ⠐"])],
)
def test_rising_points_stand_from_the_lower_left_to_the_upper_right(style, rows):
    rising = panel([(float(k), float(k)) for k in range(4)])
    corner, base = ("+", "-") if style is ASCII else ("└", "─")
    assert drawn(rising, style=style) == ["title", *rows, f"  {corner}{base * 11}", "   0    x    3"]


def test_one_point_stands_in_the_middle():
    assert cells(drawn(panel([(5.0, 7.0)]), width=17)) == ["     .", ""]


@pytest.mark.parametrize("value", [0.0, 2.0, -3.5, 1e300])
def test_a_constant_series_is_a_level_line(value):
    rows = cells(drawn(panel([(float(k), value) for k in range(3)]), width=20))
    assert [row.count(".") for row in rows] == [3, 0]
    assert set("".join(rows)) == {".", " "}


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_left_out(odd):
    rest = [(1.0, 1.0), (2.0, 3.0)]
    assert drawn(panel([(0.0, odd), *rest, (odd, 1.0)])) == drawn(panel(rest))
    assert drawn(panel([(0.0, odd)])) == ["title: no finite value to show"]


def test_nothing_at_all_is_said():
    assert drawn(panel([]), panel([]), width=80) == ["title: no finite value to show"] * 2


def test_a_span_beyond_all_floats_is_drawn():
    upper, lower = cells(drawn(panel([(0.0, -1.7e308), (1.0, 1.7e308)])))
    assert (upper.strip(), lower.strip()) == ("'", ".")


def test_bars_reach_from_zero():
    assert cells(drawn(panel([(1.0, -1.0), (2.0, 1.0)], "bars"), style=ASCII)) == [".        :", ":"]
    assert cells(drawn(panel([(1.0, -1.0), (2.0, 1.0)], "bars"), style=BRAILLE)) == ["⡀        ⢸", "⡇"]


def test_a_line_joins_its_points():
    rows = cells(drawn(panel([(0.0, 0.0), (10.0, 10.0)], "line"), style=ASCII))
    assert [a + b for a, b in zip(rows[0].ljust(10), rows[1].ljust(10), strict=True)].count("  ") == 0


def test_reference_lines_lie_under_the_data():
    both = panel([(0.0, 1.0), (4.0, 1.0)], verticals=[VerticalLine(2.0, 0)], horizontals=[0.0, 2.0])
    assert cells(drawn(both, style=ASCII)) == [".----|----.", "-----|-----"]
    assert cells(drawn(both, style=BRAILLE)) == ["⡀┄┄┄┄┆┄┄┄┄⢀", "┄┄┄┄┄┆┄┄┄┄┄"]


def test_panels_beside_each_other_have_the_same_axes():
    low, high = panel([(0.0, 0.0), (1.0, 1.0)]), panel([(0.0, 9.0), (1.0, 10.0)])
    lines = drawn(low, high, width=70)
    assert len(lines) == 5
    assert lines[1].split("|")[0].strip() == lines[1].split("|")[1].strip() == "10"
    left, right = lines[1].split("|")[1:], lines[2].split("|")[1:]
    assert left[0].split() == ["10"]  # nothing of the lower one stands in the upper row
    assert right[1] == ""


@pytest.mark.parametrize("width", [30, 57, 58, 80, 200])
def test_no_line_is_wider_than_the_terminal(width):
    wide = panel([(float(k), 100.0 + k % 7) for k in range(300)])
    lines = drawn(wide, wide, width=width, height=4)
    assert max(map(len, lines)) <= width
    assert len(lines) == (7 if width >= 58 else 14)  # beside each other, or one under the other


@pytest.mark.parametrize(
    ("encoding", "style"),
    [
        ("utf-8", BRAILLE),
        ("UTF-16", BRAILLE),
        ("ascii", ASCII),
        ("latin-1", ASCII),
        ("cp437", ASCII),
        (None, ASCII),
        ("nonsense", ASCII),
    ],
)
def test_ascii_is_used_where_the_encoding_has_no_braille(encoding, style):
    assert style_for(encoding) is style


def test_ascii_plots_and_sparklines_are_ascii():
    text = "".join(drawn(panel([(0.0, 1.0), (1.0, 2.0)], horizontals=[1.5]), style=ASCII)) + ASCII.levels
    assert text.isascii()
    assert len(ASCII.levels) == len(BRAILLE.levels) == 8
