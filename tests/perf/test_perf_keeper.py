"""What the two processes above the one that works add to an execution, and to the start of a command."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from workshop import plain_program

pytestmark = pytest.mark.perf

# Spends so many milliseconds of CPU time, whatever the machine's speed.
SPIN = """
#include <stdlib.h>
#include <time.h>
int main(int count, char **words) {
    struct timespec now;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1e6 < atoi(words[1]));
    return count - 2;
}
"""
# Executes once for each line that it reads, and says how long that took: the program by its own clock, and all of it.
MEASURING = """
import sys, time
from pathlib import Path
from layoutrand.platform.keeper import keep
if sys.argv[1] == "kept":
    keep()
from layoutrand.execute.measure import Command, measure
place = Path(sys.argv[2])
for line in sys.stdin:
    begun = time.perf_counter()
    done = measure(Command((sys.argv[3], line.strip()), {}, place, None, place / "o", place / "e", 60))
    whole = time.perf_counter() - begun
    print(done.status, done.wall_s, whole, done.rusage["user_s"] + done.rusage["system_s"],
          done.rusage["involuntary_switches"], flush=True)
"""
TURNS = {"5": 600, "200": 200}
WHAT = ("wall", "whole call", "CPU")


def test_what_an_execution_costs_with_and_without(tmp_path: Path) -> None:
    """Programs of 5 ms and 200 ms, in turns in random order; prints medians and differences of medians, in ms."""
    program = plain_program(tmp_path, SPIN, "-O1")
    measuring = {}
    for kind in ("kept", "alone"):
        place = tmp_path / kind
        place.mkdir()
        words = [sys.executable, "-c", MEASURING, kind, str(place), str(program)]
        measuring[kind] = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    order = random.Random(1)
    found: dict[str, object] = {}
    for duration, turns in TURNS.items():
        told: dict[str, list[list[float]]] = {kind: [] for kind in measuring}
        for _ in range(turns):
            for kind in order.sample(list(measuring), 2):
                measuring[kind].stdin.write(f"{duration}\n")
                measuring[kind].stdin.flush()
                status, *values = measuring[kind].stdout.readline().split()
                assert status == "ok"
                told[kind].append([1000 * float(value) for value in values])
        for k, what in enumerate(WHAT):
            kept, alone = ([row[k] for row in told[kind]] for kind in ("kept", "alone"))
            differences = [a - b for a, b in zip(kept, alone, strict=True)]
            error = statistics.stdev(differences) / turns**0.5
            found[f"{duration} ms, {what}"] = {
                "kept": round(statistics.median(kept), 3),
                "alone": round(statistics.median(alone), 3),
                "median difference": round(statistics.median(differences), 4),
                "standard error of the mean difference": round(error, 4),
            }
    for process in measuring.values():
        process.communicate()
    print("\n" + json.dumps(found, indent=1))


def test_what_a_command_costs_with_and_without() -> None:
    """`layoutrand`'s own start: until it listens to signals, and what forking twice adds; medians in ms."""
    starts = {
        "python, nothing else": "pass",
        "until it listens": "from layoutrand.platform import ending; ending.end_at_once()",
        "and kept": "from layoutrand.platform import ending; ending.end_at_once()\n"
        "from layoutrand.platform.keeper import keep; keep()",
    }
    times: dict[str, list[float]] = {name: [] for name in starts}
    order = random.Random(1)
    for _ in range(100):
        for name in order.sample(list(starts), len(starts)):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", starts[name]], check=True)
            times[name].append(1000 * (time.perf_counter() - begun))
    print("\n" + json.dumps({name: round(statistics.median(values), 2) for name, values in times.items()}))
