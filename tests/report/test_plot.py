"""Plots as SVG text: well-formed, everything inside its plot, the same for the same data."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.report import style
from layoutrand.report.canvas import WIDTH, sheet, ticks
from layoutrand.report.plot import Plot, Series, VerticalLine, draw, titled

NAMES = {"s": "http://www.w3.org/2000/svg"}
FINITE = st.floats(-1e9, 1e9, allow_nan=False)


def plot(kind="points", points=((1.0, 2.0), (3.0, 4.0)), **fields):
    return Plot("title", "what it shows", "x", "y", [Series("", 0, kind, points)], **fields)


def places(root):
    """Where the marks, bars and lines of the only series are."""
    drawn = [part for part in root.iter() if "s0" in part.get("class", "").split() and "flag" not in part.get("class")]
    found = []
    for part in drawn:
        text = part.get("points") or " ".join(re.findall(r"[ML]([-0-9.]+ [-0-9.]+)", part.get("d")))
        numbers = [float(number) for number in re.split(r"[ ,]", text)]
        found += zip(numbers[::2], numbers[1::2], strict=True)
    return found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (-0.1, 1.1, [0, 0.5, 1]),
        (0.951, 1.049, [0.96, 0.98, 1.0, 1.02, 1.04]),
        (-3e6, 2e6, [-3e6, -2e6, -1e6, 0, 1e6, 2e6]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


@given(FINITE, st.floats(1e-6, 1e9))
def test_there_are_a_few_ticks_and_they_lie_within(low, width):
    found = ticks(low, low + width)
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert len(found) <= 6
    assert all(low - slack <= tick <= low + width + slack for tick in found)


@given(
    st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=30), st.sampled_from(["points", "line", "trace", "bars"])
)
def test_everything_lies_inside_its_plot(points, kind):
    root = ET.fromstring(draw(plot(kind, points, horizontals=(0.5,), verticals=(VerticalLine(1.0, 1, "here"),))))
    height = float(root.get("viewBox").split()[3])
    found = places(root)
    assert len(found) >= len(points)
    assert all(0 <= x <= WIDTH and 0 <= y <= height for x, y in found)


def test_more_is_further_right_and_higher_up():
    (x1, y1), (x2, y2) = places(ET.fromstring(draw(plot())))
    assert x1 < x2
    assert y1 > y2


def test_bars_begin_at_zero_and_a_single_point_is_drawn():
    bars = places(ET.fromstring(draw(plot("bars", [(1.0, -0.5), (2.0, 1.0)]))))
    assert bars[0][1] == bars[2][1]  # each bar from its foot to its end, then the marks on the ends
    assert bars[1][1] > bars[0][1] > bars[3][1]
    assert len(places(ET.fromstring(draw(plot("points", [(5.0, 7.0)]))))) == 1


@pytest.mark.parametrize(("place", "anchor"), [(1.1, None), (2.9, "end")])
def test_the_label_of_a_vertical_line_stands_where_there_is_room(place, anchor):
    root = ET.fromstring(draw(plot(verticals=(VerticalLine(place, 1, "here"),))))
    (label,) = [text for text in root.iterfind(".//s:text", NAMES) if text.text == "here"]
    assert label.get("text-anchor") == anchor


def test_a_sheet_has_all_its_plots_and_is_as_large_as_they_are():
    drawn = sheet("a < b & c", [[titled(plot()), titled(plot("bars"))], [titled(plot("trace"))]], ["<script>"])
    root = ET.fromstring(drawn)
    assert [group.get("transform") for group in root.findall("s:g", NAMES)][:2] == [
        "translate(0,36)",
        f"translate({WIDTH},36)",
    ]
    assert len(root.findall("s:g", NAMES)) == 3
    assert [text.text for text in root.iterfind("s:text", NAMES)] == ["a < b & c", "<script>"]
    assert [float(number) for number in root.get("viewBox").split()[:3]] == [0, 0, 2 * WIDTH]
    alone = style.standalone(drawn, 100)
    assert "class=" not in alone and 'width="100mm"' in alone
    assert alone.count(style.LIGHT["s0"]) == drawn.count("s0")


@pytest.mark.parametrize(("kind", "drawn"), [("dashed", "dashes s3"), ("trace", "curve s3"), ("points", None)])
def test_the_legend_shows_what_is_drawn(kind, drawn):
    """A line without marks has no mark before its name."""
    points = [(0.0, 1.0), (1.0, 2.0)]
    root = ET.fromstring(draw(Plot("t", "d", "x", "y", [Series("name", 3, kind, points)])))
    lines = [part.get("class") for part in root.iter() if part.tag.endswith("polyline")]
    assert lines == [drawn] * 2 if drawn else not lines
