"""What each condition adds to the wall time of an execution, beside one without conditions."""

from __future__ import annotations

import json
import os
import random
import statistics
from pathlib import Path

import pytest

from layoutrand.config.conditions import Conditions
from layoutrand.config.topology import Placement
from layoutrand.execute.isolated import isolated
from layoutrand.execute.measure import Command, measure

pytestmark = pytest.mark.perf

ROUNDS = 200


def test_wall_time_that_conditions_add(tmp_path: Path) -> None:
    """Interleaved executions of /bin/true; prints medians in milliseconds. All executions succeed."""
    allowed = sorted(os.sched_getaffinity(0))
    kinds = {
        "none": Conditions(),
        "control group, where one may be made": Conditions(),
        "cpu": Conditions(placement=Placement((allowed[-1],), ())),
        "priority": Conditions(priority=os.getpriority(os.PRIO_PROCESS, 0)),
        "stack-offset": Conditions(stack_offset=1600),
        "memory_limit": Conditions(memory_limit=1 << 40),
        "small memory_limit": Conditions(memory_limit=32 << 20),
        "output_limit": Conditions(output_limit=1 << 30),
    }
    walls: dict[str, list[float]] = {name: [] for name in kinds}
    order = random.Random(1)
    with isolated("auto") as in_a_group:
        for _ in range(ROUNDS):
            for name in order.sample(list(kinds), len(kinds)):  # what came before matters, on a busy machine
                execute = in_a_group if name == "control group, where one may be made" else measure
                outcome = execute(
                    Command(
                        argv=("/bin/true",),
                        env={},
                        cwd=tmp_path,
                        stdin=None,
                        stdout=tmp_path / "o",
                        stderr=tmp_path / "e",
                        timeout_s=60,
                        conditions=kinds[name],
                    )
                )
                assert outcome.status == "ok", outcome.reason
                walls[name].append(outcome.wall_s * 1000)
    print("\n" + json.dumps({"wall_ms_median": {name: round(statistics.median(x), 3) for name, x in walls.items()}}))
