"""What the readings around an execution cost: each of them, and a look through all processes."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest

from layoutrand.host.processes import Processes
from layoutrand.host.watch import SCAN_EVERY_S, HostWatch
from perfkit import report

pytestmark = pytest.mark.perf


def _median_ms(action, times=200):
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        spent.append(time.perf_counter() - start)
    return round(1000 * statistics.median(spent), 3)


def test_readings_around_an_execution() -> None:
    """Both readings are of the kernel's own counters; what they cost is printed, not judged."""
    watch = HostWatch(now_s=lambda: 0.0)  # time stands still, so processes are looked through once
    before = watch.before()
    processes = Processes(Path("/"))
    figure = {
        "perf": "readings of the host around an execution",
        "unit": "ms",
        "before": _median_ms(watch.before),
        "after": _median_ms(lambda: watch.state(before)),
        "all processes": _median_ms(processes.look, times=50),
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),
        "at most every s": SCAN_EVERY_S,
    }
    report(figure)
    assert {"window_s", "own_cpu_s"} <= set(watch.state(before))
