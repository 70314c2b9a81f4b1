"""What a question about two hundred systems costs beside the same about one."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from workshop import Workshop, main_calling

pytestmark = pytest.mark.perf

SYSTEMS = 200


def test_two_hundred_systems_beside_one(tmp_path: Path) -> None:
    """Processor time, children's included, so that a machine with other work gives the same."""
    seconds = {}
    for count in (1, SYSTEMS):
        shop = Workshop(tmp_path / f"project{count}", tmp_path / "cache")
        shop.write_named({"a.c": main_calling("x")})
        systems = {f"s{number}": {"cflags": f"-O2 -DN={number}"} for number in range(count)}
        (shop.project / "layoutrand.toml").write_text(shop.toml(["$CC $CFLAGS -o prog a.c"], systems=systems))
        seconds[count] = min(_explained(shop) for _ in range(3))
    figure = {
        "perf": "build --explain",
        "systems": SYSTEMS,
        "cpu_seconds": {str(count): round(value, 2) for count, value in seconds.items()},
        "200 systems / 1": round(seconds[SYSTEMS] / seconds[1], 2),
        "of one more system / of the first": round((seconds[SYSTEMS] - seconds[1]) / (SYSTEMS - 1) / seconds[1], 4),
    }
    print(json.dumps(figure, indent=2))
    assert seconds[SYSTEMS] < 20 * seconds[1], "toolchains are looked for once for each system"


def _explained(shop: Workshop) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "layoutrand", "build", "--explain", "--seeds", "30", "--json"]
    env = {**os.environ, "LAYOUTRAND_CACHE": str(shop.cache)}
    subprocess.run(command, cwd=shop.project, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
