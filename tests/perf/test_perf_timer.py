"""Our timer beside hyperfine's and perf's: the same commands, one execution of each in turn, on one machine.

Bias is the mean of the differences between two timers' executions of one turn; spread is the standard deviation of
each timer's executions, which holds the noise of the machine in all three.  hyperfine starts the program without a
shell (-N); perf reports duration_time, which it begins to count just after it has let the command go: a command that takes
the CPU from perf at that moment seems to take no time.  So all are executed under SCHED_BATCH, under which a process that
wakes up takes nobody's CPU.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layoutrand.execute.measure import Command, measure
from perfkit import report
from workshop import require

pytestmark = pytest.mark.perf

TURNS = 150
LIMIT_MS = 0.5
SPIN = r"""
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
int main(int argc, char **argv) {
    double until = now() + (argc > 1 ? atof(argv[1]) : 0);
    while (now() < until) {}
    return 0;
}
"""


def timers(folder: Path) -> dict[str, Callable[[list[str]], float]]:
    """Name -> a function that executes a command once and returns its wall time in ms."""
    hyperfine, perf = require("hyperfine", "hyperfine"), require("perf", "linux-perf")
    env = {"PATH": "/usr/bin:/bin"}

    def ours(argv: list[str]) -> float:
        outcome = measure(
            Command(
                argv=tuple(argv),
                env=env,
                cwd=folder,
                stdin=None,
                stdout=folder / "out",
                stderr=folder / "err",
                timeout_s=60,
            )
        )
        assert outcome.status == "ok"
        return outcome.wall_s * 1e3

    def of_hyperfine(argv: list[str]) -> float:
        report = folder / "hyperfine.json"
        command = [hyperfine, "-N", "--style", "none", "--runs", "1", "--export-json", str(report), " ".join(argv)]
        subprocess.run(command, env=env, cwd=folder, check=True, stderr=subprocess.DEVNULL)
        (seconds,) = json.loads(report.read_text())["results"][0]["times"]
        return float(seconds) * 1e3

    def of_perf(argv: list[str]) -> float:
        command = [perf, "stat", "-x", ";", "-e", "duration_time", "--", *argv]
        done = subprocess.run(command, env=env, cwd=folder, check=True, capture_output=True, text=True)
        found = re.search(r"^([0-9]+);(?:ns)?;duration_time", done.stderr, re.MULTILINE)
        assert found, done.stderr
        return int(found[1]) / 1e6

    return {"layoutrand": ours, "hyperfine": of_hyperfine, "perf stat": of_perf}


@pytest.fixture
def batch() -> Iterator[None]:
    """This process and its children are scheduled as SCHED_BATCH."""
    before = os.sched_getscheduler(0)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    yield
    os.sched_setscheduler(0, before, os.sched_param(0))


@pytest.mark.usefixtures("batch")
@pytest.mark.parametrize("milliseconds", [50, 0])
def test_bias_and_spread_of_the_timer(tmp_path: Path, milliseconds: int) -> None:
    """Prints them; the limit is on the mean difference for the command of 50 ms."""
    gcc = require("gcc", "gcc")
    (tmp_path / "spin.c").write_text(SPIN)
    subprocess.run([gcc, "-O2", "-o", tmp_path / "spin", tmp_path / "spin.c"], check=True)
    argv = [str(tmp_path / "spin"), str(milliseconds)]
    ways = timers(tmp_path)
    times: dict[str, list[float]] = {name: [] for name in ways}
    rng = random.Random(1)
    for turn in range(TURNS + 5):
        for name in rng.sample(sorted(ways), len(ways)):  # none always comes after the same other one
            value = ways[name](argv)
            if turn >= 5:  # the first ones load the programs
                times[name].append(value)
    figure: dict[str, object] = {
        "perf": f"timer, command of {milliseconds} ms",
        "unit": "ms",
        "turns": TURNS,
        "limit": LIMIT_MS,
        "load1": round(os.getloadavg()[0], 2),
    }
    for name, values in times.items():
        ordered = sorted(values)
        figure[name] = {
            "mean": round(statistics.mean(values), 3),
            "median": round(statistics.median(values), 3),
            "sd": round(statistics.stdev(values), 3),
            "iqr": round(ordered[len(ordered) * 3 // 4] - ordered[len(ordered) // 4], 3),
        }
    for other in ("hyperfine", "perf stat"):
        differences = [a - b for a, b in zip(times["layoutrand"], times[other], strict=True)]
        figure[f"layoutrand - {other}"] = {
            "mean": round(statistics.mean(differences), 3),
            "median": round(statistics.median(differences), 3),
            "standard error": round(statistics.stdev(differences) / math.sqrt(len(differences)), 3),
        }
    report(figure)
    assert all(len(values) == TURNS for values in times.values())
    assert min(times["layoutrand"]) >= milliseconds, "less than the program spent on the CPU"
