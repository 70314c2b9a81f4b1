"""How long it takes to draw a layout of 100,000 sections."""

from __future__ import annotations

import statistics
import time

import pytest

from buildkit import section
from layoutrand.layout.distance import kendall_tau
from layoutrand.layout.order import draw
from perfkit import report

pytestmark = pytest.mark.perf

SECTIONS = 100_000
ROUNDS = 5


@pytest.mark.parametrize("factor", ["function-order", "module-order", "function-order-in-module"])
def test_drawing_100_000_sections(factor: str) -> None:
    """A layout of a program larger than HotSpot is drawn in well under a second, whatever the factor."""
    kinds = ("unlikely", "startup", "text")
    sections = [
        section(n, f"src/dir{n % 40}/module{n % 1500}.o", f".text._ZN4some5scope{n}Ev", kind=kinds[min(2, n // 5000)])
        for n in range(SECTIONS)
    ]
    identity = range(SECTIONS)
    seconds = []
    for seed in range(ROUNDS):
        begin = time.perf_counter()
        layout = draw(sections, identity, name=seed, factors=(factor,), classes="keep")
        seconds.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    tau = kendall_tau(identity, layout.order)
    tau_s = time.perf_counter() - begin

    figure = {
        "perf": "draw a layout",
        "factor": factor,
        "sections": SECTIONS,
        "unit": "s",
        "median": round(statistics.median(seconds), 4),
        "max": round(max(seconds), 4),
        "kendall_tau_s": round(tau_s, 4),
        "limit": 1.0,
    }
    report(figure)
    assert sorted(layout.order) == list(identity)
    assert tau != 1.0
