"""Numbers below ticks stay inside the figure, wherever the ticks are."""

from __future__ import annotations

import re

import pytest

from layoutrand.report import plot
from layoutrand.report.canvas import WIDTH, tick
from layoutrand.report.plot import Plot, Series


def place_of(text):
    """x of a piece of text, and the text."""
    found = re.fullmatch(r'<text x="([-0-9.]+)" y="[-0-9.]+" text-anchor="middle">([^<]*)</text>', text)
    assert found
    return float(found[1]), found[2]


@pytest.mark.parametrize(("x", "expected"), [(0.0, 23.8), (WIDTH / 2, WIDTH / 2), (WIDTH, WIDTH - 23.8)])
def test_a_tick_at_the_edge_has_its_number_beside_it(x, expected):
    assert place_of(tick(x, 1.0, "12.3456")) == (pytest.approx(expected), "12.3456")


@pytest.mark.parametrize("high", [1.43531, 1.4353, 1.44, 123456.7, 0.00012345])
def test_the_last_number_of_an_axis_is_whole(high):
    """Values that end just above a tick with many digits, as measured ones may."""
    series = Series("", 0, "points", [(high * 0.9999, 1.0), (high, 2.0)])
    drawn = plot.draw(Plot("t", "d", "x", "y", [series]))
    ticks = [place_of(text) for text in re.findall(r'<text [^>]*text-anchor="middle">[^<]*</text>', drawn)]
    assert ticks
    assert all(3.39 * len(label) <= x <= WIDTH - 3.39 * len(label) for x, label in ticks)
