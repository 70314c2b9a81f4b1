"""Plots as SVG text: well-formed, everything inside its panel, the same for the same data."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutrand.report.svg import HEIGHT, WIDTH, Panel, PanelShape, page, ticks

NAMES = {"s": "http://www.w3.org/2000/svg"}
FINITE = st.floats(-1e9, 1e9, allow_nan=False)


def panel(kind="points", points=((1.0, 2.0), (3.0, 4.0)), **fields):
    return Panel("title", "x", "y", [PanelShape(kind, points, "#112233")], **fields)


def drawn(*panels, title="heading", notes=()):
    return ET.fromstring(page(title, [panels], notes))


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


@given(st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=30), st.sampled_from(["points", "line", "bars"]))
def test_everything_lies_inside_its_panel(points, kind):
    root = drawn(panel(kind, points, horizontals=(0.5,), verticals=((1.0, "#445566", "here"),)))
    (group,) = root.findall("s:g", NAMES)
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in group.findall("s:circle", NAMES)]
    for line in group.findall("s:line", NAMES):
        places += [(float(line.get(f"x{k}")), float(line.get(f"y{k}"))) for k in (1, 2)]
    for line in group.findall("s:polyline", NAMES):
        places += [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    assert len(places) >= len(points)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)


def test_more_is_further_right_and_higher_up():
    circles = drawn(panel()).findall(".//s:circle", NAMES)
    (x1, y1), (x2, y2) = [(float(c.get("cx")), float(c.get("cy"))) for c in circles]
    assert x1 < x2
    assert y1 > y2


def test_bars_begin_at_zero_and_a_single_point_is_drawn():
    root = drawn(panel("bars", [(1.0, -0.5), (2.0, 1.0)]), panel("points", [(5.0, 7.0)]))
    bars = [line for line in root.iterfind(".//s:line", NAMES) if line.get("stroke") == "#112233"]
    assert len({bar.get("y1") for bar in bars}) == 1
    assert len(root.findall(".//s:circle", NAMES)) == 1


def test_names_are_escaped():
    root = drawn(panel(), title="a < b & c", notes=["<script>"])
    assert [text.text for text in root.iterfind("s:text", NAMES)] == ["a < b & c", "<script>"]
