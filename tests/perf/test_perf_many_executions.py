"""What a comparison costs where one benchmark was executed very often: it grows with the number of executions."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import execution, write
from fakes import make_config
from layoutrand.model import Execution, Measurement

pytestmark = pytest.mark.perf

CONFIG = '[[benchmarks]]\nname = "work"\ncommand = ["{artefact}"]\n'
FEWEST = int(os.environ.get("LAYOUTRAND_PERF_EXECUTIONS", "3000"))
LAYOUTS = 10
HELD = 250
"""Executions between which the machine changes its speed: levels are looked for where there are some."""


def test_twice_as_many_executions_cost_twice_as_much(tmp_path: Path) -> None:
    """Processor time and memory of `compare`, without what starting it takes."""
    cost = {}
    for count in (LAYOUTS * 4, FEWEST, 2 * FEWEST, 4 * FEWEST):
        project = tmp_path / str(count)
        project.mkdir()
        config = make_config(CONFIG)
        (project / "layoutrand.toml").write_text(_text())
        write(config, project, list(_executions(project, count)))
        cost[count] = _compared(project)
    start = cost.pop(LAYOUTS * 4)
    more = {count: (spent - start[0], kb - start[1]) for count, (spent, kb) in cost.items()}
    first, last = more[FEWEST], more[4 * FEWEST]
    figure = {
        "perf": "compare of many executions of one benchmark",
        "cpu_seconds": {count: round(spent, 2) for count, (spent, _) in cost.items()},
        "memory_mb": {count: round(kb / 1024) for count, (_, kb) in cost.items()},
        "four times as many": {"cpu": round(last[0] / first[0], 1), "memory": round(last[1] / first[1], 1)},
    }
    print(json.dumps(figure, indent=2))
    assert last[1] < 6 * first[1]  # of the square it would be sixteen times


def _text() -> str:
    systems = "".join(f"[systems.{name}]\n" for name in "ab")
    return f'[project]\nname = "fake"\n[build]\ncommands = ["make"]\nartefacts = ["prog"]\n{systems}{CONFIG}'


def _executions(project: Path, count: int) -> Iterator[Execution]:
    """In rounds of both systems; the machine is slower by a fifth for every other ``HELD`` executions."""
    config, chance = make_config(CONFIG), random.Random(1)
    binaries = [execution(config, project, system, "work", layout + 1) for layout in range(LAYOUTS) for system in "ab"]
    for place in range(count):
        made = binaries[place % len(binaries)]
        assert isinstance(made.layout, int)
        value = (1 + 0.2 * (place // HELD % 2)) * (1 + 0.01 * made.layout / LAYOUTS) * chance.gauss(1, 0.01)
        yield replace(
            made,
            repetition=place // len(binaries),
            order=place,
            started_at=float(place + 1),
            measurements=(Measurement("wall_s", "s", 0, value, warmup=False),),
        )


def _compared(project: Path) -> tuple[float, int]:
    """Seconds of processor time, and the most memory in KB."""
    code = (
        "import resource, sys; from layoutrand.cli import run; status = run(sys.argv[1:]); "
        "own = resource.getrusage(resource.RUSAGE_SELF); print(own.ru_maxrss, file=sys.stderr); sys.exit(status)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["compare", "a", "b", "--json", "-C", str(project)]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["benchmarks"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, int(done.stderr.splitlines()[-1])
