"""What a comparison costs where one benchmark was executed very often: it grows with the number of executions."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import execution, write
from fakes import make_config
from layoutrand.model import Execution, Measurement
from perfkit import cost_of

pytestmark = pytest.mark.perf

CONFIG = '[[benchmarks]]\nname = "work"\ncommand = ["{artefact}"]\n'
FEWEST = int(os.environ.get("LAYOUTRAND_PERF_EXECUTIONS", "3000"))
LAYOUTS = 10
HELD = 250
"""Executions between which the machine changes its speed: levels are looked for where there are some."""


def test_memory_grows_with_the_number_of_executions(tmp_path: Path) -> None:
    """Processor time and memory of `compare`, without what starting it takes."""
    cost = {}
    for count in (LAYOUTS * 4, FEWEST, 2 * FEWEST, 4 * FEWEST):
        project = tmp_path / str(count)
        project.mkdir()
        config = make_config(CONFIG)
        (project / "layoutrand.toml").write_text(_text())
        write(config, project, list(_executions(project, count)))
        cost[count] = cost_of(["compare", "a", "b", "--json", "-C", str(project)])
        assert json.loads(cost[count].stdout)["benchmarks"]
    start = cost.pop(LAYOUTS * 4)
    more = {count: (each.cpu_s - start.cpu_s, each.memory_kb - start.memory_kb) for count, each in cost.items()}
    first, last = more[FEWEST], more[4 * FEWEST]
    figure = {
        "perf": "compare of many executions of one benchmark",
        "cpu_seconds": {count: round(each.cpu_s, 2) for count, each in cost.items()},
        "memory_mb": {count: round(each.memory_kb / 1024) for count, each in cost.items()},
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
